// Barriers and waits of whole kernels: where they go, what the verifier refuses and why.
#include "soliton/schedule/Whole.h"
#include "WholeTrees.h"
#include "soliton/schedule/WholeFacts.h"
#include "soliton/schedule/WholePlaces.h"
#include "soliton/schedule/WholeSync.h"
#include "soliton/schedule/WholeVerify.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::sched::whole;
using sched::Space;
using namespace soliton::sched::whole::testing;

namespace {
Kernel kernelOf(Sequence body) {
  Kernel kernel;
  kernel.counters = machineCounters();
  for (const char *name : {"s", "t"}) {
    Region tile;
    tile.name = name;
    kernel.regions.push_back(tile);
  }
  Region memory;
  memory.name = "memory";
  memory.space = Space::Global;
  kernel.regions.push_back(memory);
  kernel.body = std::move(body);
  number(kernel);
  return kernel;
}

Access touch(int region, bool write, int counter) {
  Access access;
  access.region = region;
  access.write = write;
  access.counter = counter;
  return access;
}
Node store(int region) {
  return instruction("store", {touch(region, true, kShared)}, {{kShared, 1}});
}
Node load(int region) {
  return instruction("load", {touch(region, false, kShared)}, {{kShared, 1}});
}
Node copy(int region) {
  return instruction("copy", {touch(region, true, kVm)}, {{kVm, 1}});
}
Node globalStore() {
  return instruction("global store", {touch(2, true, kVm)}, {{kVm, 1}});
}
Node globalLoad() {
  return instruction("global load", {touch(2, false, kVm)}, {{kVm, 1}});
}

/// In the buffer of clock 0 that is `phase` ahead of it.
Node at(Node node, int phase) {
  node.accesses[0].clock = 0;
  node.accesses[0].phase = phase;
  return node;
}
/// Clock 0 counts from 0 again.
Node restart() {
  Node node;
  node.kind = NodeKind::Restart;
  node.clock = 0;
  return node;
}
/// A loop whose trips clock 0 counts.
Node pipelined(Sequence body, int64_t least = 0, std::optional<int64_t> most = std::nullopt) {
  Node node = loop(std::move(body), least, most);
  node.clock = 0;
  node.step = 1;
  return node;
}

/// The nodes by first letters: S store, L load, C copy, B barrier, w wait, c commit, ( … ) bodies; small: derived.
std::string shape(const Sequence &sequence) {
  std::string text;
  for (const Node &node : sequence) {
    switch (node.kind) {
    case NodeKind::Barrier:
      text += node.source == Source::Derived ? "b" : "B";
      break;
    case NodeKind::Wait:
      text += (node.source == Source::Derived ? "w" : "W") + std::to_string(node.value);
      break;
    case NodeKind::Commit:
      text += "c";
      break;
    case NodeKind::Instruction:
      text += static_cast<char>(std::toupper(node.name[0]));
      break;
    default:
      break;
    }
    for (const Sequence &body : node.bodies)
      text += "(" + shape(body) + ")";
  }
  return text;
}

/// What becomes of it, once the verifier has agreed.
std::string derived(const Kernel &kernel, DeriveOptions options = {}) {
  Derived result = derive(kernel, options);
  Verdict verdict = verify(result.kernel);
  EXPECT_TRUE(verdict.ok()) << toString(result.kernel) << format(verdict.diagnostics);
  return shape(result.kernel.body);
}

std::string onlyError(const Kernel &kernel) {
  Verdict verdict = verify(kernel);
  EXPECT_EQ(verdict.diagnostics.size(), 1u) << format(verdict.diagnostics);
  return verdict.ok() ? "" : verdict.diagnostics.front().message + "; " + verdict.diagnostics.front().hint;
}
} // namespace

TEST(Whole, StraightCodeGetsABarrierInFrontOfTheFirstAccessThatNeedsIt) {
  EXPECT_EQ(derived(kernelOf({store(0), store(1), load(0), load(1)})), "SSw0bLL");
  EXPECT_EQ(derived(kernelOf({load(0), load(0)})), "LL");
}

TEST(Whole, AWaitLeavesWhatWasIssuedAfterwards) {
  EXPECT_EQ(derived(kernelOf({copy(0), globalLoad(), globalLoad(), load(0)})), "CGGw2bL");
  // Where instructions may still move, a count means nothing.
  EXPECT_EQ(derived(kernelOf({copy(0), globalLoad(), globalLoad(), load(0)}), {.counted = false}), "CGGw0bL");
}

TEST(Whole, ABarrierForALoopStandsBeforeIt) {
  EXPECT_EQ(derived(kernelOf({store(0), loop({load(0), load(0)})})), "Sw0b(LL)");
}

TEST(Whole, ALoopBodyHasItsBarriersOnce) {
  // Fill and read: one barrier for each direction, and none for the loop as a whole.
  EXPECT_EQ(derived(kernelOf({loop({store(0), load(0)})})), "(w0bSw0bL)");
  // A loop that runs once is straight code.
  EXPECT_EQ(derived(kernelOf({loop({store(0), load(0)}, 1, 1)})), "(Sw0bL)");
}

