//===- TranslateMaps.cpp - Tensor maps of the launch ------------------------------------===//
//
// A launch evaluates a map's sizes and strides and passes the result; here the program computes them from the same
// parameters before anything else, so that it needs nothing but its arguments.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/emulator/Translator.h"

#include "soliton/ir/Wave.h"

namespace soliton {
using emu::BinaryOp;

emu::Value EmulatorTranslator::combine(sym::Kind kind, emu::Value a, emu::Value b) {
  auto truth = [&](emu::CmpOp op) { return build.convert(emu::ConvertOp::ExtU, DType::i64, build.cmp(op, a, b)); };
  switch (kind) {
  case sym::Kind::add:
    return build.add(a, b);
  case sym::Kind::mul:
    return build.mul(a, b);
  case sym::Kind::exactDiv:
  case sym::Kind::floordiv:
    return build.binary(BinaryOp::FloorDivS, a, b);
  case sym::Kind::ceildiv:
    return build.binary(BinaryOp::CeilDivS, a, b);
  case sym::Kind::mod:
    return build.binary(BinaryOp::SubI, a, build.mul(build.binary(BinaryOp::FloorDivS, a, b), b));
  case sym::Kind::min:
    return build.binary(BinaryOp::MinS, a, b);
  case sym::Kind::max:
    return build.binary(BinaryOp::MaxS, a, b);
  case sym::Kind::lt:
    return truth(emu::CmpOp::Slt);
  case sym::Kind::le:
    return truth(emu::CmpOp::Sle);
  case sym::Kind::eq:
    return truth(emu::CmpOp::Eq);
  case sym::Kind::ne:
    return truth(emu::CmpOp::Ne);
  case sym::Kind::logicalAnd:
    return build.binary(BinaryOp::And, a, b);
  case sym::Kind::logicalOr:
    return build.binary(BinaryOp::Or, a, b);
  case sym::Kind::bitXor:
    return build.binary(BinaryOp::Xor, a, b);
  case sym::Kind::shl:
    return build.binary(BinaryOp::Shl, a, b);
  case sym::Kind::shr:
    return build.binary(BinaryOp::ShrS, a, b);
  case sym::Kind::constant:
  case sym::Kind::symbol:
  case sym::Kind::select:
  case sym::Kind::logicalNot:
    break;
  }
  llvm_unreachable("an expression of one or three operands");
}

/// The expression as one uniform i64.
emu::Value EmulatorTranslator::number(sym::Expr expr) {
  if (std::optional<int64_t> value = expr.constantValue())
    return build.constant(DType::i64, *value);
  if (expr.isSymbol()) {
    auto names = kernel.getArgNames().getAsRange<StringAttr>();
    auto found = llvm::find_if(names, [&](StringAttr name) { return name.getValue() == StringRef(expr.symbolName()); });
    auto position = static_cast<unsigned>(std::distance(names.begin(), found));
    return build.convert(emu::ConvertOp::ExtS, DType::i64, value(kernel.block().getArgument(position)));
  }
  emu::Value first = number(expr.operand(0)), zero = build.constant(DType::i64, 0);
  if (expr.kind() == sym::Kind::select)
    return build.select(build.cmp(emu::CmpOp::Ne, first, zero), number(expr.operand(1)), number(expr.operand(2)));
  if (expr.kind() == sym::Kind::logicalNot)
    return combine(sym::Kind::eq, first, zero);
  for (sym::Expr operand : expr.operands().subspan(1))
    first = combine(expr.kind(), first, number(operand));
  return first;
}

emu::Quantity EmulatorTranslator::quantity(sym::Expr expr) {
  if (std::optional<int64_t> value = expr.constantValue())
    return {*value};
  return {0, number(expr).slot};
}

void EmulatorTranslator::bindMaps() {
  for (auto [argument, name] : llvm::zip(kernel.block().getArguments(), kernel.getArgNames())) {
    machine::TensorMapAttr map = kernel.mapOf(argument);
    if (!map)
      continue;
    emu::TensorMap described{.name = cast<StringAttr>(name).getValue().str()};
    auto before = kernel.block().getArguments().take_front(static_cast<size_t>(map.getArgument()));
    described.argument = static_cast<uint32_t>(
        llvm::count_if(before, [](BlockArgument other) { return isa<machine::PtrType>(other.getType()); }));
    described.type = wave::dtypeOf(map.getElement()).value_or(DType::i32);
    described.rank = static_cast<uint32_t>(map.rank());
    described.swizzle = static_cast<uint32_t>(map.getSwizzle());
    described.offset = quantity(map.getOffset());
    described.stride[0] = {map.elementBytes()};
    for (size_t d = 0; d < map.rank(); ++d) {
      described.size[d] = quantity(map.getSizes()[d]);
      described.box[d] = d < map.getBox().size() ? static_cast<uint32_t>(map.getBox()[d]) : 1;
      if (d > 0)
        described.stride[d] = quantity(map.getStrides()[d - 1]);
    }
    described.corners = static_cast<uint32_t>(map.getLower().size());
    for (size_t d = 0; d < map.getLower().size(); ++d) {
      described.lower[d] = static_cast<int32_t>(map.getLower()[d]);
      described.upper[d] = static_cast<int32_t>(map.getUpper()[d]);
      described.step[d] = static_cast<int32_t>(map.getSteps()[d]);
    }
    maps[argument] = build.tensorMap(std::move(described));
  }
}

std::vector<emu::Value> EmulatorTranslator::coordinates(mlir::OperandRange given) {
  std::vector<emu::Value> list;
  for (Value coordinate : given)
    list.push_back(build.asUniform(value(coordinate)));
  return list;
}

} // namespace soliton
