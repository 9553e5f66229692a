//===- AttackTest.cpp - A short campaign -------------------------------------------===//
//
// The whole one is `SolitonAttack`; its table is in bench/results/attack.md.
//
//===----------------------------------------------------------------------===//
#include "test/attack/Campaign.h"
#include "test/attack/RoleAttack.h"
#include "test/attack/WholeAttack.h"

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

/// Whole kernels of several workgroups; generated ones come with `SolitonAttack --whole`.
TEST(Attack, WhatTheVerifierAcceptsOfBrokenKernelsRunsClean) {
  WholeTally all;
  for (const WholeSetting &setting : std::initializer_list<WholeSetting>{{"gemm", "gfx942", "prefetch"},
                                                                         {"gemm_nn", "sm_90a", "none"},
                                                                         {"row_softmax", "gfx950", "none"},
                                                                         {"attention", "gfx942", "none"},
                                                                         {"transpose", "sm_90a", "none"}}) {
    std::string why;
    std::unique_ptr<Victim> victim = makeVictim(setting, why);
    ASSERT_TRUE(victim) << setting.text() << "\n" << why;
    for (Harm harm : allHarms())
      all += attackWhole(*victim, harm, {.mutants = 2});
  }
  for (const std::string &missed : all.missed)
    ADD_FAILURE() << missed;
  EXPECT_GE(all.refused, 10);
  EXPECT_GE(2 * all.confirmed, all.refused) << "the verifier refuses for a reason: the emulator sees most of it";
}

/// Kernels with waves that copy; all of them come with `SolitonAttack --roles`.
TEST(Attack, WhatIsBrokenBetweenRolesIsReported) {
  std::map<RoleHarm, RoleTally> tallies;
  for (const RoleSetting &setting : {RoleSetting{"gemm", 4, 1, true}, RoleSetting{"attention", 4, 1, false},
                                     RoleSetting{.serviceWaves = 4, .persistent = 1, .overlap = true, .turns = true}}) {
    std::string why;
    std::unique_ptr<RoleVictim> victim = RoleVictim::make(setting, why);
    ASSERT_TRUE(victim) << setting.text() << "\n" << why;
    EXPECT_EQ(victim->objection(), "") << setting.text();
    for (RoleHarm harm : allRoleHarms())
      tallies[harm] += victim->attack(harm, 6);
  }
  for (const auto &[harm, tally] : tallies) {
    EXPECT_GE(tally.mutants, 1) << nameOf(harm);
    EXPECT_GE(tally.byVerifier + tally.byEmulator, 1) << nameOf(harm);
    for (const std::string &missed : tally.missed)
      ADD_FAILURE() << nameOf(harm) << ": " << missed;
  }
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
