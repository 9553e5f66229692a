#include "soliton/driver/Auto.h"

#include "soliton/driver/AutoRows.h"
#include "soliton/driver/AutoSolver.h"
#include "soliton/driver/Tuned.h"
#include "soliton/frontend/Program.h"
#include "soliton/target/Target.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace soliton {
using frontend::OpKind;
using frontend::OpRecord;
using frontend::Program;

namespace {
/// A tile of a product by matrix instructions of four waves, and how fast it is beside the fastest one where every
/// compute unit has work to the end: measured with f16 on an H200 (bench/results/h200-gemm.md).
struct ProductTile {
  int64_t rows, columns;
  double speed;
  /// The columns lie on the instruction's rows, of which it has 64: for products with few rows.
  bool exchanged = false;
  /// What an iteration takes of K, in rows of 128 bytes, within which shared memory exchanges chunks.
  int64_t panels = 1;
  /// Workgroups that sum it together.
  int64_t cluster = 1;
  /// Instructions beside each other: where sums begin anew, those of one are added while another is under way.
  int64_t pieces = 1;
  /// Measured to be faster where a workgroup walks several of them.
  bool walks = false;
  /// Waves beside those that compute have tiles copied for them.
  bool served = false;
  /// Measured to be faster where tiles that a workgroup walks overlap.
  bool overlaps = false;
};
// Speeds of the exchanged ones are their rows' share of 64, as the straight 64 by 64 has it: all of them wait for
// memory. Those of clusters are a little below, so that they are taken where they fill more of the machine. So they
// order the tiles as an H200 did at 16, 64 and 128 rows (docs/decisions/0040-few-rows.md).
constexpr ProductTile kProductTiles[] = {
    {128, 256, 1.0, /*exchanged=*/false, /*panels=*/1, /*cluster=*/1, /*pieces=*/1, /*walks=*/true},
    {128, 192, 0.98},
    {128, 128, 0.79},
    {64, 128, 0.7},
    {128, 64, 0.61},
    {64, 64, 0.5},
    {32, 64, 0.35, /*exchanged=*/true, /*panels=*/2},
    {16, 64, 0.25, /*exchanged=*/true, /*panels=*/2},
    {128, 64, 0.6, /*exchanged=*/false, /*panels=*/1, /*cluster=*/2},
    {64, 64, 0.48, /*exchanged=*/false, /*panels=*/1, /*cluster=*/2},
    {32, 64, 0.34, /*exchanged=*/true, /*panels=*/2, /*cluster=*/2},
    {16, 64, 0.24, /*exchanged=*/true, /*panels=*/2, /*cluster=*/2},
};
/// The same where sums go on in f32 after every tile: those and the accumulator are 192 registers at 128 by 192
/// (docs/decisions/0039-sums-of-bytes.md), which two groups of waves have where a third one copies for them and leaves
/// its registers (docs/decisions/0053-service-waves.md). Without it a third group of waves has products under way while
/// two add, or two groups have them by pieces in turn, whose left factor is read once for each
/// (docs/decisions/0048-turns-and-tiles.md).
constexpr ProductTile kRestartedTiles[] = {
    {128, 192, 1.01, /*exchanged=*/false, /*panels=*/1, /*cluster=*/1, /*pieces=*/1, /*walks=*/true, /*served=*/true,
     /*overlaps=*/true},
    {192, 128, 1.0, /*exchanged=*/false, /*panels=*/1, /*cluster=*/1, /*pieces=*/1, /*walks=*/true},
    {128, 192, 0.98, /*exchanged=*/false, /*panels=*/1, /*cluster=*/1, /*pieces=*/2},
    {128, 128, 0.81},
    {64, 128, 0.7},
    {64, 64, 0.5}};
/// What a workgroup of a cluster has to sum, in iterations, before it is worth to meet the others.
constexpr int64_t kIterationsToShare = 8;
constexpr int64_t kRowBytes = 128;
/// How much faster large tiles are where workgroups walk several of them, and up to how many: their tiles lie apart in
/// the end, and the second cache holds less of what they share (docs/decisions/0048-turns-and-tiles.md).
constexpr double kWalking = 1.02;
/// How much faster small steps are where teams of waves take turns at their products, and where tiles overlap: three
/// teams over 64 columns, where softmax takes as long as products (docs/decisions/0062-lanes-meet-again.md).
constexpr double kTurning = 1.01, kOverlapping = 1.01;
constexpr int64_t kMostWalked = 32;
/// Tiles of a band: their rows and columns stay in the second cache.
constexpr int64_t kRaster = 8;

/// The one product of a kernel, in a loop along its contracted dimension, or several of one left factor.
struct Product {
  Expr rows, columns, depth;
  /// How many there are beside each other: they share the columns of a tile.
  int64_t count = 1;
  /// Of the factors' elements, which are as wide as each other.
  DType lhs = DType::f16, rhs = DType::f16;
  /// How many neighbours along the contracted dimension its factors keep side by side in memory, where a mapping says
  /// so: channels of a pixel.
  std::vector<Expr> runs = {};
};

/// What the innermost index of the factor's memory counts up to before it begins again: `C` of `mod($index1, C)`.
std::optional<Expr> runOf(const Program &program, frontend::ValueId value) {
  const OpRecord &read = program.ops[*program.values[value].op];
  if (!read.indices || read.indices->empty())
    return std::nullopt;
  Expr last = read.indices->back();
  bool isRest = last.kind() == sym::Kind::mod && last.operand(0).isSymbol();
  return isRest ? std::optional(last.operand(1)) : std::nullopt;
}

/// Whether the products take the same left factor and give sums of their own, of the same shape: a gate and what it
/// lets through.
bool areSiblings(const Program &program, const OpRecord &one, const OpRecord &other) {
  if (&one == &other)
    return true;
  if (one.operands[2] == other.results[0] || other.operands[2] == one.results[0])
    return false;
  auto dims = [&](const OpRecord &mma) { return program.values[mma.results[0]].tile.dims; };
  auto type = [&](const OpRecord &mma) { return program.values[mma.operands[1]].tile.type; };
  return one.operands[0] == other.operands[0] && dims(one) == dims(other) && type(one) == type(other);
}

/// Products that every iteration of a loop adds to; empty where there are some in other loops, or in none.
std::vector<const OpRecord *> productsOfLoop(const Program &program) {
  std::vector<const OpRecord *> found;
  const frontend::Region *loop = nullptr;
  for (const frontend::Region &region : program.regions)
    for (uint32_t op : region.ops)
      if (program.ops[op].kind == OpKind::mma) {
        if (!region.axis || (loop && loop != &region))
          return {};
        loop = &region;
        found.push_back(&program.ops[op]);
      }
  return found;
}

/// The product of the kernel's loop, or its siblings; nothing where there are several others, or one of another shape.
std::optional<Product> findProduct(const Program &program) {
  const std::vector<const OpRecord *> products = productsOfLoop(program);
  auto fits = [&](const OpRecord *each) {
    return each->operands.size() == 3 && !each->mma && isStaged(program, each->operands[0]) &&
           isStaged(program, each->operands[1]) && areSiblings(program, *products.front(), *each);
  };
  if (products.empty() || !std::ranges::all_of(products, fits))
    return std::nullopt;
  const OpRecord &first = *products.front();
  const frontend::TileInfo &lhs = program.values[first.operands[0]].tile, &rhs = program.values[first.operands[1]].tile;
  const std::vector<Expr> &acc = program.values[first.results[0]].tile.dims;
  DType left = lhs.type.resolve(), right = rhs.type.resolve();
  if (acc.size() < 2 || bits(left) != bits(right))
    return std::nullopt;
  Product product{acc[acc.size() - 2], acc.back(), {}, static_cast<int64_t>(products.size()), left, right};
  for (Expr dim : lhs.dims)
    if (std::find(acc.begin(), acc.end(), dim) == acc.end())
      product.depth = dim;
  for (const OpRecord *each : products)
    for (size_t factor : {0, 1})
      if (std::optional<Expr> run = runOf(program, each->operands[factor]))
        product.runs.push_back(*run);
  return product;
}

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
/// Waves of a group: with them comes one wave for each SIMD, whose registers the others take.
constexpr int64_t kServiceWaves = 4;
/// Rows of different length, as causal masks make them: workgroups that run together take the longest of several heads,
/// so that none is left in the end, and so few of them that what they read stays in the second cache.
constexpr int64_t kHeadColumns = 1024;
/// Steps of a tile's loop up to which it is worth to begin the next tile under its end.
constexpr int64_t kMostStepsOfWalked = 64;

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

/// Whether a copying wave, which has none of the program's values, can follow it: nothing is a number from data.
bool canBeServed(const Program &program, const CompileOptions &options) {
  bool saidNone = options.serviceWaves && *options.serviceWaves == 0;
  return !saidNone && options.cluster <= 1 && std::ranges::none_of(program.ops, [](const OpRecord &op) {
    return op.kind == OpKind::indexOf || op.kind == OpKind::exit;
  });
}

/// Whether workgroups along the first dimension of the grid have loops of different length.
bool areUneven(const TilingConstraint &walked) {
  return walked.options.iters && sym::contains(*walked.options.iters, workgroup_id(0));
}

std::string instructionOf(int64_t columns, DType type) {
  std::string depth = type == DType::i8 ? "x32_I8" : bits(type) == 8 ? "x32_F8" : "x16_F16";
  return (type == DType::i8 ? "I32_64x" : "F32_64x") + std::to_string(columns) + depth;
}

/// The tile as each of several products beside each other has it: together they have its columns, and so its registers
/// and its bytes of shared memory. Nothing where a tile is for one product only.
std::optional<ProductTile> tileOfEach(ProductTile tile, const Product &product) {
  if (product.count == 1)
    return tile;
  constexpr int64_t leastColumns = 8; // of a matrix instruction
  if (tile.exchanged || tile.cluster > 1 || tile.pieces > 1 || tile.columns % (product.count * leastColumns) != 0)
    return std::nullopt;
  tile.columns /= product.count;
  return tile;
}

/// How many problems the grid has beside the product's rows and columns: batches, parts of K. Sizes that are not known
/// count once.
int64_t countProblems(const Program &program, const Product &product, const Solver &solver) {
  int64_t count = 1;
  for (const frontend::AnyConstraint &constraint : program.constraints)
    if (const auto *along = std::get_if<WorkgroupConstraint>(&constraint);
        along && along->dim != product.rows && along->dim != product.columns) {
      std::optional<int64_t> size = solver.sizeOf(along->dim), tile = solver.sizeOf(along->tile);
      if (size && tile && *size > 0 && *tile > 0)
        count *= (*size + *tile - 1) / *tile;
    }
  return count;
}

/// Tiles of all problems, if the product's sizes are known.
std::optional<int64_t> countTiles(const Program &program, const Product &product, const ProductTile &tile,
                                  const Solver &solver) {
  std::optional<int64_t> m = solver.sizeOf(product.rows), n = solver.sizeOf(product.columns);
  if (!m || !n || *m < 1 || *n < 1)
    return std::nullopt;
  return ((*m + tile.rows - 1) / tile.rows) * ((*n + tile.columns - 1) / tile.columns) *
         countProblems(program, product, solver);
}

/// How much of the machine the tiles keep busy: of whole rounds of all compute units, the part that has a tile.
double roundsFilled(const Program &program, const Product &product, const ProductTile &tile, const Solver &solver,
                    const Target &target) {
  std::optional<int64_t> tiles = countTiles(program, product, tile, solver);
  if (!tiles)
    return 1;
  int64_t workgroups = *tiles * tile.cluster, rounds = (workgroups + target.computeUnits - 1) / target.computeUnits;
  // Rows and columns of tiles beyond the tensor are computed for nothing.
  auto insideAlong = [&](Expr dim, int64_t each) {
    int64_t size = *solver.sizeOf(dim), covered = (size + each - 1) / each * each;
    return static_cast<double>(size) / static_cast<double>(covered);
  };
  double inside = insideAlong(product.rows, tile.rows) * insideAlong(product.columns, tile.columns);
  return inside * static_cast<double>(workgroups) / static_cast<double>(rounds * target.computeUnits);
}

/// The elements of the tile's rows of shared memory.
int64_t wholeDepthOf(const ProductTile &tile, const Product &product) {
  return tile.panels * kRowBytes * 8 / bits(product.lhs);
}

/// What an iteration takes of K: the tile's rows of shared memory, or as much of one as factors keep side by side, so
/// that it is copied in boxes. Where they keep less than an instruction takes, nothing is to be gained.
int64_t depthOf(const ProductTile &tile, const Product &product, const Solver &solver) {
  int64_t whole = wholeDepthOf(tile, product), deep = whole;
  const int64_t least = 32 * 8 / bits(product.lhs);
  for (Expr run : product.runs)
    if (std::optional<int64_t> count = solver.sizeOf(run); count && *count > 0)
      while (deep >= least && *count % deep != 0)
        deep /= 2;
  return deep >= least ? deep : whole;
}

/// Whether the tile's workgroups are as many as were asked for; where nobody asked, several need much to sum.
bool maySplit(const ProductTile &tile, std::optional<int64_t> contracted, int64_t deep, const CompileOptions &options) {
  if (options.cluster > 0)
    return tile.cluster == options.cluster;
  return tile.cluster == 1 || (contracted && *contracted >= kIterationsToShare * deep * tile.cluster);
}

/// A choice and what it is held to be worth.
using Row = std::pair<double, AutoChoice>;

/// The same with tiles that overlap; nothing where none follows another one, or the author said whether they do.
std::optional<Row> overlapping(const Row &row) {
  const CompileOptions &options = row.second.options;
  if (options.overlapTiles || options.persistent == 0 || !options.workgroupsPerCluster.empty())
    return std::nullopt;
  Row faster = row;
  faster.first *= kOverlapping;
  faster.second.options.overlapTiles = true;
  faster.second.why += ", tiles overlap";
  return faster;
}

/// The same with teams that take turns; nothing where the author said whether they do.
std::optional<Row> takingTurns(const Row &row) {
  if (row.second.options.turns)
    return std::nullopt;
  Row faster = row;
  faster.first *= kTurning;
  faster.second.options.turns = true;
  faster.second.why += ", turns";
  return faster;
}

/// The product by this tile, if the constraints leave it open or say it.
std::optional<Row> productBy(const ProductTile &tile, const Product &product, const Program &program,
                             const CompileOptions &options, const Target &target) {
  auto *rows = program.findFor<WorkgroupConstraint>(product.rows),
       *columns = program.findFor<WorkgroupConstraint>(product.columns);
  auto *depth = program.findFor<TilingConstraint>(product.depth);
  auto *rowWaves = program.findFor<WaveConstraint>(product.rows),
       *columnWaves = program.findFor<WaveConstraint>(product.columns);
  if (!rows || !columns || !depth || !rowWaves)
    return std::nullopt;
  Solver solver(options);
  int64_t deep = depthOf(tile, product, solver);
  constexpr int64_t perWave = 16;
  if (!solver.require(rows->tile, tile.rows) || !solver.require(columns->tile, tile.columns) ||
      !solver.require(depth->tile, deep) || !solver.require(rowWaves->tile, tile.exchanged ? tile.rows : perWave))
    return std::nullopt;
  // Columns on the instruction's rows have waves of their own.
  if (columnWaves ? !solver.require(columnWaves->tile, tile.exchanged ? perWave : tile.columns) : tile.exchanged)
    return std::nullopt;
  if (!maySplit(tile, solver.sizeOf(product.depth), wholeDepthOf(tile, product), options) ||
      (tile.served && !canBeServed(program, options)))
    return std::nullopt;
  double filled = roundsFilled(program, product, tile, solver, target);
  AutoChoice choice{options, ""};
  for (const auto &[name, value] : solver.found())
    choice.options.subs.emplace_back(symbol(name), value);
  choice.options.mma = instructionOf(tile.exchanged ? tile.rows : tile.columns / tile.pieces, product.lhs);
  choice.options.directCopies = true;
  // What a cluster exchanges comes back in whole rows.
  choice.options.stagedWrites = tile.cluster == 1;
  if (choice.options.raster == 0)
    choice.options.raster = kRaster;
  choice.options.cluster = tile.cluster;
  if (tile.served && !options.serviceWaves)
    choice.options.serviceWaves = kServiceWaves;
  choice.options.schedule.name = "ring";
  choice.why = (product.count > 1 ? std::to_string(product.count) + " products, " : "") + "tiles of " +
               std::to_string(tile.rows) + " by " + std::to_string(tile.columns) + " by " + std::to_string(deep) +
               ", `" + choice.options.mma + "`" + (tile.exchanged ? " with exchanged operands" : "") +
               (tile.cluster > 1 ? ", K shared by clusters of " + std::to_string(tile.cluster) : "") +
               (tile.served ? ", waves that copy" : "") + ", direct copies in a ring, bands of " +
               std::to_string(choice.options.raster) + " tiles: fills " + std::to_string(std::lround(100 * filled)) +
               " % of whole rounds, relative speed " + std::to_string(tile.speed).substr(0, 4);
  return std::pair(tile.speed * filled, std::move(choice));
}

/// The same with a workgroup for each compute unit, which walks several tiles; nothing where the author said how many,
/// where each has one, or where they would have too many.
std::optional<Row> persistently(const Row &row, const Program &program, const Product &product, const ProductTile &tile,
                                const Target &target) {
  if (row.second.options.persistent > 0 || !tile.walks)
    return std::nullopt;
  std::optional<int64_t> tiles = countTiles(program, product, tile, Solver(row.second.options));
  if (!tiles || *tiles <= target.computeUnits || *tiles > kMostWalked * target.computeUnits)
    return std::nullopt;
  Row walking = row;
  walking.first *= kWalking;
  walking.second.options.persistent = target.computeUnits;
  walking.second.why += ", " + std::to_string(target.computeUnits) + " workgroups that walk them";
  return walking;
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
std::optional<Row> chainBy(const ChainTile &tile, const Chain &chain, const Program &program,
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

/// Tiles for the instructions of several waves that multiply such elements; none where there are none.
std::span<const ProductTile> tilesFor(const Product &product, const Target &target, bool shortSums) {
  auto kind = std::ranges::find_if(target.mmas, [&](const MmaKind &each) {
    return each.async && each.lhs.type == product.lhs && each.rhs.type == product.rhs;
  });
  if (kind == target.mmas.end())
    return {};
  return kind->sumBits && !shortSums ? std::span<const ProductTile>(kRestartedTiles) : kProductTiles;
}

bool hasLoopWithProduct(const Program &program) {
  return std::ranges::any_of(program.regions, [&](const frontend::Region &region) {
    return region.axis &&
           std::ranges::any_of(region.ops, [&](uint32_t op) { return program.ops[op].kind == OpKind::mma; });
  });
}
} // namespace

std::vector<AutoChoice> chooseAutomatically(const Kernel &kernel, const CompileOptions &options) {
  const Program &program = *kernel.program();
  const Target *target = findTarget(options.target);
  std::vector<Row> rows;
  std::optional<Product> product = findProduct(program);
  const auto *hardware = program.findAny<HardwareConstraint>();
  bool isOpen = options.mma.empty() && !(hardware && hardware->mma);
  if (target && product && isOpen)
    for (const ProductTile &each : tilesFor(*product, *target, options.shortSums)) {
      std::optional<ProductTile> tile = tileOfEach(each, *product);
      auto row = tile ? productBy(*tile, *product, program, options, *target) : std::nullopt;
      if (!row)
        continue;
      if (auto walking = persistently(*row, program, *product, *tile, *target)) {
        if (auto faster = tile->overlaps ? overlapping(*walking) : std::nullopt)
          rows.push_back(std::move(*faster));
        rows.push_back(std::move(*walking));
      }
      rows.push_back(std::move(*row));
    }
  std::optional<Chain> chain = product ? std::nullopt : findChain(program);
  if (target && chain && isOpen && bits(chain->type) == 16 && hasGroupInstructions(*target, chain->type))
    for (const ChainTile &tile : kChainTiles)
      if (auto row = chainBy(tile, *chain, program, options, *target)) {
        bool turns = tile.turns && staysLoop(tile, *chain, row->second.options);
        rows.push_back(std::move(*row));
        if (auto faster = turns ? takingTurns(rows.back()) : std::nullopt)
          rows.push_back(std::move(*faster));
        if (auto faster = turns ? overlapping(rows.back()) : std::nullopt)
          rows.push_back(std::move(*faster));
      }
  std::ranges::stable_sort(rows, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<AutoChoice> choices;
  for (auto &[score, choice] : rows)
    choices.push_back(std::move(choice));
  if (std::vector<AutoChoice> streams = chooseRows(program, options); !streams.empty())
    choices.insert(choices.end(), streams.begin(), streams.end());
  if (hasLoopWithProduct(program)) {
    choices.push_back({options, "the algorithm that the model finds fastest"});
    choices.back().options.schedule.name = sched::kFastest;
  }
  choices.push_back({options, "the order of the program"});
  choices.back().options.schedule.name = "none";
  std::vector<AutoChoice> tuned = tunedChoices(kernel, options);
  choices.insert(choices.begin(), tuned.begin(), tuned.end());
  for (AutoChoice &choice : choices) {
    choice.options = withDefaults(std::move(choice.options));
    // Nothing chooses it: what lies ahead in a stream is not the kernel's to know.
    if (options.dependentLaunch.value_or(false))
      choice.why += "; launches of it begin before those ahead have ended, as asked";
  }
  return choices;
}

CompileOptions withDefaults(CompileOptions options) {
  auto isBound = [&](sym::Expr symbol) {
    return std::ranges::any_of(options.subs, [&](const auto &bound) { return bound.first == symbol; });
  };
  for (const auto &[symbol, value] : std::exchange(options.defaults, {}))
    if (!isBound(symbol))
      options.subs.emplace_back(symbol, value);
  return options;
}

static const Diagnostic *firstError(const std::vector<Diagnostic> &said) {
  auto wrong = std::ranges::find(said, Severity::error, &Diagnostic::severity);
  return wrong == said.end() ? nullptr : &*wrong;
}

void AutoRemarks::add(const AutoChoice &choice, bool taken, const std::vector<Diagnostic> &said) {
  const Diagnostic *wrong = taken ? nullptr : firstError(said);
  remarks.push_back(choice.remark(taken, wrong));
  reasons.push_back(wrong ? std::optional(std::pair(wrong->id, wrong->message)) : std::nullopt);
}

void AutoRemarks::add(const AutoChoice &misfit) {
  Diagnostic remark = misfit.remark(/*taken=*/false, nullptr);
  remark.message += ": " + misfit.misfit;
  remarks.push_back(std::move(remark));
  reasons.emplace_back();
}

std::vector<Diagnostic> AutoRemarks::beside(const std::vector<Diagnostic> &said) const {
  const Diagnostic *wrong = firstError(said);
  std::vector<Diagnostic> worthSaying;
  for (size_t i = 0; i < remarks.size(); ++i)
    if (!wrong || !reasons[i] || *reasons[i] != std::pair(wrong->id, wrong->message))
      worthSaying.push_back(remarks[i]);
  return worthSaying;
}

Diagnostic AutoChoice::remark(bool taken, const Diagnostic *wrong) const {
  std::string reason = wrong ? ": " + wrong->message + " [" + std::string(idText(wrong->id)) + "]" : "";
  return {Severity::remark,
          DiagId::AutoChoice,
          options.place,
          std::string(taken ? "`auto` took " : "`auto` passed over ") + why + reason,
          "",
          {}};
}

CompileAttempt compileByChoice(const Kernel &kernel, const CompileOptions &options,
                               const std::function<CompileAttempt(const CompileOptions &)> &compile) {
  CompileAttempt attempt = firstThatCompiles<CompileAttempt>(kernel, options, compile);
  if (attempt)
    for (Diagnostic &said : attempt.diagnostics)
      if (said.id == DiagId::AutoChoice)
        attempt.result->warnings.insert(attempt.result->warnings.begin(), said);
  return attempt;
}

} // namespace soliton
