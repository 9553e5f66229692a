//===- SimtTest.cpp - Mistakes with lanes, ids and places ---------------------------===//
#include "soliton/frontend/Simt.h"
#include "soliton/frontend/TestSupport.h"

using namespace soliton;

namespace {

class SimtTest : public LanguageTest {
protected:
  Kernel lane{"lane", {Simt(256, {4})}};
  MemoryRef x = lane.memory("x", {N}, global, f32), y = lane.memory("y", {N}, global, i32);
  MemoryRef image = lane.memory("image", {M, N}, global, f32);
};

TEST_F(SimtTest, LoadsOfLanesInAKernelOfTiles) {
  line = __LINE__ + 1;
  (void)load(v(0));
  expectMistake(DiagId::SimtLane, "`load` speaks of one lane, but kernel `k` speaks of tiles",
                "give the kernel `Simt(threads, {workgroups})`, or speak of a tile's elements: `elements(tile, …)`");
}

TEST_F(SimtTest, IdsOfLanesInElements) {
  elements(read(v), [&](Value value) {
    line = __LINE__ + 1;
    store(value, v(thread_id()));
  });
  expectMistake(DiagId::SimtLane, "`store` speaks of `lane_id()`, but here an element of `[M]` is spoken of",
                "an element has `coordinate(dim)` for each of its dimensions");
}

TEST_F(SimtTest, CoordinatesOfDimensionsThatAnElementLacks) {
  elements(read(v), [&](Value value) {
    line = __LINE__ + 1;
    store(value, a(coordinate(M), coordinate(N)));
  });
  expectMistake(DiagId::SimtLane, "`store` speaks of `coordinate(N)`, but here an element of `[M]` is spoken of",
                "a lane has `thread_id()`, `lane_id()` and `wave_id()`; an element its own dimensions");
}

TEST_F(SimtTest, ConditionsOfAllLanesThatSpeakOfOne) {
  line = __LINE__ + 1;
  lane.conditional(thread_id() < 3, [] {});
  expectMistake(lane.diagnostics(), DiagId::SimtLane,
                "`conditional` takes an expression of a lane's own id, but says one thing for all lanes",
                "`when` takes conditions of each lane, `load` and `store` its places; `kernel.per_lane(expr)` is the "
                "lane's value");
}

TEST_F(SimtTest, PlacesHaveOneIndexForEachDimension) {
  line = __LINE__ + 1;
  (void)load(image(thread_id()));
  expectMistake(lane.diagnostics(), DiagId::SimtPlace,
                "`load` names a place of `image` by 1 indices, expected 2, one for each dimension");
}

TEST_F(SimtTest, PlacesAreIntegers) {
  Value number = load(x(thread_id()));
  line = __LINE__ + 1;
  store(1, y(number));
  expectMistake(lane.diagnostics(), DiagId::SimtPlace,
                "`store` takes `f32[WAVES, LANES]` as an index, expected an integer of this lane", "cast it to `i32`");
}

TEST_F(SimtTest, TilesAreNoValuesOfLanes) {
  line = __LINE__ + 1;
  store(lane.fill({M}, f32, 0.0), x(thread_id()));
  expectMistake(lane.diagnostics(), DiagId::SimtValue,
                "`store` puts `f32[M]`, expected a value of one lane, which has dimensions among `[WAVES, LANES]`",
                "`write` puts whole tiles; `elements(tile, …)` speaks of one element of it");
}

TEST_F(SimtTest, BarriersThatNotAllLanesReach) {
  Value some = lane.per_lane(thread_id()) < 7;
  when(some, [&] {
    line = __LINE__ + 1;
    lane.barrier();
  });
  expectMistake(lane.diagnostics(), DiagId::SimtLane, "`barrier` inside `when`, where not all lanes come",
                "put it between two `when`");
}

TEST_F(SimtTest, TilesThatAreWrittenWhereSomeLanesAre) {
  elements(read(v), [&](Value value) {
    when(value > 0, [&] {
      line = __LINE__ + 1;
      write(value, v);
    });
  });
  expectMistake(DiagId::SimtLane, "`write` of a whole tile inside of `when`, where only some lanes are",
                "`store(value, memory[i])` puts what these lanes have");
}

TEST_F(SimtTest, ConditionsAreTruthValues) {
  Value number = lane.per_lane(thread_id());
  line = __LINE__ + 1;
  when(number, [] {});
  expectMistake(lane.diagnostics(), DiagId::SelectCondition, "the condition of `when` is `i32`, expected `i1`",
                "compare it, e.g. `x != 0`");
}

TEST_F(SimtTest, ShufflesAreOfLanes) {
  Value ofWave = sum(load(x(thread_id())), lanes());
  line = __LINE__ + 1;
  (void)shuffle_xor(ofWave, 1);
  expectMistake(lane.diagnostics(), DiagId::ShuffleSource,
                "`shuffle_xor` of `f32[WAVES]`, expected a value that each lane of a wave has its own of",
                "lanes exchange values in a kernel with `Simt`");
}

TEST_F(SimtTest, ShufflesTakeNumbersOfLanes) {
  Value number = load(x(thread_id()));
  line = __LINE__ + 1;
  (void)shuffle(number, number);
  expectMistake(lane.diagnostics(), DiagId::ShuffleSource,
                "`shuffle` takes `f32[WAVES, LANES]` as the number of a lane, expected an `i32` of each lane",
                "cast it to `i32`");
}

TEST_F(SimtTest, ShufflesHaveADirection) {
  Value number = load(x(thread_id()));
  line = __LINE__ + 1;
  (void)shuffle_up(number, -1);
  expectMistake(lane.diagnostics(), DiagId::ShuffleSource, "`shuffle_up` by -1, expected a number that is not negative",
                "`shuffle_up` and `shuffle_down` go the two ways");
}

TEST_F(SimtTest, ComponentsAreOfVectors) {
  Value four = load(x(4 * thread_id()), {.vector = 4});
  line = __LINE__ + 1;
  (void)component(four, 4);
  expectMistake(lane.diagnostics(), DiagId::SimtValue,
                "`component` 4 of `f32[WAVES, LANES, VECTOR_4]`, expected a lane's vector that has it",
                "`load(x(i), {.vector = 4})` makes one");
}

TEST_F(SimtTest, WavesAreDistributedOnce) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {WorkgroupConstraint(M, 64, 0), WaveConstraint(M, 16), Simt(256)}};
  expectMistake(bad.diagnostics(), DiagId::SimtThreads,
                "`Simt` has a lane in every wave, but `M` is distributed over waves too",
                "leave `Simt` out and speak of a tile's elements: `elements(tile, …)`");
}

TEST_F(SimtTest, GridsAreSaidOnce) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {WorkgroupConstraint(M, 64, 0), Simt(256, {4})}};
  expectMistake(bad.diagnostics(), DiagId::SimtThreads, "`Simt` says a grid, and the workgroups of `M` say another one",
                "leave one of them out");
}

TEST_F(SimtTest, ElementsInALanesKernel) {
  Value number = load(x(thread_id()));
  line = __LINE__ + 1;
  elements(number, [](Value) {});
  expectMistake(lane.diagnostics(), DiagId::SimtLane, "`elements` where a lane is spoken of already",
                "a lane's value is its element; write loops over tiles in a kernel of tiles");
}

} // namespace
