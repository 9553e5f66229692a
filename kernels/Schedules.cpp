//===- Schedules.cpp - seed000, prefetch, ping-pong, multi-stage ------------------===//
#include "kernels/Schedules.h"

#include "soliton/frontend/Types.h"
#include "soliton/pipeline/Drive.h"
#include "soliton/pipeline/PingPong.h"
#include "soliton/pipeline/Pipeline4Wave.h"
#include "soliton/pipeline/SingleBuffer.h"

using namespace soliton;
using namespace soliton::kernels;

//===- seed000 ----------------------------------------------------------------------===//

/// The schedule of the language's own description, word for word.
static void seed000(ScheduleContext &s) {
  // Get nodes to be manipulated in the schedule.
  auto k_loop = s.get_node_by_tag("k_loop");
  auto load_a = s.get_node_by_tag_and_type("read_a", NodeType::Read);
  auto [global_load_a, shared_load_a] = s.partition_by_address_space(load_a, global);
  auto shared_write_a = s.get_node_by_tag_and_type("read_a", NodeType::Write);
  auto load_b = s.get_node_by_tag_and_type("read_b", NodeType::Read);
  auto [global_load_b, shared_load_b] = s.partition_by_address_space(load_b, global);
  auto shared_write_b = s.get_node_by_tag_and_type("read_b", NodeType::Write);
  auto mma = s.get_node_by_tag("mma");

  // Create a pipeline with 2 stages and initiation interval of 2.
  auto pipelined_loop = s.pipeline(k_loop, {.num_stages = 2, .initiation_interval = 2});
  pipelined_loop.set_stage(0, {global_load_a, global_load_b, shared_write_a, shared_write_b});
  pipelined_loop.set_stage(1, {shared_load_a, shared_load_b, mma});
}

//===- What every GEMM has ----------------------------------------------------------===//

namespace {
/// The instructions of a GEMM loop by what they do. Direct copies count as global loads and then nothing is written.
struct Gemm {
  explicit Gemm(ScheduleContext &s)
      : loop(s.get_node_by_tag("k_loop")), mma(s.get_node_by_tag_and_type("mma", NodeType::MMA)) {
    for (auto [tag, load, write, read] :
         {std::tuple("read_a", &loadA, &writeA, &sharedA), {"read_b", &loadB, &writeB, &sharedB}}) {
      auto [fromGlobal, fromShared] =
          s.partition_by_address_space(s.get_node_by_tag_and_type(tag, NodeType::Read), global);
      *load = fromGlobal + s.get_node_by_tag_and_type(tag, NodeType::GatherToLDS);
      *write = s.get_node_by_tag_and_type(tag, NodeType::Write);
      *read = fromShared;
    }
    loads = loadA + loadB;
    writes = writeA + writeB;
    shared = sharedA + sharedB;
  }

  Nodes loop, mma;
  Nodes loadA, loadB, writeA, writeB, sharedA, sharedB;
  Nodes loads, writes, shared;
};
} // namespace

/// True if tiles are copied directly; says what is missing otherwise.
static bool needsDirectCopies(ScheduleContext &s, const Gemm &gemm, Place place = std::source_location::current()) {
  if (!gemm.loads.empty() && gemm.writes.empty())
    return true;
  s.error("this schedule keeps copies from global to shared memory in flight, found loads through registers",
          "turn on direct copies, or choose a target that has them", place);
  return false;
}

/// What one half of the matrix instructions needs, and the other half with what only that one needs.
struct Halves {
  Nodes mma0, mma1, shared0, shared1;
  /// Copies that the first half needs, and those that wait for the second.
  Nodes early, late;
};

static Halves splitAlong(ScheduleContext &s, const Gemm &gemm, const char *dim) {
  Halves halves;
  auto parts = s.partition_by_dim(gemm.mma, dim, 2);
  halves.mma0 = parts[0];
  halves.mma1 = parts[1];
  std::tie(halves.shared0, halves.shared1) = s.partition_by_use(gemm.shared, halves.mma0);
  std::tie(halves.early, halves.late) = s.partition_by_use(gemm.loads, halves.shared0);
  return halves;
}

/// Along the dimension whose second half needs copies of its own, so that those may arrive later; else along K.
static Halves splitByCopies(ScheduleContext &s, const Gemm &gemm) {
  for (const char *dim : {"K", "M", "N"})
    if (s.pieces(gemm.mma, dim) >= 2)
      if (Halves halves = splitAlong(s, gemm, dim); !halves.shared1.empty() && !halves.late.empty())
        return halves;
  return splitAlong(s, gemm, "K");
}

//===- Prefetch ---------------------------------------------------------------------===//

