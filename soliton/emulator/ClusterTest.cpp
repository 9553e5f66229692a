//===- ClusterTest.cpp - Workgroups that reach each other's shared memory ---===//
#include "soliton/emulator/TestSupport.h"

#include <algorithm>
#include <numeric>

using namespace soliton;
using namespace soliton::emu;

namespace {

const Rules kRules{.barrierCompletesShared = true, .globalTicksVm = false};
constexpr std::array<uint64_t, 4> kSeeds{0, 1, 2, 3};

Value number(Builder &b, int64_t value) {
  return b.constant(DType::i32, value);
}

TEST(Cluster, WorkgroupsKnowTheirPlaces) {
  Builder b({.waveSize = 32, .waves = 1, .cluster = {2, 3, 1}, .rules = kRules});
  uint32_t out = b.buffer("out");
  Value x = b.id(IdKind::Workgroup0), y = b.id(IdKind::Workgroup1);
  Value linear = b.add(b.mul(y, b.id(IdKind::Grid0)), x);
  At at{.region = out, .uniform = b.mul(linear, number(b, 16))};
  Value first = b.cmp(CmpOp::Eq, b.id(IdKind::Lane), number(b, 0));
  for (IdKind kind : {IdKind::ClusterRank, IdKind::Cluster0, IdKind::Cluster1, IdKind::Wave}) {
    b.store(b.id(kind), at, {.mask = first});
    at.immediate += 4;
  }
  std::vector<std::array<uint32_t, 4>> places(4 * 6);
  Program program = b.finish();
  Result r = run(program, {.grid = {4, 6, 1}, .buffers = {{places.data(), places.size() * 16}}, .checks = true});
  ASSERT_TRUE(r.ok()) << format(r);
  for (uint32_t i = 0; i < places.size(); ++i) {
    uint32_t column = i % 4, row = i / 4;
    EXPECT_EQ(places[i], (std::array<uint32_t, 4>{column % 2 + 2 * (row % 3), column / 2, row / 3, 0})) << i;
  }
  Result odd = run(program, {.grid = {4, 5, 1}, .buffers = {{places.data(), places.size() * 16}}});
  EXPECT_EQ(odd.error, "a grid of 5 workgroups along axis 1, expected a multiple of the cluster's 3");
}

/// Each of two workgroups copies one row of 64 numbers to both, which read both rows and write them out.
struct Multicast {
  bool meetFirst = true, meetLast = true;
  int64_t bytes = 512;
};

Program multicast(const Multicast &options) {
  Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 512 + 16, .cluster = {2, 1, 1}, .rules = kRules});
  b.buffer("in");
  uint32_t out = b.buffer("out"), tile = b.shared("tile", 0, 512);
  At full{.region = b.shared("full", 512, 8)};
  TensorMap map{.name = "rows", .type = DType::f32, .rank = 2};
  map.size = {Quantity{64}, Quantity{4}};
  map.stride = {Quantity{4}, Quantity{256}};
  map.box = {64, 1};
  Value rank = b.id(IdKind::ClusterRank), lane = b.id(IdKind::Lane), zero = number(b, 0);
  b.at({"m.cpp", 1, 1}, "init");
  b.mbarrierInit(full, 1);
  auto meet = [&] {
    b.clusterArrive();
    b.clusterWait();
  };
  if (options.meetFirst)
    meet();
  Value row = b.add(b.mul(b.id(IdKind::Cluster0), number(b, 2)), rank);
  b.beginIf(b.cmp(CmpOp::Eq, lane, zero));
  b.mbarrierExpect(full, static_cast<uint32_t>(options.bytes));
  b.at({"m.cpp", 2, 1}, "copy");
  At half{.region = tile, .uniform = b.mul(rank, number(b, 256))};
  b.copyTileLoad(b.tensorMap(map), {zero, b.asUniform(row)}, half, full, number(b, 3));
  b.endIf();
  b.at({"m.cpp", 3, 1}, "wait");
  b.mbarrierWait(full, zero);
  Value at = b.mul(lane, number(b, 16));
  Value base = b.mul(b.id(IdKind::Workgroup0), number(b, 512));
  b.store(b.load(DType::f32, 4, {.region = tile, .lane = at}), {.region = out, .lane = at, .uniform = base});
  if (options.meetLast)
    meet();
  return b.finish();
}

