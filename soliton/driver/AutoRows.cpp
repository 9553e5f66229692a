#include "soliton/driver/AutoRows.h"

#include "soliton/driver/AutoSolver.h"
#include "soliton/target/Target.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace soliton {
using frontend::OpKind;
using frontend::OpRecord;
using frontend::Program;

namespace {
/// How much of a row a lane keeps, in accesses of 16 bytes, by up to so many waves, and how fast that is beside the
/// fastest: measured with f16 on an H200 (bench/results/h200-rows.md, docs/decisions/0046-rows-in-registers.md).
struct RowTile {
  int64_t vectors, waves;
  double speed;
  /// Registers a lane that leave room for enough workgroups, so that some compute while others wait at a barrier or for
  /// memory; 0: as many as the assembler likes.
  int64_t registers = 0;
};
// The last one is also for rows whose bounds need more registers than the others leave.
constexpr RowTile kRowTiles[] = {{2, 2, 1.0}, {4, 8, 0.98, 64}, {8, 16, 0.92, 128}, {4, 16, 0.91}};
/// Rows of a workgroup whose waves have one each.
constexpr int64_t kRowsOfWaves = 4;
/// Tiles are not mostly beyond the row's end.
constexpr double kLeastInside = 0.5;

/// What a lane moves of a tensor that is touched once, in accesses of 16 bytes: of one, two and four the first was
/// fastest on an H200, and workgroups that follow each other along a row by 5 % (bench/results/h200-rows.md).
constexpr int64_t kStreamVectors = 1;
/// Bytes of a row of a tile that is turned around, as it is read and as it is written.
constexpr int64_t kTurnedRead = 256, kTurnedWritten = 128;

/// What an iteration of products by one wave takes of a dimension that streams by, and workgroups of a compute unit:
/// the best of what was measured with f16 and 128 columns on an H200 (bench/results/h200-decode.md).
struct KeyTile {
  int64_t keys, workgroups;
};
constexpr KeyTile kKeyTiles[] = {{16, 4}};

constexpr int64_t kAccessBytes = 16;

/// A loop's dimension that several loops walk, and the tensors that more than one of them reads.
struct Walk {
  Expr columns;
  int64_t tensors = 0;
  /// Of the widest of them.
  int64_t elementBytes = 1;
};

bool hasProduct(const Program &program) {
  return std::ranges::any_of(program.ops, [](const OpRecord &op) { return op.kind == OpKind::mma; });
}

int64_t bytesOf(const frontend::Parameter &tensor) {
  return std::max<int64_t>(1, bits(tensor.type.resolve()) / 8);
}

/// The rows that a kernel walks again; nothing where it walks several dimensions, or every tensor once.
std::optional<Walk> findWalk(const Program &program) {
  std::optional<Walk> walk;
  std::map<uint32_t, int> loops;
  for (const frontend::Region &region : program.regions) {
    if (!region.axis)
      continue;
    if (walk && walk->columns != *region.axis)
      return std::nullopt;
    walk = Walk{.columns = *region.axis};
    std::set<uint32_t> read;
    for (uint32_t op : region.ops)
      if (program.ops[op].kind == OpKind::read && read.insert(program.ops[op].memory).second)
        ++loops[program.ops[op].memory];
  }
  for (auto [memory, count] : loops) {
    const frontend::Parameter &tensor = program.parameters[memory];
    bool isKept = count > 1 && !tensor.isAllocated && !tensor.shape.empty() && tensor.shape.back() == walk->columns;
    walk->tensors += isKept;
    if (isKept)
      walk->elementBytes = std::max(walk->elementBytes, bytesOf(tensor));
  }
  return walk && walk->tensors > 0 ? walk : std::nullopt;
}

/// The dimension of the workgroups' rows: the one that workgroups and waves share beside the columns.
const WorkgroupConstraint *rowsOf(const Program &program, Expr columns) {
  return program.find<WorkgroupConstraint>([&](const WorkgroupConstraint &each) {
    return each.dim != columns && program.findFor<WaveConstraint>(each.dim) != nullptr;
  });
}

AutoChoice bound(AutoChoice choice, const Solver &solver) {
  for (const auto &[name, value] : solver.found())
    choice.options.subs.emplace_back(symbol(name), value);
  choice.options.schedule.name = "none";
  return choice;
}

/// Workgroups that fit a compute unit if a lane has so many registers.
int64_t workgroupsBy(int64_t registers, int64_t waves, const Target &target) {
  return registers ? target.registerFilePerSimdLane * target.simdsPerComputeUnit / (registers * waves) : 0;
}

/// The rows by this tile, if the constraints leave it open or say it.
std::optional<std::pair<double, AutoChoice>> rowsBy(const RowTile &tile, const Walk &walk, const Program &program,
                                                    const CompileOptions &options, const Target &target) {
  const WorkgroupConstraint *rows = rowsOf(program, walk.columns);
  auto *columns = program.findFor<TilingConstraint>(walk.columns);
  auto *columnWaves = program.findFor<WaveConstraint>(walk.columns);
  Solver solver(options);
  std::optional<int64_t> size = solver.sizeOf(walk.columns);
  if (!rows || !columns || columns->options.start || !columnWaves || !size || *size < 1)
    return std::nullopt;
  int64_t perLane = tile.vectors * kAccessBytes / walk.elementBytes, perWave = perLane * target.waveSize;
  int64_t waves = (*size + perWave - 1) / perWave;
  double inside = static_cast<double>(*size) / static_cast<double>(waves * perWave);
  bool isKept = 4 * perLane * walk.tensors <= target.registersPerLane + 1; // as wave-dissolve-loops asks
  if (waves > tile.waves || inside < kLeastInside || !isKept)
    return std::nullopt;
  int64_t height = waves == 1 ? kRowsOfWaves : 1;
  if (!solver.require(rows->tile, height) || !solver.require(columns->tile, waves * perWave) ||
      !solver.require(program.findFor<WaveConstraint>(rows->dim)->tile, 1) ||
      !solver.require(columnWaves->tile, perWave))
    return std::nullopt;
  AutoChoice choice = bound({options, ""}, solver);
  int64_t workgroups = workgroupsBy(tile.registers, waves * height, target);
  if (choice.options.workgroupsPerUnit == 0)
    choice.options.workgroupsPerUnit = workgroups;
  choice.why = "a row by " + std::to_string(waves) + (waves == 1 ? " wave" : " waves") + ", kept in registers, " +
               std::to_string(perLane) + " elements a lane" +
               (workgroups ? ", room for " + std::to_string(workgroups) + " workgroups in a compute unit" : "") + ": " +
               std::to_string(std::lround(100 * inside)) + " % of the tile is there, relative speed " +
               std::to_string(tile.speed).substr(0, 4);
  return std::pair(tile.speed * inside, std::move(choice));
}

/// Whether the op computes element by element.
bool isOfElements(OpKind kind) {
  constexpr OpKind kinds[] = {OpKind::fill,   OpKind::splat, OpKind::unary,   OpKind::binary,    OpKind::compare,
                              OpKind::select, OpKind::cast,  OpKind::bitcast, OpKind::broadcast, OpKind::permute};
  return std::ranges::find(kinds, kind) != std::end(kinds);
}

/// A kernel that touches every element once: how its tensors lie.
struct Stream {
  /// The dimensions along which elements that are read, and written, lie side by side.
  Expr read, written;
  /// Of the widest tensor.
  int64_t elementBytes = 1;
};

/// The stream that a kernel is; nothing where accesses go elsewhere than their tiles, or tensors lie differently.
std::optional<Stream> findStream(const Program &program) {
  std::optional<Expr> read, written;
  Stream stream;
  for (const OpRecord &op : program.ops) {
    bool isRead = op.kind == OpKind::read;
    if (isOfElements(op.kind))
      continue;
    if (!isRead && op.kind != OpKind::write)
      return std::nullopt;
    const frontend::Parameter &tensor = program.parameters[op.memory];
    bool isPlain = !op.indices && !op.bounds && !op.elementsPerThread && op.firstDynamic >= op.operands.size() &&
                   !tensor.isAllocated && tensor.space == global && tensor.strides.empty() && !tensor.shape.empty();
    std::optional<Expr> &last = isRead ? read : written;
    if (!isPlain || (last && *last != tensor.shape.back()))
      return std::nullopt;
    last = tensor.shape.back();
    stream.elementBytes = std::max(stream.elementBytes, bytesOf(tensor));
  }
  if (program.regions.size() > 1 || !read || !written)
    return std::nullopt;
  stream.read = *read;
  stream.written = *written;
  return stream;
}

/// A wave has one access a lane, side by side, of one row; workgroups follow each other along it.
bool bindStream(const Stream &stream, const Program &program, const Target &target, Solver &solver,
                AutoChoice &choice) {
  int64_t perWave = kStreamVectors * kAccessBytes / stream.elementBytes * target.waveSize;
  std::optional<int64_t> size = solver.sizeOf(stream.read);
  auto *columns = program.findFor<WorkgroupConstraint>(stream.read);
  auto *columnWaves = program.findFor<WaveConstraint>(stream.read);
  if (!columns || !size || *size < perWave)
    return false;
  choice.why = "every element is touched once: a wave moves " + std::to_string(perWave) + " of a row";
  if (columnWaves)
    return solver.require(columnWaves->tile, perWave);
  const WorkgroupConstraint *rows = rowsOf(program, stream.read);
  if (!rows || !solver.require(program.findFor<WaveConstraint>(rows->dim)->tile, 1) ||
      !solver.require(columns->tile, perWave))
    return false;
  if (choice.options.raster == 0 && rows->workgroup_dim == 0 && columns->workgroup_dim == 1)
    choice.options.raster = 1;
  choice.why += ", workgroups follow each other along the rows";
  return true;
}

/// A tile has as many bytes of a row as memory likes, both ways.
bool bindTurned(const Stream &stream, const Program &program, Solver &solver, AutoChoice &choice) {
  auto *columns = program.findFor<WorkgroupConstraint>(stream.read),
       *rows = program.findFor<WorkgroupConstraint>(stream.written);
  int64_t height = kTurnedWritten / stream.elementBytes, width = kTurnedRead / stream.elementBytes;
  std::optional<int64_t> m = solver.sizeOf(stream.written), n = solver.sizeOf(stream.read);
  if (!columns || !rows || !m || !n || *m < height || *n < width)
    return false;
  choice.why = "rows become columns: tiles of " + std::to_string(height) + " by " + std::to_string(width);
  return solver.require(rows->tile, height) && solver.require(columns->tile, width);
}

std::optional<AutoChoice> streamBy(const Stream &stream, const Program &program, const CompileOptions &options,
                                   const Target &target) {
  Solver solver(options);
  AutoChoice choice{options, ""};
  bool isTurned = stream.read != stream.written;
  if (isTurned ? !bindTurned(stream, program, solver, choice) : !bindStream(stream, program, target, solver, choice))
    return std::nullopt;
  return bound(std::move(choice), solver);
}
/// The dimension that one loop walks, whose products, by one wave, take staged tiles: keys and values of decode
/// attention. Nothing where a product is another, or waves share the work.
std::optional<Expr> findKeys(const Program &program) {
  std::optional<Expr> walked;
  int products = 0;
  for (const frontend::Region &region : program.regions)
    for (uint32_t number : region.ops) {
      const OpRecord &op = program.ops[number];
      if (op.kind != OpKind::mma)
        continue;
      bool isOne = region.axis && (!walked || *walked == *region.axis) && !op.mma && op.operands.size() == 3;
      if (!isOne || !isStaged(program, op.operands[1]) ||
          bits(program.values[op.operands[1]].tile.type.resolve()) != 16)
        return std::nullopt;
      walked = *region.axis;
      ++products;
    }
  return products > 1 && !program.findAny<WaveConstraint>() ? walked : std::nullopt;
}

/// Whether lanes copy 16 bytes from anywhere to anywhere past the registers.
bool copiesFreely(const Target &target) {
  return !target.asyncCopyIsLaneLinear &&
         std::ranges::find(target.asyncCopyBytes, kAccessBytes) != target.asyncCopyBytes.end();
}

std::optional<AutoChoice> keysBy(const KeyTile &tile, Expr walked, const Program &program,
                                 const CompileOptions &options) {
  auto *keys = program.findFor<TilingConstraint>(walked);
  Solver solver(options);
  if (!keys || !solver.require(keys->tile, tile.keys))
    return std::nullopt;
  AutoChoice choice = bound({options, ""}, solver);
  choice.options.schedule.name = "ring";
  choice.options.directCopies = true;
  if (choice.options.workgroupsPerUnit == 0)
    choice.options.workgroupsPerUnit = tile.workgroups;
  choice.why = "products of one wave that wait for memory: steps of " + std::to_string(tile.keys) +
               ", direct copies in a ring, room for " + std::to_string(choice.options.workgroupsPerUnit) +
               " workgroups in a compute unit";
  return choice;
}
} // namespace

