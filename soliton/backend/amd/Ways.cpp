//===- Ways.cpp - All orders in which a program can issue what is counted -----------===//

#include "soliton/backend/amd/Ways.h"

#include "soliton/ir/Diagnose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <set>

namespace soliton::backend {

namespace scf = mlir::scf;

uint32_t lineOf(mlir::Operation *op) {
  return static_cast<uint32_t>(placeOf(op->getLoc()).line);
}

std::optional<InstructionKind> placedKind(mlir::Operation *op) {
  using Kind = InstructionKind;
  return llvm::TypeSwitch<mlir::Operation *, std::optional<Kind>>(op)
      .Case([](machine::LoadOp load) { return load.getBuffer() ? Kind::globalLoad : Kind::sharedLoad; })
      .Case([](machine::StoreOp store) { return store.getBuffer() ? Kind::globalStore : Kind::sharedStore; })
      .Case([](machine::AtomicOp atomic) { return atomic.getBuffer() ? Kind::globalAtomic : Kind::sharedAtomic; })
      .Case([](machine::LoadMatrixOp) { return Kind::sharedLoad; })
      .Case([](machine::CopyAsyncOp) { return Kind::sharedDirect; })
      .Case<machine::MmaOp>([](auto) { return Kind::mfma; })
      .Case<machine::BarrierOp>([](auto) { return Kind::barrier; })
      .Default([](auto) { return std::nullopt; });
}

bool maySkip(mlir::Operation *op) {
  if (auto store = llvm::dyn_cast<machine::StoreOp>(op)) // a buffer drops what is masked by itself
    return store.getMask() && (!store.getBuffer() || store.getLane().getType().isInteger(64));
  // LLVM combines what lanes do to one place, and lets one of them go there.
  return llvm::isa<machine::AtomicOp>(op);
}

Ways::Ways(machine::KernelOp kernel) : isAlone(kernel.getWaves() == 1) {
  end = add(kernel.block(), newPoint());
  known.resize(edges.size());
}

//===-- Structure ---------------------------------------------------------------------===//

int Ways::add(mlir::Block &block, int from) {
  for (mlir::Operation &op : block)
    from = add(&op, from);
  return from;
}

static Pending pendingOf(machine::WaitOp wait) {
  Pending pending;
  auto count = static_cast<int64_t>(wait.getCount());
  if (wait.getCounter() == machine::Counter::vm)
    pending.vm = std::min(count, Pending::kAnyVm);
  else
    pending.shared = std::min(count, Pending::kAnyShared);
  return pending;
}

int Ways::add(mlir::Operation *op, int from) {
  if (llvm::isa<scf::ForOp>(op))
    return addFor(op, from);
  if (llvm::isa<scf::IfOp>(op))
    return addIf(op, from);
  if (llvm::isa<scf::WhileOp>(op))
    return addWhile(op, from);
  auto wait = llvm::dyn_cast<machine::WaitOp>(op);
  std::optional<InstructionKind> kind = placedKind(op);
  // A single wave meets nobody: its barriers are no instructions.
  if (!wait && (!kind || (isAlone && kind == InstructionKind::barrier)))
    return from;
  int to = newPoint();
  if (wait) {
    edges[from].push_back({to, std::nullopt, pendingOf(wait), lineOf(op)});
    return to;
  }
  edges[from].push_back({to, Placed{*kind, lineOf(op)}, {}, 0});
  if (maySkip(op))
    connect(from, to);
  return to;
}

/// Trips of a loop whose bounds are numbers.
static std::optional<int64_t> tripsOf(scf::ForOp loop) {
  llvm::APInt lower, upper, step;
  if (!mlir::matchPattern(loop.getLowerBound(), mlir::m_ConstantInt(&lower)) ||
      !mlir::matchPattern(loop.getUpperBound(), mlir::m_ConstantInt(&upper)) ||
      !mlir::matchPattern(loop.getStep(), mlir::m_ConstantInt(&step)) || !step.isStrictlyPositive())
    return std::nullopt;
  int64_t distance = upper.getSExtValue() - lower.getSExtValue();
  return distance <= 0 ? 0 : llvm::divideCeil(distance, step.getSExtValue());
}

int Ways::addFor(mlir::Operation *op, int from) {
  auto loop = llvm::cast<scf::ForOp>(op);
  std::optional<int64_t> trips = tripsOf(loop);
  int first = newPoint(), after = newPoint();
  if (trips != 0)
    connect(from, first);
  if (!trips || trips == 0)
    connect(from, after);
  int last = add(*loop.getBody(), first);
  if (!trips || *trips > 1)
    connect(last, first);
  connect(last, after);
  return after;
}

int Ways::addIf(mlir::Operation *op, int from) {
  auto branch = llvm::cast<scf::IfOp>(op);
  bool agree = uniform.isUniform(branch.getCondition());
  mlir::Block &first = branch.getThenRegion().front();
  int after = newPoint();
  int firstEnd = add(first, from);
  connect(firstEnd, after);
  if (branch.getElseRegion().empty()) {
    connect(from, after);
    return after;
  }
  mlir::Block &second = branch.getElseRegion().front();
  int secondEnd = add(second, from);
  connect(secondEnd, after);
  if (agree)
    return after;
  // LLVM runs whichever it likes first, and branches around each where no lane takes it.
  connect(from, after);
  connect(add(second, firstEnd), after);
  connect(add(first, secondEnd), after);
  return after;
}

int Ways::addWhile(mlir::Operation *op, int from) {
  auto loop = llvm::cast<scf::WhileOp>(op);
  int test = newPoint();
  connect(from, test);
  int tested = add(*loop.getBeforeBody(), test);
  connect(add(*loop.getAfterBody(), tested), test);
  return tested;
}

//===-- Walking -----------------------------------------------------------------------===//

/// All that can be reached from the point without issuing anything.
void Ways::follow(int start) {
  struct At {
    int point;
    Pending pending;
    uint32_t line;
    auto operator<=>(const At &) const = default;
  };
  Known found;
  std::set<At> seen;
  std::vector<At> work = {{start, {}, 0}};
  while (!work.empty()) {
    At at = work.back();
    work.pop_back();
    if (!seen.insert(at).second)
      continue;
    found.mayEnd |= at.point == end;
    for (const Edge &edge : edges[at.point]) {
      if (edge.placed) {
        found.next.push_back({*edge.placed, at.pending, at.line, edge.to});
        continue;
      }
      At to{edge.to, at.pending, edge.line ? edge.line : at.line};
      to.pending.atMost(edge.pending);
      work.push_back(to);
    }
  }
  known[start] = std::move(found);
}

const std::vector<Ways::Next> &Ways::next(int point) {
  if (!known[point])
    follow(point);
  return known[point]->next;
}

bool Ways::mayEnd(int point) {
  if (!known[point])
    follow(point);
  return known[point]->mayEnd;
}

} // namespace soliton::backend