TEST(Whole, OfEquallyFewPlacesThoseWithTheMostTimeAreTaken) {
  // Two copies, then their reads: both copies are under way before the first barrier, instead of one after the other.
  EXPECT_EQ(derived(kernelOf({loop({copy(0), copy(1), load(0), load(1)})})), "(w0bCCw0bLL)");
}

TEST(Whole, WhatALoopDoesReachesTheNextLoop) {
  EXPECT_EQ(derived(kernelOf({loop({load(0)}), loop({store(0)}, 0, 1), load(1)})), "(L)w0b(S)L");
}

TEST(Whole, OneBarrierInFrontOfABranchServesBothWays) {
  EXPECT_EQ(derived(kernelOf({store(0), branch({load(0)}, {barrier(1)}), load(0)})), "Sw0b(L)(B)L");
  // The barriers on both ways are enough for what comes behind.
  EXPECT_EQ(derived(kernelOf({store(0), branch({barrier()}, {barrier()}), load(0)})), "S(w0B)(w0B)L");
  EXPECT_EQ(derived(kernelOf({store(0), branch({barrier()}), load(0)})), "S(B)()w0bL");
}

TEST(Whole, ANestedLoopIsSolvedFirst) {
  // The inner loop's barriers also separate its store from what the outer loop reads before and in its next trip.
  EXPECT_EQ(derived(kernelOf({loop({load(0), loop({store(0), load(0)})})})), "(L(w0bSw0bL))");
  // Not if the inner loop ends with the store.
  EXPECT_EQ(derived(kernelOf({loop({load(0), loop({load(0), store(0)})})})), "(w0bL(w0bLw0bS))");
}

TEST(Whole, GlobalMemoryThatWavesShareIsOrderedToo) {
  EXPECT_EQ(derived(kernelOf({globalStore(), globalLoad()})), "Gw0bG");
  Kernel own = kernelOf({globalStore(), globalLoad()});
  for (Node &node : own.body) {
    node.accesses[0].function = 0;
    node.accesses[0].oneWave = true;
  }
  EXPECT_EQ(derived(own), "GG");
  // All waves read and one of them writes: the others may not have read yet.
  own.body[0].accesses[0].write = false;
  own.body[0].accesses[0].oneWave = false;
  own.body[1].accesses[0].write = true;
  EXPECT_EQ(derived(own), "Gw0bG");
}

TEST(Whole, AtomicsOfOneKindComeInAnyOrderAndOthersDoNot) {
  auto change = [](int kind) {
    Node node = globalStore();
    node.accesses.insert(node.accesses.begin(), touch(2, false, kVm));
    for (Access &access : node.accesses)
      access.atomic = kind;
    return node;
  };
  EXPECT_EQ(derived(kernelOf({change(0), change(0)})), "GG");
  EXPECT_EQ(derived(kernelOf({loop({change(0)})})), "(G)");
  EXPECT_EQ(derived(kernelOf({change(0), change(1)})), "Gw0bG");
  EXPECT_EQ(derived(kernelOf({change(0), globalLoad()})), "Gw0bG");
  EXPECT_EQ(derived(kernelOf({globalStore(), change(0)})), "Gw0bG");
}

TEST(Whole, IterationsThatTouchDifferentElementsNeedNoOrder) {
  Node load = globalLoad(), store = globalStore();
  for (Node *node : {&load, &store}) {
    node->accesses[0].function = 0;
    node->accesses[0].apart = {77};
  }
  Node body = loop({load, store});
  body.id = 77;
  // In one iteration others may still read what is written; the next one touches other elements.
  EXPECT_EQ(derived(kernelOf({body})), "(Gw0bG)");
  // Entered again, the loop touches the same ones.
  EXPECT_EQ(derived(kernelOf({loop({body})})), "(w0b(Gw0bG))");
}

TEST(Whole, ACopyOfTheWaveItselfIsWaitedForWithoutABarrier) {
  Kernel kernel = kernelOf({copy(0), load(0)});
  kernel.waves = 1;
  EXPECT_EQ(derived(kernel), "Cw0L");
}

TEST(Whole, GroupsAreClosedWhereTheyAreWaitedFor) {
  Node grouped = instruction("copy", {touch(0, true, kGroups)}, {{kGroups, 1}});
  Node other = grouped;
  grouped.accesses[0].end = other.accesses[0].begin = 8;
  EXPECT_EQ(derived(kernelOf({grouped, other, load(0)})), "CCcw0bL");
  EXPECT_EQ(derived(kernelOf({grouped, commit(kGroups), copy(1), load(0)})), "CcCw0bL");
}

TEST(Whole, AnAuthorsBarrierWithoutItsWaitGetsIt) {
  Derived result = derive(kernelOf({store(0), barrier(), load(0)}));
  EXPECT_EQ(shape(result.kernel.body), "Sw0BL");
  ASSERT_EQ(result.remarks.size(), 1u);
  EXPECT_EQ(result.remarks[0].message,
            "`wait shared 0` was added in front of a barrier that `store` may reach in flight");
  ASSERT_EQ(result.insertions.size(), 1u);
  EXPECT_EQ(result.insertions[0].before, 1);
  EXPECT_FALSE(result.insertions[0].atEnd);
  EXPECT_TRUE(derive(kernelOf({store(0), wait(kShared, 0), barrier(), load(0)})).insertions.empty());
}