bool isStaged(const Program &program, frontend::ValueId value) {
  std::optional<uint32_t> op = program.values[value].op;
  if (!op || program.ops[*op].kind != OpKind::read || program.ops[*op].firstDynamic < program.ops[*op].operands.size())
    return false;
  const frontend::Parameter &memory = program.parameters[program.ops[*op].memory];
  return !memory.isAllocated && memory.space == shared;
}

std::vector<AutoChoice> chooseRows(const Program &program, const CompileOptions &options) {
  const Target *target = findTarget(options.target);
  if (!target)
    return {};
  std::vector<AutoChoice> choices;
  if (hasProduct(program)) {
    const auto *hardware = program.findAny<HardwareConstraint>();
    bool isOpen = options.mma.empty() && !(hardware && hardware->mma);
    std::optional<Expr> walked = isOpen && copiesFreely(*target) ? findKeys(program) : std::nullopt;
    for (const KeyTile &tile : kKeyTiles)
      if (auto choice = walked ? keysBy(tile, *walked, program, options) : std::nullopt)
        choices.push_back(std::move(*choice));
    return choices;
  }
  if (std::optional<Walk> walk = findWalk(program)) {
    std::vector<std::pair<double, AutoChoice>> rows;
    for (const RowTile &tile : kRowTiles)
      if (auto row = rowsBy(tile, *walk, program, options, *target))
        rows.push_back(std::move(*row));
    std::ranges::stable_sort(rows, [](const auto &a, const auto &b) { return a.first > b.first; });
    for (auto &[score, choice] : rows)
      choices.push_back(std::move(choice));
  } else if (std::optional<Stream> stream = findStream(program)) {
    if (auto choice = streamBy(*stream, program, options, *target))
      choices.push_back(std::move(*choice));
  }
  return choices;
}

} // namespace soliton
