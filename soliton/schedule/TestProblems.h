//===- TestProblems.h - Loop bodies that several tests use -----------------===//
//
// The 4-wave and ping-pong bodies of the reference (pipeline-framework.md sections 4, 5 and 9), a GEMM as the compiler
// would expand it, a producer/consumer loop, and random loops.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Schedule.h"

#include <map>
#include <random>
#include <set>

namespace soliton::sched::testing {

inline int g_line = 0;
inline Place nextPlace() {
  return {"kernel.cpp", ++g_line, 3};
}

inline Operation makeOp(std::string key, OpKind kind, int latency) {
  Operation op;
  op.key = std::move(key);
  op.kind = kind;
  op.latency = latency;
  op.place = nextPlace();
  return op;
}

/// A problem with the schedule that its author wrote.
struct Body {
  Problem problem;
  Schedule schedule;
};

/// Ticks of one coarse op: global-to-shared copies of A and B, fragment reads of A and B.
struct Geometry {
  int vmA = 1, vmB = 1, lgkmA = 1, lgkmB = 1;
};

/// Common pieces of the two reference bodies.
class TileBody {
public:
  explicit TileBody(const Geometry &geometry) : geometry(geometry) {
    problem.loop = "k_loop";
    vm = problem.addCounter("vm", Retirement::InOrder, 63);
    lgkm = problem.addCounter("lgkm", Retirement::InOrder, 15);
    mma = problem.addResource("mma", 1);
    for (char matrix : {'A', 'B'})
      for (int stage : {0, 1})
        for (int half : {0, 1})
          tile[{matrix, stage, half}] = fixedRegion(name(matrix, stage, half), Space::Shared, 16384);
    for (char matrix : {'A', 'B'})
      for (int quad : {0, 1})
        fragment[{matrix, quad}] = fixedRegion(std::string("frag") + matrix + std::to_string(quad), Space::Register, 8);
    for (int i = 0; i < 4; ++i)
      accumulator[i] = fixedRegion("acc" + std::to_string(i), Space::Register, 4);
  }

  static std::string name(char matrix, int stage, int half) {
    return std::string(1, matrix) + std::to_string(stage) + std::to_string(half);
  }

  int fixedRegion(std::string regionName, Space space, int64_t size) {
    Region region;
    region.name = std::move(regionName);
    region.space = space;
    region.size = size;
    region.rotating = false;
    region.buffers = 1;
    return problem.addRegion(std::move(region));
  }

  /// Global to shared, cooperatively by all waves.
  int load(char matrix, int stage, int half) {
    Operation op = makeOp("L" + name(matrix, stage, half), OpKind::CopyAsync, 200);
    op.firstEffect = 200;
    op.ticks = {{vm, matrix == 'A' ? geometry.vmA : geometry.vmB}};
    op.accesses = {writes(tile[{matrix, stage, half}], vm)};
    return problem.addOperation(op);
  }

  Operation fragmentRead(char matrix, int stage, int quad) {
    Operation op = makeOp("F" + name(matrix, stage, quad), OpKind::SharedLoad, 20);
    op.ticks = {{lgkm, matrix == 'A' ? geometry.lgkmA : geometry.lgkmB}};
    op.accesses = {writes(fragment[{matrix, quad}], lgkm)};
    return op;
  }

  int multiply(int stage, int row, int column) {
    Operation op = makeOp("M" + std::to_string(stage) + std::to_string(row) + std::to_string(column), OpKind::Mma, 16);
    op.reservations = {{mma, 0, 16, 1}};
    op.accesses = {reads(fragment[{'A', row}]), reads(fragment[{'B', column}]), reads(accumulator[row * 2 + column]),
                   writes(accumulator[row * 2 + column])};
    return problem.addOperation(op);
  }

  int sync(std::string key, OpKind kind, int counter = -1, int value = 0) {
    Operation op = makeOp(std::move(key), kind, 0);
    op.counter = counter;
    op.value = value;
    op.pinned = false;
    return problem.addOperation(op);
  }