TEST(Whole, BuffersAreToldApartByTheirPhase) {
  auto pipeline = [](int buffers) {
    Kernel kernel = kernelOf({});
    kernel.regions[0].buffers = buffers;
    kernel.body = {at(store(0), 0), pipelined({at(load(0), 0), at(store(0), 1)}), at(load(0), 0)};
    number(kernel);
    return kernel;
  };
  EXPECT_EQ(derived(pipeline(1)), "S(w0bLw0bS)w0bL");
  EXPECT_EQ(derived(pipeline(2)), "S(w0bLS)w0bL");
  EXPECT_EQ(derived(pipeline(3)), "S(w0bLS)w0bL");
}

TEST(Whole, TilesThatShareBytesAreOneAnothersStorage) {
  Kernel kernel = kernelOf({load(0), store(1)});
  EXPECT_EQ(derived(kernel), "LS");
  for (int i : {0, 1}) {
    kernel.regions[i].offset = 32 * i;
    kernel.regions[i].bytes = 64;
  }
  EXPECT_EQ(derived(kernel), "Lw0bS");
}

TEST(WholeVerify, SaysWhatIsMissing) {
  EXPECT_EQ(onlyError(kernelOf({store(0), load(0)})),
            "`load` and `store` of different waves touch shared `s` (RAW) and nothing keeps them apart; "
            "put `wait shared 0` and a barrier between `store` and `load`");
  EXPECT_EQ(onlyError(kernelOf({load(0), barrier(), store(0)})),
            "`store` and `load` of different waves touch shared `s` (WAR) and nothing keeps them apart; "
            "put `wait shared 0` in front of the last barrier between `load` and `store`");
  EXPECT_EQ(onlyError(kernelOf({load(0), wait(kShared, 0), store(0)})),
            "`store` and `load` of different waves touch shared `s` (WAR) and nothing keeps them apart; "
            "put a barrier between `load` and `store`");
  Kernel one = kernelOf({copy(0), globalLoad(), load(0)});
  one.waves = 1;
  EXPECT_EQ(onlyError(one), "`load` and `copy` of one wave touch shared `s` (RAW) and nothing keeps them apart; "
                            "put `wait vm 1` in front of `load`");
}

TEST(WholeVerify, AWaveThatReadsWhatItsOwnCopyBringsMustWait) {
  // The read itself is complete at issue and nothing has to wait for it; it has to wait for the copy.
  Kernel kernel = kernelOf({copy(0), load(0)});
  kernel.waves = 1;
  kernel.body[1].accesses[0].counter = -1;
  EXPECT_FALSE(verify(kernel).ok());
  EXPECT_EQ(derived(kernel), "Cw0L");
}

TEST(WholeVerify, AWaitThatLeavesTooMuchIsFound) {
  EXPECT_TRUE(verify(kernelOf({copy(0), globalLoad(), wait(kVm, 1), barrier(), load(0)})).ok());
  EXPECT_FALSE(verify(kernelOf({copy(0), globalLoad(), wait(kVm, 2), barrier(), load(0)})).ok());
  // The wait must hold on every way: a branch that issues less leaves less behind.
  EXPECT_FALSE(verify(kernelOf({copy(0), branch({globalLoad()}), wait(kVm, 1), barrier(), load(0)})).ok());
}

TEST(WholeVerify, AKnownNumberOfTripsIsFollowedExactly) {
  Sequence body = {globalLoad()};
  EXPECT_TRUE(verify(kernelOf({copy(0), loop(body, 3, 3), wait(kVm, 3), barrier(), load(0)})).ok());
  EXPECT_FALSE(verify(kernelOf({copy(0), loop(body, 2, 3), wait(kVm, 3), barrier(), load(0)})).ok());
}

TEST(WholeVerify, WavesThatPassDifferentNumbersOfBarriersHang) {
  Kernel kernel = kernelOf({barrier(2), barrier(), barrier(1)});
  kernel.groups = 2;
  EXPECT_TRUE(verify(kernel).ok());
  kernel.body.pop_back();
  EXPECT_EQ(verify(kernel).diagnostics.front().id, DiagId::ScheduleBarriers);
  kernel = kernelOf({loop({barrier(1)})});
  kernel.groups = 2;
  EXPECT_EQ(verify(kernel).diagnostics.front().id, DiagId::ScheduleBarriers);
}

TEST(WholeVerify, AGroupThatIsAheadNeedsOneBarrierMore) {
  // Group 1 is one barrier ahead: what group 0 stores is seen by it only behind the second barrier.
  auto staggered = [](int barriers) {
    Sequence body = {barrier(2), store(0), wait(kShared, 0)};
    for (int i = 0; i < barriers; ++i)
      body.push_back(barrier());
    body.push_back(load(0));
    body.push_back(barrier(1));
    Kernel kernel = kernelOf(body);
    kernel.groups = 2;
    return kernel;
  };
  EXPECT_FALSE(verify(staggered(1)).ok());
  EXPECT_TRUE(verify(staggered(2)).ok());
}

