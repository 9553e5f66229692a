//===- WaveAttributes.cpp - Text of expressions, layouts and address maps --===//
//
// Each wraps a value of a layer without MLIR; its text is that layer's own, in quotes:
//
//   #wave.expr<"$WG0*64 + 4">     #wave.layout<"reg = (4 M 1), lane = (64 M 4)">     #wave.shared_map<"[M 128, K 32]
//   pad 4">
//
//===----------------------------------------------------------------------===//

#include "soliton/ir/Text.h"
#include "soliton/ir/Wave.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

namespace soliton {
// What MLIR needs to unique these values.
static llvm::hash_code hash_value(const Layout &value) {
  return llvm::hash_code(value.hash());
}
static llvm::hash_code hash_value(const SharedMap &value) {
  return llvm::hash_value(value.str());
}
} // namespace soliton

#define GET_ATTRDEF_CLASSES
#include "soliton/ir/WaveAttrs.cpp.inc"

namespace soliton::wave {

void WaveDialect::registerWaveAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "soliton/ir/WaveAttrs.cpp.inc"
      >();
}

mlir::FailureOr<sym::Expr> parseExprText(mlir::AsmParser &parser) {
  std::string text;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&text))
    return mlir::failure();
  try {
    return sym::parse(text);
  } catch (const sym::ExprError &error) {
    return parser.emitError(loc) << "`" << text << "` is no expression: " << error.what();
  }
}

mlir::FailureOr<Layout> parseLayoutText(mlir::AsmParser &parser) {
  std::string text, error;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&text))
    return mlir::failure();
  if (std::optional<Layout> layout = Layout::parse(text, &error))
    return std::move(*layout);
  return parser.emitError(loc) << "`" << text << "` is no layout: " << error;
}

mlir::FailureOr<SharedMap> parseSharedMapText(mlir::AsmParser &parser) {
  std::string text, error;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&text))
    return mlir::failure();
  if (std::optional<SharedMap> map = parseSharedMap(text, &error))
    return std::move(*map);
  return parser.emitError(loc) << "`" << text << "` is no address map: " << error;
}

/// Parses `<"text">` into an attribute.
template <typename Attr, typename Value>
static mlir::Attribute parseQuoted(mlir::AsmParser &parser, mlir::FailureOr<Value> (*parseText)(mlir::AsmParser &)) {
  if (parser.parseLess())
    return {};
  mlir::FailureOr<Value> value = parseText(parser);
  if (failed(value) || parser.parseGreater())
    return {};
  return Attr::get(parser.getContext(), *value);
}

mlir::Attribute ExprAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  return parseQuoted<ExprAttr>(parser, parseExprText);
}
void ExprAttr::print(mlir::AsmPrinter &printer) const {
  printer << "<\"" << sym::toString(getValue()) << "\">";
}

mlir::Attribute LayoutAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  return parseQuoted<LayoutAttr>(parser, parseLayoutText);
}
void LayoutAttr::print(mlir::AsmPrinter &printer) const {
  printer << "<\"" << getValue().str() << "\">";
}

mlir::Attribute SharedMapAttr::parse(mlir::AsmParser &parser, mlir::Type) {
  return parseQuoted<SharedMapAttr>(parser, parseSharedMapText);
}
void SharedMapAttr::print(mlir::AsmPrinter &printer) const {
  printer << "<\"" << getValue().str() << "\">";
}

} // namespace soliton::wave
