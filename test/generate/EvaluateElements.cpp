#include "test/generate/EvaluateElements.h"

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

namespace soliton::generate {

Number rounded(Element type, Number value) {
  return isFloat(type) ? Number{roundTo(type, value.real), 0} : Number{0, wrapTo(type, value.whole)};
}

double realFunction(const std::string &name, double x) {
  static const std::map<std::string, double (*)(double)> functions = {
      {"abs", [](double v) { return std::fabs(v); }},       {"neg", [](double v) { return -v; }},
      {"exp", [](double v) { return std::exp(v); }},        {"exp2", [](double v) { return std::exp2(v); }},
      {"log", [](double v) { return std::log(v); }},        {"log2", [](double v) { return std::log2(v); }},
      {"log10", [](double v) { return std::log10(v); }},    {"sqrt", [](double v) { return std::sqrt(v); }},
      {"rsqrt", [](double v) { return 1 / std::sqrt(v); }}, {"reciprocal", [](double v) { return 1 / v; }},
      {"sin", [](double v) { return std::sin(v); }},        {"cos", [](double v) { return std::cos(v); }},
      {"sinh", [](double v) { return std::sinh(v); }},      {"tanh", [](double v) { return std::tanh(v); }},
      {"erf", [](double v) { return std::erf(v); }},        {"cbrt", [](double v) { return std::cbrt(v); }},
      {"floor", [](double v) { return std::floor(v); }},    {"ceil", [](double v) { return std::ceil(v); }},
      {"round", [](double v) { return std::round(v); }},    {"roundeven", [](double v) { return std::nearbyint(v); }},
  };
  return functions.at(name)(x);
}

int64_t wholeFunction(const std::string &name, int64_t x) {
  if (name == "abs")
    return x < 0 ? -x : x;
  if (name == "neg")
    return -x;
  if (name == "logical_not")
    return ~x;
  return x; // the roundings
}

double realCombination(const std::string &name, double a, double b) {
  bool isNaN = std::isnan(a) || std::isnan(b);
  if (name == "add" || name == "sum")
    return a + b;
  if (name == "sub")
    return a - b;
  if (name == "mul" || name == "prod")
    return a * b;
  if (name == "div")
    return a / b;
  if (name == "floordiv")
    return std::floor(a / b);
  if (name == "mod") { // the sign of the divisor, as torch.remainder
    double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  if (name == "max")
    return isNaN ? std::numeric_limits<double>::quiet_NaN() : std::max(a, b);
  if (name == "min")
    return isNaN ? std::numeric_limits<double>::quiet_NaN() : std::min(a, b);
  if (name == "pow")
    return std::pow(a, b);
  if (name == "atan2")
    return std::atan2(a, b);
  throw std::runtime_error("floats have no `" + name + "`");
}

static int64_t power(int64_t base, int64_t exponent) {
  uint64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i)
    result *= static_cast<uint64_t>(base);
  return static_cast<int64_t>(result);
}

int64_t wholeCombination(const std::string &name, int64_t a, int64_t b) {
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if (name == "add" || name == "sum")
    return static_cast<int64_t>(x + y);
  if (name == "sub")
    return static_cast<int64_t>(x - y);
  if (name == "mul" || name == "prod")
    return static_cast<int64_t>(x * y);
  if (name == "max")
    return std::max(a, b);
  if (name == "min")
    return std::min(a, b);
  if (name == "bit_and" || name == "all")
    return a & b;
  if (name == "bit_or" || name == "any")
    return a | b;
  if (name == "bit_xor")
    return a ^ b;
  if (name == "pow")
    return power(a, b);
  if (b == 0)
    throw std::runtime_error("an integer is divided by zero");
  if (name == "div")
    return b == -1 ? static_cast<int64_t>(0 - x) : a / b;
  int64_t rest = b == -1 ? 0 : a % b;
  bool down = rest != 0 && (rest < 0) != (b < 0);
  if (name == "floordiv")
    return (b == -1 ? static_cast<int64_t>(0 - x) : a / b) - down;
  if (name == "mod")
    return down ? rest + b : rest;
  throw std::runtime_error("integers have no `" + name + "`");
}

Number converted(Element from, Element to, Number value) {
  if (isFloat(from) && isFloat(to))
    return {roundTo(to, value.real), 0};
  if (isFloat(to)) // exact in f64 up to 2^53, which is all that is generated
    return {roundTo(to, static_cast<double>(value.whole)), 0};
  if (isFloat(from))
    return {0, to == Element::i1 ? value.real != 0 : wrapTo(to, static_cast<int64_t>(std::trunc(value.real)))};
  return {0, wrapTo(to, value.whole)};
}

Number identityOf(const std::string &kind, Element type) {
  if (kind == "sum" || kind == "any")
    return {};
  if (kind == "prod" || kind == "all")
    return {1, 1};
  bool low = kind == "max";
  if (isFloat(type)) {
    bool hasInfinity = formatOf(type).specials == Specials::ieee;
    double limit = hasInfinity ? std::numeric_limits<double>::infinity() : largest(type);
    if (type == Element::f8e8m0fnu)
      return {low ? 0x1p-127 : 0x1p127, 0};
    return {low ? -limit : limit, 0};
  }
  if (type == Element::i1)
    return {0, !low};
  auto high = static_cast<int64_t>(~uint64_t(0) >> (65 - bitsOf(type)));
  return {0, low ? -high - 1 : high};
}

} // namespace soliton::generate