TEST(Cluster, MulticastReachesEveryWorkgroup) {
  for (uint64_t seed : kSeeds)
    for (bool late : {false, true}) {
      std::vector<float> in(256), out(512);
      std::iota(in.begin(), in.end(), 1.0f);
      Result r = run(multicast({}), {.grid = {4, 1, 1},
                                     .buffers = {{in.data(), 1024}, {out.data(), 2048}},
                                     .seed = seed,
                                     .checks = true,
                                     .adversarial = late});
      ASSERT_TRUE(r.ok()) << format(r);
      for (size_t i = 0; i < out.size(); ++i)
        EXPECT_EQ(out[i], in[i / 256 * 128 + i % 128]) << i;
    }
}

Result runMulticast(const Multicast &options, uint64_t seed = 0) {
  std::vector<float> in(256), out(512);
  return run(multicast(options), {.grid = {2, 1, 1},
                                  .buffers = {{in.data(), 1024}, {out.data(), 2048}},
                                  .seed = seed,
                                  .checks = true,
                                  .adversarial = true});
}

TEST(Cluster, WorkgroupsHaveToMeetBeforeTheyReachForEachOther) {
  for (uint64_t seed : kSeeds) {
    Result r = runMulticast({.meetFirst = false}, seed);
    ASSERT_FALSE(r.findings.empty());
    EXPECT_EQ(r.findings[0].origin.what, "copy") << format(r);
  }
}

TEST(Cluster, TooFewBytesAreADeadlockThatSaysWhatLacks) {
  Result r = runMulticast({.bytes = 768});
  ASSERT_TRUE(finds(r, FindingKind::Deadlock));
  EXPECT_EQ(
      r.findings[0].message,
      "no wave can go on: wave 0 of workgroup 0 of the cluster waits at `wait`, whose mbarrier at shared byte 512 "
      "lacks 0 arrivals and 256 bytes, wave 0 of workgroup 1 of the cluster waits at `wait`, whose mbarrier at "
      "shared byte 512 lacks 0 arrivals and 256 bytes");
}

/// Workgroup 0 fills one place of both workgroups again and again; both say that it is free by arriving there.
struct Ring {
  bool remote = true, fence = true;
  int64_t rounds = 4;
};

