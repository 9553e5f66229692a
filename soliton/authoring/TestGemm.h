//===- TestGemm.h - GEMM loops as the compiler expands them, with origins --===//
//
// For tests of schedules that an author writes: every op has its tags, type, piece and copy.
//
//   Problem problem = taggedGemm({.mPieces = 4, .nPieces = 4, .kPieces = 2, .copies = Copies::Direct});
//   ScheduleInput input = gemmInput(8);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/EvaluateSchedule.h"

#include <map>

namespace soliton::sched::testing {

enum class Copies {
  Registers, ///< global load, shared store
  Direct,    ///< copies that tick `vm`
  Groups,    ///< copies in groups on `cp_async`; barriers complete shared accesses
};

struct TaggedGemm {
  int mPieces = 2, nPieces = 2, kPieces = 2;
  /// Instructions that bring one operand, and how many pieces along K they have.
  int loads = 2, loadsAlongK = 1;
  Copies copies = Copies::Registers;
  /// A shared load touches only the rows of its own piece, so that it needs only the loads that bring those.
  bool readsOwnRows = false;
  /// A shared load serves this many pieces along K.
  int readsAlongK = 1;
  /// An op that the compiler made behind every shared load of A, and one without users.
  bool converts = false;
  /// A barrier that the author wrote in the kernel, between filling and reading the tiles.
  bool authorBarrier = false;
  int unrolled = 1;
};

/// Builds the problem.
class TaggedGemmLoop {
public:
  explicit TaggedGemmLoop(const TaggedGemm &shape) : shape(shape) {
    problem.loop = "k_loop";
    vm = problem.addCounter("vm", Retirement::InOrder, 63);
    if (shape.copies == Copies::Groups)
      group = problem.addCounter("cp_async", Retirement::Group);
    else
      lgkm = problem.addCounter("shared", Retirement::InOrder, 15);
    for (int m = 0; m < shape.mPieces; ++m)
      for (int n = 0; n < shape.nPieces; ++n)
        accumulators[{m, n}] = region("acc." + std::to_string(m) + "." + std::to_string(n), Space::Register, 4);
    for (int copy = 0; copy < shape.unrolled; ++copy)
      body(copy);
  }

  Problem problem;

private:
  int region(std::string name, Space space, int64_t size) {
    return problem.addRegion({std::move(name), space, size, 0, true, false, -1});
  }

  Operation make(std::string key, OpKind kind, int latency, int line, std::string tag, std::string type, int copy) {
    Operation op;
    op.key = shape.unrolled > 1 ? key + "#" + std::to_string(copy) : std::move(key);
    op.kind = kind;
    op.latency = latency;
    op.place = {"gemm.cpp", line, 5};
    op.origin.op = line;
    op.origin.type = std::move(type);
    if (!tag.empty())
      op.origin.tags = {tag};
    op.origin.copy = copy;
    op.origin.required = true;
    return op;
  }

  void body(int copy) {
    for (char matrix : {'a', 'b'}) {
      tiles[matrix] =
          region(std::string("tile_") + matrix + (copy > 0 ? std::to_string(copy) : ""), Space::Shared, 8192);
      for (int k = 0; k < shape.loadsAlongK; ++k)
        for (int row = 0; row < shape.loads; ++row)
          bring(matrix, row, k, copy);
    }
    if (shape.authorBarrier) {
      Operation op = make("barrier", OpKind::Barrier, 0, 12, "", "barrier", copy);
      op.origin.required = false;
      problem.addOperation(op);
    }
    for (char matrix : {'a', 'b'})
      for (int k = 0; k < shape.kPieces; k += shape.readsAlongK)
        for (int i = 0; i < (matrix == 'a' ? shape.mPieces : shape.nPieces); ++i)
          loadFragment(matrix, i, k, copy);
    for (int k = 0; k < shape.kPieces; ++k)
      for (int m = 0; m < shape.mPieces; ++m)
        for (int n = 0; n < shape.nPieces; ++n)
          multiply(m, n, k, copy);
  }

  std::string tagOf(char matrix) const { return std::string("read_") + matrix; }
  int lineOf(char matrix) const { return matrix == 'a' ? 10 : 11; }
  int sharedCounter() const { return shape.copies == Copies::Groups ? -1 : lgkm; }

  void bring(char matrix, int row, int k, int copy) {
    std::string piece = std::to_string(row) + "." + std::to_string(k), tag = tagOf(matrix);
    bool direct = shape.copies != Copies::Registers;
    Access fill = writes(tiles[matrix], shape.copies == Copies::Groups ? group : direct ? vm : lgkm);
    fill.begin = k * shape.loads + row;
    fill.end = fill.begin + 1;
    Operation load = make(tag + (direct ? "/copy/" : "/global_load/") + piece,
                          direct ? OpKind::CopyAsync : OpKind::GlobalLoad, 500, lineOf(matrix), tag, "read", copy);
    load.origin.piece = {{matrix == 'a' ? "M" : "N", row}, {"K", k}};
    load.firstEffect = direct ? 100 : 0;
    if (shape.copies != Copies::Groups)
      load.ticks = {{vm, 1}};
    int value = direct ? -1 : region(load.key, Space::Register, 4);
    load.accesses = {direct ? fill : writes(value, vm)};
    problem.addOperation(load);
    if (direct)
      return;
    Operation store = make(tag + "/shared_store/" + piece, OpKind::SharedStore, 40, lineOf(matrix), tag, "read", copy);
    store.origin.piece = load.origin.piece;
    store.ticks = {{lgkm, 1}};
    store.accesses = {reads(value), fill};
    problem.addOperation(store);
  }