/// Memory of the next iteration beside the arithmetic of this one.
static PipelinedLoop prefetchStages(ScheduleContext &s, const Gemm &gemm, const PipelineOptions &options = {}) {
  auto p = s.pipeline(gemm.loop, options);
  p.set_stage({{gemm.loads}, {gemm.writes}});
  p.set_stage({{gemm.shared}, {gemm.mma}});
  return p;
}

static void gemmPrefetch(ScheduleContext &s) {
  prefetchStages(s, Gemm(s));
}

static void gemmUnroll(ScheduleContext &s) {
  s.unroll(s.get_node_by_tag("k_loop"), 2);
  prefetchStages(s, Gemm(s));
}

static void gemmPipelineThenUnroll(ScheduleContext &s) {
  auto p = prefetchStages(s, Gemm(s));
  s.unroll(p.KERNEL, 2);
}

//===- Ping-pong --------------------------------------------------------------------===//

/// Matrix instructions at high priority, so that the half of the waves that computes is not disturbed by the other.
static ScheduleCluster compute(ScheduleContext &s, const Nodes &mma) {
  return s.cluster({SetWavePrio(1), mma, SetWavePrio(0), SchedulingBarrier(), WorkgroupBarrier(), SchedulingBarrier()});
}

/// Two groups of waves, one cluster apart: while one computes, the other loads.
static void twoPpCluster(ScheduleContext &s) {
  Gemm gemm(s);
  Halves halves = splitAlong(s, gemm, "K");
  // Without an epilogue, whose second copy of the body would take more registers than the loop.
  auto p = prefetchStages(s, gemm, {.eliminate_epilogue = true, .multi_buffer_count = 2});
  SchedulingBarrier fence;
  s.reorder_graph(p.KERNEL, {s.cluster({halves.shared0, fence, gemm.loads, fence, WorkgroupBarrier(), fence}),
                             compute(s, halves.mma0),
                             s.cluster({halves.shared1, fence, gemm.writes, fence, WorkgroupBarrier(), fence}),
                             compute(s, halves.mma1)});
  s.stagger(p.KERNEL);
}

/// The same with direct copies. Where the second half has copies of its own, each half is copied as soon as its buffer
/// is free, two buffers suffice, and every wait leaves copies in flight.
static void asyncTwoPpClusters(ScheduleContext &s) {
  Gemm gemm(s);
  if (!needsDirectCopies(s, gemm))
    return;
  Halves halves = splitByCopies(s, gemm);
  auto p = s.pipeline(gemm.loop, {.eliminate_epilogue = true});
  if (!halves.late.empty()) {
    p.set_stage({{halves.early}, {}});
    p.set_stage({{halves.late}, {}});
  } else {
    p.set_stage({{gemm.loads}, {}});
  }
  p.set_stage({{gemm.shared}, {gemm.mma}});
  SchedulingBarrier fence;
  Nodes first = halves.late.empty() ? gemm.loads : halves.late, second = halves.late.empty() ? Nodes() : halves.early;
  s.reorder_graph(p.KERNEL,
                  {s.cluster({halves.shared0, fence, first, fence, WorkgroupBarrier(), fence}), compute(s, halves.mma0),
                   s.cluster({halves.shared1, fence, second, fence, WorkgroupBarrier(), fence}),
                   compute(s, halves.mma1)});
  s.stagger(p.KERNEL);
}

/// Three buffers: the copies of two iterations ahead stay in flight over a whole iteration.
static void asyncTripleBuffer(ScheduleContext &s) {
  Gemm gemm(s);
  if (!needsDirectCopies(s, gemm))
    return;
  auto p = s.pipeline(gemm.loop, {.num_stages = 3, .multi_buffer_count = 3});
  p.set_stage({{gemm.loads}, {}});
  p.set_stage({{}, {}});
  p.set_stage({{gemm.shared}, {gemm.mma}});
  SchedulingBarrier fence;
  int copies = static_cast<int>(gemm.loads.size());
  s.reorder_graph(p.KERNEL, {s.cluster({gemm.shared, fence, gemm.loads, fence, MemoryCounterWait({.load = copies}),
                                        WorkgroupBarrier(), fence}),
                             compute(s, gemm.mma)});
  s.stagger(p.KERNEL);
}

//===- cp.async ---------------------------------------------------------------------===//

