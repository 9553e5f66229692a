//===- Served.h - Kernels with waves that copy, built, judged and broken ------------------------------===//
//
// What tests of such kernels share. Attention is described by its sizes, tiles and waves; a machine form by its roles:
//
//   expectRight({.sizes = sizesOf("attention", 300, 520, 64), .persistent = 2});
//   findingsAfter(machine, buffers, scalars, [](Roles &roles) { return flip(roles.awaits()); })
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Pipelines.h"
#include "soliton/emulator/Machine.h"
#include "soliton/ir/Machine.h"
#include "test/e2e/Support.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace soliton::test {
using kernels::Sizes;

/// A kernel of the library, and how its waves, workgroups and tiles go about it.
struct Attended {
  Sizes sizes;
  const char *kernel = "attention";
  int64_t serviceWaves = 4, persistent = 0, raster = 0;
  bool stagedWrites = true;
  int64_t rows = 128, keys = 128;
  std::vector<std::string> dynamic = {};
  const char *variant = "f16";
  std::string mma = "F32_64xNx16_F16", schedule = "ring";
  bool overlapTiles = false, turns = false;

  Case which() const;
  CompileOptions options() const;
  CompileAttempt compile(rt::ImageKind kind, std::vector<Artefact> keep = {}) const;
};

std::ostream &operator<<(std::ostream &out, const Attended &a);

/// The kernel's own sizes, but for these.
Sizes sizesOf(const char *kernel, int64_t q, int64_t kv, int64_t d, int64_t heads = 2);
Attended attended(int64_t q, int64_t kv, int64_t d, const char *kernel = "attention");
void expectRight(const Attended &a);

/// The first text that was kept.
std::string textOf(CompileAttempt compiled);
size_t count(const std::string &text, std::string_view word);

//===-- What must not be missing ------------------------------------------------------------------------===//

enum class Role : uint8_t { copying, computing };

/// The ops of one role in a machine form, and what they are by where they stand.
struct Roles {
  explicit Roles(mlir::ModuleOp module) {
    module.walk([&](mlir::scf::IfOp branch) {
      if (!roles && branch.elseBlock())
        roles = branch;
    });
    // The first is met behind those inside of it.
    while (auto around = roles->getParentOfType<mlir::scf::IfOp>())
      roles = around;
  }

  template <typename OpTy>
  std::vector<OpTy> of(Role role) {
    std::vector<OpTy> ops;
    (role == Role::copying ? roles.getThenRegion() : roles.getElseRegion()).walk([&](OpTy op) { ops.push_back(op); });
    return ops;
  }

  /// What the copying lane awaits: it alone, and only what it has not looked at yet.
  std::vector<machine::MbarrierWaitOp> awaits() {
    std::vector<machine::MbarrierWaitOp> waits = of<machine::MbarrierWaitOp>(Role::copying);
    std::erase_if(waits, [](machine::MbarrierWaitOp wait) { return !isAsked(wait); });
    return waits;
  }

  /// Waits of a role for boxes.
  std::vector<machine::MbarrierWaitOp> boxWaits(Role role) {
    std::vector<machine::MbarrierWaitOp> waits = of<machine::MbarrierWaitOp>(role);
    std::erase_if(waits, [](machine::MbarrierWaitOp wait) { return isAsked(wait); });
    return waits;
  }

  /// Whether a branch of a branch by one lane asks before it waits.
  static bool isAsked(machine::MbarrierWaitOp wait) {
    auto asks = llvm::dyn_cast<mlir::scf::IfOp>(wait->getParentOp());
    if (!asks || !asks.getElseRegion().empty())
      return false;
    auto compare = asks.getCondition().getDefiningOp<mlir::arith::CmpIOp>();
    return compare && compare.getPredicate() == mlir::arith::CmpIPredicate::sge &&
           llvm::isa<mlir::scf::IfOp>(asks->getParentOp());
  }

  mlir::scf::IfOp roles;
};

using Changes = llvm::function_ref<int(Roles &)>;

/// What is found in a machine form once `change` has been at it, with waves in several orders; it must change
/// something. `tickets`: the counter of tiles that are drawn, which begins with 0.
std::vector<emu::FindingKind> findingsAfter(const std::string &machine, std::vector<emu::Buffer> buffers,
                                            std::vector<uint64_t> scalars, Changes change, int32_t *tickets = nullptr);
/// Attention of one head, of ones.
std::vector<emu::FindingKind> findingsAfter(const Attended &a, Changes change);

inline bool has(const std::vector<emu::FindingKind> &kinds, emu::FindingKind kind) {
  return std::ranges::count(kinds, kind) > 0;
}

template <typename OpTy>
int erase(std::vector<OpTy> ops) {
  for (OpTy op : ops)
    op.erase();
  return static_cast<int>(ops.size());
}

/// Each of them waits for the other phase.
int flip(const std::vector<machine::MbarrierWaitOp> &waits);

//===-- What is refused, and every pass -----------------------------------------------------------------===//

/// The one error says so, at a place of the kernel.
void expectRefused(const CompileAttempt &attempt, std::string_view message, std::string_view file,
                   DiagId id = DiagId::NotSupportedHere);

/// All passes of the ring, each of which must leave what was traced.
void expectEveryPassRight(const Kernel &kernel, const CompileOptions &options, const std::string &instruction);

} // namespace soliton::test