Program ring(const Ring &options) {
  Builder b({.waveSize = 32, .waves = 2, .sharedBytes = 256 + 16, .cluster = {2, 1, 1}, .rules = kRules});
  b.buffer("in");
  uint32_t out = b.buffer("out"), tile = b.shared("tile", 0, 256);
  At full{.region = b.shared("full", 256, 8)}, empty{.region = b.shared("empty", 264, 8)};
  TensorMap map{.name = "rows", .type = DType::f32, .rank = 2};
  map.size = {Quantity{64}, Quantity{options.rounds}};
  map.stride = {Quantity{4}, Quantity{256}};
  map.box = {64, 1};
  Value rank = b.id(IdKind::ClusterRank), lane = b.id(IdKind::Lane), zero = number(b, 0), one = number(b, 1);
  Value loads = b.cmp(CmpOp::Eq, b.id(IdKind::Wave), zero), leads = b.cmp(CmpOp::Eq, rank, zero);
  Value elected = b.cmp(CmpOp::Eq, lane, zero);
  b.beginIf(b.asUniform(loads));
  b.mbarrierInit(full, 1);
  b.mbarrierInit(empty, options.remote ? 2 : 1);
  b.endIf();
  b.clusterArrive();
  b.clusterWait();
  Loop loop = b.beginFor(zero, number(b, options.rounds), one);
  Value parity = b.binary(BinaryOp::And, loop.induction, one), other = b.binary(BinaryOp::Xor, parity, one);
  b.beginIf(b.asUniform(loads));
  b.beginIf(b.asUniform(leads));
  b.at({"r.cpp", 1, 1}, "wait empty");
  b.mbarrierWait(empty, other);
  b.endIf();
  b.beginIf(elected);
  b.mbarrierExpect(full, 256);
  b.endIf();
  b.beginIf(b.asUniform(leads));
  b.beginIf(elected);
  b.at({"r.cpp", 2, 1}, "copy");
  b.copyTileLoad(b.tensorMap(map), {zero, loop.induction}, {.region = tile}, full, number(b, 3));
  b.endIf();
  b.beginElse();
  b.mbarrierWait(full, parity); // Nobody else tells it when to expect the next one.
  b.endIf();
  b.beginElse();
  b.at({"r.cpp", 3, 1}, "wait full");
  b.mbarrierWait(full, parity);
  Value at = b.mul(lane, number(b, 8));
  Value place = b.mul(b.add(b.mul(rank, number(b, options.rounds)), loop.induction), number(b, 256));
  b.at({"r.cpp", 4, 1}, "read");
  b.store(b.load(DType::f32, 2, {.region = tile, .lane = at}),
          {.region = out, .lane = at, .uniform = b.asUniform(place)});
  if (options.fence)
    b.fence(FenceOp::Proxy);
  b.at({"r.cpp", 5, 1}, "arrive");
  b.beginIf(elected);
  if (options.remote) {
    b.mbarrierArrive(empty, 1, false, zero);
  } else {
    b.beginIf(b.asUniform(leads));
    b.mbarrierArrive(empty, 1);
    b.endIf();
  }
  b.endIf();
  b.endIf();
  b.endFor(loop);
  b.clusterArrive();
  b.clusterWait();
  return b.finish();
}

Result runRing(const Ring &options, uint64_t seed, std::vector<float> &out) {
  std::vector<float> in(size_t(options.rounds) * 64);
  std::iota(in.begin(), in.end(), 1.0f);
  out.assign(in.size() * 2, 0);
  return run(ring(options), {.grid = {2, 1, 1},
                             .buffers = {{in.data(), in.size() * 4}, {out.data(), out.size() * 4}},
                             .seed = seed,
                             .checks = true,
                             .adversarial = true});
}

TEST(Cluster, RemoteArrivalsFreeAPlace) {
  for (uint64_t seed : kSeeds) {
    std::vector<float> out;
    Result r = runRing({}, seed, out);
    ASSERT_TRUE(r.ok()) << format(r);
    for (size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(out[i], float(i % 256 + 1)) << i;
  }
}

TEST(Cluster, AWorkgroupThatNobodyAsksIsOverwritten) {
  for (uint64_t seed : kSeeds) {
    std::vector<float> out;
    Result r = runRing({.remote = false}, seed, out);
    auto isOverwritten = [](const Finding &finding) {
      bool isUnordered = finding.kind == FindingKind::Race || finding.kind == FindingKind::MissingBarrier ||
                         finding.kind == FindingKind::MissingWait;
      return isUnordered && finding.origin.what == "copy" &&
             finding.message.find("`copy` writes shared byte 0 of workgroup 1 of the cluster") != std::string::npos;
    };
    EXPECT_TRUE(std::any_of(r.findings.begin(), r.findings.end(), isOverwritten)) << format(r);
  }
}

TEST(Cluster, ReadsAreFencedBeforeTheEngineWritesAgain) {
  std::vector<float> out;
  EXPECT_TRUE(finds(runRing({.fence = false}, 0, out), FindingKind::MissingFence));
}

/// What waves of the two workgroups of a cluster do, by rank.
Result play(const std::function<void(Builder &, At)> &first, const std::function<void(Builder &, At)> &second) {
  Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 8, .cluster = {2, 1, 1}, .rules = kRules});
  At mbarrier{.region = b.shared("mbarrier", 0, 8)};
  b.mbarrierInit(mbarrier, 1);
  b.clusterArrive();
  b.clusterWait();
  b.beginIf(b.cmp(CmpOp::Eq, b.id(IdKind::ClusterRank), number(b, 0)));
  first(b, mbarrier);
  b.beginElse();
  second(b, mbarrier);
  b.endIf();
  return run(b.finish(), {.grid = {2, 1, 1}, .checks = true});
}

