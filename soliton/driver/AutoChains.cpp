#include "soliton/driver/AutoMatrix.h"
#include "soliton/driver/AutoRows.h"
#include "soliton/driver/AutoSolver.h"

#include <algorithm>
#include <cmath>

namespace soliton {
using frontend::OpKind;
using frontend::OpRecord;
using frontend::Program;

namespace {
/// Products of one loop that share their rows, of which later ones take what was computed from earlier ones: attention.
struct Chain {
  Expr rows, walked;
  /// Columns of the last product: what its sums take of registers.
  Expr columns;
  DType type = DType::f16;
};

/// Rows of a workgroup, what an iteration takes of the dimension that is walked, the most columns that it is for, and
/// how fast it is beside others: measured with f16 on an H200 (bench/results/h200-attention.md). With up to 64 columns
/// three groups of waves have the registers that they need if a fourth one copies for them and leaves its own; else two
/// workgroups share a compute unit with small steps, and one computes while the other's products run.
struct ChainTile {
  int64_t rows, step, columns;
  double speed;
  bool served = false;
  /// Measured to be faster where teams of waves take turns, and where tiles overlap if workgroups walk them.
  bool turns = false;
};
constexpr ChainTile kChainTiles[] = {{192, 128, 64, 1.0, /*served=*/true, /*turns=*/true},
                                     {128, 128, 256, 0.9, /*served=*/true},
                                     {128, 64, 64, 0.96},
                                     {128, 128, 256, 0.87},
                                     {64, 64, 64, 0.8},
                                     {64, 128, 256, 0.64}};
/// Rows of different length, as causal masks make them: workgroups that run together take the longest of several heads,
/// so that none is left in the end, and so few of them that what they read stays in the second cache.
constexpr int64_t kHeadColumns = 1024;
/// Steps of a tile's loop up to which it is worth to begin the next tile under its end.
constexpr int64_t kMostStepsOfWalked = 64;
/// How much faster a tile is where teams of waves take turns at their products: three teams over 64 columns,
/// where softmax takes as long as products (docs/decisions/0062-lanes-meet-again.md).
constexpr double kTurning = 1.01;

std::optional<Chain> findChain(const Program &program) {
  std::optional<Chain> chain;
  int count = 0;
  for (const frontend::Region &region : program.regions)
    for (uint32_t number : region.ops) {
      const OpRecord &op = program.ops[number];
      if (op.kind != OpKind::mma)
        continue;
      const std::vector<Expr> &acc = program.values[op.results[0]].tile.dims;
      if (!region.axis || op.operands.size() != 3 || op.mma || acc.size() < 2 || !isStaged(program, op.operands[1]))
        return std::nullopt;
      Chain found{acc[acc.size() - 2], *region.axis, acc.back(), program.values[op.operands[1]].tile.type.resolve()};
      bool isNext = !chain || (chain->rows == found.rows && chain->walked == found.walked && chain->type == found.type);
      if (!isNext)
        return std::nullopt;
      chain = found;
      ++count;
    }
  return count > 1 ? chain : std::nullopt;
}

/// Whether workgroups along the first dimension of the grid have loops of different length.
bool areUneven(const TilingConstraint &walked) {
  return walked.options.iters && sym::contains(*walked.options.iters, workgroup_id(0));
}

/// The same with teams that take turns; nothing where the author said whether they do.
std::optional<AutoRow> takingTurns(const AutoRow &row) {
  if (row.second.options.turns)
    return std::nullopt;
  AutoRow faster = row;
  faster.first *= kTurning;
  faster.second.options.turns = true;
  faster.second.why += ", turns";
  return faster;
}

/// Workgroups of a launch in which each has one tile, if that is known.
std::optional<int64_t> countWorkgroups(const Program &program, const Bindings &known) {
  int64_t count = 1;
  for (const frontend::AnyConstraint &constraint : program.constraints)
    if (const auto *along = std::get_if<WorkgroupConstraint>(&constraint)) {
      std::optional<int64_t> size = valueOf(along->dim, known), tile = valueOf(along->tile, known);
      if (!size || !tile || *size < 0 || *tile < 1)
        return std::nullopt;
      count *= (*size + *tile - 1) / *tile;
    }
  return count;
}

/// How many workgroups walk the tiles of a chain: as many as there are compute units, where that is fewer and a tile is
/// no long loop beside which its beginning and end are nothing; 0 otherwise.
int64_t walkersOf(const Program &program, const CompileOptions &options, const ChainTile &tile, Expr walked,
                  const Target &target) {
  const Bindings known = bindingsOf(options);
  std::optional<int64_t> tiles = countWorkgroups(program, known), length = valueOf(walked, known);
  bool isLong = length && *length > kMostStepsOfWalked * tile.step;
  return tile.served && tiles && length && !isLong && *tiles > target.computeUnits ? target.computeUnits : 0;
}

/// The chain by this tile, if the constraints leave it open or say it.
std::optional<AutoRow> chainBy(const ChainTile &tile, const Chain &chain, const Program &program,
                               const CompileOptions &options, const Target &target) {
  auto *rows = program.findFor<WorkgroupConstraint>(chain.rows);
  auto *walked = program.findFor<TilingConstraint>(chain.walked);
  auto *rowWaves = program.findFor<WaveConstraint>(chain.rows);
  if (!rows || !walked || !rowWaves)
    return std::nullopt;
  if (tile.served && !canBeServed(program, options))
    return std::nullopt;
  Solver solver(options);
  constexpr int64_t rowsPerWave = 16;
  std::optional<int64_t> columns = solver.sizeOf(chain.columns), size = solver.sizeOf(chain.rows);
  if (!columns || *columns > tile.columns || !solver.require(rows->tile, tile.rows) ||
      !solver.require(walked->tile, tile.step) || !solver.require(rowWaves->tile, rowsPerWave))
    return std::nullopt;
  int64_t tiles = size ? (*size + tile.rows - 1) / tile.rows : 1;
  double inside = size && *size > 0 ? static_cast<double>(*size) / static_cast<double>(tiles * tile.rows) : 1;
  AutoChoice choice{options, ""};
  for (const auto &[name, value] : solver.found())
    choice.options.subs.emplace_back(symbol(name), value);
  choice.options.mma = "F32_64xNx16_F16";
  choice.options.directCopies = true;
  choice.options.stagedWrites = true;
  choice.options.schedule.name = "ring";
  if (tile.served && !options.serviceWaves)
    choice.options.serviceWaves = kServiceWaves;
  if (options.raster == 0 && rows->workgroup_dim == 0 && areUneven(*walked))
    choice.options.raster = -std::max<int64_t>(1, kHeadColumns / std::max<int64_t>(*columns, 1));
  if (options.persistent == 0)
    choice.options.persistent = walkersOf(program, choice.options, tile, chain.walked, target);
  choice.why =
      "products in a chain, " + std::to_string(tile.rows) + " rows, steps of " + std::to_string(tile.step) + ", `" +
      choice.options.mma + "`" + (tile.served ? ", waves that copy" : "") +
      (choice.options.persistent > 0 ? ", " + std::to_string(choice.options.persistent) + " workgroups that walk them"
                                     : "") +
      ", direct copies in a ring: " + std::to_string(std::lround(100 * inside)) +
      " % of the rows are there, relative speed " + std::to_string(tile.speed).substr(0, 4);
  return std::pair(tile.speed * inside, std::move(choice));
}

/// Whether more steps are walked than `ring` makes straight code of, which has no turns, and spills where tiles
/// overlap.
bool staysLoop(const ChainTile &tile, const Chain &chain, const CompileOptions &options) {
  constexpr int64_t straight = 3;
  std::optional<int64_t> length = valueOf(chain.walked, bindingsOf(options));
  return !length || *length > straight * tile.step;
}

/// Matrix instructions that several waves issue together, for elements of that type.
bool hasGroupInstructions(const Target &target, DType type) {
  return std::ranges::any_of(
      target.mmas, [&](const MmaKind &kind) { return kind.async && kind.lhs.type == type && kind.rhs.type == type; });
}
} // namespace

std::vector<AutoRow> chooseChains(const Program &program, const CompileOptions &options, const Target &target) {
  std::vector<AutoRow> rows;
  std::optional<Chain> chain = findChain(program);
  if (!chain || bits(chain->type) != 16 || !hasGroupInstructions(target, chain->type))
    return rows;
  for (const ChainTile &tile : kChainTiles)
    if (auto row = chainBy(tile, *chain, program, options, target)) {
      bool turns = tile.turns && staysLoop(tile, *chain, row->second.options);
      rows.push_back(std::move(*row));
      if (auto faster = turns ? takingTurns(rows.back()) : std::nullopt)
        rows.push_back(std::move(*faster));
      if (auto faster = turns ? overlapping(rows.back()) : std::nullopt)
        rows.push_back(std::move(*faster));
    }
  return rows;
}

} // namespace soliton