TEST(WholeVerify, AWaivedHazardIsTheSchedulesMatter) {
  Kernel kernel = kernelOf({store(0), load(0)});
  kernel.body[0].accesses[0].waived = true;
  EXPECT_FALSE(verify(kernel).ok());
  kernel.body[1].accesses[0].waived = true;
  EXPECT_TRUE(verify(kernel).ok());
}

/// Workgroups of a cluster read each other's tiles behind a barrier of the cluster, and end behind another one.
TEST(WholeVerify, OtherWorkgroupsOfTheClusterMeetAtItsBarriersAlone) {
  auto remote = [] {
    Access access = touch(0, false, -1);
    access.remote = true;
    return instruction("remote load", {access});
  };
  auto plain = [] { return instruction("store", {touch(0, true, -1)}); };
  auto meeting = [] {
    Node node = barrier();
    node.cluster = true;
    return node;
  };
  EXPECT_TRUE(verify(kernelOf({plain(), meeting(), remote(), meeting()})).ok());
  EXPECT_TRUE(verify(kernelOf({plain(), meeting(), remote(), meeting(), plain()})).ok());
  Verdict early = verify(kernelOf({plain(), barrier(), remote(), meeting()}));
  ASSERT_EQ(early.diagnostics.size(), 1u);
  EXPECT_EQ(early.diagnostics[0].hint, "put a barrier of the cluster between `store` and `remote load`");
  Verdict left = verify(kernelOf({plain(), meeting(), remote(), barrier()}));
  ASSERT_EQ(left.diagnostics.size(), 1u);
  EXPECT_NE(left.diagnostics[0].message.find("of another workgroup, which may have ended"), std::string::npos);
  EXPECT_FALSE(verify(kernelOf({plain(), meeting(), remote(), barrier(), plain(), meeting()})).ok());
  // On every way, and from trip to trip.
  EXPECT_FALSE(verify(kernelOf({plain(), branch({meeting()}, {barrier()}), remote(), meeting()})).ok());
  EXPECT_TRUE(verify(kernelOf({loop({plain(), meeting(), remote(), meeting()})})).ok());
  EXPECT_FALSE(verify(kernelOf({loop({plain(), meeting(), remote(), barrier()}), meeting()})).ok());
  // One wave alone has others in the cluster.
  Kernel alone = kernelOf({plain(), remote(), meeting()});
  alone.waves = 1;
  EXPECT_FALSE(verify(alone).ok());
  // What is said is not added to, and none of these is derived.
  Kernel kernel = kernelOf({plain(), remote()});
  EXPECT_EQ(shape(derive(kernel).kernel.body), shape(kernel.body));
}

/// With a counter of what one lane copies for the workgroup; `box` copies to a tile so.
Kernel kernelWithBoxes(Sequence body) {
  Kernel kernel = kernelOf(std::move(body));
  kernel.counters.push_back({"boxes", sched::Retirement::Group, 15});
  kernel.counters.back().ofWorkgroup = true;
  return kernel;
}
Node box(int region) {
  return instruction("box", {touch(region, true, kBoxes)}, {{kBoxes, 1}});
}

TEST(WholeVerify, WhatOneLaneHasCopiedIsThereForWhoHasWaited) {
  EXPECT_TRUE(verify(kernelWithBoxes({box(0), commit(kBoxes), wait(kBoxes, 0), load(0)})).ok());
  EXPECT_FALSE(verify(kernelWithBoxes({box(0), commit(kBoxes), load(0)})).ok());
  EXPECT_FALSE(verify(kernelWithBoxes({box(0), commit(kBoxes), wait(kBoxes, 1), load(0)})).ok());
  // Two copies to one place may land in any order.
  EXPECT_FALSE(verify(kernelWithBoxes({box(0), box(0), commit(kBoxes), wait(kBoxes, 0), load(0)})).ok());
  EXPECT_EQ(shape(derive(kernelWithBoxes({box(0), load(0)})).kernel.body).find('b'), std::string::npos);
}

TEST(WholeVerify, ACopyingLaneAwaitsWhatAllWavesHaveReleased) {
  auto isRight = [](Sequence body) { return verify(kernelWithBoxes(std::move(body))).ok(); };
  EXPECT_TRUE(isRight({load(0), wait(kShared, 0), release(), await(0), box(0)}));
  EXPECT_FALSE(isRight({load(0), wait(kShared, 0), await(0), box(0)}));
  EXPECT_FALSE(isRight({load(0), wait(kShared, 0), release(), box(0)}));
  EXPECT_FALSE(isRight({load(0), wait(kShared, 0), release(), await(1), box(0)}));
  EXPECT_TRUE(isRight({load(0), wait(kShared, 0), release(), release(), await(1), box(0)}));
  // Not complete where it was released; released where only one way goes; by others than the copying lane.
  EXPECT_FALSE(isRight({load(0), release(), wait(kShared, 0), await(0), box(0)}));
  EXPECT_FALSE(isRight({load(0), wait(kShared, 0), branch({release()}), await(0), box(0)}));
  EXPECT_FALSE(isRight({load(0), wait(kShared, 0), release(), await(0), store(0)}));
}