TEST(Cluster, WavesArriveAndWaitInTurns) {
  auto nothing = [](Builder &, At) {};
  auto arrive = [](Builder &b, At) { b.clusterArrive(); };
  auto meet = [](Builder &b, At) {
    b.clusterArrive();
    b.clusterWait();
  };
  EXPECT_TRUE(play(meet, meet).ok());
  EXPECT_TRUE(play(meet, arrive).ok()) << "a wave that has ended is not waited for";
  Result twice = play(
      [](Builder &b, At) {
        b.clusterArrive();
        b.clusterArrive();
        b.clusterWait();
      },
      meet);
  ASSERT_TRUE(finds(twice, FindingKind::Divergent));
  EXPECT_NE(twice.findings[0].message.find("arrives at the barrier of its cluster twice"), std::string::npos);
  ASSERT_TRUE(finds(play([](Builder &b, At) { b.clusterWait(); }, nothing), FindingKind::Divergent));
}

TEST(Cluster, AWorkgroupThatDoesNotComeIsADeadlock) {
  Result r = play(
      [](Builder &b, At) {
        b.clusterArrive();
        b.at({"d.cpp", 1, 1}, "meet");
        b.clusterWait();
      },
      [](Builder &b, At mbarrier) {
        b.at({"d.cpp", 2, 1}, "full");
        b.mbarrierWait(mbarrier, b.constant(DType::i32, 0));
      });
  ASSERT_TRUE(finds(r, FindingKind::Deadlock));
  EXPECT_EQ(r.findings[0].message,
            "no wave can go on: wave 0 of workgroup 0 of the cluster waits at `meet`, wave 0 of workgroup 1 of the "
            "cluster waits at `full`, whose mbarrier at shared byte 0 lacks 1 arrivals and 0 bytes");
}

TEST(Cluster, NobodyReachesForAWorkgroupThatHasEnded) {
  auto arrive = [](int64_t rank) {
    return [rank](Builder &b, At mbarrier) { b.mbarrierArrive(mbarrier, 1, false, b.constant(DType::i32, rank)); };
  };
  // Workgroup 1 hears from workgroup 0 as it ends, and answers.
  Result ended = play(arrive(1), [&](Builder &b, At mbarrier) {
    b.mbarrierWait(mbarrier, number(b, 0));
    arrive(0)(b, mbarrier);
  });
  ASSERT_TRUE(finds(ended, FindingKind::MbarrierMisuse));
  EXPECT_NE(ended.findings[0].message.find("speaks of workgroup 0 of the cluster, which has ended"), std::string::npos);
  // Nobody tells workgroup 1 that it has been reached, whoever ends first.
  Result early = play(arrive(1), [](Builder &, At) {});
  ASSERT_TRUE(finds(early, FindingKind::MbarrierMisuse));
  Result told = play(arrive(1), [&](Builder &b, At mbarrier) { b.mbarrierWait(mbarrier, number(b, 0)); });
  EXPECT_TRUE(told.ok()) << format(told);
  Result none = play(arrive(2), [](Builder &, At) {});
  ASSERT_TRUE(finds(none, FindingKind::MbarrierMisuse));
  EXPECT_NE(none.findings[0].message.find("speaks of workgroup 2 of a cluster of 2"), std::string::npos);
}

