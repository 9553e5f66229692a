#include "test/attack/WholeAttack.h"

#include "soliton/driver/Pipelines.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Forms.h"
#include "soliton/schedule/WholePlaces.h"
#include "soliton/schedule/WholeSync.h"
#include "soliton/transforms/WholeKernel.h"

#include "mlir/Pass/PassManager.h"

#include <random>

namespace soliton::attack {
namespace {
using Module = mlir::OwningOpRef<mlir::ModuleOp>;
namespace whole = sched::whole;

wave::KernelOp kernelOf(mlir::ModuleOp module) {
  return *module.getOps<wave::KernelOp>().begin();
}

std::vector<whole::Access *> accessesOf(whole::Sequence &sequence) {
  std::vector<whole::Access *> found;
  for (whole::Node &node : sequence) {
    for (whole::Access &access : node.accesses)
      found.push_back(&access);
    for (whole::Sequence &body : node.bodies)
      for (whole::Access *access : accessesOf(body))
        found.push_back(access);
  }
  return found;
}

class Saboteur {
public:
  Saboteur(Victim &victim, Harm harm, uint64_t seed) : victim(victim), harm(harm), random(seed) {}

  /// The broken kernel; null where there is nothing of the kind to break. `what` says what was done.
  Module run() {
    bool ofProgram = harm == Harm::Drop || harm == Harm::Weaken || harm == Harm::Move;
    return ofProgram ? breakProgram() : breakTree();
  }

  std::string what;

private:
  size_t pick(size_t count) { return random() % count; }

  //===-- The program ------------------------------------------------------------------------------===//

  Module breakProgram() {
    Module mutant = victim.synchronized->clone();
    llvm::SmallVector<mlir::Operation *> points;
    mutant->walk([&](mlir::Operation *op) {
      bool isWait = llvm::isa<wave::WaitOp>(op);
      if (harm == Harm::Weaken ? isWait : isWait || llvm::isa<wave::BarrierOp, wave::CommitOp>(op))
        points.push_back(op);
    });
    if (points.empty())
      return {};
    size_t index = pick(points.size());
    what = std::string(nameOf(harm)) + " " + points[index]->getName().stripDialect().str() + " " +
           std::to_string(index) + " of " + std::to_string(points.size());
    return breakAt(points[index]) ? std::move(mutant) : Module();
  }

  bool breakAt(mlir::Operation *op) {
    if (harm == Harm::Drop)
      return op->erase(), true;
    if (auto wait = llvm::dyn_cast<wave::WaitOp>(op); wait && harm == Harm::Weaken)
      return wait.setCount(wait.getCount() + 1 + pick(3)), true;
    // Past one to three accesses, up or down.
    bool up = pick(2) == 0;
    mlir::Operation *other = op;
    for (size_t left = 1 + pick(3); left > 0 && other;) {
      other = up ? other->getPrevNode() : other->getNextNode();
      left -= other && llvm::isa<wave::AccessOpInterface>(other);
    }
    if (!other || other->hasTrait<mlir::OpTrait::IsTerminator>())
      return false;
    up ? op->moveBefore(other) : op->moveAfter(other);
    return true;
  }

  //===-- The tree that barriers and waits are derived from ----------------------------------------===//

  Module breakTree() {
    Module mutant = victim.scheduled->clone();
    wave::KernelOp kernel = kernelOf(*mutant);
    mlir::FailureOr<Geometry> geometry = Geometry::of(kernel);
    if (mlir::failed(geometry))
      return {};
    WholeKernel tree = makeWholeKernel(kernel, *geometry);
    std::vector<whole::Access *> accesses = accessesOf(tree.kernel.body);
    if (accesses.empty() || !breakAccess(tree.kernel, *accesses[pick(accesses.size())]))
      return {};
    whole::Derived derived = whole::derive(tree.kernel, {.counted = kernel.getKeepOrder()});
    putIn(kernel, tree, derived);
    return mutant;
  }