/// What a workgroup has waited for may still be on its way to another one of its cluster.
TEST(WholeVerify, ABoxThatGoesToOthersTakesTheirPlaceWhenTheySaySo) {
  auto isRight = [](bool together, const Sequence &between) {
    Sequence body = {box(0), commit(kBoxes), wait(kBoxes, 0)};
    body.insert(body.end(), between.begin(), between.end());
    body.push_back(box(0));
    Kernel kernel = kernelWithBoxes(std::move(body));
    kernel.together = together;
    return verify(kernel).ok();
  };
  EXPECT_TRUE(isRight(false, {}));
  EXPECT_FALSE(isRight(true, {}));
  EXPECT_TRUE(isRight(true, {barrier()}));
  EXPECT_TRUE(isRight(true, {release(), await(0)}));
}

TEST(WholeVerify, ReleasesOfATripAreAwaitedInTheNext) {
  auto isRight = [](int value) {
    Sequence body = {await(value), box(0), commit(kBoxes), wait(kBoxes, 0), load(0), wait(kShared, 0), release()};
    return verify(kernelWithBoxes({release(), loop(body)})).ok();
  };
  EXPECT_TRUE(isRight(0));
  EXPECT_FALSE(isRight(1));
}

/// Tiles of a loop around it: a pipeline counts from 0 again, behind a loop whose trips are known in a known buffer.
TEST(WholeVerify, BuffersAreKnownWhereAPipelineBeginsAgain) {
  auto isRight = [](int64_t least, std::optional<int64_t> most, bool maySkip = false) {
    Node trips = pipelined({barrier()}, least, most);
    // The first buffer is filled and met; what is read behind the loop is the one that the clock has come to.
    Sequence tile = {restart(), at(store(0), 0), wait(kShared, 0), barrier()};
    tile.push_back(maySkip ? branch({trips}) : trips);
    tile.push_back(at(load(0), 0));
    tile.push_back(wait(kShared, 0));
    Kernel kernel = kernelOf({loop(tile, /*least=*/1)});
    kernel.regions[0].buffers = 2;
    return verify(kernel).ok();
  };
  EXPECT_TRUE(isRight(3, 3)) << "buffer 1 was read, buffer 0 is filled";
  EXPECT_FALSE(isRight(2, 2));
  EXPECT_FALSE(isRight(0, 0));
  EXPECT_FALSE(isRight(1, std::nullopt));
  EXPECT_FALSE(isRight(3, 3, /*maySkip=*/true));
}

/// On one way the pipeline has begun again in a loop, on the other it stands where it stood: nothing is known of it.
TEST(WholeVerify, ALoopThatMayBeSkippedLeavesNoClock) {
  auto isRight = [](int64_t before, int64_t least) {
    auto trips = [](int64_t count) { return pipelined({wait(kVm, 0)}, count, count); };
    // Buffer 0 or 1 is read, by how many trips come before; buffer 0 is filled.
    Kernel kernel = kernelOf({restart(), trips(before), at(load(0), 0), wait(kShared, 0),
                              loop({restart(), trips(1)}, least), restart(), at(store(0), 0)});
    kernel.regions[0].buffers = 2;
    return verify(kernel).ok();
  };
  EXPECT_FALSE(isRight(2, 0));
  EXPECT_FALSE(isRight(2, 1));
  EXPECT_TRUE(isRight(3, 1));
  EXPECT_TRUE(isRight(3, 3));
  EXPECT_FALSE(isRight(3, 0)) << "right, but on one way one trip has gone by and on the other three";
}

/// Who has asked the judge says so; the judge is asked again about the whole.
TEST(Whole, NothingIsDerivedForWhatIsOrdered) {
  auto made = [](bool ordered) {
    Node second = store(0);
    second.accesses[0].ordered = ordered;
    return derive(kernelOf({load(0), second})).kernel;
  };
  EXPECT_EQ(shape(made(false).body), "Lw0bS");
  EXPECT_EQ(shape(made(true).body), "LS");
  EXPECT_FALSE(verify(made(true)).ok());
}

TEST(Whole, NoBarrierIsDerivedForWhatIsReleased) {
  Sequence body = {box(0), commit(kBoxes), wait(kBoxes, 0), load(0), wait(kShared, 0), release(), await(0)};
  EXPECT_TRUE(derive(kernelWithBoxes({loop(body)})).insertions.empty());
  body.pop_back();
  EXPECT_FALSE(derive(kernelWithBoxes({loop(body)})).insertions.empty());
}

/// Barriers that are derived.
int derivedBarriers(Sequence body) {
  Kernel kernel = derive(kernelWithBoxes(std::move(body))).kernel;
  int count = 0;
  forEachNode(kernel.body, [&](const Node &node) { count += node.kind == NodeKind::Barrier; });
  EXPECT_TRUE(verify(kernel).ok()) << toString(kernel);
  return count;
}

