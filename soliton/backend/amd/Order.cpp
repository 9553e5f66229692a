//===- Order.cpp - Whether the chip does what the schedule says -----------------------===//

#include "soliton/backend/amd/Order.h"

#include "soliton/backend/amd/Flags.h"

#include <map>
#include <set>

namespace soliton::backend {

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

static bool isPlaced(InstructionKind kind) {
  switch (kind) {
  case InstructionKind::mfma:
  case InstructionKind::sharedLoad:
  case InstructionKind::sharedStore:
  case InstructionKind::globalLoad:
  case InstructionKind::globalStore:
  case InstructionKind::sharedDirect:
  case InstructionKind::sharedAtomic:
  case InstructionKind::globalAtomic:
  case InstructionKind::barrier:
    return true;
  default:
    return false;
  }
}

std::vector<Placed> placedInstructions(const Disassembly &listing) {
  std::vector<Placed> result;
  for (const Instruction &i : listing.instructions)
    if (isPlaced(i.kind))
      result.push_back({i.kind, i.line});
  return result;
}

bool keepsOrder(machine::KernelOp kernel) {
  bool keeps = kernel.getKeepOrder(), groups = false;
  kernel.walk([&](mlir::Operation *op) {
    auto wait = llvm::dyn_cast<machine::WaitOp>(op);
    keeps |= wait && wait.getCount() > 0;
    groups |= llvm::isa<machine::SchedGroupOp>(op);
  });
  return keeps && !groups;
}

//===-- Ways through the code --------------------------------------------------------===//

/// "vmcnt(4) lgkmcnt(0)" as the disassembler writes it.
static Pending pendingOf(const Instruction &wait) {
  Pending pending;
  llvm::SmallVector<llvm::StringRef> fields;
  llvm::StringRef(wait.operands).split(fields, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef field : fields)
    for (auto [name, count] : {std::pair("vmcnt(", &pending.vm), std::pair("lgkmcnt(", &pending.shared)}) {
      int64_t value = 0;
      llvm::StringRef rest = field;
      if (rest.consume_front(name) && !rest.consumeInteger(10, value))
        *count = std::min(*count, value);
    }
  return pending;
}

namespace {
/// Walks every way through the code and, beside it, all ways through the program that have issued the same so far.
class Comparison {
public:
  Comparison(machine::KernelOp kernel, const Disassembly &listing) : ways(kernel), code(listing.instructions) {
    for (size_t i = 0; i < code.size(); ++i)
      indices[code[i].address] = i;
    for (const Instruction &i : code)
      if (i.target)
        leaders.insert(*i.target);
  }

  std::optional<std::string> run() {
    work.push_back({0, {}, {Ways::kBegin}, {}});
    while (!work.empty()) {
      At at = std::move(work.back());
      work.pop_back();
      if (std::optional<std::string> wrong = walk(std::move(at)))
        return wrong;
    }
    return std::nullopt;
  }

private:
  /// Before an instruction: what was waited for since the last one that counts, and the points of the program.
  struct At {
    size_t index = 0;
    Pending pending;
    std::vector<int> points;
    Flags flags;
    auto operator<=>(const At &) const = default;
  };

  std::optional<std::string> walk(At at);
  std::optional<std::string> issue(At &at, const Placed &found);
  std::optional<std::string> finish(const At &at);
  std::optional<std::string> jump(const Instruction &from, const At &at);

  Ways ways;
  const std::vector<Instruction> &code;
  std::map<uint64_t, size_t> indices;
  std::set<uint64_t> leaders;
  std::set<At> seen;
  std::vector<At> work;
};
} // namespace

static std::string textOf(const Placed &placed) {
  return "`" + std::string(name(placed.kind)) + "` (line " + std::to_string(placed.line) + ")";
}

static std::string textOf(const Pending &wanted, const Pending &found) {
  return wanted.vm < found.vm ? "vmcnt(" + std::to_string(wanted.vm) + ")"
                              : "lgkmcnt(" + std::to_string(wanted.shared) + ")";
}

/// Straight on until the end, or to where other ways join this one and have been before.
std::optional<std::string> Comparison::walk(At at) {
  for (; at.index < code.size(); ++at.index) {
    const Instruction &i = code[at.index];
    if (leaders.contains(i.address) && !seen.insert(at).second)
      return std::nullopt;
    if (i.kind == InstructionKind::waitcnt) {
      at.pending.atMost(pendingOf(i));
    } else if (isPlaced(i.kind)) {
      if (std::optional<std::string> wrong = issue(at, {i.kind, i.line}))
        return wrong;
    } else if (i.kind == InstructionKind::branch) {
      if (i.mnemonic == "s_endpgm")
        return finish(at);
      if (std::optional<std::string> wrong = jump(i, at))
        return wrong;
      if (!i.mnemonic.starts_with("s_cbranch") || !at.flags.mayGoOn(i))
        return std::nullopt;
      at.flags.assume(i, false);
    } else {
      at.flags.execute(i);
    }
  }
  return "the code runs past its end";
}

std::optional<std::string> Comparison::jump(const Instruction &from, const At &at) {
  auto target = from.target ? indices.find(*from.target) : indices.end();
  if (target == indices.end())
    return "a jump at line " + std::to_string(from.line) + " that cannot be followed";
  if (!at.flags.mayJump(from))
    return std::nullopt;
  work.push_back({target->second, at.pending, at.points, at.flags});
  work.back().flags.assume(from, true);
  return std::nullopt;
}

/// An instruction that LLVM has joined from several ops has no line of its own.
static bool isSame(const Placed &wanted, const Placed &found) {
  return wanted.kind == found.kind && (wanted.line == found.line || wanted.line == 0 || found.line == 0);
}

std::optional<std::string> Comparison::issue(At &at, const Placed &found) {
  std::set<int> behind;
  const Ways::Next *expected = nullptr, *unwaited = nullptr;
  for (int point : at.points)
    for (const Ways::Next &next : ways.next(point)) {
      expected = expected ? expected : &next;
      if (!isSame(next.placed, found))
        continue;
      if (at.pending.isAtMost(next.pending))
        behind.insert(next.point);
      else
        unwaited = &next;
    }
  if (behind.empty() && unwaited)
    return "no wait `" + textOf(unwaited->pending, at.pending) + "` before " + textOf(found) +
           " for the program's wait at line " + std::to_string(unwaited->waitLine);
  if (behind.empty())
    return textOf(found) + " where the program has " + (expected ? textOf(expected->placed) : "nothing more");
  at.points.assign(behind.begin(), behind.end());
  at.pending = {};
  return std::nullopt;
}

std::optional<std::string> Comparison::finish(const At &at) {
  const Ways::Next *expected = nullptr;
  for (int point : at.points) {
    if (ways.mayEnd(point))
      return std::nullopt;
    expected = &ways.next(point).front();
  }
  return "the end where the program has " + textOf(expected->placed);
}

std::optional<std::string> scheduleMismatch(machine::KernelOp kernel, const Disassembly &listing) {
  return Comparison(kernel, listing).run();
}

//===-- What LLVM added ----------------------------------------------------------------===//

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

} // namespace soliton::backend
