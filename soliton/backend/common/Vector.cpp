//===- Vector.cpp - Vectors of rank 1 -------------------------------------------===//
//
// Slices, insertions and broadcasts at static positions are one shufflevector each; LLVM sees through all of them.
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/common/Translator.h"

namespace soliton::backend {

using llvm::LogicalResult;
using mlir::failure;
using mlir::success;
namespace vector = mlir::vector;

/// The one static position of an extract or insert, or nothing.
static std::optional<int64_t> positionOf(mlir::Operation *op) {
  auto check = [](auto typed) -> std::optional<int64_t> {
    llvm::ArrayRef<int64_t> positions = typed.getStaticPosition();
    bool isStatic = positions.size() == 1 && typed.getDynamicPosition().empty() && positions[0] >= 0;
    return isStatic ? std::optional(positions[0]) : std::nullopt;
  };
  if (auto extract = llvm::dyn_cast<vector::ExtractOp>(op))
    return check(extract);
  return check(llvm::cast<vector::InsertOp>(op));
}

static int64_t firstOf(mlir::ArrayAttr attribute) {
  return llvm::cast<mlir::IntegerAttr>(attribute[0]).getInt();
}

/// `count` elements of `value` (a scalar is a vector of one) from `begin`.
static llvm::Value *slice(llvm::IRBuilder<> &builder, llvm::Value *value, int64_t begin, int64_t count) {
  if (!value->getType()->isVectorTy())
    return value;
  if (count == 1)
    return builder.CreateExtractElement(value, begin);
  return builder.CreateShuffleVector(value, llvm::to_vector(llvm::seq<int>(begin, begin + count)));
}

/// `target` with the elements from `begin` replaced by `part`.
static llvm::Value *replace(llvm::IRBuilder<> &builder, llvm::Value *target, llvm::Value *part, int64_t begin) {
  if (!target->getType()->isVectorTy())
    return part;
  if (!part->getType()->isVectorTy())
    return builder.CreateInsertElement(target, part, begin);
  auto size = llvm::cast<llvm::FixedVectorType>(target->getType())->getNumElements();
  auto count = llvm::cast<llvm::FixedVectorType>(part->getType())->getNumElements();
  llvm::SmallVector<int> widen(size, -1), blend;
  for (unsigned i = 0; i < count; ++i)
    widen[i] = static_cast<int>(i);
  for (unsigned i = 0; i < size; ++i)
    blend.push_back(static_cast<int>(i >= begin && i < begin + count ? size + i - begin : i));
  return builder.CreateShuffleVector(target, builder.CreateShuffleVector(part, widen), blend);
}

/// Both operands of `vector.shuffle` one after another, then the mask.
static llvm::Value *shuffle(llvm::IRBuilder<> &builder, llvm::Value *a, llvm::Value *b, llvm::ArrayRef<int64_t> mask,
                            llvm::Type *type) {
  auto count = [](llvm::Value *v) {
    auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
    return vector ? vector->getNumElements() : 1u;
  };
  unsigned first = count(a);
  auto element = [&](int64_t i) {
    llvm::Value *from = i < first ? a : b;
    return from->getType()->isVectorTy() ? builder.CreateExtractElement(from, i < first ? i : i - first) : from;
  };
  if (!type->isVectorTy())
    return mask[0] < 0 ? llvm::PoisonValue::get(type) : element(mask[0]);
  if (a->getType() == b->getType() && a->getType()->isVectorTy())
    return builder.CreateShuffleVector(a, b, llvm::to_vector_of<int>(mask));
  llvm::Value *result = llvm::PoisonValue::get(type);
  for (auto [i, from] : llvm::enumerate(mask))
    if (from >= 0)
      result = builder.CreateInsertElement(result, element(from), i);
  return result;
}

LogicalResult Translator::translateVector(mlir::Operation *op) {
  for (mlir::Type type : op->getResultTypes())
    if (!convert(type, op->getLoc()))
      return failure();
  auto result = [&](llvm::Value *value) {
    set(op->getResult(0), value);
    return success();
  };
  llvm::Type *type = op->getNumResults() ? convert(op->getResult(0).getType(), op->getLoc()) : nullptr;

  if (llvm::isa<vector::ExtractOp, vector::InsertOp>(op) && !positionOf(op))
    return unsupported(op) << "an element is taken or placed at a position that is not a number";
  if (auto extract = llvm::dyn_cast<vector::ExtractOp>(op))
    return result(slice(builder, get(extract.getSource()), *positionOf(op), 1));
  if (auto insert = llvm::dyn_cast<vector::InsertOp>(op))
    return result(replace(builder, get(insert.getDest()), get(insert.getValueToStore()), *positionOf(op)));
  if (auto strided = llvm::dyn_cast<vector::ExtractStridedSliceOp>(op)) {
    int64_t count = firstOf(strided.getSizes());
    return result(slice(builder, get(strided.getSource()), firstOf(strided.getOffsets()), count));
  }
  if (auto strided = llvm::dyn_cast<vector::InsertStridedSliceOp>(op))
    return result(
        replace(builder, get(strided.getDest()), get(strided.getValueToStore()), firstOf(strided.getOffsets())));
  if (auto mix = llvm::dyn_cast<vector::ShuffleOp>(op))
    return result(shuffle(builder, get(mix.getV1()), get(mix.getV2()), mix.getMask(), type));
  if (auto broadcast = llvm::dyn_cast<vector::BroadcastOp>(op)) {
    llvm::Value *source = get(broadcast.getSource());
    bool isSame = source->getType() == type;
    return result(isSame ? source : builder.CreateVectorSplat(countOf(type), source));
  }
  if (auto list = llvm::dyn_cast<vector::FromElementsOp>(op)) {
    llvm::SmallVector<llvm::Value *> parts;
    for (mlir::Value element : list.getElements())
      parts.push_back(get(element));
    return result(fromElements(parts, type));
  }
  if (auto list = llvm::dyn_cast<vector::ToElementsOp>(op)) {
    for (auto [element, part] : llvm::zip_equal(list.getElements(), elements(get(list.getSource()))))
      set(element, part);
    return success();
  }
  if (llvm::isa<vector::BitCastOp, vector::ShapeCastOp>(op))
    return result(recast(get(op->getOperand(0)), type));
  if (auto fma = llvm::dyn_cast<vector::FMAOp>(op))
    return result(call(llvm::Intrinsic::fma, {type}, {get(fma.getLhs()), get(fma.getRhs()), get(fma.getAcc())}));
  return unsupported(op) << "`" << op->getName().getStringRef() << "` is no op of the machine form";
}

} // namespace soliton::backend
