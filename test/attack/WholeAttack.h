//===- WholeAttack.h - Breaks the synchronisation of whole kernels ---------------------===//
//
// A victim is a kernel of several workgroups with its barriers and waits in (form `Synchronized`), and what it has to
// compute. One thing about it is broken: a barrier, wait or commit is dropped, weakened or moved, or the tree that they
// are derived from is wrong, as if the problem builder had forgotten an access, taken one region for another, or
// believed that one wave does what several do. Whatever the verifier still accepts, looking at the program as it is,
// must run clean and right on the emulator:
//
//   Victim victim = *makeVictim({.name = "gemm", .target = "gfx942", .schedule = "prefetch"}, why);
//   WholeTally tally = attackWhole(victim, {.seed = 1, .mutants = 20});
//   tally.missed                                  accepted, and wrong: must be empty
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Oracle.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>

namespace soliton::attack {

/// What is attacked: a kernel of the library, `attention`, or `seed N` of the generator.
struct WholeSetting {
  std::string name;
  std::string target;
  std::string schedule = "none";
  bool directCopies = false;

  std::string text() const { return name + " " + target + " " + schedule + (directCopies ? " direct" : ""); }
};

struct Victim {
  WholeSetting setting;
  std::unique_ptr<mlir::MLIRContext> context;
  /// Ordered, but without what the compiler derives; and with it.
  mlir::OwningOpRef<mlir::ModuleOp> scheduled, synchronized;
  std::optional<Oracle> oracle;
};

/// Nothing, with the reason, where it is refused.
std::unique_ptr<Victim> makeVictim(const WholeSetting &setting, std::string &why);

enum class Harm : uint8_t { Drop, Weaken, Move, ForgetAccess, WrongRegion, WrongWave, WrongOrder };
std::string_view nameOf(Harm harm);
const std::vector<Harm> &allHarms();

struct WholeTally {
  int mutants = 0, refused = 0, accepted = 0;
  /// Of those that were refused, the ones to which the emulator objects as well.
  int confirmed = 0;
  /// Accepted, and the emulator objects: what was done, and what it says.
  std::vector<std::string> missed;

  WholeTally &operator+=(const WholeTally &other);
};

struct WholeOptions {
  uint64_t seed = 1;
  /// Attempts for each kind of harm.
  int mutants = 10;
};

WholeTally attackWhole(Victim &victim, Harm harm, const WholeOptions &options);

/// All settings, in an order that mixes them; `seeds` generated kernels among them.
std::vector<WholeSetting> wholeSettings(int seeds);

} // namespace soliton::attack