  Geometry geometry;
  Problem problem;
  int vm, lgkm, mma;
  std::map<std::tuple<char, int, int>, int> tile;
  std::map<std::pair<char, int>, int> fragment;
  int accumulator[4];
};

/// An order of op keys, cut into clusters, with the stage of each op, as a schedule of positions.
inline Schedule ordered(const Problem &problem, const std::vector<std::vector<std::string>> &clusters,
                        const std::set<std::string> &stageZero) {
  int count = 0;
  for (const auto &cluster : clusters)
    count += static_cast<int>(cluster.size());
  Schedule schedule = emptySchedule(problem, "manual", count, Timing::Order);
  int cycle = 0;
  for (size_t c = 0; c < clusters.size(); ++c)
    for (const std::string &key : clusters[c])
      schedule.slots.at(problem.find(key)) = {stageZero.count(key) ? 0 : 1, cycle++, static_cast<int>(c), 0};
  return schedule;
}

/// The 4-wave body of section 4.2: 24 ops, 8 clusters, two K tiles per iteration.
inline Body fourWave(const Geometry &geometry = {}) {
  TileBody body(geometry);
  for (int stage : {0, 1})
    for (auto [matrix, half] : {std::pair('A', 0), {'B', 0}, {'B', 1}, {'A', 1}})
      body.load(matrix, stage, half);
  for (int stage : {0, 1}) {
    for (auto [matrix, half] : {std::pair('A', 0), {'B', 0}, {'B', 1}, {'A', 1}}) {
      Operation op = body.fragmentRead(matrix, stage, half);
      op.accesses.push_back(reads(body.tile[{matrix, stage, half}], body.lgkm));
      body.problem.addOperation(op);
    }
    for (int row : {0, 1})
      for (int column : {0, 1})
        body.multiply(stage, row, column);
  }
  std::vector<std::vector<std::string>> clusters = {
      {"LA00", "FB01", "M000"}, {"LB00", "FA01", "M001"}, {"LB01", "FA10", "M010"}, {"LA01", "FB10", "M011"},
      {"LA10", "FB11", "M100"}, {"LB10", "FA11", "M101"}, {"LB11", "FA00", "M110"}, {"LA11", "FB00", "M111"}};
  std::set<std::string> stageZero = {"LA00", "LB00", "LB01", "LA01", "LA10", "LB10", "LB11", "LA11", "FA00", "FB00"};
  Schedule schedule = ordered(body.problem, clusters, stageZero);
  return {body.problem, schedule};
}

/// Where the loads of the ping-pong body stand.
enum class PingPong { Bf16, Fp8, Proven };

/// Loads of the four blocks of one half.
inline std::vector<std::vector<std::string>> pingPongLoads(PingPong kind, int stage) {
  std::string s = std::to_string(stage), o = std::to_string(1 - stage);
  std::vector<std::vector<std::string>> loads = {{"LA" + o + "1"}, {}, {}, {}};
  if (kind == PingPong::Bf16)
    loads[1] = {"LB" + s + "0"}, loads[2] = {"LA" + s + "0"}, loads[3] = {"LB" + s + "1"};
  if (kind == PingPong::Fp8)
    loads[2] = {"LA" + s + "0", "LB" + s + "0"}, loads[3] = {"LB" + s + "1"};
  if (kind == PingPong::Proven)
    loads[3] = {"LA" + s + "0", "LB" + s + "0", "LB" + s + "1"};
  return loads;
}

/// One block with its barriers and waits around the mma.
inline std::vector<std::string> pingPongBlock(TileBody &body, int stage, int block, std::vector<std::string> cluster,
                                              std::optional<int> vmWait) {
  std::string id = "b" + std::to_string(stage * 4 + block) + ".";
  auto add = [&](const std::string &key, OpKind op, int counter = -1, int value = 0) {
    body.sync(id + key, op, counter, value);
    cluster.push_back(id + key);
  };
  if (block == 0)
    add("lgkmL", OpKind::Wait, body.lgkm, 8);
  if (block == 3 && vmWait)
    add("vm", OpKind::Wait, body.vm, *vmWait);
  add("pre", OpKind::Barrier);
  if (block < 3)
    add("lgkm0", OpKind::Wait, body.lgkm, 0);
  cluster.push_back("M" + std::to_string(stage) + std::to_string(block / 2) + std::to_string(block % 2));
  add("post", OpKind::Barrier);
  return cluster;
}

/// The ping-pong body of section 5.1 with its own barriers and shared waits, 8 waves in two staggered groups.
/// `vmWait` adds the shipped `wait vm` of blocks 3 and 7; `rowsByGroup` says that each half of A is read by one group
/// only (section 9.2), otherwise a fragment reads its whole operand (section 5.1: channel and stage).
inline Body pingPong(PingPong kind, const Geometry &geometry, std::optional<int> vmWait = {},
                     bool rowsByGroup = false) {
  TileBody body(geometry);
  body.problem.groups = 2;
  body.problem.stagger = {0, 1};
  for (int stage : {0, 1})
    for (auto [matrix, half] : {std::pair('A', 0), {'B', 0}, {'B', 1}, {'A', 1}})
      body.load(matrix, stage, half);
  std::vector<std::vector<std::string>> clusters;
  for (int stage : {0, 1}) {
    for (auto [matrix, quad] : {std::pair('B', 0), {'A', 0}, {'B', 1}, {'A', 1}}) {
      Operation op = body.fragmentRead(matrix, stage, quad);
      for (int half : {0, 1}) {
        op.accesses.push_back(reads(body.tile[{matrix, stage, half}], body.lgkm));
        if (matrix == 'A' && rowsByGroup)
          op.accesses.back().groups = GroupMask{1} << half;
      }
      body.problem.addOperation(op);
    }
    for (int row : {0, 1})
      for (int column : {0, 1})
        body.multiply(stage, row, column);
    std::string s = std::to_string(stage);
    std::vector<std::vector<std::string>> fragments = {
        {"FB" + s + "0", "FA" + s + "0"}, {"FB" + s + "1"}, {"FA" + s + "1"}, {}};
    std::vector<std::vector<std::string>> loads = pingPongLoads(kind, stage);
    for (int block = 0; block < 4; ++block) {
      fragments[block].insert(fragments[block].end(), loads[block].begin(), loads[block].end());
      clusters.push_back(pingPongBlock(body, stage, block, fragments[block], vmWait));
    }
  }
  std::set<std::string> stageZero = {"LA00", "LB00", "LB01", "LA01", "LA10", "LB10", "LB11"};
  Schedule schedule = ordered(body.problem, clusters, stageZero);
  return {body.problem, schedule};
}

/// A GEMM loop as the compiler expands it: loads, shared stores, fragment reads and mma of a wave.
struct GemmShape {
  int loads = 2;  ///< per operand
  int mTiles = 2; ///< fragments of A
  int nTiles = 2; ///< fragments of B
  int kSteps = 2;
  int mmaCycles = 16;
  bool asyncCopies = false; ///< copies to shared memory that tick vm
  bool groupCopies = false; ///< copies in groups (cp.async); shared accesses complete at the barrier
};

class GemmLoop {
public:
  explicit GemmLoop(const GemmShape &shape) : shape(shape) {
    problem.loop = "k_loop";
    vm = problem.addCounter("vm", Retirement::InOrder, 63);
    lgkm = problem.addCounter("lgkm", Retirement::InOrder, 15);
    group = problem.addCounter("cp_async", Retirement::Group);
    memory = problem.addResource("global");
    shared = problem.addResource("shared");
    mma = problem.addResource("mma");
    for (char matrix : {'a', 'b'}) {
      tile[matrix] = region(std::string("shared_") + matrix, Space::Shared, 8192);
      for (int i = 0; i < shape.loads; ++i)
        bring(matrix, i);
    }
    for (int k = 0; k < shape.kSteps; ++k)
      for (char matrix : {'a', 'b'})
        for (int i = 0; i < (matrix == 'a' ? shape.mTiles : shape.nTiles); ++i)
          loadFragment(matrix, i, k);
    for (int m = 0; m < shape.mTiles; ++m)
      for (int n = 0; n < shape.nTiles; ++n)
        multiply(m, n);
  }

