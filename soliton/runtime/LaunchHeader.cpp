#include "soliton/runtime/LaunchHeader.h"

#include <algorithm>
#include <cctype>

namespace soliton::rt {

std::string cName(std::string_view name) {
  static const std::vector<std::string> kKeywords{
      "auto",     "break",  "case",     "char",   "const",  "continue", "default",   "do",      "double",  "else",
      "enum",     "extern", "float",    "for",    "goto",   "if",       "inline",    "int",     "long",    "register",
      "restrict", "return", "short",    "signed", "sizeof", "static",   "struct",    "switch",  "typedef", "union",
      "unsigned", "void",   "volatile", "while",  "kernel", "stream",   "arguments", "symbols", "where"};
  std::string text;
  for (char c : name)
    text += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  bool isTaken = std::ranges::find(kKeywords, text) != kKeywords.end();
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])))
    return "_" + text;
  return isTaken ? text + "_" : text;
}

namespace {

/// A formula as an expression in C.
class Formula {
public:
  explicit Formula(const std::vector<std::string> &symbols) : symbols(symbols) {}

  std::string print(const LaunchExpr &expr) {
    for (const LaunchExpr::Step &step : expr.steps())
      push(step);
    return stack.back();
  }

private:
  void push(const LaunchExpr::Step &step) {
    if (step.op == LaunchOp::constant)
      return stack.push_back(std::to_string(step.value));
    if (step.op == LaunchOp::symbol)
      return stack.push_back(symbols.at(static_cast<size_t>(step.value)));
    std::vector<std::string> operands(stack.end() - arity(step.op), stack.end());
    stack.resize(stack.size() - operands.size());
    stack.push_back(apply(step.op, operands));
  }

  static std::string apply(LaunchOp op, const std::vector<std::string> &of) {
    auto infix = [&](const char *sign) { return "(" + of[0] + " " + sign + " " + of[1] + ")"; };
    auto call = [&](const char *name) { return std::string("soliton_") + name + "(" + of[0] + ", " + of[1] + ")"; };
    switch (op) {
    case LaunchOp::add:
      return infix("+");
    case LaunchOp::sub:
      return infix("-");
    case LaunchOp::mul:
      return infix("*");
    case LaunchOp::floordiv:
      return call("floordiv");
    case LaunchOp::ceildiv:
      return call("ceildiv");
    case LaunchOp::mod:
      return call("mod");
    case LaunchOp::min:
      return call("min");
    case LaunchOp::max:
      return call("max");
    case LaunchOp::select:
      return "(" + of[0] + " ? " + of[1] + " : " + of[2] + ")";
    case LaunchOp::lt:
      return infix("<");
    case LaunchOp::le:
      return infix("<=");
    case LaunchOp::gt:
      return infix(">");
    case LaunchOp::ge:
      return infix(">=");
    case LaunchOp::eq:
      return infix("==");
    case LaunchOp::ne:
      return infix("!=");
    case LaunchOp::logicalAnd:
      return infix("&&");
    case LaunchOp::logicalOr:
      return infix("||");
    case LaunchOp::logicalNot:
      return "(!" + of[0] + ")";
    case LaunchOp::bitXor:
      return infix("^");
    case LaunchOp::shl:
      return infix("<<");
    case LaunchOp::shr:
      return infix(">>");
    case LaunchOp::constant:
    case LaunchOp::symbol:
      break;
    }
    return "0";
  }

  const std::vector<std::string> &symbols;
  std::vector<std::string> stack;
};

std::string list(const std::vector<LaunchExpr> &formulas, const std::vector<std::string> &symbols) {
  std::string text;
  for (const LaunchExpr &formula : formulas)
    text += (text.empty() ? "" : ", ") + Formula(symbols).print(formula);
  return text;
}

std::string parameter(const ArgumentSpec &argument) {
  std::string name = cName(argument.name);
  if (argument.kind == ArgumentKind::buffer)
    return std::string(argument.isOutput ? "void *" : "const void *") + name;
  return std::string(isFloat(argument.dtype) ? "double " : "int64_t ") + name;
}

/// One element of the array of arguments.
std::string initializer(const ArgumentSpec &argument, const std::vector<std::string> &symbols) {
  std::string name = cName(argument.name);
  if (argument.kind == ArgumentKind::scalar)
    return isFloat(argument.dtype) ? "{SOLITON_REAL, 0, 0, {0}, 0, " + name + ", 0, {0}}"
                                   : "{SOLITON_INTEGER, 0, 0, {0}, " + name + ", 0, 0, {0}}";
  std::string shape = list(argument.shape, symbols), strides = list(argument.strides, symbols);
  return "{where, (void *)" + name + ", " + std::to_string(argument.shape.size()) + ", {" +
         (shape.empty() ? "0" : shape) + "}, 0, 0, " + (strides.empty() ? "0, {0}" : "1, {" + strides + "}") + "}";
}

} // namespace

std::string printLaunchHeader(const KernelImage &image) {
  std::string name = cName(image.kernel), guard = "SOLITON_KERNEL_" + name + "_H";
  std::vector<std::string> symbols;
  for (const SymbolSpec &symbol : image.symbols)
    symbols.push_back(cName(symbol.name));
  std::string text = "/* `" + name + "`, compiled for " + image.target + ". Open it by soliton_open(\"" + name +
                     ".kernel\", device).\n *\n";
  for (const ArgumentSpec &argument : image.arguments)
    text += " *   " + cName(argument.name) + ": " + std::string(soliton::name(argument.dtype)) +
            (argument.kind == ArgumentKind::buffer ? "[" + list(argument.shape, symbols) + "]" : "") +
            (argument.strides.empty() ? "" : ", strides [" + list(argument.strides, symbols) + "]") +
            (argument.isOutput ? ", written" : "") + "\n";
  text += " *\n * Arrays without strides are dense, row by row; all of them lie in `where`: SOLITON_HOST or "
          "SOLITON_DEVICE.\n"
          " * Returns 0, or soliton_error() says what is wrong. `stream` is the driver's own, or NULL.\n */\n";
  text += "#ifndef " + guard + "\n#define " + guard + "\n\n#include <soliton/runtime/launch.h>\n\n";
  text += "static inline int " + name + "_launch(soliton_kernel *kernel, int where";
  for (const ArgumentSpec &argument : image.arguments)
    text += ", " + parameter(argument);
  for (const std::string &symbol : symbols)
    text += ", int64_t " + symbol;
  text += ", void *stream) {\n  const soliton_argument arguments[] = {\n";
  for (const ArgumentSpec &argument : image.arguments)
    text += "      " + initializer(argument, symbols) + ",\n";
  text += "  };\n";
  std::string free;
  size_t count = 0;
  for (size_t i = 0; i < symbols.size(); ++i)
    if (!image.symbols[i].argument) {
      free += (count++ ? ", " : "") + symbols[i];
    }
  text += "  const int64_t symbols[] = {" + (count ? free : "0") + "};\n";
  text += "  return soliton_launch(kernel, arguments, " + std::to_string(image.arguments.size()) + ", symbols, " +
          std::to_string(count) + ", stream);\n}\n\n#endif\n";
  return text;
}

} // namespace soliton::rt