/// Each of two workgroups writes its rank to shared memory, and the other's out.
Result readEachOther(bool meetFirst, bool meetLast, uint64_t seed, std::vector<uint32_t> &found) {
  Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 128, .cluster = {2, 1, 1}, .rules = kRules});
  uint32_t out = b.buffer("out"), tile = b.shared("tile", 0, 128);
  Value rank = b.id(IdKind::ClusterRank), bytes = b.mul(b.id(IdKind::Lane), number(b, 4));
  auto meet = [&](bool all) {
    if (all) {
      b.clusterArrive();
      b.clusterWait();
    } else {
      b.barrier();
    }
  };
  b.store(rank, {.region = tile, .lane = bytes});
  meet(meetFirst);
  Value first = b.load(DType::i32, 1, {.region = tile, .lane = bytes}, {.workgroup = 0});
  Value second = b.load(DType::i32, 1, {.region = tile, .lane = bytes}, {.workgroup = 1});
  meet(meetLast);
  b.store(b.add(b.mul(second, number(b, 10)), first),
          {.region = out, .lane = bytes, .uniform = b.mul(rank, number(b, 128))});
  found.assign(64, 0);
  return run(b.finish(), {.grid = {2, 1, 1}, .buffers = {{found.data(), 256}}, .checks = true, .seed = seed});
}

TEST(Cluster, WorkgroupsReadEachOthersSharedMemoryBehindTheirBarrier) {
  std::vector<uint32_t> found;
  for (uint64_t seed : kSeeds) {
    Result right = readEachOther(true, true, seed, found);
    EXPECT_TRUE(right.ok()) << format(right);
    EXPECT_EQ(found, std::vector<uint32_t>(64, 10));
    EXPECT_FALSE(readEachOther(false, true, seed, found).ok());
    // Whether the other one has ended by then or not.
    EXPECT_FALSE(readEachOther(true, false, seed, found).ok());
  }
}

TEST(Cluster, ClustersThatSeeEachOtherRunInTurns) {
  // Each workgroup takes a ticket; fewer than a cluster cannot be resident.
  Builder b({.waveSize = 32, .waves = 1, .cluster = {2, 1, 1}, .rules = kRules});
  At tickets{.region = b.buffer("tickets"), .uniform = number(b, 0)};
  b.beginIf(b.cmp(CmpOp::Eq, b.id(IdKind::Lane), number(b, 0)));
  b.atomic(AtomicOp::Add, number(b, 1), tickets);
  b.endIf();
  b.clusterArrive();
  b.clusterWait();
  Program program = b.finish();
  for (uint64_t seed : kSeeds)
    for (uint32_t resident : {0u, 1u, 3u}) {
      uint32_t count = 0;
      Result r = run(program, {.grid = {10, 1, 1},
                               .buffers = {{&count, 4}},
                               .seed = seed,
                               .checks = true,
                               .adversarial = true,
                               .resident = resident});
      EXPECT_TRUE(r.ok()) << format(r);
      EXPECT_EQ(count, 10u);
    }
}

TEST(Cluster, BarriersAreThoseOfTheWorkgroup) {
  // Two waves of each workgroup meet; were the numbers those of the cluster, one workgroup would wait for the other.
  Builder b({.waveSize = 32, .waves = 2, .cluster = {2, 1, 1}, .rules = kRules});
  b.beginIf(b.cmp(CmpOp::Eq, b.id(IdKind::ClusterRank), number(b, 0)));
  b.barrier(1);
  b.endIf();
  b.barrier();
  for (uint64_t seed : kSeeds) {
    Builder copy = b;
    Result r = run(copy.finish(), {.grid = {2, 1, 1}, .seed = seed, .checks = true});
    EXPECT_TRUE(r.ok()) << format(r);
  }
}

} // namespace
