#include "soliton/layout/Convert.h"

#include "soliton/layout/Atoms.h"
#include "soliton/layout/Blocked.h"
#include "soliton/layout/RandomLayouts.h"

#include <gtest/gtest.h>

using namespace soliton;
using namespace soliton::test;

namespace {
const Dim M("M"), N("N"), K("K");

Layout parsed(std::string_view text) {
  return Layout::parse(text).value();
}

/// What each (wave, lane, register) holds: a number for the coordinates of the dims that the source knows.
class Contents {
public:
  explicit Contents(const Layout &layout)
      : regs(layout.regs()), lanes(layout.lanes()), waves(layout.waves()),
        elements(static_cast<size_t>(regs * lanes * waves), -1) {}

  Contents(const Layout &layout, const std::set<Dim> &dims) : Contents(layout) {
    for (int64_t wave = 0; wave < waves; ++wave)
      for (int64_t lane = 0; lane < lanes; ++lane)
        for (int64_t reg = 0; reg < regs; ++reg) {
          int64_t id = 0;
          for (Dim dim : dims)
            id = id * 4096 + layout.coordinate(dim, reg, lane, wave);
          at({reg, lane, wave}) = id;
        }
  }

  int64_t &at(Holder h) { return elements[index(h)]; }
  int64_t at(Holder h) const { return elements[index(h)]; }
  bool operator==(const Contents &other) const { return elements == other.elements; }

  const int64_t regs, lanes, waves;

private:
  size_t index(Holder h) const {
    if (h.reg < 0 || h.reg >= regs || h.lane < 0 || h.lane >= lanes || h.wave < 0 || h.wave >= waves)
      throw std::out_of_range("no such holder");
    return static_cast<size_t>((h.wave * lanes + h.lane) * regs + h.reg);
  }
  std::vector<int64_t> elements;
};

/// Runs a rename or shuffle as the machine would.
Contents execute(const ConvertPlan &plan, const Contents &source, const Layout &to) {
  Contents result(to);
  for (int64_t wave = 0; wave < to.waves(); ++wave)
    for (int64_t lane = 0; lane < to.lanes(); ++lane) {
      if (plan.kind == ConvertKind::rename) {
        for (int64_t reg = 0; reg < to.regs(); ++reg)
          result.at({reg, lane, wave}) = source.at({plan.registers[static_cast<size_t>(reg)], lane, wave});
        continue;
      }
      std::vector<std::optional<int64_t>> fromLane(static_cast<size_t>(plan.slots)), fromGroup = fromLane;
      for (const ShuffleRound &round : plan.rounds) {
        bool taken =
            std::ranges::all_of(round.guards, [&](auto &guard) { return guard.function(lane, wave) == guard.value; });
        if (!taken)
          continue;
        int64_t sender = round.sourceLane(lane, wave);
        if (!round.crossesLanes)
          EXPECT_EQ(sender, lane);
        size_t slot = static_cast<size_t>(round.slot(lane, wave));
        EXPECT_FALSE(fromLane.at(slot)) << "filled twice";
        fromLane.at(slot) = sender;
        fromGroup.at(slot) = round.sendGroup(sender, wave);
      }
      for (int64_t reg = 0; reg < to.regs(); ++reg) {
        size_t slot = static_cast<size_t>(plan.slotOf.at(static_cast<size_t>(reg / plan.granule)));
        result.at({reg, lane, wave}) = source.at(
            {fromGroup.at(slot).value() * plan.granule + reg % plan.granule, fromLane.at(slot).value(), wave});
      }
    }
  return result;
}

/// By brute force: can each destination register come from one register of the same lane, or at least of the same wave?
struct Reach {
  bool ownLane = true, ownWave = true;
};

Reach reachOf(const Contents &source, const Contents &wanted, const Layout &from, const Layout &to) {
  Reach reach;
  for (int64_t wave = 0; wave < to.waves(); ++wave) {
    auto inWave = [&](const Contents &contents) {
      std::set<int64_t> elements;
      for (int64_t lane = 0; lane < contents.lanes; ++lane)
        for (int64_t reg = 0; reg < contents.regs; ++reg)
          elements.insert(contents.at({reg, lane, wave}));
      return elements;
    };
    std::set<int64_t> held = inWave(source), needed = inWave(wanted);
    reach.ownWave &= std::ranges::includes(held, needed);
  }
  for (int64_t reg = 0; reg < to.regs(); ++reg) {
    bool any = false;
    for (int64_t candidate = 0; candidate < from.regs() && !any; ++candidate) {
      any = true;
      for (int64_t wave = 0; wave < to.waves() && any; ++wave)
        for (int64_t lane = 0; lane < to.lanes() && any; ++lane)
          any = source.at({candidate, lane, wave}) == wanted.at({reg, lane, wave});
    }
    reach.ownLane &= any;
  }
  return reach;
}

/// Executes the plan, checks it and that nothing cheaper would have been right.
ConvertKind check(const Layout &from, const Layout &to) {
  ConvertPlan plan = planConvert(from, to, {.elementBits = 32, .maxExchanges = 1 << 16});
  std::string what = from.str() + "  ->  " + to.str();
  Contents source(from, from.dims()), wanted(to, from.dims());
  Reach reach = reachOf(source, wanted, from, to);
  EXPECT_NE(plan.kind, ConvertKind::impossible) << what << ": " << plan.reason;
  EXPECT_EQ(plan.kind == ConvertKind::rename, reach.ownLane) << what;
  if (plan.kind == ConvertKind::shared)
    EXPECT_TRUE(!reach.ownWave || !detail::refine(from, to)) << what;
  else
    EXPECT_TRUE(execute(plan, source, to) == wanted) << what;
  return plan.kind;
}
} // namespace

