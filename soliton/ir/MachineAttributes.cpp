//===- MachineAttributes.cpp - Tensor maps: their text and what holds of them -------===//

#include "soliton/ir/Machine.h"
#include "soliton/ir/Text.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

#define GET_ATTRDEF_CLASSES
#include "soliton/ir/MachineAttrs.cpp.inc"

namespace soliton::machine {

using mlir::failed;
using mlir::failure;
using mlir::success;

void MachineDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "soliton/ir/MachineAttrs.cpp.inc"
      >();
}

int64_t TensorMapAttr::boxBytes() const {
  int64_t bytes = elementBytes();
  for (int64_t extent : getBox())
    bytes *= extent;
  return bytes;
}

//===-- Text ------------------------------------------------------------------------===//

/// `"2*K"`, or a number as it is.
static mlir::ParseResult parseExpr(mlir::AsmParser &parser, sym::Expr &expr) {
  int64_t number = 0;
  if (mlir::OptionalParseResult given = parser.parseOptionalInteger(number); given.has_value()) {
    expr = number;
    return *given;
  }
  mlir::FailureOr<sym::Expr> text = wave::parseExprText(parser);
  if (failed(text))
    return failure();
  expr = *text;
  return success();
}

static void printExpr(mlir::AsmPrinter &printer, sym::Expr expr) {
  if (std::optional<int64_t> number = expr.constantValue())
    printer << *number;
  else
    printer << '"' << sym::toString(expr) << '"';
}

static mlir::ParseResult parseExprs(mlir::AsmParser &parser, llvm::SmallVectorImpl<sym::Expr> &list) {
  return parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square,
                                        [&] { return parseExpr(parser, list.emplace_back()); });
}

static void printExprs(mlir::AsmPrinter &printer, llvm::ArrayRef<sym::Expr> list) {
  printer << '[';
  llvm::interleaveComma(list, printer, [&](sym::Expr expr) { printExpr(printer, expr); });
  printer << ']';
}

namespace {
struct MapText {
  int64_t argument = 0, swizzle = 0;
  mlir::Type element;
  llvm::SmallVector<sym::Expr> sizes, strides;
  llvm::SmallVector<int64_t> box, lower, upper, steps;
  sym::Expr offset = 0;
};
} // namespace

static mlir::ParseResult parseNumbers(mlir::AsmParser &parser, llvm::SmallVectorImpl<int64_t> &list) {
  list.clear();
  return parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(list.emplace_back()); });
}

/// The fields behind `box`, each once at most.
static mlir::ParseResult parseRest(mlir::AsmParser &parser, MapText &map) {
  while (succeeded(parser.parseOptionalComma())) {
    llvm::StringRef name;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    auto *numbers = llvm::StringSwitch<llvm::SmallVector<int64_t> *>(name)
                        .Case("lower", &map.lower)
                        .Case("upper", &map.upper)
                        .Case("steps", &map.steps)
                        .Default(nullptr);
    if (!numbers && name != "swizzle" && name != "offset")
      return parser.emitError(loc) << "found `" << name
                                   << "`, expected `swizzle`, `offset`, `lower`, `upper` or `steps`";
    if (numbers             ? parseNumbers(parser, *numbers)
        : name == "swizzle" ? parser.parseInteger(map.swizzle)
                            : parseExpr(parser, map.offset))
      return failure();
  }
  return success();
}

mlir::Attribute TensorMapAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  MapText map;
  llvm::SMLoc loc = parser.getCurrentLocation();
  auto key = [&](llvm::StringRef name) { return parser.parseKeyword(name) || parser.parseEqual(); };
  if (parser.parseLess() || key("argument") || parser.parseInteger(map.argument) || parser.parseComma() ||
      key("element") || parser.parseType(map.element) || parser.parseComma() || key("sizes") ||
      parseExprs(parser, map.sizes) || parser.parseComma())
    return {};
  bool hasStrides = succeeded(parser.parseOptionalKeyword("strides"));
  if (hasStrides && (parser.parseEqual() || parseExprs(parser, map.strides) || parser.parseComma()))
    return {};
  if (key("box") || parseNumbers(parser, map.box) || parseRest(parser, map) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), map.argument, map.element, map.sizes,
                    map.strides, map.box, map.swizzle, map.offset, map.lower, map.upper, map.steps);
}

static void printNumbers(mlir::AsmPrinter &printer, llvm::StringRef name, llvm::ArrayRef<int64_t> list) {
  printer << ", " << name << " = [";
  llvm::interleaveComma(list, printer);
  printer << ']';
}

void TensorMapAttr::print(mlir::AsmPrinter &printer) const {
  printer << "<argument = " << getArgument() << ", element = " << getElement() << ", sizes = ";
  printExprs(printer, getSizes());
  if (!getStrides().empty()) {
    printer << ", strides = ";
    printExprs(printer, getStrides());
  }
  printNumbers(printer, "box", getBox());
  if (hasCorners()) {
    printNumbers(printer, "lower", getLower());
    printNumbers(printer, "upper", getUpper());
    printNumbers(printer, "steps", getSteps());
  }
  if (getSwizzle() != 0)
    printer << ", swizzle = " << getSwizzle();
  if (!getOffset().isConstant(0)) {
    printer << ", offset = ";
    printExpr(printer, getOffset());
  }
  printer << '>';
}

