//===- WaveTypes.cpp - Text, checks and small queries of tiles and memories -===//
//
//   !wave.tile<[M, N], f32, "reg = (4 M 1), lane = (16 N 1)(4 M 4)">
//   !wave.memory<["M", "K"], f16, shared, "[M 128, K 32] pad 4">
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Text.h"
#include "soliton/ir/Wave.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

#define GET_TYPEDEF_CLASSES
#include "soliton/ir/WaveTypes.cpp.inc"

namespace soliton::wave {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

// No machine holds more; a bound keeps every walk over a layout short, whatever the text says.
static constexpr int64_t kMaxRegisters = 65536, kMaxLanes = 1024, kMaxWaves = 1024;

void WaveDialect::registerWaveTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "soliton/ir/WaveTypes.cpp.inc"
      >();
}

static llvm::LogicalResult verifyElementType(EmitError emitError, mlir::Type elementType) {
  if (dtypeOf(elementType))
    return mlir::success();
  return emitError() << "found element type " << elementType
                     << ", expected one of the language, such as `f16` or `i32`";
}

//===-- Tile ----------------------------------------------------------------===//

mlir::Type TileType::parse(mlir::AsmParser &parser) {
  llvm::SmallVector<mlir::StringAttr> dims;
  mlir::Type elementType;
  LayoutAttr layout;
  llvm::SMLoc loc = parser.getCurrentLocation();
  auto parseDim = [&]() -> mlir::ParseResult {
    std::string dim;
    if (parser.parseKeywordOrString(&dim))
      return mlir::failure();
    dims.push_back(mlir::StringAttr::get(parser.getContext(), dim));
    return mlir::success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, parseDim) ||
      parser.parseComma() || parser.parseType(elementType))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    mlir::FailureOr<Layout> value = parseLayoutText(parser);
    if (failed(value))
      return {};
    layout = LayoutAttr::get(parser.getContext(), *value);
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<TileType>(loc, parser.getContext(), dims, elementType, layout);
}

void TileType::print(mlir::AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](mlir::StringAttr dim) { printer.printKeywordOrString(dim); });
  printer << "], " << getElementType();
  if (getLayout())
    printer << ", \"" << getLayout().getValue().str() << "\"";
  printer << ">";
}

static llvm::LogicalResult verifyLayout(EmitError emitError, llvm::ArrayRef<mlir::StringAttr> dims,
                                        const Layout &layout) {
  // tile_c3
  for (Dim dim : layout.dims())
    if (llvm::none_of(dims, [&](mlir::StringAttr other) { return other == dim.name(); }))
      return emitError() << "the layout moves along `" << dim.name() << "`, which is no dimension of the tile";
  // tile_c4
  if (layout.regs() > kMaxRegisters || layout.lanes() > kMaxLanes || layout.waves() > kMaxWaves)
    return emitError() << "the layout has " << layout.regs() << " registers, " << layout.lanes() << " lanes and "
                       << layout.waves() << " waves, expected at most " << kMaxRegisters << ", " << kMaxLanes << " and "
                       << kMaxWaves;
  return mlir::success();
}

llvm::LogicalResult TileType::verify(EmitError emitError, llvm::ArrayRef<mlir::StringAttr> dims, mlir::Type elementType,
                                     LayoutAttr layout) {
  // tile_c1
  if (failed(verifyElementType(emitError, elementType)))
    return mlir::failure();
  // tile_c2
  llvm::SmallPtrSet<mlir::Attribute, 4> seen;
  for (mlir::StringAttr dim : dims)
    if (!seen.insert(dim).second)
      return emitError() << "dimension `" << dim.getValue() << "` appears twice, expected distinct dimensions";
  return layout ? verifyLayout(emitError, dims, layout.getValue()) : mlir::success();
}

bool TileType::hasDim(llvm::StringRef dim) {
  return llvm::any_of(getDims(), [&](mlir::StringAttr other) { return other == dim; });
}
TileType TileType::withLayout(Layout layout) {
  return get(getContext(), getDims(), getElementType(), LayoutAttr::get(getContext(), std::move(layout)));
}
TileType TileType::withoutLayout() {
  return get(getContext(), getDims(), getElementType(), LayoutAttr());
}
TileType TileType::withElementType(mlir::Type elementType) {
  return get(getContext(), getDims(), elementType, getLayout());
}

//===-- Memory --------------------------------------------------------------===//