  Problem problem;

private:
  int region(std::string name, Space space, int64_t size) {
    return problem.addRegion({std::move(name), space, size, 0, true, false, -1});
  }

  /// Part `i` of a tile from global to shared memory, through a register or directly.
  void bring(char matrix, int i) {
    std::string id = std::string("read_") + matrix + "/" + std::to_string(i);
    Access store = writes(tile[matrix], shape.groupCopies ? group : shape.asyncCopies ? vm : lgkm);
    store.begin = i;
    store.end = i + 1;
    bool direct = shape.asyncCopies || shape.groupCopies;
    Operation load =
        makeOp(id + (direct ? "/copy" : "/global_load"), direct ? OpKind::CopyAsync : OpKind::GlobalLoad, 500);
    load.firstEffect = direct ? 100 : 0;
    load.reservations = {{memory, 0, 4, 1}};
    if (!shape.groupCopies)
      load.ticks = {{vm, 1}};
    int value = direct ? -1 : region(id, Space::Register, 4);
    load.accesses = {direct ? store : writes(value, vm)};
    problem.addOperation(load);
    if (direct)
      return;
    Operation put = makeOp(id + "/shared_store", OpKind::SharedStore, 40);
    put.reservations = {{shared, 0, 8, 1}};
    put.ticks = {{lgkm, 1}};
    put.accesses = {reads(value), store};
    problem.addOperation(put);
  }

