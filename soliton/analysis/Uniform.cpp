#include "soliton/analysis/Uniform.h"

#include "soliton/ir/Machine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace soliton {
using namespace machine;
using mlir::BlockArgument;
using mlir::Operation;
using mlir::Value;
namespace scf = mlir::scf;

/// Values that decide whether this one is uniform; nothing where it is not, whatever they are.
using Sources = std::optional<llvm::SmallVector<Value>>;

static llvm::SmallVector<Value> boundsOf(scf::ForOp loop) {
  return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
}

static Sources sourcesOf(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (llvm::isa<KernelOp>(parent))
    return Sources(std::in_place);
  if (auto loop = llvm::dyn_cast<scf::ForOp>(parent)) {
    if (argument == loop.getInductionVar())
      return boundsOf(loop);
    return llvm::SmallVector<Value>{loop.getTiedLoopInit(argument)->get(),
                                    loop.getTiedLoopYieldedValue(argument)->get()};
  }
  auto loop = llvm::dyn_cast<scf::WhileOp>(parent);
  if (!loop)
    return std::nullopt;
  if (argument.getOwner() == loop.getBeforeBody())
    return llvm::SmallVector<Value>{loop.getInits()[number], loop.getYieldOp()->getOperand(number)};
  return llvm::SmallVector<Value>{loop.getConditionOp().getArgs()[number]};
}

/// Of a result of a loop or branch: lanes that left it elsewhere have it from elsewhere.
static Sources sourcesOf(scf::ForOp loop, unsigned number) {
  llvm::SmallVector<Value> sources = boundsOf(loop);
  sources.append({loop.getInitArgs()[number], loop.getYieldedValues()[number]});
  return sources;
}

static Sources sourcesOf(scf::IfOp branch, unsigned number) {
  return llvm::SmallVector<Value>{branch.getCondition(), branch.thenYield().getOperand(number),
                                  branch.elseYield().getOperand(number)};
}

static Sources sourcesOf(scf::WhileOp loop, unsigned number) {
  scf::ConditionOp condition = loop.getConditionOp();
  return llvm::SmallVector<Value>{condition.getCondition(), condition.getArgs()[number]};
}

static Sources sourcesOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return sourcesOf(llvm::cast<BlockArgument>(value));
  unsigned number = llvm::cast<mlir::OpResult>(value).getResultNumber();
  auto operands = [&] { return Sources(llvm::to_vector(op->getOperands())); };
  return llvm::TypeSwitch<Operation *, Sources>(op)
      .Case<scf::ForOp, scf::IfOp, scf::WhileOp>([&](auto around) { return sourcesOf(around, number); })
      .Case<UniformOp, BallotOp>([](Operation *) { return Sources(std::in_place); })
      .Case([](IdOp id) { return id.getKind() == IdKind::lane ? std::nullopt : Sources(std::in_place); })
      // Lanes that read one place at once read one value.
      .Case<LoadOp, PinOp, BufferOp>([&](Operation *) { return operands(); })
      .Default([&](Operation *) {
        bool isArithmetic = llvm::isa<mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::vector::VectorDialect>(
            op->getDialect());
        return isArithmetic ? operands() : std::nullopt;
      });
}

bool UniformValues::isUniform(Value value) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i) {
    Value each = reached[i];
    auto found = known.find(each);
    if (found != known.end() && found->second)
      continue;
    Sources sources = found == known.end() ? sourcesOf(each) : std::nullopt;
    if (!sources)
      return known[value] = known[each] = false;
    reached.insert(sources->begin(), sources->end());
  }
  // Nothing that any of them comes from differs between lanes.
  for (Value each : reached)
    known[each] = true;
  return true;
}

bool UniformValues::parts(Operation *op) {
  auto differs = [&](Value value) { return !isUniform(value); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](scf::IfOp branch) { return differs(branch.getCondition()); })
      .Case([&](scf::WhileOp loop) { return differs(loop.getConditionOp().getCondition()); })
      .Case([&](scf::ForOp loop) { return llvm::any_of(boundsOf(loop), differs); })
      .Default(false);
}

} // namespace soliton
