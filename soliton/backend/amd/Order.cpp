//===- Order.cpp - Whether the chip does what the schedule says -----------------------===//

#include "soliton/backend/amd/Order.h"

#include "soliton/ir/Diagnose.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

namespace soliton::backend {

static uint32_t lineOf(mlir::Operation *op) {
  return static_cast<uint32_t>(placeOf(op->getLoc()).line);
}

/// The class of an op that a schedule places.
static std::optional<InstructionKind> placedKind(mlir::Operation *op) {
  using Kind = InstructionKind;
  return llvm::TypeSwitch<mlir::Operation *, std::optional<Kind>>(op)
      .Case([](machine::LoadOp load) { return load.getBuffer() ? Kind::globalLoad : Kind::sharedLoad; })
      .Case([](machine::StoreOp store) { return store.getBuffer() ? Kind::globalStore : Kind::sharedStore; })
      .Case([](machine::LoadMatrixOp) { return Kind::sharedLoad; })
      .Case([](machine::CopyAsyncOp) { return Kind::sharedDirect; })
      .Case<machine::MmaOp>([](auto) { return Kind::mfma; })
      .Case<machine::BarrierOp>([](auto) { return Kind::barrier; })
      .Default([](auto) { return std::nullopt; });
}

std::vector<Placed> placedOps(machine::KernelOp kernel) {
  std::vector<Placed> result;
  // A single wave meets nobody: its barriers are no instructions.
  bool alone = kernel.getWaves() == 1;
  kernel.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    std::optional<InstructionKind> kind = placedKind(op);
    if (kind && !(alone && kind == InstructionKind::barrier))
      result.push_back({*kind, lineOf(op)});
  });
  return result;
}

std::vector<Placed> placedInstructions(const Disassembly &listing) {
  std::vector<Placed> result;
  for (const Instruction &i : listing.instructions)
    switch (i.kind) {
    case InstructionKind::mfma:
    case InstructionKind::sharedLoad:
    case InstructionKind::sharedStore:
    case InstructionKind::globalLoad:
    case InstructionKind::globalStore:
    case InstructionKind::sharedDirect:
    case InstructionKind::barrier:
      result.push_back({i.kind, i.line});
      break;
    default:
      break;
    }
  return result;
}

//===-- Numbers and order ----------------------------------------------------------===//

static std::string classText(InstructionKind kind) {
  return "`" + std::string(name(kind)) + "`";
}

static std::optional<std::string> countMismatch(const std::vector<Placed> &wanted, const std::vector<Placed> &found) {
  std::map<InstructionKind, int64_t> surplus;
  std::map<InstructionKind, size_t> expected;
  for (const Placed &each : wanted)
    --surplus[each.kind], ++expected[each.kind];
  for (const Placed &each : found)
    ++surplus[each.kind];
  for (auto [kind, difference] : surplus)
    if (difference != 0)
      return std::to_string(static_cast<int64_t>(expected[kind]) + difference) + " instructions of class " +
             classText(kind) + ", the program has " + std::to_string(expected[kind]);
  return std::nullopt;
}

/// True if something that is placed stands in a branch: LLVM may put its blocks in another order.
static bool placesInBranches(machine::KernelOp kernel) {
  return kernel
      .walk([](mlir::Operation *op) {
        return placedKind(op) && op->getParentOfType<mlir::scf::IfOp>() ? mlir::WalkResult::interrupt()
                                                                        : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

static std::optional<std::string> orderMismatch(const std::vector<Placed> &wanted, const std::vector<Placed> &found) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i].kind != found[i].kind)
      return "at place " + std::to_string(i) + " an instruction of class " + classText(found[i].kind) + " (line " +
             std::to_string(found[i].line) + "), the program has " + classText(wanted[i].kind) + " (line " +
             std::to_string(wanted[i].line) + ")";
  return std::nullopt;
}

//===-- Waits ----------------------------------------------------------------------===//

namespace {
/// A wait that lets some instructions of a counter stay unfinished.
struct CountedWait {
  uint32_t line;
  std::string text; ///< as the disassembler writes it: "vmcnt(4)"

  auto operator<=>(const CountedWait &) const = default;
};
} // namespace

static std::map<CountedWait, int64_t> countedWaits(machine::KernelOp kernel) {
  std::map<CountedWait, int64_t> result;
  kernel.walk([&](machine::WaitOp first) {
    if (llvm::isa_and_nonnull<machine::WaitOp>(first->getPrevNode()))
      return;
    // Waits in a row are one instruction at the line of the first.
    std::map<llvm::StringRef, int64_t> pending;
    for (auto op = first; op; op = llvm::dyn_cast_or_null<machine::WaitOp>(op->getNextNode())) {
      llvm::StringRef counter = op.getCounter() == machine::Counter::vm ? "vmcnt" : "lgkmcnt";
      auto count = static_cast<int64_t>(op.getCount());
      auto [entry, isNew] = pending.try_emplace(counter, count);
      entry->second = std::min(entry->second, count);
    }
    for (auto [counter, count] : pending)
      if (count > 0 && count < (counter == "vmcnt" ? 63 : 15)) // the largest count waits for nothing
        ++result[{lineOf(first), counter.str() + "(" + std::to_string(count) + ")"}];
  });
  return result;
}

static std::optional<std::string> waitMismatch(machine::KernelOp kernel, const Disassembly &listing) {
  std::map<CountedWait, int64_t> missing = countedWaits(kernel);
  for (const Instruction &i : listing.instructions) {
    if (i.kind != InstructionKind::waitcnt)
      continue;
    llvm::SmallVector<llvm::StringRef> fields;
    llvm::StringRef(i.operands).split(fields, ' ', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef field : fields)
      if (auto entry = missing.find({i.line, field.str()}); entry != missing.end())
        --entry->second;
  }
  for (const auto &[wait, count] : missing)
    if (count > 0)
      return "no wait `" + wait.text + "` for the program's wait at line " + std::to_string(wait.line);
  return std::nullopt;
}

std::vector<Instruction> addedWaits(machine::KernelOp kernel, const Disassembly &listing) {
  llvm::SmallVector<uint32_t> lines;
  kernel.walk([&](machine::WaitOp op) { lines.push_back(lineOf(op)); });
  std::vector<Instruction> result;
  for (const Instruction &i : listing.instructions)
    if (i.kind == InstructionKind::waitcnt && llvm::StringRef(i.operands).contains("vmcnt") &&
        !llvm::is_contained(lines, i.line))
      result.push_back(i);
  return result;
}

std::optional<std::string> scheduleMismatch(machine::KernelOp kernel, const Disassembly &listing) {
  std::vector<Placed> wanted = placedOps(kernel), found = placedInstructions(listing);
  if (std::optional<std::string> wrong = countMismatch(wanted, found))
    return wrong;
  if (!placesInBranches(kernel))
    if (std::optional<std::string> wrong = orderMismatch(wanted, found))
      return wrong;
  return waitMismatch(kernel, listing);
}

} // namespace soliton::backend