  void loadFragment(char matrix, int i, int k) {
    std::string id = std::string("read_") + matrix + "/shared_load/" + std::to_string(i) + "." + std::to_string(k);
    int value = fragments[{matrix, i, k}] = region(id, Space::Register, 4);
    Operation load = makeOp(id, OpKind::SharedLoad, 64);
    load.reservations = {{shared, 0, 8, 1}};
    load.ticks = {{lgkm, 1}};
    load.accesses = {reads(tile[matrix], shape.groupCopies ? -1 : lgkm), writes(value, lgkm)};
    problem.addOperation(load);
  }

  /// The chain of mma along K of one accumulator.
  void multiply(int m, int n) {
    int acc = region("acc" + std::to_string(m) + "." + std::to_string(n), Space::Register, 16), last = acc;
    for (int k = 0; k < shape.kSteps; ++k) {
      std::string id = "mma/" + std::to_string(m) + "." + std::to_string(n) + "." + std::to_string(k);
      int result = k + 1 == shape.kSteps ? acc : region(id, Space::Register, 16);
      Operation op = makeOp(id, OpKind::Mma, shape.mmaCycles);
      op.reservations = {{mma, 0, shape.mmaCycles, 1}};
      Access input = reads(last);
      input.offset = k == 0 ? -1 : 0;
      op.accesses = {reads(fragments[{'a', m, k}]), reads(fragments[{'b', n, k}]), input, writes(result)};
      problem.addOperation(op);
      last = result;
    }
  }

  GemmShape shape;
  int vm, lgkm, group, memory, shared, mma;
  std::map<char, int> tile;
  std::map<std::tuple<char, int, int>, int> fragments;
};

inline Problem gemm(const GemmShape &shape) {
  return GemmLoop(shape).problem;
}

/// Producer waves copy tiles into a ring, consumer waves multiply them asynchronously (mbarrier phases, wgmma groups).
inline Problem producerConsumer(int buffers, int multiplies = 2) {
  Problem problem;
  problem.loop = "k_loop";
  problem.groups = 2;
  int full = problem.addCounter("full", Retirement::Phase), empty = problem.addCounter("empty", Retirement::Phase);
  int mma = problem.addCounter("mma", Retirement::Group);
  std::vector<int> tiles;
  for (char matrix : {'a', 'b'}) {
    tiles.push_back(
        problem.addRegion({std::string("tile_") + matrix, Space::Shared, 16384, buffers, true, false, empty}));
    Operation copy = makeOp(std::string("copy_") + matrix, OpKind::CopyAsync, 600);
    copy.firstEffect = 300;
    copy.groups = 1;
    copy.accesses = {writes(tiles.back(), full)};
    problem.addOperation(copy);
  }
  for (int i = 0; i < multiplies; ++i) {
    int acc = problem.addRegion({"acc" + std::to_string(i), Space::Register, 64, 1, true, false, -1});
    Operation op = makeOp("mma/" + std::to_string(i), OpKind::MmaAsync, 128);
    op.groups = 2;
    Access input = reads(acc, mma);
    input.offset = -1;
    op.accesses = {reads(tiles[0], mma), reads(tiles[1], mma), input, writes(acc, mma)};
    problem.addOperation(op);
  }
  return problem;
}

} // namespace soliton::sched::testing