//===-- What holds --------------------------------------------------------------------===//

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

static llvm::LogicalResult verifyBox(EmitError emitError, mlir::Type element, llvm::ArrayRef<int64_t> box,
                                     int64_t swizzle, bool hasCorners) {
  // tensor_map_c3
  for (auto [d, extent] : llvm::enumerate(box))
    if (int64_t most = hasCorners && d == 1 ? 1024 : 256; extent < 1 || extent > most)
      return emitError() << "the box has " << extent << " elements along a dimension, expected 1 to " << most;
  int64_t row = box[0] * element.getIntOrFloatBitWidth() / 8;
  if (row % 16 != 0)
    return emitError() << "a row of the box has " << row << " bytes, expected a multiple of 16";
  // tensor_map_c4
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return emitError() << "chunks change places within " << swizzle << " bytes, expected 0, 32, 64 or 128";
  if (swizzle != 0 && row > swizzle)
    return emitError() << "a row of the box has " << row << " bytes, expected at most the " << swizzle
                       << " within which chunks change places";
  return success();
}

/// tensor_map_c5
static llvm::LogicalResult verifyNumbers(EmitError emitError, llvm::ArrayRef<sym::Expr> sizes,
                                         llvm::ArrayRef<sym::Expr> strides, sym::Expr offset) {
  for (sym::Expr size : sizes)
    if (std::optional<int64_t> number = size.constantValue(); number && (*number < 0 || *number > int64_t(1) << 32))
      return emitError() << "the tensor has " << *number << " elements along a dimension, expected 0 to 2^32";
  for (sym::Expr stride : strides)
    if (std::optional<int64_t> number = stride.constantValue();
        number && (*number < 0 || *number % 16 != 0 || *number >= int64_t(1) << 40))
      return emitError() << "the tensor has a stride of " << *number << " bytes, expected a multiple of 16 below 2^40";
  if (std::optional<int64_t> number = offset.constantValue(); number && (*number < 0 || *number % 16 != 0))
    return emitError() << "the tensor begins at byte " << *number << ", expected a multiple of 16";
  return success();
}

/// tensor_map_c6
static llvm::LogicalResult verifyCorners(EmitError emitError, size_t rank, llvm::ArrayRef<int64_t> lower,
                                         llvm::ArrayRef<int64_t> upper, llvm::ArrayRef<int64_t> steps) {
  if (lower.empty() && upper.empty() && steps.empty())
    return success();
  if (rank < 3 || lower.size() + 2 != rank || upper.size() + 2 != rank || steps.size() + 2 != rank)
    return emitError() << "a tensor map of " << rank << " sizes, " << lower.size() << " lower and " << upper.size()
                       << " upper corners and " << steps.size()
                       << " steps, expected three to five sizes, and of the others two less";
  int64_t most = int64_t(1) << (TensorMapAttr::cornerBits(lower.size()) - 1);
  for (int64_t corner : llvm::concat<const int64_t>(lower, upper))
    if (corner < -most || corner >= most)
      return emitError() << "a corner at " << corner << ", expected " << -most << " to " << most - 1 << " where "
                         << lower.size() << " dimensions have corners";
  for (int64_t step : steps)
    if (step < 1 || step > TensorMapAttr::kMaxStep)
      return emitError() << "pixels have a step of " << step << ", expected 1 to " << TensorMapAttr::kMaxStep;
  return success();
}

llvm::LogicalResult TensorMapAttr::verify(EmitError emitError, int64_t, mlir::Type element,
                                          llvm::ArrayRef<sym::Expr> sizes, llvm::ArrayRef<sym::Expr> strides,
                                          llvm::ArrayRef<int64_t> box, int64_t swizzle, sym::Expr offset,
                                          llvm::ArrayRef<int64_t> lower, llvm::ArrayRef<int64_t> upper,
                                          llvm::ArrayRef<int64_t> steps) {
  // tensor_map_c1
  if (sizes.empty() || sizes.size() > 5 || strides.size() + 1 != sizes.size() ||
      box.size() != (lower.empty() ? sizes.size() : 2))
    return emitError() << "a tensor map of " << sizes.size() << " sizes, " << strides.size() << " strides and a box of "
                       << box.size() << " dimensions, expected one to five sizes, one stride less and as many extents"
                       << (lower.empty() ? "" : ", two with corners");
  // tensor_map_c2
  if (!element.isIntOrFloat() || !llvm::is_contained({8u, 16u, 32u, 64u}, element.getIntOrFloatBitWidth()))
    return emitError() << "a tensor map of elements of type " << element
                       << ", expected integers or floats of 8, 16, 32 or 64 bits";
  if (failed(verifyBox(emitError, element, box, swizzle, !lower.empty())) ||
      failed(verifyCorners(emitError, sizes.size(), lower, upper, steps)))
    return failure();
  return verifyNumbers(emitError, sizes, strides, offset);
}

} // namespace soliton::machine