static mlir::FailureOr<AddressSpace> parseSpace(mlir::AsmParser &parser) {
  llvm::StringRef text;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&text))
    return mlir::failure();
  if (std::optional<AddressSpace> space = symbolizeAddressSpace(text))
    return *space;
  return parser.emitError(loc) << "found address space `" << text << "`, expected `global` or `shared`";
}

static mlir::ParseResult parseExprs(mlir::AsmParser &parser, llvm::SmallVectorImpl<ExprAttr> &exprs) {
  return parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, [&]() -> mlir::ParseResult {
    mlir::FailureOr<sym::Expr> expr = parseExprText(parser);
    if (failed(expr))
      return mlir::failure();
    exprs.push_back(ExprAttr::get(parser.getContext(), *expr));
    return mlir::success();
  });
}

mlir::Type MemoryType::parse(mlir::AsmParser &parser) {
  llvm::SmallVector<ExprAttr> shape, strides;
  mlir::Type elementType;
  SharedMapAttr map;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseExprs(parser, shape) || parser.parseComma() || parser.parseType(elementType) ||
      parser.parseComma())
    return {};
  mlir::FailureOr<AddressSpace> space = parseSpace(parser);
  if (failed(space))
    return {};
  bool hasMore = succeeded(parser.parseOptionalComma());
  if (hasMore && succeeded(parser.parseOptionalKeyword("strides"))) {
    if (parser.parseEqual() || parseExprs(parser, strides))
      return {};
  } else if (hasMore) {
    mlir::FailureOr<SharedMap> value = parseSharedMapText(parser);
    if (failed(value))
      return {};
    map = SharedMapAttr::get(parser.getContext(), *value);
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<MemoryType>(loc, parser.getContext(), shape, elementType, *space, map, strides);
}

void MemoryType::print(mlir::AsmPrinter &printer) const {
  auto list = [&](llvm::ArrayRef<ExprAttr> exprs) {
    printer << "[";
    llvm::interleaveComma(exprs, printer,
                          [&](ExprAttr each) { printer << "\"" << sym::toString(each.getValue()) << "\""; });
    printer << "]";
  };
  printer << "<";
  list(getShape());
  printer << ", " << getElementType() << ", " << stringifyAddressSpace(getSpace());
  if (getMap())
    printer << ", \"" << getMap().getValue().str() << "\"";
  if (!getStrides().empty()) {
    printer << ", strides = ";
    list(getStrides());
  }
  printer << ">";
}

static llvm::LogicalResult verifyStrides(EmitError emitError, llvm::ArrayRef<ExprAttr> shape, mlir::Type elementType,
                                         SharedMapAttr map, llvm::ArrayRef<ExprAttr> strides) {
  if (strides.empty())
    return mlir::success();
  // memory_c3
  if (strides.size() != shape.size())
    return emitError() << "the memory has " << strides.size() << " strides for " << shape.size() << " dimensions";
  if (std::optional<DType> type = dtypeOf(elementType); type && *type != DType::i1 && bits(*type) < 8)
    return emitError() << "strides of elements that share bytes, expected elements of whole bytes";
  for (ExprAttr stride : strides)
    if (std::optional<int64_t> value = stride.getValue().constantValue(); value && *value < 0)
      return emitError() << "the memory has the stride " << *value << ", expected 0 or more";
  // memory_c4
  if (map)
    return emitError() << "a memory with an address map has strides";
  return mlir::success();
}

MemoryType MemoryType::inSpace(AddressSpace space) {
  return get(getContext(), getShape(), getElementType(), space, SharedMapAttr(), getStrides());
}

llvm::LogicalResult MemoryType::verify(EmitError emitError, llvm::ArrayRef<ExprAttr> shape, mlir::Type elementType,
                                       AddressSpace space, SharedMapAttr map, llvm::ArrayRef<ExprAttr> strides) {
  // memory_c1
  if (failed(verifyElementType(emitError, elementType)) ||
      failed(verifyStrides(emitError, shape, elementType, map, strides)))
    return mlir::failure();
  if (!map)
    return mlir::success();
  // memory_c2
  if (space != AddressSpace::Shared)
    return emitError() << "a global memory has an address map, expected one in shared memory only";
  if (map.getValue().dims.size() != shape.size())
    return emitError() << "the address map has " << map.getValue().dims.size() << " dimensions, the memory "
                       << shape.size();
  return mlir::success();
}

} // namespace soliton::wave
