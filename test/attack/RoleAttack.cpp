#include "test/attack/RoleAttack.h"

#include "kernels/Kernels.h"
#include "soliton/authoring/LoopHooks.h"
#include "soliton/authoring/WaveSchedule.h"
#include "soliton/driver/FormVerifier.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/transforms/Passes.h"
#include "soliton/transforms/PublishWrites.h"
#include "soliton/transforms/ScheduleLoops.h"
#include "soliton/transforms/WholeKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"

#include <numeric>

namespace soliton::attack {
namespace {
using Module = mlir::OwningOpRef<mlir::ModuleOp>;
using lang::Expr;

constexpr const char *kTarget = "sm_90a";

/// Two tiles, or three where rows below a mask differ, and some trips more than there are buffers.
lang::Substitutions sizesFor(const RoleSetting &setting) {
  auto at = [](const char *symbol, int64_t value) { return std::pair(Expr(sym::Expr::symbol(symbol)), Expr(value)); };
  const int64_t teams = setting.overlap || setting.turns ? 2 : 1;
  if (setting.kernel == "gemm")
    return {at("M", 128 * teams), at("N", 64),       at("K", 7 * 64),          at("BLOCK_M", 64 * teams),
            at("BLOCK_N", 64),    at("BLOCK_K", 64), at("WAVES_M", 4 * teams), at("WAVES_N", 1)};
  return {at("B", 1), at("H", 1), at("Q", teams > 1 ? 256 : 192),
          // A loop that is left has turns.
          at("KV", setting.turns ? 1024 : 448), at("D", 64), at("BLOCK_Q", 64 * teams),
          at("BLOCK_KV", setting.kernel == "attention" && !setting.turns ? 64 : 128), at("WAVES", 4 * teams)};
}

/// Copies two iterations ahead, and whoever copies awaits what the others are done with.
std::shared_ptr<const WaveSchedule> releasing() {
  return std::make_shared<WaveSchedule>(
      WaveSchedule{"releases", [](ScheduleContext &s) {
                     Nodes copies = s.get_node_by_tag_and_type("read_a", NodeType::GatherToLDS) +
                                    s.get_node_by_tag_and_type("read_b", NodeType::GatherToLDS);
                     auto p = s.pipeline(s.get_node_by_tag("k_loop"),
                                         {.multi_buffer_count = 3, .copies_run_on = true, .releases = true});
                     p.set_stage({{}, {copies}});
                     p.set_stage({{}, {}});
                     p.set_stage({{s.get_node_by_tag("mma")}, {}});
                   }});
}

bool run(mlir::ModuleOp module, llvm::function_ref<void(mlir::OpPassManager &)> build) {
  mlir::PassManager manager(module.getContext());
  build(manager);
  return mlir::succeeded(manager.run(module));
}

wave::KernelOp kernelOf(mlir::ModuleOp module) {
  return *module.getOps<wave::KernelOp>().begin();
}

/// As it is written, with its roles.
Module traced(const RoleSetting &setting, mlir::MLIRContext &context, std::string &why) {
  const kernels::KernelEntry *entry = kernels::findKernel(setting.kernel);
  EmittedKernel emitted =
      emitKernel(entry->build(*entry->findVariant("f16")), context, {sizesFor(setting), {}, kTarget, {}});
  why = format(emitted.diagnostics);
  if (!emitted.module)
    return {};
  wave::KernelOp kernel = kernelOf(*emitted.module);
  kernel.walk([&](wave::MmaOp mma) { mma.setKind(setting.kernel == "gemm" ? "F32_64x64x16_F16" : "F32_64xNx16_F16"); });
  kernel.setDirectCopies(true);
  kernel.setStagedWrites(true);
  kernel.setWritesInBoxes(true);
  kernel.setServiceWaves(setting.serviceWaves);
  // Uneven tiles are walked in their order: the counter that tickets are drawn from is the launch's, not an argument.
  if (setting.persistent > 0)
    kernel.setPersistent(setting.persistent);
  kernel.setOverlapTiles(setting.overlap);
  kernel.setTurns(setting.turns);
  return std::move(emitted.module);
}

bool synchronize(const RoleSetting &setting, mlir::ModuleOp module, sched::ScheduleRequest request) {
  request.name = "ring";
  if (setting.releases)
    request.written = releasing();
  return run(module, [&](mlir::OpPassManager &pm) { buildScheduledPipeline(pm, request); });
}

template <typename OpTy>
std::vector<OpTy> all(mlir::ModuleOp module) {
  std::vector<OpTy> ops;
  module.walk([&](OpTy op) { ops.push_back(op); });
  return ops;
}

/// The branch that tells the roles apart: the outermost with two sides, by the number of the wave.
mlir::scf::IfOp rolesOf(mlir::ModuleOp module) {
  mlir::scf::IfOp found;
  module.walk<mlir::WalkOrder::PreOrder>([&](mlir::scf::IfOp branch) {
    auto compare = branch.getCondition().getDefiningOp<mlir::arith::CmpIOp>();
    bool isByWave = compare && compare.getPredicate() == mlir::arith::CmpIPredicate::sge && branch.elseBlock() &&
                    compare.getLhs().getDefiningOp<machine::IdOp>();
    if (!isByWave)
      return mlir::WalkResult::advance();
    found = branch;
    return mlir::WalkResult::interrupt();
  });
  return found;
}

void flip(machine::MbarrierWaitOp wait) {
  mlir::OpBuilder builder(wait);
  mlir::Value one = mlir::arith::ConstantOp::create(builder, wait.getLoc(), builder.getI32IntegerAttr(1));
  wait.getParityMutable().assign(
      mlir::arith::XOrIOp::create(builder, wait.getLoc(), wait.getParity(), one).getResult());
}
} // namespace

std::string RoleSetting::text() const {
  return kernel + ", " + std::to_string(serviceWaves) + (serviceWaves == 1 ? " service wave" : " service waves") +
         (persistent ? ", " + std::to_string(persistent) + " walking" : "") + (releases ? ", releases" : "") +
         (overlap ? ", overlapping" : "") + (turns ? ", in turns" : "");
}

/// A broken module: the program, of which the verifier was or will be asked, or the machine form.
struct RoleVictim::Mutant {
  Module module;
  std::string what;
  bool isProgram = false;
  /// What the verifier said of it already.
  std::optional<bool> proven = {};
};

namespace {
/// Mutants of one kind, each of another place of the same module.
class RoleSaboteur {
public:
  explicit RoleSaboteur(mlir::ModuleOp whole) : whole(whole) {}

