//===- Control.cpp - scf as blocks and phis ------------------------------------===//
//
// Loops come out rotated (test at the end, guarded where the count may be zero), so that LLVM has nothing to
// restructure:
//
//   scf.for %i = %lb to %ub step %s iter_args(%a = %x)   →   guard: lb < ub;  body: i, a = phi;  …;  i + s < ub ? body
//   : exit
//
// Lanes of a wave are in step: where some of them took another way, they meet again behind it (`meetAgain`).
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/common/Translator.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Analysis/VectorUtils.h"
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

namespace {
struct Piece {
  unsigned from, count;
};
} // namespace

/// The pieces in which a value goes through phis. Parts of words go in powers of two (six halves as four and two), for
/// LLVM's renaming of registers crashes on others of which it knows some parts only.
static llvm::SmallVector<Piece> piecesOf(llvm::Type *type) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  unsigned count = vector ? vector->getNumElements() : 1;
  if (!vector || vector->getScalarSizeInBits() >= 32)
    return {{0, count}};
  llvm::SmallVector<Piece> pieces;
  for (unsigned from = 0, size; from < count; from += size) {
    size = llvm::bit_floor(count - from);
    pieces.push_back({from, size});
  }
  return pieces;
}

static llvm::Value *take(llvm::IRBuilder<> &builder, llvm::Value *value, Piece piece) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (!vector || piece.count == vector->getNumElements())
    return value;
  return builder.CreateShuffleVector(value, llvm::to_vector(llvm::seq<int>(piece.from, piece.from + piece.count)));
}

LogicalResult Translator::makePhis(mlir::ValueRange targets, llvm::SmallVector<llvm::PHINode *> &phis) {
  llvm::SmallVector<size_t> ends; // all phis of a block come before its other instructions
  for (mlir::Value target : targets) {
    llvm::Type *type = convert(target.getType(), target.getLoc());
    if (!type)
      return failure();
    for (Piece piece : piecesOf(type)) {
      bool isWhole = piece.count == countOf(type);
      phis.push_back(
          builder.CreatePHI(isWhole ? type : llvm::FixedVectorType::get(type->getScalarType(), piece.count), 2));
    }
    ends.push_back(phis.size());
  }
  size_t begin = 0;
  for (auto [target, end] : llvm::zip_equal(targets, ends)) {
    llvm::SmallVector<llvm::Value *> parts(llvm::ArrayRef(phis).slice(begin, end - begin));
    set(target, parts.size() == 1 ? parts.front() : llvm::concatenateVectors(builder, parts));
    begin = end;
  }
  return success();
}

/// The values as they are at the end of `from`, which branches to the phis.
static void addIncoming(llvm::ArrayRef<llvm::PHINode *> phis, llvm::ArrayRef<llvm::Value *> list,
                        llvm::BasicBlock *from) {
  llvm::IRBuilder<> builder(from->getTerminator());
  for (llvm::Value *value : list)
    for (Piece piece : piecesOf(value->getType())) {
      phis.front()->addIncoming(take(builder, value, piece), from);
      phis = phis.drop_front();
    }
}

/// The schedule decided how often a loop is unrolled: LLVM must not.
static llvm::MDNode *keepLoop(llvm::LLVMContext &context) {
  auto flag = [&](llvm::StringRef name) { return llvm::MDNode::get(context, llvm::MDString::get(context, name)); };
  auto *node =
      llvm::MDNode::getDistinct(context, {nullptr, flag("llvm.loop.unroll.disable"), flag("llvm.loop.mustprogress")});
  node->replaceOperandWith(0, node);
  return node;
}

LogicalResult Translator::translateControl(mlir::Operation *op) {
  if (auto branch = llvm::dyn_cast<mlir::scf::IfOp>(op); branch && translatePredicated(branch))
    return success();
  bool part = !parted && uniform.parts(op);
  parted |= part;
  LogicalResult done = llvm::TypeSwitch<mlir::Operation *, LogicalResult>(op)
                           .Case([&](mlir::scf::ForOp loop) { return translateFor(loop); })
                           .Case([&](mlir::scf::IfOp branch) { return translateIf(branch); })
                           .Case([&](mlir::scf::WhileOp loop) { return translateWhile(loop); })
                           .Default([&](mlir::Operation *other) { return notOfTheForm(other); });
  if (!part)
    return done;
  parted = false;
  builder.SetCurrentDebugLocation(lines.at(op->getLoc()));
  meetAgain();
  return done;
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
  llvm::SmallVector<llvm::PHINode *> carried, results;
  if (failed(makePhis(op.getRegionIterArgs(), carried)))
    return failure();
  index->addIncoming(lower, before);
  addIncoming(carried, inits, before);
  set(op.getInductionVar(), index);
  if (failed(translateBlock(*op.getBody())))
    return failure();

  builder.SetCurrentDebugLocation(lines.at(op.getLoc()));
  llvm::SmallVector<llvm::Value *> yielded = getAll(op.getBody()->getTerminator()->getOperands());
  llvm::Value *next = builder.CreateAdd(index, step, "", op.getUnsignedCmp(), !op.getUnsignedCmp());
  llvm::Value *goesOn = op.getUnsignedCmp() ? builder.CreateICmpULT(next, upper) : builder.CreateICmpSLT(next, upper);
  llvm::BasicBlock *latch = builder.GetInsertBlock();
  builder.CreateCondBr(goesOn, body, exit)->setMetadata(llvm::LLVMContext::MD_loop, keepLoop(context));
  index->addIncoming(next, latch);
  addIncoming(carried, yielded, latch);

  builder.SetInsertPoint(exit);
  if (failed(makePhis(op.getResults(), results)))
    return failure();
  addIncoming(results, inits, before);
  addIncoming(results, yielded, latch);
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
  llvm::SmallVector<llvm::PHINode *> results;
  if (failed(makePhis(op.getResults(), results)))
    return failure();
  if (!results.empty())
    for (const Arm &arm : arms)
      addIncoming(results, arm.values, arm.last);
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
  llvm::SmallVector<llvm::PHINode *> carried;
  if (failed(makePhis(op.getBeforeArguments(), carried)))
    return failure();
  addIncoming(carried, inits, before);
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
  llvm::BasicBlock *latch = builder.GetInsertBlock();
  builder.CreateBr(test)->setMetadata(llvm::LLVMContext::MD_loop, keepLoop(context));
  addIncoming(carried, getAll(op.getYieldOp()->getOperands()), latch);

  builder.SetInsertPoint(exit);
  for (auto [result, value] : llvm::zip_equal(op.getResults(), passed))
    set(result, value);
  return success();
}

} // namespace soliton::backend
