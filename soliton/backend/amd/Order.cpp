//===- Order.cpp - Whether the chip does what the schedule says -----------------------===//

#include "soliton/backend/amd/Order.h"

#include "soliton/backend/amd/AskedFlags.h"

#include <map>
#include <set>
#include <tuple>

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
  /// Where more ways than `most` meet that know different things, what they all know is all that is known behind.
  Comparison(machine::KernelOp kernel, const Disassembly &listing, const AskedFlags &asked, size_t most)
      : ways(kernel), code(listing.instructions), asked(asked), most(most) {
    for (size_t i = 0; i < code.size(); ++i)
      indices[code[i].address] = i;
    for (const Instruction &i : code)
      if (i.target)
        leaders.insert(*i.target);
  }

  std::optional<std::string> run() {
    work.push_back({{0, {}, numberOf({Ways::kBegin})}, {}});
    while (!work.empty()) {
      At at = std::move(work.back());
      work.pop_back();
      if (std::optional<std::string> wrong = walk(std::move(at)))
        return wrong;
    }
    return std::nullopt;
  }

private:
  /// Before an instruction: what was waited for since the last one that counts, and the points of the program, a set
  /// of them by its number.
  struct Place {
    size_t index = 0;
    Pending pending;
    size_t points = 0;
    auto operator<=>(const Place &) const = default;
  };
  struct At : Place {
    Flags flags;
  };

  bool wasHere(At &at);
  size_t numberOf(std::vector<int> points);
  std::optional<std::string> walk(At at);
  std::optional<std::string> issue(At &at, const Placed &found);
  std::optional<std::string> finish(const At &at);
  std::optional<std::string> jump(const Instruction &from, const At &at);

  Ways ways;
  const std::vector<Instruction> &code;
  const AskedFlags &asked;
  const size_t most;
  std::map<uint64_t, size_t> indices;
  std::set<uint64_t> leaders;
  /// Sets of points; and where an instruction leads from one, by its class, line and what was waited for before it.
  std::map<std::vector<int>, size_t> numbers;
  std::vector<std::vector<int>> sets;
  using Step = std::tuple<size_t, InstructionKind, uint32_t, Pending>;
  std::map<Step, size_t> steps;
  std::map<Place, std::vector<Flags>> seen;
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

/// Whether a way that could go wherever this one can has been here.
bool Comparison::wasHere(At &at) {
  asked.prune(at.flags, code[at.index].address);
  std::vector<Flags> &before = seen[at];
  if (llvm::any_of(before, [&](const Flags &flags) { return flags.knowsNoMoreThan(at.flags); }))
    return true;
  if (before.size() == most) {
    for (const Flags &flags : before)
      at.flags.keepCommon(flags);
    before.clear();
  }
  before.push_back(at.flags);
  return false;
}

/// Straight on until the end, or to where other ways join this one and have been before.
std::optional<std::string> Comparison::walk(At at) {
  for (; at.index < code.size(); ++at.index) {
    const Instruction &i = code[at.index];
    if (leaders.contains(i.address) && wasHere(at))
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
  work.push_back({{target->second, at.pending, at.points}, at.flags});
  work.back().flags.assume(from, true);
  return std::nullopt;
}

/// An instruction that LLVM has joined from several ops has no line of its own.
static bool isSame(const Placed &wanted, const Placed &found) {
  return wanted.kind == found.kind && (wanted.line == found.line || wanted.line == 0 || found.line == 0);
}

size_t Comparison::numberOf(std::vector<int> points) {
  auto [known, isNew] = numbers.try_emplace(points, sets.size());
  if (isNew)
    sets.push_back(std::move(points));
  return known->second;
}

std::optional<std::string> Comparison::issue(At &at, const Placed &found) {
  auto [step, isNew] = steps.try_emplace({at.points, found.kind, found.line, at.pending}, 0);
  if (!isNew) {
    at.points = step->second;
    at.pending = {};
    return std::nullopt;
  }
  std::set<int> behind;
  const Ways::Next *expected = nullptr, *unwaited = nullptr;
  for (int point : sets[at.points])
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
  at.points = step->second = numberOf({behind.begin(), behind.end()});
  at.pending = {};
  return std::nullopt;
}

std::optional<std::string> Comparison::finish(const At &at) {
  const Ways::Next *expected = nullptr;
  for (int point : sets[at.points]) {
    if (ways.mayEnd(point))
      return std::nullopt;
    expected = &ways.next(point).front();
  }
  return "the end where the program has " + textOf(expected->placed);
}

std::optional<std::string> scheduleMismatch(machine::KernelOp kernel, const Disassembly &listing) {
  AskedFlags asked(listing.instructions);
  std::optional<std::string> wrong;
  // Mostly a few ways are enough. Where they are not, a way that no wave goes was perhaps taken for one.
  for (size_t most : {4, 32, 256})
    if (!(wrong = Comparison(kernel, listing, asked, most).run()))
      break;
  return wrong;
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