TEST(Convert, RandomPairsAreConvertedRight) {
  Random random(11);
  std::map<ConvertKind, int> seen;
  for (int trial = 0; trial < 3000; ++trial) {
    Shape shape = randomShape(random);
    Layout from = randomLayout(random, shape, trial % 4), to = randomLayout(random, shape, trial % 4);
    // Same waves, so that shuffles are met often; sometimes the same lanes.
    if (trial % 3 != 0) {
      Layout twin = from;
      std::ranges::shuffle(twin.reg, random);
      if (trial % 3 == 1)
        std::ranges::shuffle(twin.lane, random);
      to = twin;
    }
    ++seen[check(from, to)];
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(seen[ConvertKind::rename], 500);
  EXPECT_GT(seen[ConvertKind::shuffle], 500);
  EXPECT_GT(seen[ConvertKind::shared], 300);
}

TEST(Convert, RegistersAndLanesTradePlaces) {
  Random random(12);
  int shuffles = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    Shape shape = randomShape(random);
    shape.waves = 1;
    shape.lanes = trial % 3 ? 32 : shape.lanes;
    shuffles += check(randomLayout(random, shape), randomLayout(random, shape)) == ConvertKind::shuffle;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(shuffles, 700);
}

TEST(Convert, EveryRoundBringsEveryLaneARegisterOnPowersOfTwo) {
  Random random(13);
  int checked = 0;
  for (int trial = 0; trial < 500; ++trial) {
    Shape shape{{{M, 16}, {N, 32}}, 32, 1};
    Layout from = randomLayout(random, shape), to = randomLayout(random, shape);
    ConvertPlan plan = planConvert(from, to, {.maxExchanges = 1 << 16});
    if (plan.kind != ConvertKind::shuffle)
      continue;
    ++checked;
    EXPECT_EQ(static_cast<int64_t>(plan.rounds.size()), plan.slots) << from.str() << " -> " << to.str();
    for (const ShuffleRound &round : plan.rounds)
      EXPECT_TRUE(round.guards.empty());
  }
  EXPECT_GT(checked, 300);
}

TEST(Convert, BlockedToFragment) {
  DimExtent tile[] = {{M, 16}, {N, 64}};
  Layout fragment = parsed("reg = (4 M 1)(4 N 16), lane = (16 N 1)(4 M 4)");
  for (int64_t elements : {1, 2, 4, 8}) {
    Layout blocked = coalesced(tile, 64, 1, elements).layout.value();
    EXPECT_EQ(check(blocked, fragment), ConvertKind::shuffle) << elements;
    EXPECT_EQ(check(fragment, blocked), ConvertKind::shuffle) << elements;
  }
}

TEST(Convert, TwoLanesSwapByButterfly) {
  ConvertPlan plan = planConvert(parsed("reg = (2 M 1), lane = (2 M 2)"), parsed("reg = (2 M 2), lane = (2 M 1)"));
  ASSERT_EQ(plan.kind, ConvertKind::shuffle);
  ASSERT_EQ(plan.rounds.size(), 2u);
  EXPECT_EQ(plan.rounds[0].sourceLane.xorMask(2), 0);
  EXPECT_EQ(plan.rounds[1].sourceLane.xorMask(2), 1);
  EXPECT_EQ(plan.crossings(), 1);
}

TEST(Convert, RegistersTravelTogetherWhereBothAgree) {
  ConvertPlan plan = planConvert(parsed("reg = (4 M 1), lane = (8 N 1)(4 M 4)"),
                                 parsed("reg = (4 M 1), lane = (4 M 4)(8 N 1)"), {.elementBits = 16});
  ASSERT_EQ(plan.kind, ConvertKind::shuffle);
  EXPECT_EQ(plan.granule, 4);
  EXPECT_EQ(plan.rounds.size(), 1u);
}

TEST(Convert, ReplicatedLanesChooseAmongTheirOwnRegisters) {
  ConvertPlan plan = planConvert(parsed("reg = (4 M 1), lane = (4 _ 0)"), parsed("lane = (4 M 1)"));
  ASSERT_EQ(plan.kind, ConvertKind::shuffle);
  EXPECT_EQ(plan.crossings(), 0);
  EXPECT_EQ(check(parsed("reg = (4 M 1), wave = (4 _ 0)"), parsed("wave = (4 M 1)")), ConvertKind::shuffle);
}

TEST(Convert, BroadcastIsAConversion) {
  Layout fragment = parsed("reg = (4 M 1)(4 N 16), lane = (16 N 1)(4 M 4)");
  ConvertPlan plan = planConvert(fragment.withoutDim(N), fragment);
  ASSERT_EQ(plan.kind, ConvertKind::rename);
  EXPECT_EQ(plan.registers, (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(check(parsed("lane = (16 M 1)(4 _ 0)"), fragment), ConvertKind::shuffle);
  EXPECT_EQ(planConvert(parsed("lane = (16 M 1)(4 _ 0)"), fragment).slots, 4);
}

TEST(Convert, OtherWavesNeedSharedMemory) {
  EXPECT_EQ(check(parsed("lane = (4 M 1), wave = (2 M 4)"), parsed("reg = (2 M 1), lane = (4 M 2), wave = (2 _ 0)")),
            ConvertKind::shared);
  EXPECT_EQ(check(parsed("reg = (6 M 1), lane = (4 M 6)"), parsed("reg = (6 M 4), lane = (4 M 1)")),
            ConvertKind::shared);
}

TEST(Convert, ManyExchangesGoThroughSharedMemory) {
  Layout from = parsed("reg = (64 M 1), lane = (32 M 64)"), to = parsed("reg = (64 M 32), lane = (32 M 1)");
  EXPECT_EQ(planConvert(from, to, {.maxExchanges = 64}).kind, ConvertKind::shuffle);
  EXPECT_EQ(planConvert(from, to, {.maxExchanges = 16}).kind, ConvertKind::shared);
}

TEST(Convert, SaysWhyNot) {
  Layout from = parsed("reg = (4 M 1), lane = (4 N 1)");
  EXPECT_EQ(planConvert(from, parsed("reg = (4 M 1), lane = (8 N 1)")).reason,
            "the source has 4 lanes, the destination 8");
  EXPECT_EQ(planConvert(from, parsed("reg = (2 M 1), lane = (4 N 1)")).reason,
            "the source has 4 elements along `M`, the destination 2");
  EXPECT_EQ(planConvert(from, parsed("reg = (4 M 1), lane = (4 N 1), offset = (M 4)")).reason,
            "the source has 0 as start of `M`, the destination 4");
  EXPECT_EQ(planConvert(from, parsed("reg = (4 M 1), lane = (4 N 1), wave = (2 _ 0)")).reason,
            "the source has 1 waves, the destination 2");
  EXPECT_EQ(planConvert(parsed("reg = (2 M 1), lane = (2 M 1)"), parsed("reg = (3 M 1), lane = (2 _ 0)")).reason,
            "the source layout `reg = (2 M 1), lane = (2 M 1)` does not hold each element once");
  EXPECT_EQ(planConvert(from, parsed("reg = (4 M 1), lane = (4 N 1), wave = (2 _ 0)")).kind, ConvertKind::impossible);
}
