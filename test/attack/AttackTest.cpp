//===- AttackTest.cpp - A short campaign -------------------------------------------===//
//
// The whole one is `SolitonAttack`; its table is in bench/results/attack.md.
//
//===----------------------------------------------------------------------===//
#include "test/attack/Campaign.h"

#include "soliton/authoring/LoopHooks.h"

#include "gtest/gtest.h"

namespace soliton::attack {
namespace {

TEST(Attack, WhateverDoesHarmIsReportedAndWhatIsRightIsNot) {
  Campaign campaign = run({.mutants = 8, .goods = 40, .seed = 7, .threads = 2});
  for (const auto &[kind, tally] : campaign.tallies) {
    EXPECT_EQ(tally.mutants, 8) << nameOf(kind);
    EXPECT_GE(tally.harmful, 1) << nameOf(kind);
  }
  EXPECT_GE(campaign.total().harmful, 40);
  for (const Attempt &attempt : campaign.missed)
    ADD_FAILURE() << nameOf(attempt.kind) << ": " << attempt.base << ": " << attempt.what << " (" << attempt.harm
                  << ")";
  for (const Attempt &attempt : campaign.incomplete)
    ADD_FAILURE() << nameOf(attempt.kind) << ": " << attempt.base << ": " << attempt.what << "\n" << attempt.report;
  EXPECT_EQ(campaign.goods, 40);
  for (const Good &good : campaign.falseAlarms)
    ADD_FAILURE() << good.name << "\n" << good.alarm;
}

/// The judge of harm is not blind: a kernel that misses its only wait for direct copies is wrong in every order.
TEST(Attack, ADroppedWaitForCopiesDoesHarm) {
  Setting setting{.target = "gfx950", .schedule = "prefetch", .directCopies = true, .trips = 5};
  std::vector<Diagnostic> wrong;
  std::optional<Base> base = makeBase(setting, wrong);
  ASSERT_TRUE(base) << format(wrong);
  EXPECT_EQ(run(*base, base->program, 0, /*checks=*/true).harm(), "");
  auto damage = std::make_shared<sched::LoopHooks>();
  damage->afterSynchronize = [](const sched::Problem &, const sched::Schedule &, sched::Program &program) {
    for (sched::Phase phase : {sched::Phase::Prologue, sched::Phase::Kernel, sched::Phase::Epilogue})
      std::erase_if(program.list(phase),
                    [](const sched::Entry &entry) { return entry.kind == sched::EntryKind::Wait; });
  };
  EXPECT_FALSE(compileUnder(setting, damage, wrong));
  ASSERT_FALSE(wrong.empty());
  damage->skipProof = true;
  std::optional<CompileResult> compiled = compileUnder(setting, damage, wrong);
  ASSERT_TRUE(compiled);
  for (uint64_t seed : {0, 1, 2})
    EXPECT_EQ(run(*base, decode(compiled->image), seed, /*checks=*/false).harm(), "wrong result");
}

} // namespace
} // namespace soliton::attack