  template <typename OpTy>
  void each(llvm::function_ref<bool(OpTy)> matches, llvm::function_ref<void(OpTy)> breakIt, const std::string &what) {
    size_t count = all<OpTy>(whole).size();
    for (size_t i = 0; i < count; ++i) {
      if (!matches(all<OpTy>(whole)[i]))
        continue;
      Module mutant = whole.clone();
      breakIt(all<OpTy>(*mutant)[i]);
      made.emplace_back(std::move(mutant), what + " " + std::to_string(i));
    }
  }

  void once(llvm::function_ref<void(mlir::ModuleOp)> breakIt, const std::string &what) {
    Module mutant = whole.clone();
    breakIt(*mutant);
    made.emplace_back(std::move(mutant), what);
  }

  mlir::ModuleOp original() const { return whole; }

  std::vector<std::pair<Module, std::string>> made;

private:
  mlir::ModuleOp whole;
};

void breakProgram(RoleSaboteur &saboteur, RoleHarm harm) {
  if (harm == RoleHarm::DroppedArrive)
    saboteur.each<wave::ReleaseOp>([](wave::ReleaseOp) { return true; }, [](wave::ReleaseOp op) { op.erase(); },
                                   "program without release");
  auto any = [](mlir::Operation *) { return true; };
  auto erase = [](mlir::Operation *op) { op->erase(); };
  if (harm == RoleHarm::DroppedWait) {
    saboteur.each<wave::WaitOp>(any, erase, "program without wait");
    saboteur.each<wave::AwaitOp>(any, erase, "program without await");
    saboteur.each<wave::CommitOp>(any, erase, "program without commit");
    saboteur.each<wave::BarrierOp>(any, erase, "program without barrier");
  }
  auto weaken = [](auto op) { op.setCount(op.getCount() + 1); };
  if (harm == RoleHarm::WeakerWait) {
    saboteur.each<wave::WaitOp>(any, weaken, "weaker wait");
    saboteur.each<wave::AwaitOp>(any, weaken, "weaker await");
    saboteur.each<wave::BarrierOp>([](wave::BarrierOp op) { return op.isForAllWaves(); },
                                   [](wave::BarrierOp op) { op.setTeam(4); }, "of teams alone barrier");
  }
  if (harm == RoleHarm::NoProxyFence) {
    saboteur.each<wave::BarrierOp>([](wave::BarrierOp op) { return op.getPublishes(); },
                                   [](wave::BarrierOp op) { op.setPublishes(false); }, "barrier that does not publish");
    saboteur.each<wave::ReleaseOp>([](wave::ReleaseOp op) { return op->hasAttr(kPublishes); },
                                   [](wave::ReleaseOp op) { op->removeAttr(kPublishes); },
                                   "release that does not publish");
  }
  if (harm == RoleHarm::SwappedRole)
    // What the copying wave awaits nobody does, and what it does not look at it counts.
    saboteur.each<wave::AwaitOp>([](wave::AwaitOp) { return true; },
                                 [](wave::AwaitOp op) {
                                   mlir::OpBuilder builder(op);
                                   wave::ReleaseOp::create(builder, op.getLoc(), mlir::ArrayAttr());
                                   op.erase();
                                 },
                                 "a release in place of await");
}

/// Puts a copy of `op` there, with what its operands are made of; false where that depends on where `op` stands.
bool cloneTo(mlir::Operation *op, mlir::OpBuilder &builder, mlir::IRMapping &mapping) {
  bool done = true;
  auto bring = [&](mlir::Value value) {
    mlir::Operation *owner = value.getParentBlock()->getParentOp();
    bool isInside = op->isAncestor(owner), isGiven = llvm::isa<machine::KernelOp>(owner) && !value.getDefiningOp();
    if (isInside || isGiven || mapping.contains(value))
      return;
    mlir::Operation *def = value.getDefiningOp();
    done = done && def && mlir::isMemoryEffectFree(def) && def->getNumRegions() == 0 && cloneTo(def, builder, mapping);
  };
  op->walk([&](mlir::Operation *inner) { llvm::for_each(inner->getOperands(), bring); });
  if (done)
    builder.clone(*op, mapping);
  return done;
}

/// What one lane of the copying wave has copied in front of the loop those that compute have copied, each wave of them.
void copyElsewhere(RoleSaboteur &saboteur) {
  auto firstCopies = [](mlir::ModuleOp module) {
    std::vector<mlir::scf::IfOp> groups;
    rolesOf(module).getThenRegion().walk([&](mlir::scf::IfOp branch) {
      bool isInLoop = branch->getParentOfType<mlir::scf::ForOp>() || branch->getParentOfType<mlir::scf::WhileOp>();
      if (!isInLoop && !branch.thenBlock()->getOps<machine::CopyTileOp>().empty())
        groups.push_back(branch);
    });
    return groups;
  };
  for (size_t i = 0; i < firstCopies(saboteur.original()).size(); ++i)
    saboteur.once(
        [&](mlir::ModuleOp module) {
          mlir::scf::IfOp group = firstCopies(module)[i];
          mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(rolesOf(module).elseBlock());
          mlir::IRMapping mapping;
          if (cloneTo(group, builder, mapping))
            group.erase();
        },
        "those that compute copy group " + std::to_string(i));
}

/// Waves that copy do what others do, another of them copies, or one role comes to a barrier that is the other's.
void swapRoles(RoleSaboteur &saboteur) {
  using mlir::arith::CmpIOp;
  using mlir::arith::CmpIPredicate;
  auto compare = [](mlir::ModuleOp module) { return rolesOf(module).getCondition().getDefiningOp<CmpIOp>(); };
  saboteur.once([&](mlir::ModuleOp module) { compare(module).setPredicate(CmpIPredicate::slt); },
                "each role executed by the other");
  for (int by : {-1, 1})
    saboteur.once(
        [&](mlir::ModuleOp module) {
          CmpIOp op = compare(module);
          mlir::OpBuilder builder(op);
          mlir::Value step = mlir::arith::ConstantOp::create(builder, op.getLoc(), builder.getI32IntegerAttr(by));
          op.getRhsMutable().assign(mlir::arith::AddIOp::create(builder, op.getLoc(), op.getRhs(), step).getResult());
        },
        by < 0 ? "a wave that computes copies" : "the wave that copies computes");
  auto isOfCopying = [](machine::BarrierOp op) {
    mlir::scf::IfOp roles = rolesOf(op->getParentOfType<mlir::ModuleOp>());
    return roles.getThenRegion().isAncestor(op->getParentRegion());
  };
  saboteur.each<machine::BarrierOp>([&](machine::BarrierOp op) { return isOfCopying(op); },
                                    [](machine::BarrierOp op) {
                                      mlir::scf::IfOp roles = rolesOf(op->getParentOfType<mlir::ModuleOp>());
                                      op->moveBefore(&roles.elseBlock()->back());
                                    },
                                    "those that compute come to barrier");
}

void breakMachine(RoleSaboteur &saboteur, RoleHarm harm) {
  using machine::MbarrierArriveOp;
  switch (harm) {
  case RoleHarm::DroppedArrive:
    saboteur.each<MbarrierArriveOp>([](MbarrierArriveOp) { return true; }, [](MbarrierArriveOp op) { op.erase(); },
                                    "without arrive");
    saboteur.each<machine::BarrierOp>([](machine::BarrierOp op) { return op.getArrives(); },
                                      [](machine::BarrierOp op) { op.erase(); }, "without the end of turn");
    return;
  case RoleHarm::WrongParity:
    saboteur.each<machine::MbarrierWaitOp>([](machine::MbarrierWaitOp) { return true; }, flip, "other parity of wait");
    return;
  case RoleHarm::WrongBytes:
    for (int64_t more : {-16, 16})
      saboteur.each<MbarrierArriveOp>([](MbarrierArriveOp op) { return op.getExpect() > 0; },
                                      [more](MbarrierArriveOp op) {
                                        op.setExpect(
                                            static_cast<uint64_t>(static_cast<int64_t>(op.getExpect()) + more));
                                      },
                                      std::to_string(more) + " bytes at arrive");
    return;
  case RoleHarm::NoProxyFence:
    saboteur.each<machine::FenceOp>(
        [](machine::FenceOp op) { return op.getSpace() == machine::FenceSpace::shared_async; },
        [](machine::FenceOp op) { op.erase(); }, "without fence");
    return;
  case RoleHarm::SwappedRole:
    swapRoles(saboteur);
    return copyElsewhere(saboteur);
  case RoleHarm::DroppedWait:
    saboteur.each<machine::BarrierOp>([](machine::BarrierOp op) { return op.getPlus() && !op.getArrives(); },
                                      [](machine::BarrierOp op) { op.erase(); }, "without the wait for turn");
    return;
  case RoleHarm::WeakerWait:
  case RoleHarm::TooFewStages:
    return;
  }
}

Module lowered(mlir::ModuleOp program, std::string &why) {
  Module machine = program.clone();
  DiagnosticCollector collector(program.getContext());
  if (run(*machine, [](mlir::OpPassManager &pm) { buildMachinePipeline(pm); }))
    return machine;
  why = "it does not lower: " + format(collector.take());
  return {};
}

/// Of the emulator's checks, as opposed to a result that is wrong.
bool isObjection(const std::string &said) {
  return said.starts_with("the emulator objects") || said.starts_with("it does not lower");
}

/// By all that is asked of a program whose barriers and waits are in.
bool isProven(mlir::ModuleOp program) {
  wave::KernelOp kernel = kernelOf(program);
  DiagnosticCollector collector(program.getContext());
  mlir::FailureOr<Geometry> geometry = Geometry::of(kernel);
  bool isRight = mlir::succeeded(geometry) &&
                 mlir::succeeded(proveAgain(kernel, makeWholeKernel(kernel, *geometry), geometry->target()));
  (void)collector.take();
  return isRight;
}
} // namespace

std::unique_ptr<RoleVictim> RoleVictim::make(const RoleSetting &setting, std::string &why) {
  auto victim = std::make_unique<RoleVictim>();
  victim->setting = setting;
  victim->context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  victim->context->loadDialect<wave::WaveDialect, machine::MachineDialect, mlir::arith::ArithDialect,
                               mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  DiagnosticCollector collector(victim->context.get());
  auto refused = [&] {
    why = format(collector.take());
    return nullptr;
  };
  Module module = traced(setting, *victim->context, why);
  if (!module)
    return nullptr;
  wave::KernelOp kernel = kernelOf(*module);
  OracleOptions few{.integers = true},
      many{.interleavings = {0, 2, 3, 5, 11, 13, 17, 19, 23, 29, 31, 37}, .integers = true};
  mlir::FailureOr<Oracle> first = Oracle::of(kernel, few), second = Oracle::of(kernel, many);
  if (mlir::failed(first) || mlir::failed(second))
    return refused();
  victim->oracle = std::move(*first);
  victim->judgeOfHarm = std::move(*second);
  auto loops = std::make_shared<std::vector<sched::LoopReport>>();
  if (!synchronize(setting, *module, {.reports = loops}))
    return refused();
  victim->loops = std::move(*loops);
  victim->synchronized = std::move(module);
  return lowered(*victim->synchronized, why) ? std::move(victim) : nullptr;
}

std::string RoleVictim::objection() {
  std::string why;
  Module machine = lowered(*synchronized, why);
  return machine ? judgeOfHarm->disagreement(*machine->getOps<machine::KernelOp>().begin()).value_or("") : why;
}

/// The loop with fewer buffers of a tile than it was proven for: asked of the verifier, and built whatever it says.
void RoleVictim::shrinkRings(std::vector<Mutant> &mutants) {
  for (const sched::LoopReport &loop : loops)
    for (size_t region = 0; region < loop.problem.regions.size(); ++region)
      for (int buffers = 1;
           loop.problem.regions[region].space == sched::Space::Shared && buffers < loop.schedule.buffers[region];
           ++buffers) {
        auto hooks = std::make_shared<sched::LoopHooks>();
        std::string key = loop.problem.loop;
        hooks->afterSchedule = [=](const sched::Problem &problem, sched::Schedule &schedule) {
          if (problem.loop == key)
            schedule.buffers[region] = buffers;
        };
        hooks->afterSynchronize = [=, program = loop.program](const sched::Problem &problem, const sched::Schedule &,
                                                              sched::Program &into) {
          if (problem.loop == key)
            into = program;
        };
        std::string why;
        Module asked = traced(setting, *context, why), built = traced(setting, *context, why);
        DiagnosticCollector collector(context.get());
        bool proven = synchronize(setting, *asked, {.hooks = hooks});
        hooks->skipProof = true;
        if (synchronize(setting, *built, {.hooks = hooks}))
          mutants.push_back({std::move(built),
                             std::to_string(buffers) + " buffers of `" + loop.problem.regions[region].name + "`", true,
                             proven});
        (void)collector.take();
      }
}

std::vector<RoleVictim::Mutant> RoleVictim::mutantsOf(RoleHarm harm) {
  std::vector<Mutant> mutants;
  if (harm == RoleHarm::TooFewStages) {
    shrinkRings(mutants);
    return mutants;
  }
  RoleSaboteur ofProgram(*synchronized);
  breakProgram(ofProgram, harm);
  for (auto &[module, what] : ofProgram.made)
    mutants.push_back({std::move(module), what, true});
  std::string why;
  Module machine = lowered(*synchronized, why);
  RoleSaboteur ofMachine(*machine);
  breakMachine(ofMachine, harm);
  for (auto &[module, what] : ofMachine.made)
    mutants.push_back({std::move(module), what});
  return mutants;
}

void RoleVictim::judge(Mutant &mutant, RoleTally &tally) {
  std::string said;
  bool proven = mutant.proven ? *mutant.proven : !mutant.isProgram || isProven(*mutant.module);
  Module machine = mutant.isProgram ? lowered(*mutant.module, said) : std::move(mutant.module);
  machine::KernelOp kernel = machine ? *machine->getOps<machine::KernelOp>().begin() : machine::KernelOp();
  if (kernel)
    said = oracle->disagreement(kernel).value_or("");
  bool isReported = !said.empty() && isObjection(said);
  ++tally.mutants;
  tally.byVerifier += !proven;
  tally.byEmulator += isReported;
  if (proven && isReported && mutant.isProgram)
    tally.unproven.push_back(setting.text() + ": " + mutant.what + ": " + said);
  if (!proven || isReported)
    return;
  if (said.empty())
    said = judgeOfHarm->disagreement(kernel).value_or("");
  if (said.empty())
    tally.harmless.push_back(setting.text() + ": " + mutant.what);
  else if (isObjection(said))
    ++tally.later;
  else
    tally.missed.push_back(setting.text() + ": " + mutant.what + ": " + said);
}

RoleTally RoleVictim::attack(RoleHarm harm, int most) {
  std::vector<Mutant> mutants = mutantsOf(harm);
  RoleTally tally;
  size_t count = std::min(mutants.size(), static_cast<size_t>(std::max(most, 0)));
  for (size_t i = 0; i < count; ++i)
    judge(mutants[i * mutants.size() / count], tally);
  return tally;
}

RoleTally &RoleTally::operator+=(const RoleTally &other) {
  mutants += other.mutants;
  byVerifier += other.byVerifier;
  byEmulator += other.byEmulator;
  later += other.later;
  harmless.insert(harmless.end(), other.harmless.begin(), other.harmless.end());
  unproven.insert(unproven.end(), other.unproven.begin(), other.unproven.end());
  missed.insert(missed.end(), other.missed.begin(), other.missed.end());
  return *this;
}

std::string_view nameOf(RoleHarm harm) {
  constexpr std::string_view names[] = {"dropped-arrive", "dropped-wait",   "weaker-wait",    "wrong-parity",
                                        "wrong-bytes",    "too-few-stages", "no-proxy-fence", "swapped-role"};
  return names[static_cast<size_t>(harm)];
}

const std::vector<RoleHarm> &allRoleHarms() {
  static const std::vector<RoleHarm> all = {RoleHarm::DroppedArrive, RoleHarm::DroppedWait, RoleHarm::WeakerWait,
                                            RoleHarm::WrongParity,   RoleHarm::WrongBytes,  RoleHarm::TooFewStages,
                                            RoleHarm::NoProxyFence,  RoleHarm::SwappedRole};
  return all;
}

const std::vector<RoleSetting> &roleSettings() {
  static const std::vector<RoleSetting> settings = [] {
    std::vector<RoleSetting> list;
    for (int64_t waves : {4, 1})
      for (int64_t persistent : {1, 0}) {
        list.push_back({"gemm", waves, persistent, false});
        list.push_back({"gemm", waves, persistent, true});
        list.push_back({"attention", waves, persistent, false});
        list.push_back({"attention_causal", waves, persistent, false});
      }
    for (const char *kernel : {"gemm", "attention", "attention_causal"}) {
      list.push_back({kernel, 4, 1, false, true});
      list.push_back({kernel, 4, 0, false, false, true});
      list.push_back({kernel, 4, 1, false, true, true});
    }
    return list;
  }();
  return settings;
}

} // namespace soliton::attack