TEST(Whole, AnAwaitInALoopCoversReleasesInFrontOfIt) {
  auto copies = [](int value) { return loop({await(value), box(0), commit(kBoxes), wait(kBoxes, 0)}); };
  EXPECT_EQ(derivedBarriers({load(0), wait(kShared, 0), release(), copies(0)}), 0);
  EXPECT_EQ(derivedBarriers({load(0), wait(kShared, 0), release(), release(), copies(1)}), 0);
  // One release is left open, or there is none behind the access.
  EXPECT_EQ(derivedBarriers({load(0), wait(kShared, 0), release(), copies(1)}), 1);
  EXPECT_EQ(derivedBarriers({release(), load(0), wait(kShared, 0), copies(0)}), 1);
  // Behind the copy, and in a branch, it is too late.
  EXPECT_EQ(derivedBarriers(
                {load(0), wait(kShared, 0), release(), loop({box(0), commit(kBoxes), wait(kBoxes, 0), await(0)})}),
            1);
  EXPECT_EQ(derivedBarriers({load(0), wait(kShared, 0), release(),
                             loop({branch({await(0)}), box(0), commit(kBoxes), wait(kBoxes, 0)})}),
            1);
  // A release of the loop itself, in front of its await, counts with those before.
  EXPECT_EQ(derivedBarriers({load(0), wait(kShared, 0), release(),
                             loop({release(), await(1), box(0), commit(kBoxes), wait(kBoxes, 0)})}),
            0);
}

TEST(Whole, ReleasesInALoopCoverItsAccessesForALaterCopy) {
  Sequence uses = {load(0), wait(kShared, 0), release()};
  EXPECT_EQ(derivedBarriers({loop(uses), await(0), box(0)}), 0);
  EXPECT_EQ(derivedBarriers({loop(uses), await(1), box(0)}), 1);
  EXPECT_EQ(derivedBarriers({loop(uses), release(), await(1), box(0)}), 0);
  EXPECT_EQ(derivedBarriers({loop(uses), box(0)}), 1);
  // Awaited in the loop already.
  uses.push_back(await(0));
  EXPECT_EQ(derivedBarriers({loop(uses), box(0)}), 0);
  // In front of the access it says nothing of the last trip.
  EXPECT_EQ(derivedBarriers({loop({release(), load(0), wait(kShared, 0)}), await(0), box(0)}), 1);
  // Both at once: a loop that uses, then one that copies.
  EXPECT_EQ(derivedBarriers({loop({load(0), wait(kShared, 0), release()}),
                             loop({await(0), box(0), commit(kBoxes), wait(kBoxes, 0)})}),
            0);
}

/// A release covers what is complete in front of it, on every way.
TEST(Whole, ReleasesCoverOnlyWhatIsComplete) {
  EXPECT_EQ(derivedBarriers({load(0), release(), await(0), box(0)}), 1);
  EXPECT_EQ(derivedBarriers({load(0), load(1), wait(kShared, 1), release(), await(0), box(0)}), 0);
  EXPECT_EQ(derivedBarriers({load(0), load(1), wait(kShared, 2), release(), await(0), box(0)}), 1);
  EXPECT_EQ(derivedBarriers({branch({load(0), release()}), await(0), box(0)}), 1);
  EXPECT_EQ(derivedBarriers({branch({load(0)}, {load(0), wait(kShared, 0), release()}), await(0), box(0)}), 1);
  EXPECT_EQ(derivedBarriers({branch({load(0), wait(kShared, 0), release()}, {load(0)}), await(0), box(0)}), 1);
  EXPECT_EQ(derivedBarriers({load(0), release(), loop({await(0), box(0), commit(kBoxes), wait(kBoxes, 0)})}), 1);
  // A loop that may have no trip heard nothing of what was in front of it.
  Sequence hears = {load(0), wait(kShared, 0), release(), await(0)};
  EXPECT_EQ(derivedBarriers({load(0), loop(hears), box(0)}), 1);
  EXPECT_EQ(derivedBarriers({loop(hears), box(0)}), 0);
}

/// The node's accesses give each element to one team.
Node ofTeams(Node node, int function = 0) {
  for (Access &access : node.accesses)
    access.team = function;
  return node;
}

int barriersOfTeams(const Kernel &kernel) {
  int count = 0;
  forEachNode(kernel.body, [&](const Node &node) { count += node.kind == NodeKind::Barrier && node.team; });
  return count;
}

TEST(Whole, WhatConcernsOneTeamNeedsItsBarrierOnly) {
  Kernel results = derive(kernelOf({loop({ofTeams(store(0)), ofTeams(load(0))})})).kernel;
  EXPECT_EQ(shape(results.body), "(w0bSw0bL)");
  EXPECT_EQ(barriersOfTeams(results), 2);
  // Where all waves meet anyway, teams do.
  Kernel both = derive(kernelOf({ofTeams(store(0)), store(1), ofTeams(load(0)), load(1)})).kernel;
  EXPECT_EQ(shape(both.body), "SSw1bLw1bL");
  EXPECT_EQ(barriersOfTeams(both), 1);
  EXPECT_EQ(barriersOfTeams(derive(kernelOf({ofTeams(store(0)), barrier(), ofTeams(load(0))})).kernel), 0);
  // Rows and columns are not the same team's, and who reads all is of no team.
  EXPECT_EQ(barriersOfTeams(derive(kernelOf({ofTeams(store(0), 0), ofTeams(load(0), 1)})).kernel), 0);
  EXPECT_EQ(barriersOfTeams(derive(kernelOf({ofTeams(store(0)), load(0)})).kernel), 0);
}