/// Four stages: three tiles are under way while one is multiplied; inside it, the fragments of the next step along K
/// are loaded beside the matrix instructions of this one.
static void cpAsyncMultistage(ScheduleContext &s) {
  Gemm gemm(s);
  if (!needsDirectCopies(s, gemm))
    return;
  auto p = s.pipeline(gemm.loop, {.num_stages = 4});
  p.set_stage({{gemm.loads}});
  p.set_stage({{}});
  p.set_stage({{}});
  p.set_stage({{gemm.shared, gemm.mma}});
  auto steps = s.partition_by_dim(gemm.mma, "K", std::max(s.pieces(gemm.mma, "K"), 1));
  std::vector<ScheduleItem> order;
  auto [first, rest] = s.partition_by_use(gemm.shared, steps[0]);
  order.push_back(s.cluster({first, gemm.loads}));
  for (size_t step = 0; step < steps.size(); ++step) {
    auto [next, later] = s.partition_by_use(rest, step + 1 < steps.size() ? steps[step + 1] : Nodes());
    order.push_back(s.cluster({next, steps[step]}));
    rest = later;
  }
  s.reorder_graph(p.KERNEL, order);
}

//===- Declared pipelines -----------------------------------------------------------===//

/// As many steps along K as the kernel's tile has, of fragments, where there are any, and of matrix instructions.
static void singleBuffer(ScheduleContext &s) {
  Gemm gemm(s);
  int steps = s.pieces(gemm.mma, "K");
  if (!gemm.shared.empty())
    steps = std::min({steps, s.pieces(gemm.sharedA, "K"), s.pieces(gemm.sharedB, "K")});
  pipe::drive(pipe::SingleBuffer(std::max(steps, 1), pipe::HintShape()), s);
}

//===- Registry ---------------------------------------------------------------------===//

const std::vector<ScheduleEntry> &kernels::allSchedules() {
  static const std::vector<ScheduleEntry> entries{
      {{"seed000", seed000},
       "memory one iteration ahead, as in the language's description",
       "every GEMM on every target"},
      {{"gemm_prefetch", gemmPrefetch}, "memory one iteration ahead, said in cycles", "every GEMM on every target"},
      {{"gemm_unroll", gemmUnroll},
       "the body twice, then memory one iteration ahead",
       "GEMMs whose loop has an even number of iterations"},
      {{"gemm_pipeline_then_unroll", gemmPipelineThenUnroll},
       "memory one iteration ahead, then the kernel twice",
       "every GEMM on every target"},
      {{"two_pp_cluster", twoPpCluster},
       "ping-pong: half of the waves loads while the other half computes",
       "GEMMs of 8 waves with at least two matrix instructions along K",
       /*directCopies=*/false,
       /*waves=*/8},
      {{"async_two_pp_clusters", asyncTwoPpClusters},
       "ping-pong with direct copies in flight",
       "GEMMs of 8 waves with direct copies of 16 bytes",
       /*directCopies=*/true,
       /*waves=*/8},
      {{"async_two_cluster_triple_buffer", asyncTripleBuffer},
       "ping-pong with direct copies two iterations ahead in three buffers",
       "GEMMs of 8 waves with direct copies, where three tiles fit into shared memory",
       /*directCopies=*/true,
       /*waves=*/8},
      {{"cp_async_multistage", cpAsyncMultistage},
       "four tiles in flight by asynchronous copies in groups",
       "GEMMs on targets that count copies in groups",
       /*directCopies=*/true},
      {pipe::toSchedule(std::make_shared<pipe::Pipeline4Wave>()),
       "a declared pipeline: a load, a fragment and a quadrant at a time, fragments of the next tile read early",
       "GEMMs whose waves have at least two rows and two columns of matrix instructions",
       /*directCopies=*/true,
       /*waves=*/0,
       /*isDeclared=*/true},
      {pipe::toSchedule(std::make_shared<pipe::PingPong>()),
       "a declared pipeline: a quadrant at a time, half of the waves one barrier behind the other half",
       "GEMMs of 8 waves that have at least two rows and two columns of matrix instructions",
       /*directCopies=*/true,
       /*waves=*/8,
       /*isDeclared=*/true},
      {{"single_buffer", singleBuffer},
       "a declared pipeline: one buffer, the next tile on its way in registers, memory spread among matrix "
       "instructions",
       "every GEMM whose tiles go through registers, or whose matrix instructions read shared memory by themselves",
       /*directCopies=*/false,
       /*waves=*/0,
       /*isDeclared=*/true}};
  return entries;
}

const ScheduleEntry *kernels::findSchedule(std::string_view name) {
  for (const ScheduleEntry &entry : allSchedules())
    if (entry.name() == name)
      return &entry;
  return nullptr;
}

Diagnostic kernels::unknownSchedule(std::string_view name, const std::vector<std::string> &others) {
  std::vector<std::string> names = others;
  for (const ScheduleEntry &entry : allSchedules())
    names.push_back(entry.name());
  std::optional<std::string> close = nearest(name, names);
  return {Severity::error,
          DiagId::ScheduleUnknown,
          {},
          "there is no schedule `" + std::string(name) + "`",
          close ? "did you mean `" + *close + "`?" : "known are " + listOf(names),
          {}};
}
