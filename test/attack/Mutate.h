//===- Mutate.h - Breaks good schedules on purpose -------------------------===//
//
// For proof by attack: small damages, each of a named kind, to a schedule and the program made of it. A verifier that
// is worth its name reports every one that can do harm.
//
//   Mutant broken = *mutate(problem, schedule, program, Mutation::DropWait, /*seed=*/7);
//   broken.what   "dropped `wait vm 4` from the kernel"
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Program.h"

namespace soliton::sched {

enum class Mutation : uint8_t {
  DropOp,
  MoveOp,
  DropBarrier,
  MoveBarrier,
  DropWait,
  MoveWait,
  WrongCount,
  ShrinkBuffer,
  SwapStages,
  WrongDistance,
  MissingStagger,
};

std::string_view nameOf(Mutation mutation);
const std::vector<Mutation> &allMutations();

struct Mutant {
  Mutation kind = Mutation::DropOp;
  /// What was done, for reports.
  std::string what;
  Schedule schedule;
  Program program;
};

/// One damage of that kind, chosen by `seed`; nothing where there is nothing of the kind to damage. Changes of the
/// schedule itself (stages) are carried through to the program, so that only the damage is wrong with it.
std::optional<Mutant> mutate(const Problem &problem, const Schedule &schedule, const Program &program,
                             Mutation mutation, uint32_t seed);

} // namespace soliton::sched