  void loadFragment(char matrix, int i, int k, int copy) {
    std::string piece = std::to_string(i) + "." + std::to_string(k), tag = tagOf(matrix);
    Operation load = make(tag + "/shared_load/" + piece, OpKind::SharedLoad, 64, lineOf(matrix), tag, "read", copy);
    load.origin.piece = {{matrix == 'a' ? "M" : "N", i}, {"K", k / shape.readsAlongK}};
    int value = region(load.key, Space::Register, 4);
    if (sharedCounter() >= 0)
      load.ticks = {{lgkm, 1}};
    Access tile = reads(tiles[matrix], sharedCounter());
    tile.begin = int64_t{k} * shape.loadsAlongK / shape.kPieces * shape.loads;
    tile.end = tile.begin + shape.loads;
    if (shape.readsOwnRows) {
      int pieces = matrix == 'a' ? shape.mPieces : shape.nPieces;
      tile.end = tile.begin + std::max<int64_t>(1, int64_t{i + 1} * shape.loads / pieces);
      tile.begin += int64_t{i} * shape.loads / pieces;
    }
    load.accesses = {tile, writes(value, sharedCounter())};
    problem.addOperation(load);
    if (shape.converts && matrix == 'a') {
      Operation convert = make(tag + "/convert/" + piece, OpKind::Valu, 4, lineOf(matrix), tag, "read", copy);
      convert.origin.required = false;
      int converted = region(convert.key, Space::Register, 4);
      convert.accesses = {reads(value), writes(converted)};
      problem.addOperation(convert);
      value = converted;
    }
    for (int step = 0; step < shape.readsAlongK; ++step)
      fragments[{matrix, i, k + step}] = value;
  }

  void multiply(int m, int n, int k, int copy) {
    std::string piece = std::to_string(m) + "." + std::to_string(n) + "." + std::to_string(k);
    Operation op = make("mma/" + piece, OpKind::Mma, 16, 13, "mma", "mma", copy);
    op.origin.piece = {{"M", m}, {"N", n}, {"K", k}};
    bool first = k == 0 && copy == 0, last = k + 1 == shape.kPieces && copy + 1 == shape.unrolled;
    int carried = accumulators[{m, n}];
    Access input = reads(first ? carried : partial[{m, n}]);
    input.offset = first ? -1 : 0;
    int result = last ? carried : region(op.key, Space::Register, 4);
    partial[{m, n}] = result;
    op.accesses = {reads(fragments[{'a', m, k}]), reads(fragments[{'b', n, k}]), input, writes(result)};
    problem.addOperation(op);
  }

  TaggedGemm shape;
  int vm = -1, lgkm = -1, group = -1;
  std::map<char, int> tiles;
  std::map<std::tuple<char, int, int>, int> fragments;
  std::map<std::pair<int, int>, int> accumulators, partial;
};

inline Problem taggedGemm(const TaggedGemm &shape) {
  return TaggedGemmLoop(shape).problem;
}

inline ScheduleInput gemmInput(int waves = 4, int unrolled = 1) {
  ScheduleInput input;
  input.loopTags = {"k_loop"};
  input.loopPlace = {"gemm.cpp", 9, 3};
  input.otherTags = {"write_c"};
  input.hardware.waves_per_block = {2, waves / 2, 1};
  input.hardware.mma_type = "F32_16x16x16_F16";
  input.hardware.target = "emulated";
  input.unrolled = unrolled;
  return input;
}

/// Evaluates, unrolling the loop as often as the schedule asks.
inline LoopPlan evaluateGemm(const WaveSchedule &schedule, TaggedGemm shape, int waves = 4) {
  ScheduleInput input = gemmInput(waves, shape.unrolled);
  LoopPlan plan = evaluate(schedule, taggedGemm(shape), input);
  while (plan.ok() && plan.unrollFirst != input.unrolled) {
    input.unrolled = shape.unrolled = plan.unrollFirst;
    plan = evaluate(schedule, taggedGemm(shape), input);
  }
  return plan;
}

/// Everything that is wrong with a plan, its schedule and its program; empty if nothing.
inline std::string judge(const LoopPlan &plan, std::optional<int> tripCount = {}) {
  if (!plan.ok())
    return format(plan.diagnostics);
  SyncOptions options;
  options.tripCount = tripCount;
  Synchronized made = synchronize(plan, options);
  std::string text;
  for (const Diagnostic &diag : made.remarks)
    if (diag.severity == Severity::error)
      text += format(diag);
  Report report = verify(plan.problem, plan.schedule, made.program, plan.verifyOptions(tripCount));
  return report.ok() ? text : text + format(report.diagnostics);
}

} // namespace soliton::sched::testing
