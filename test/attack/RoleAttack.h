//===- RoleAttack.h - Breaks what roles have between each other ------------------------===//
//
// A victim is a kernel whose tiles a wave of its own has copied: whole, in several tiles that workgroups walk. One
// thing of those that the two roles tell each other is broken, in the program that is proven (form `Synchronized`) or
// in the machine form that it became, which is said twice, once for each role:
//
//   dropped-arrive    a wave no longer says that it is done, that a group of boxes is complete, or whose turn it is
//   dropped-wait      nobody waits for boxes, products or a turn, awaits a release, or meets
//   weaker-wait       a wait or an await is content with less, a barrier of all waves is one of teams
//   wrong-parity      a wait looks for the other phase
//   wrong-bytes       a phase expects more or fewer bytes than its boxes have
//   too-few-stages    a tile has fewer buffers than its copies, releases and awaits were made for
//   no-proxy-fence    what lanes wrote, or read, is not made known to the copy engine
//   swapped-role      waves of one role execute what is another's: all of it, or one op
//
// The verifier judges what it can see, the emulator runs what comes of it with its checks. What both accept must be
// right in every order that is tried.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/attack/WholeAttack.h"

#include "soliton/authoring/Request.h"

namespace soliton::attack {

struct RoleSetting {
  /// `gemm`, `attention` or `attention_causal` of the library.
  std::string kernel = "gemm";
  int64_t serviceWaves = 4;
  /// Workgroups that walk; 0: one for each tile.
  int64_t persistent = 0;
  /// Of `gemm`: a schedule that releases buffers, in place of `ring`.
  bool releases = false;
  /// Waves go on to the next tile by themselves, two teams of them.
  bool overlap = false;
  /// Two teams of waves that compute take turns at products.
  bool turns = false;

  std::string text() const;
};

enum class RoleHarm : uint8_t {
  DroppedArrive,
  DroppedWait,
  WeakerWait,
  WrongParity,
  WrongBytes,
  TooFewStages,
  NoProxyFence,
  SwappedRole
};
std::string_view nameOf(RoleHarm harm);
const std::vector<RoleHarm> &allRoleHarms();

struct RoleTally {
  int mutants = 0;
  /// Who reports it: the verifier, the emulator in two orders of the waves, or only in one of twelve more.
  int byVerifier = 0, byEmulator = 0, later = 0;
  /// Accepted by the verifier, and right in all these orders.
  std::vector<std::string> harmless;
  /// Programs that the verifier accepts and the emulator does not: what was done, and what it says.
  std::vector<std::string> unproven;
  /// Accepted, and wrong without a word of the emulator's: what was done, and what came of it.
  std::vector<std::string> missed;

  RoleTally &operator+=(const RoleTally &other);
};

class RoleVictim {
public:
  /// Nothing, with the reason, where it is refused.
  static std::unique_ptr<RoleVictim> make(const RoleSetting &setting, std::string &why);

  /// Every place of that kind, one after the other; at most `most` of them, evenly taken.
  RoleTally attack(RoleHarm harm, int most);
  /// What the emulator has against the kernel as it is; empty if nothing.
  std::string objection();

  struct Mutant;

private:
  std::vector<Mutant> mutantsOf(RoleHarm harm);
  void shrinkRings(std::vector<Mutant> &mutants);
  void judge(Mutant &mutant, RoleTally &tally);

  RoleSetting setting;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> synchronized;
  std::vector<sched::LoopReport> loops;
  /// Two orders of the waves, and many.
  std::optional<Oracle> oracle, judgeOfHarm;
};

const std::vector<RoleSetting> &roleSettings();

} // namespace soliton::attack
