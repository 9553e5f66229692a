//===- Control.cpp - scf as blocks and phis ------------------------------------===//
//
// Loops come out rotated (test at the end, guarded where the count may be zero), so that LLVM has nothing to
// restructure:
//
//   scf.for %i = %lb to %ub step %s iter_args(%a = %x)   →   guard: lb < ub;  body: i, a = phi;  …;  i + s < ub ? body
//   : exit
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/common/Translator.h"

#include "llvm/IR/MDBuilder.h"

namespace soliton::backend {

using llvm::LogicalResult;
using mlir::failed;
using mlir::failure;
using mlir::success;

llvm::SmallVector<llvm::Value *> Translator::getAll(mlir::ValueRange range) {
  llvm::SmallVector<llvm::Value *> list;
  for (mlir::Value value : range)
    list.push_back(get(value));
  return list;
}

mlir::FailureOr<llvm::SmallVector<llvm::PHINode *>> Translator::makePhis(mlir::TypeRange types, mlir::Location loc) {
  llvm::SmallVector<llvm::PHINode *> phis;
  for (mlir::Type type : types) {
    llvm::Type *converted = convert(type, loc);
    if (!converted)
      return failure();
    phis.push_back(builder.CreatePHI(converted, 2));
  }
  return phis;
}

static void addIncoming(llvm::ArrayRef<llvm::PHINode *> phis, llvm::ArrayRef<llvm::Value *> list,
                        llvm::BasicBlock *from) {
  for (auto [phi, value] : llvm::zip_equal(phis, list))
    phi->addIncoming(value, from);
}

/// The schedule decided how often a loop is unrolled: LLVM must not.
static llvm::MDNode *keepLoop(llvm::LLVMContext &context) {
  auto flag = [&](llvm::StringRef name) { return llvm::MDNode::get(context, llvm::MDString::get(context, name)); };
  auto *node =
      llvm::MDNode::getDistinct(context, {nullptr, flag("llvm.loop.unroll.disable"), flag("llvm.loop.mustprogress")});
  node->replaceOperandWith(0, node);
  return node;
}

LogicalResult Translator::translateFor(mlir::scf::ForOp op) {
  llvm::Value *lower = get(op.getLowerBound()), *upper = get(op.getUpperBound()), *step = get(op.getStep());
  llvm::SmallVector<llvm::Value *> inits = getAll(op.getInitArgs());
  auto *body = llvm::BasicBlock::Create(context, "loop", function);
  auto *exit = llvm::BasicBlock::Create(context, "after", function);
  llvm::Value *enters = op.getUnsignedCmp() ? builder.CreateICmpULT(lower, upper) : builder.CreateICmpSLT(lower, upper);
  llvm::BasicBlock *before = builder.GetInsertBlock();
  builder.CreateCondBr(enters, body, exit); // a constant condition is folded by LLVM

  builder.SetInsertPoint(body);
  llvm::PHINode *index = builder.CreatePHI(lower->getType(), 2);
  auto carried = makePhis(op.getInitArgs().getTypes(), op.getLoc());
  if (failed(carried))
    return failure();
  index->addIncoming(lower, before);
  addIncoming(*carried, inits, before);
  set(op.getInductionVar(), index);
  for (auto [argument, phi] : llvm::zip_equal(op.getRegionIterArgs(), *carried))
    set(argument, phi);
  if (failed(translateBlock(*op.getBody())))
    return failure();

  builder.SetCurrentDebugLocation(lines.at(op.getLoc()));
  llvm::SmallVector<llvm::Value *> yielded = getAll(op.getBody()->getTerminator()->getOperands());
  llvm::Value *next = builder.CreateAdd(index, step, "", op.getUnsignedCmp(), !op.getUnsignedCmp());
  llvm::Value *goesOn = op.getUnsignedCmp() ? builder.CreateICmpULT(next, upper) : builder.CreateICmpSLT(next, upper);
  llvm::BasicBlock *latch = builder.GetInsertBlock();
  builder.CreateCondBr(goesOn, body, exit)->setMetadata(llvm::LLVMContext::MD_loop, keepLoop(context));
  index->addIncoming(next, latch);
  addIncoming(*carried, yielded, latch);

  builder.SetInsertPoint(exit);
  auto results = makePhis(op.getResultTypes(), op.getLoc());
  addIncoming(*results, inits, before);
  addIncoming(*results, yielded, latch);
  for (auto [result, phi] : llvm::zip_equal(op.getResults(), *results))
    set(result, phi);
  return success();
}

LogicalResult Translator::translateIf(mlir::scf::IfOp op) {
  bool hasElse = !op.getElseRegion().empty();
  auto *then = llvm::BasicBlock::Create(context, "then", function);
  auto *otherwise = hasElse ? llvm::BasicBlock::Create(context, "else", function) : nullptr;
  auto *after = llvm::BasicBlock::Create(context, "endif", function);
  builder.CreateCondBr(get(op.getCondition()), then, hasElse ? otherwise : after);

  struct Arm {
    llvm::SmallVector<llvm::Value *> values;
    llvm::BasicBlock *last;
  };
  llvm::SmallVector<Arm> arms;
  for (mlir::Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    builder.SetInsertPoint(&region == &op.getThenRegion() ? then : otherwise);
    if (failed(translateBlock(region.front())))
      return failure();
    arms.push_back({getAll(region.front().getTerminator()->getOperands()), builder.GetInsertBlock()});
    builder.SetCurrentDebugLocation(lines.at(op.getLoc()));
    builder.CreateBr(after);
  }
  builder.SetInsertPoint(after);
  auto results = makePhis(op.getResultTypes(), op.getLoc());
  if (failed(results))
    return failure();
  if (!results->empty())
    for (const Arm &arm : arms)
      addIncoming(*results, arm.values, arm.last);
  for (auto [result, phi] : llvm::zip_equal(op.getResults(), *results))
    set(result, phi);
  return success();
}

LogicalResult Translator::translateWhile(mlir::scf::WhileOp op) {
  auto *test = llvm::BasicBlock::Create(context, "test", function);
  auto *body = llvm::BasicBlock::Create(context, "loop", function);
  auto *exit = llvm::BasicBlock::Create(context, "after", function);
  llvm::SmallVector<llvm::Value *> inits = getAll(op.getInits());
  llvm::BasicBlock *before = builder.GetInsertBlock();
  builder.CreateBr(test);

  builder.SetInsertPoint(test);
  auto carried = makePhis(op.getInits().getTypes(), op.getLoc());
  if (failed(carried))
    return failure();
  addIncoming(*carried, inits, before);
  for (auto [argument, phi] : llvm::zip_equal(op.getBeforeArguments(), *carried))
    set(argument, phi);
  if (failed(translateBlock(*op.getBeforeBody())))
    return failure();
  mlir::scf::ConditionOp condition = op.getConditionOp();
  llvm::SmallVector<llvm::Value *> passed = getAll(condition.getArgs());
  builder.CreateCondBr(get(condition.getCondition()), body, exit);

  builder.SetInsertPoint(body);
  for (auto [argument, value] : llvm::zip_equal(op.getAfterArguments(), passed))
    set(argument, value);
  if (failed(translateBlock(*op.getAfterBody())))
    return failure();
  builder.SetCurrentDebugLocation(lines.at(op.getLoc()));
  addIncoming(*carried, getAll(op.getYieldOp()->getOperands()), builder.GetInsertBlock());
  builder.CreateBr(test)->setMetadata(llvm::LLVMContext::MD_loop, keepLoop(context));

  builder.SetInsertPoint(exit);
  for (auto [result, value] : llvm::zip_equal(op.getResults(), passed))
    set(result, value);
  return success();
}

} // namespace soliton::backend