TEST(WholeVerify, ABarrierOfTeamsOrdersWhatConcernsOneTeam) {
  auto isRight = [](Sequence body) { return verify(kernelOf(std::move(body))).ok(); };
  Node w = wait(kShared, 0);
  EXPECT_TRUE(isRight({ofTeams(store(0)), w, barrierOfTeams(), ofTeams(load(0))}));
  EXPECT_TRUE(isRight({ofTeams(store(0)), w, barrier(), ofTeams(load(0))}));
  EXPECT_FALSE(isRight({ofTeams(store(0)), w, ofTeams(load(0))}));
  EXPECT_FALSE(isRight({ofTeams(store(0)), barrierOfTeams(), w, ofTeams(load(0))}));
  EXPECT_FALSE(isRight({ofTeams(store(0)), w, barrierOfTeams(), load(0)}));
  EXPECT_FALSE(isRight({ofTeams(store(0), 0), w, barrierOfTeams(), ofTeams(load(0), 1)}));
  EXPECT_FALSE(isRight({ofTeams(store(0)), w, branch({barrierOfTeams()}), ofTeams(load(0))}));
  // Tiles in one place have nothing to do with each other's teams.
  Kernel shared = kernelOf({ofTeams(store(0)), w, barrierOfTeams(), ofTeams(load(1))});
  shared.regions[0].bytes = shared.regions[1].bytes = 64;
  EXPECT_FALSE(verify(shared).ok());
}

TEST(WholeVerify, TeamsAreNoGroupsThatAreStaggered) {
  Kernel kernel = kernelOf({store(0), barrierOfTeams()});
  kernel.groups = 2;
  EXPECT_EQ(onlyError(kernel), "`barrier` is of teams where groups of waves or a cluster meet; ");
}

TEST(WholeVerify, WaitsThatNoCounterHoldsAreRefused) {
  EXPECT_EQ(verify(kernelOf({wait(kShared, 16)})).diagnostics.front().id, DiagId::ScheduleWaitValue);
  Kernel kernel = kernelOf({store(7)});
  EXPECT_EQ(verify(kernel).diagnostics.front().id, DiagId::ScheduleProblemInvalid);
}

TEST(WholeFacts, TilesLiveFromTheirFirstToTheirLastAccess) {
  Node fill = store(1), read = load(1);
  fill.accesses[0].steady = true;
  auto intervals = [](const Kernel &kernel) {
    std::vector<std::vector<LiveInterval>> result;
    for (const Lifetime &lifetime : findLifetimes(kernel))
      result.push_back(lifetime.intervals);
    return result;
  };
  using Intervals = std::vector<std::vector<LiveInterval>>;
  // In the loop each trip fills and reads `t` for itself.
  Kernel apart = kernelOf({store(0), load(0), loop({fill, read, barrier()})});
  EXPECT_EQ(intervals(apart), (Intervals{{{0, 1}}, {{3, 4}}}));
  EXPECT_TRUE(neverTogether(findLifetimes(apart)[0], findLifetimes(apart)[1]));
  // What is read first, or written somewhere else in each trip, or only now and then, comes from an earlier trip.
  Intervals whole = {{}, {{0, 2}}};
  EXPECT_EQ(intervals(kernelOf({loop({read, fill})})), whole);
  EXPECT_EQ(intervals(kernelOf({loop({store(1), read})})), whole);
  EXPECT_EQ(intervals(kernelOf({loop({branch({fill}), read})})), (Intervals{{}, {{0, 3}}}));
  // Read in the loop, written before it: alive until it ends.
  EXPECT_EQ(intervals(kernelOf({store(1), loop({read, barrier()})})), (Intervals{{}, {{0, 3}}}));
  EXPECT_EQ(intervals(kernelOf({branch({store(0)}, {load(0), store(1)})})), (Intervals{{{1, 1}, {2, 2}}, {{3, 3}}}));
}

TEST(WholeFacts, TilesOfALoopThatWillBeScheduledLiveWhileItRuns) {
  Node fill = store(1), read = load(1);
  fill.accesses[0].steady = true;
  auto lives = [](const Kernel &kernel) { return findLifetimes(kernel, Order::OfLoops)[1].intervals; };
  using Intervals = std::vector<LiveInterval>;
  EXPECT_EQ(lives(kernelOf({store(0), load(0), loop({fill, read, barrier()})})), (Intervals{{2, 5}}));
  // Around such a loop nothing moves.
  EXPECT_EQ(lives(kernelOf({loop({fill, read, loop({barrier()})})})), (Intervals{{1, 2}}));
  Kernel nested = kernelOf({barrier(), loop({fill, branch({read})}), barrier()});
  EXPECT_EQ(positionsOf(nested, nested.body[1].id), (LiveInterval{1, 4}));
}

namespace {
/// `s` and `t` in one place.
Kernel sharing(Sequence body) {
  Kernel kernel = kernelOf(std::move(body));
  for (int i : {0, 1})
    kernel.regions[i].bytes = 64;
  return kernel;
}
Node steady(Node node) {
  node.accesses[0].steady = true;
  return node;
}
} // namespace