  bool breakAccess(whole::Kernel &kernel, whole::Access &access) {
    what = std::string(nameOf(harm)) + " of `" + kernel.regions[access.region].name + "`";
    switch (harm) {
    case Harm::ForgetAccess: // of no region that anybody else touches
      kernel.regions.push_back(kernel.regions[access.region]);
      kernel.regions.back().bytes = 0;
      access.region = static_cast<int>(kernel.regions.size()) - 1;
      return true;
    case Harm::WrongRegion:
      if (kernel.regions.size() < 2)
        return false;
      access.region = (access.region + 1 + static_cast<int>(pick(kernel.regions.size() - 1))) %
                      static_cast<int>(kernel.regions.size());
      return true;
    case Harm::WrongWave: // everything that is touched is the wave's own
      for (whole::Access *other : accessesOf(kernel.body))
        if (other->region == access.region) {
          other->function = other->who = 0;
          other->oneWave = true;
        }
      return true;
    case Harm::WrongOrder: // complete at once
      access.counter = -1;
      return true;
    default:
      return false;
    }
  }

  static void putIn(wave::KernelOp kernel, const WholeKernel &tree, const whole::Derived &derived) {
    insertDerived(kernel, tree, derived);
    setForm(kernel, Form::Synchronized);
  }

  Victim &victim;
  Harm harm;
  std::mt19937_64 random;
};

/// By the verifier, which builds its tree from the program as it is.
bool isProven(mlir::ModuleOp module) {
  wave::KernelOp kernel = kernelOf(module);
  mlir::FailureOr<Geometry> geometry = Geometry::of(kernel);
  return mlir::succeeded(geometry) && whole::prove(makeWholeKernel(kernel, *geometry).kernel).empty();
}

/// What the emulator has against it; empty if nothing.
std::string objection(const Victim &victim, mlir::ModuleOp module) {
  Module lowered = module.clone();
  DiagnosticCollector collector(module.getContext());
  mlir::PassManager manager(module.getContext());
  buildMachinePipeline(manager);
  if (mlir::failed(manager.run(*lowered)))
    return "it does not lower: " + format(collector.take());
  return victim.oracle->disagreement(*lowered->getOps<machine::KernelOp>().begin()).value_or("");
}
} // namespace

std::string_view nameOf(Harm harm) {
  switch (harm) {
  case Harm::Drop:
    return "drop";
  case Harm::Weaken:
    return "weaken";
  case Harm::Move:
    return "move";
  case Harm::ForgetAccess:
    return "forget-access";
  case Harm::WrongRegion:
    return "wrong-region";
  case Harm::WrongWave:
    return "wrong-wave";
  case Harm::WrongOrder:
    return "wrong-order";
  }
  return "";
}

const std::vector<Harm> &allHarms() {
  static const std::vector<Harm> all = {Harm::Drop,        Harm::Weaken,    Harm::Move,      Harm::ForgetAccess,
                                        Harm::WrongRegion, Harm::WrongWave, Harm::WrongOrder};
  return all;
}

WholeTally &WholeTally::operator+=(const WholeTally &other) {
  mutants += other.mutants;
  refused += other.refused;
  accepted += other.accepted;
  confirmed += other.confirmed;
  missed.insert(missed.end(), other.missed.begin(), other.missed.end());
  return *this;
}

WholeTally attackWhole(Victim &victim, Harm harm, const WholeOptions &options) {
  WholeTally tally;
  for (int number = 0; number < options.mutants; ++number) {
    Saboteur saboteur(victim, harm,
                      options.seed * 1000003 + static_cast<uint64_t>(number) * 7919 + static_cast<uint64_t>(harm));
    Module mutant = saboteur.run();
    if (!mutant)
      continue;
    bool proven = isProven(*mutant);
    std::string said = objection(victim, *mutant);
    ++tally.mutants;
    tally.accepted += proven;
    tally.refused += !proven;
    tally.confirmed += !proven && !said.empty();
    if (proven && !said.empty())
      tally.missed.push_back(victim.setting.text() + ": " + saboteur.what + ": " + said);
  }
  return tally;
}

} // namespace soliton::attack