TEST(WholePlaces, ATileIsReadBeforeAnotherTakesItsPlace) {
  EXPECT_TRUE(verifyPlaces(sharing({store(0), load(0), store(1), load(1)})).empty());
  std::vector<Diagnostic> wrong = verifyPlaces(sharing({store(0), store(1), load(0), load(1)}));
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong[0].id, DiagId::ScheduleHazard);
  EXPECT_NE(wrong[0].message.find("reads shared `s`, but `store` has overwritten its place"), std::string::npos);
  // Places of their own.
  EXPECT_TRUE(verifyPlaces(kernelOf({store(0), store(1), load(0), load(1)})).empty());
  // Written again, all of it.
  EXPECT_TRUE(verifyPlaces(sharing({steady(store(0)), store(1), steady(store(0)), load(0)})).empty());
  EXPECT_FALSE(verifyPlaces(sharing({store(0), store(1), store(0), load(0)})).empty());
}

TEST(WholePlaces, OnEveryWay) {
  // Each trip for itself.
  Node fill = steady(store(0)), other = steady(store(1));
  EXPECT_TRUE(verifyPlaces(sharing({loop({fill, load(0), other, load(1)}, 0)})).empty());
  // The second trip reads what the first one has overwritten.
  EXPECT_FALSE(verifyPlaces(sharing({fill, loop({load(0), other, load(1)}, 0)})).empty());
  EXPECT_TRUE(verifyPlaces(sharing({fill, loop({load(0), other, load(1)}, 0, 1)})).empty());
  EXPECT_FALSE(verifyPlaces(sharing({fill, branch({other}), load(0)})).empty());
  EXPECT_TRUE(verifyPlaces(sharing({fill, branch({other, load(1)}, {load(0)})})).empty());
  EXPECT_TRUE(verifyPlaces(sharing({fill, load(0), loop({other, load(1)}, 0)})).empty());
}

TEST(WholeVerify, TilesInOnePlaceAreKeptApartByABarrier) {
  // WAR: a slow wave still reads `s` where a fast one writes `t`.
  Kernel kernel =
      sharing({store(0), wait(kShared, 0), barrier(), load(0), store(1), wait(kShared, 0), barrier(), load(1)});
  Verdict verdict = verify(kernel);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.unproven.front().kind, sched::DepKind::War);
  Derived derived = derive(kernel);
  EXPECT_TRUE(verify(derived.kernel).ok());
  EXPECT_EQ(shape(derived.kernel.body), "SW0BLw0bSW0BL");
}

TEST(WholeFacts, AliasingOfManyLoopsAndBranchesInARowGrowsWithTheirNumber) {
  auto access = [](int region, bool write, int function) {
    Access result = touch(region, write, kVm);
    result.function = result.who = function;
    result.oneWave = result.oneWorkgroup = true;
    return result;
  };
  // Each write has been left by every set of the loops that follow it, unless the largest of them stands for all.
  Sequence sequence;
  for (int i = 0; i < 40; ++i) {
    Node body = loop({instruction("read", {access(2, false, 3)}, {{kVm, 1}})});
    body.id = 50 + i;
    sequence.push_back(instruction("write", {access(3, true, 3)}, {{kVm, 1}}));
    sequence.push_back(i % 2 ? body : branch({body}, {}));
  }
  Kernel kernel = kernelOf(std::move(sequence));
  kernel.regions.push_back(kernel.regions[2]);
  std::vector<Aliasing> found = findAliasing(kernel);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].inPlace);
}

TEST(WholeFacts, InPlaceMeansReadBeforeWrittenByTheSameWave) {
  Node body = loop({});
  body.id = 50;
  auto access = [](int region, bool write) {
    Access result = touch(region, write, kVm);
    result.function = result.who = 3;
    result.oneWave = result.oneWorkgroup = true;
    result.apart = {50};
    return result;
  };
  auto isInPlace = [](Sequence sequence) {
    Kernel kernel = kernelOf(std::move(sequence));
    Region other = kernel.regions[2];
    other.name = "other";
    kernel.regions.push_back(other);
    std::vector<Aliasing> found = findAliasing(kernel);
    EXPECT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].read, 2);
    EXPECT_EQ(found[0].written, 3);
    return found[0].inPlace;
  };
  Node read = instruction("read", {access(2, false)}, {{kVm, 1}});
  Node write = instruction("write", {access(3, true)}, {{kVm, 1}});
  EXPECT_TRUE(isInPlace({read, write}));
  EXPECT_FALSE(isInPlace({write, read}));
  // Iterations touch different elements, so what the last one wrote is not what this one reads.
  body.bodies[0] = {read, write};
  EXPECT_TRUE(isInPlace({body}));
  // Unless the loop runs again.
  EXPECT_FALSE(isInPlace({loop({body})}));
  EXPECT_FALSE(isInPlace({body, read}));
  // Several waves or workgroups read an element, or it is unknown who does.
  for (auto change : {+[](Access &a) { a.oneWave = false; }, +[](Access &a) { a.oneWorkgroup = false; },
                      +[](Access &a) { a.who = -1; }}) {
    Node shared = read;
    change(shared.accesses[0]);
    EXPECT_FALSE(isInPlace({shared, write}));
  }
}
