// The formulas on this machine's processor, against the C library in a wider type: what MathFunctions.h and
// WideMathFunctions.h say about their errors, and that small floats are those of Float.h.
#include "soliton/backend/common/MathFunctions.h"

#include "soliton/backend/common/SmallFloats.h"
#include "soliton/backend/common/WideMathFunctions.h"
#include "soliton/support/Float.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace soliton::backend;
using llvm::Value;
using soliton::DType;
using soliton::Overflow;

namespace {

using Pair = float (*)(float, float);
using Emit = Value *(*)(MathFunctions &, Value *, Value *);

/// float f(float x, float y) from the formula, with a correctly rounded 2^x and 1/x.
class Jit {
public:
  explicit Jit(Emit emit) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("m", *context);
    llvm::IRBuilder<> builder(*context);
    llvm::Type *f32 = builder.getFloatTy(), *f64 = builder.getDoubleTy();
    auto *type = llvm::FunctionType::get(f32, {f32, f32}, false);
    auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "f", *module);
    function->addFnAttr("target-features", "+fma");
    builder.SetInsertPoint(llvm::BasicBlock::Create(*context, "entry", function));
    auto exp2 = [&](Value *x) {
      Value *wide = builder.CreateUnaryIntrinsic(llvm::Intrinsic::exp2, builder.CreateFPExt(x, f64));
      return builder.CreateFPTrunc(wide, f32);
    };
    auto reciprocal = [&](Value *x) { return builder.CreateFDiv(llvm::ConstantFP::get(f32, 1), x); };
    MathFunctions functions(builder, exp2, reciprocal);
    builder.CreateRet(emit(functions, function->getArg(0), function->getArg(1)));
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    module->setDataLayout(jit->getDataLayout());
    llvm::cantFail(jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
    call = llvm::cantFail(jit->lookup("f")).toPtr<Pair>();
  }
  float operator()(float x, float y = 0) const { return call(x, y); }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  Pair call;
};

double ulps(float got, double want) {
  auto rounded = static_cast<float>(want);
  if (got == rounded || (std::isnan(got) && std::isnan(want)))
    return 0;
  if (std::abs(want) < 0x1p-126 && std::abs(got) <= 0x1p-126f)
    return 0; // subnormal results may become zero
  if (!std::isfinite(got) || !std::isfinite(rounded))
    return std::abs(want) >= 0x1.fffffep127 || std::isfinite(got) == std::isfinite(rounded) ? 0 : INFINITY;
  double spacing = std::abs(static_cast<double>(std::nextafter(std::abs(rounded), INFINITY)) - std::abs(rounded));
  return std::abs(got - want) / spacing;
}

/// The largest error over random numbers from `low` to `high`.
double worst(const Jit &f, double (*reference)(double), double low, double high, int count = 60000) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> numbers(low, high);
  double largest = 0;
  for (int i = 0; i < count; ++i) {
    auto x = static_cast<float>(numbers(random));
    largest = std::max(largest, ulps(f(x), reference(x)));
  }
  return largest;
}

/// Of both signs and all magnitudes.
double worstWide(const Jit &f, double (*reference)(double), double lowExponent, double highExponent,
                 int count = 60000) {
  std::mt19937 random(8);
  std::uniform_real_distribution<double> exponents(lowExponent, highExponent);
  double largest = 0;
  for (int i = 0; i < count; ++i) {
    auto x = static_cast<float>(std::exp2(exponents(random)) * (i % 2 ? 1 : -1));
    largest = std::max(largest, ulps(f(x), reference(x)));
  }
  return largest;
}

TEST(MathFunctions, Exponentials) {
  Jit exp([](MathFunctions &m, Value *x, Value *) { return m.exp(x); });
  EXPECT_LE(worst(exp, std::exp, -87, 88.7), 2);
  EXPECT_LE(worst(exp, std::exp, -1, 1), 2);
  Jit approximate([](MathFunctions &m, Value *x, Value *) { return m.expApproximate(x); });
  double error = worst(approximate, std::exp, -87, 88);
  EXPECT_LE(error, 90);
  EXPECT_GT(error, 10) << "then the longer formula is not needed";
  Jit expm1([](MathFunctions &m, Value *x, Value *) { return m.expm1(x); });
  EXPECT_LE(worst(expm1, std::expm1, -5, 5), 4);
  EXPECT_LE(worstWide(expm1, std::expm1, -60, 6), 4);
}

TEST(MathFunctions, Logarithms) {
  auto abs = [](double (*f)(double)) { return f; };
  Jit log([](MathFunctions &m, Value *x, Value *) { return m.log(x); });
  Jit log2([](MathFunctions &m, Value *x, Value *) { return m.log2(x); });
  Jit log10([](MathFunctions &m, Value *x, Value *) { return m.log10(x); });
  Jit log1p([](MathFunctions &m, Value *x, Value *) { return m.log1p(x); });
  EXPECT_LE(worstWide(log, abs(std::log), -149, 127.9), 2);
  EXPECT_LE(worst(log, std::log, 0.5, 2), 2);
  EXPECT_LE(worstWide(log2, std::log2, -149, 127.9), 2);
  EXPECT_LE(worst(log2, std::log2, 0.5, 2), 2);
  EXPECT_LE(worst(log10, std::log10, 0.5, 2), 2);
  EXPECT_LE(worstWide(log10, std::log10, -149, 127.9), 2);
  EXPECT_LE(worst(log1p, std::log1p, -0.9, 3), 2);
  EXPECT_LE(worstWide(log1p, std::log1p, -60, -1), 2);
}

TEST(MathFunctions, CircularHyperbolicErf) {
  Jit sin([](MathFunctions &m, Value *x, Value *) { return m.sin(x); });
  Jit cos([](MathFunctions &m, Value *x, Value *) { return m.cos(x); });
  Jit tanh([](MathFunctions &m, Value *x, Value *) { return m.tanh(x); });
  Jit erf([](MathFunctions &m, Value *x, Value *) { return m.erf(x); });
  EXPECT_LE(worst(sin, std::sin, -7, 7), 2);
  EXPECT_LE(worst(cos, std::cos, -7, 7), 2);
  std::mt19937 random(9);
  std::uniform_real_distribution<double> numbers(-32768, 32768);
  for (int i = 0; i < 60000; ++i) {
    auto x = static_cast<float>(numbers(random));
    ASSERT_LE(std::abs(sin(x) - std::sin(static_cast<double>(x))), 0x1p-23) << x;
    ASSERT_LE(std::abs(cos(x) - std::cos(static_cast<double>(x))), 0x1p-23) << x;
  }
  EXPECT_LE(worst(tanh, std::tanh, -10, 10), 2);
  EXPECT_LE(worstWide(tanh, std::tanh, -60, 7), 2);
  EXPECT_LE(worst(erf, std::erf, -5, 5), 2);
  EXPECT_LE(worstWide(erf, std::erf, -60, 4), 2);
}

TEST(MathFunctions, Powers) {
  Jit pow([](MathFunctions &m, Value *x, Value *y) { return m.pow(x, y); });
  std::mt19937 random(10);
  std::uniform_real_distribution<double> exponents(-100, 100), powers(-16, 16);
  for (int i = 0; i < 100000; ++i) {
    auto x = static_cast<float>(std::exp2(exponents(random)));
    auto y = static_cast<float>(powers(random));
    ASSERT_LE(ulps(pow(x, y), std::pow(static_cast<double>(x), static_cast<double>(y))), 3 + std::abs(y) / 8)
        << x << " ^ " << y;
  }
  for (float x : {-8.f, -1.f, -0.f, 0.f, 1.f, 2.f, INFINITY, -INFINITY, NAN})
    for (float y : {-3.f, -2.f, -0.5f, 0.f, 0.5f, 1.f, 2.f, 3.f}) {
      double want = std::pow(static_cast<double>(x), static_cast<double>(y));
      EXPECT_LE(ulps(pow(x, y), want), 2) << x << " ^ " << y << " = " << pow(x, y) << ", expected " << want;
    }
}

TEST(MathFunctions, HyperbolicRootsAngles) {
  Jit sinh([](MathFunctions &m, Value *x, Value *) { return m.sinh(x); });
  Jit cosh([](MathFunctions &m, Value *x, Value *) { return m.cosh(x); });
  Jit tan([](MathFunctions &m, Value *x, Value *) { return m.tan(x); });
  Jit cbrt([](MathFunctions &m, Value *x, Value *) { return m.cbrt(x); });
  Jit atan2([](MathFunctions &m, Value *y, Value *x) { return m.atan2(y, x); });
  EXPECT_LE(worst(sinh, std::sinh, -89.3, 89.3), 4);
  EXPECT_LE(worstWide(sinh, std::sinh, -60, 6), 4);
  EXPECT_LE(worst(cosh, std::cosh, -89.3, 89.3), 4);
  EXPECT_LE(worst(tan, std::tan, -1.5, 1.5), 4);
  EXPECT_LE(worstWide(cbrt, std::cbrt, -149, 127.9), 2);
  std::mt19937 random(11);
  std::uniform_real_distribution<double> exponents(-60, 60), near(-2, 2);
  for (int i = 0; i < 100000; ++i) {
    double spread = i % 2 ? exponents(random) : near(random), level = exponents(random);
    auto y = static_cast<float>(std::exp2(level + spread / 2) * (i % 4 < 2 ? 1 : -1));
    auto x = static_cast<float>(std::exp2(level - spread / 2) * (i % 8 < 4 ? 1 : -1));
    ASSERT_LE(ulps(atan2(y, x), std::atan2(static_cast<double>(y), static_cast<double>(x))), 3) << y << ", " << x;
  }
  for (float y : {0.f, -0.f, 1.f, -1.f, INFINITY, -INFINITY, 3e38f, 1e-44f})
    for (float x : {0.f, -0.f, 1.f, -1.f, INFINITY, -INFINITY, 3e38f, 1e-44f}) {
      double want = std::atan2(static_cast<double>(y), static_cast<double>(x));
      EXPECT_LE(ulps(atan2(y, x), want), 3) << y << ", " << x << " gives " << atan2(y, x) << ", expected " << want;
      EXPECT_EQ(std::signbit(atan2(y, x)), std::signbit(want)) << y << ", " << x;
    }
  EXPECT_TRUE(std::isnan(atan2(NAN, 1)) && std::isnan(atan2(1, NAN)));
}

//===-- f64 --------------------------------------------------------------------------===//

using WideEmit = Value *(*)(WideMathFunctions &, Value *, Value *);

/// double f(double x, double y) from the formula.
class WideJit {
public:
  explicit WideJit(WideEmit emit) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("m", *context);
    llvm::IRBuilder<> builder(*context);
    llvm::Type *f64 = builder.getDoubleTy();
    auto *function = llvm::Function::Create(llvm::FunctionType::get(f64, {f64, f64}, false),
                                            llvm::GlobalValue::ExternalLinkage, "f", *module);
    function->addFnAttr("target-features", "+fma");
    builder.SetInsertPoint(llvm::BasicBlock::Create(*context, "entry", function));
    WideMathFunctions functions(builder);
    builder.CreateRet(emit(functions, function->getArg(0), function->getArg(1)));
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    module->setDataLayout(jit->getDataLayout());
    llvm::cantFail(jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
    call = llvm::cantFail(jit->lookup("f")).toPtr<double (*)(double, double)>();
  }
  double operator()(double x, double y = 0) const { return call(x, y); }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  double (*call)(double, double);
};

double wideUlps(double got, long double want) {
  auto rounded = static_cast<double>(want);
  if (got == rounded || (std::isnan(got) && std::isnan(rounded)))
    return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded))
    return std::abs(want) >= 0x1.fffffffffffffp1023L ? 0 : INFINITY;
  double spacing = std::nextafter(std::abs(rounded), INFINITY) - std::abs(rounded);
  return static_cast<double>(std::abs(got - want) / spacing);
}

using Reference = long double (*)(long double);

double wideWorst(const WideJit &f, Reference reference, double low, double high, int count = 40000) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> numbers(low, high);
  double largest = 0;
  for (int i = 0; i < count; ++i) {
    double x = numbers(random);
    largest = std::max(largest, wideUlps(f(x), reference(x)));
  }
  return largest;
}

TEST(WideMathFunctions, ErrorsAreAsStated) {
  struct Row {
    const char *name;
    WideEmit emit;
    Reference reference;
    double low, high, bound;
  };
  using W = WideMathFunctions;
  const Row rows[] = {
      {"exp", [](W &m, Value *x, Value *) { return m.exp(x); }, std::exp, -740, 709.7, 2},
      {"exp near 0", [](W &m, Value *x, Value *) { return m.exp(x); }, std::exp, -1, 1, 2},
      {"exp2", [](W &m, Value *x, Value *) { return m.exp2(x); }, std::exp2, -1070, 1023.9, 2},
      {"expm1", [](W &m, Value *x, Value *) { return m.expm1(x); }, std::expm1, -2, 2, 4},
      {"log", [](W &m, Value *x, Value *) { return m.log(x); }, std::log, 0, 1e10, 2},
      {"log near 1", [](W &m, Value *x, Value *) { return m.log(x); }, std::log, 0.5, 2, 2},
      {"log2", [](W &m, Value *x, Value *) { return m.log2(x); }, std::log2, 0, 1e10, 3},
      {"log2 near 1", [](W &m, Value *x, Value *) { return m.log2(x); }, std::log2, 0.5, 2, 3},
      {"log10", [](W &m, Value *x, Value *) { return m.log10(x); }, std::log10, 0, 1e10, 3},
      {"log10 near 1", [](W &m, Value *x, Value *) { return m.log10(x); }, std::log10, 0.5, 2, 3},
      {"log1p", [](W &m, Value *x, Value *) { return m.log1p(x); }, std::log1p, -0.9, 3, 3},
      {"sin", [](W &m, Value *x, Value *) { return m.sin(x); }, std::sin, -3, 3, 2},
      {"cos", [](W &m, Value *x, Value *) { return m.cos(x); }, std::cos, -1.5, 1.5, 2},
      {"tan", [](W &m, Value *x, Value *) { return m.tan(x); }, std::tan, -1.5, 1.5, 3},
      {"sinh", [](W &m, Value *x, Value *) { return m.sinh(x); }, std::sinh, -710, 710, 4},
      {"sinh near 0", [](W &m, Value *x, Value *) { return m.sinh(x); }, std::sinh, -3, 3, 4},
      {"cosh", [](W &m, Value *x, Value *) { return m.cosh(x); }, std::cosh, -710, 710, 4},
      {"tanh", [](W &m, Value *x, Value *) { return m.tanh(x); }, std::tanh, -25, 25, 3},
      {"tanh near 0", [](W &m, Value *x, Value *) { return m.tanh(x); }, std::tanh, -1, 1, 3},
      {"erf", [](W &m, Value *x, Value *) { return m.erf(x); }, std::erf, -7, 7, 3},
      {"erf near 0", [](W &m, Value *x, Value *) { return m.erf(x); }, std::erf, -1.1, 1.1, 3},
      {"cbrt", [](W &m, Value *x, Value *) { return m.cbrt(x); }, std::cbrt, -1e6, 1e6, 2},
  };
  for (const Row &row : rows)
    EXPECT_LE(wideWorst(WideJit(row.emit), row.reference, row.low, row.high), row.bound) << row.name;
  WideJit sin([](W &m, Value *x, Value *) { return m.sin(x); });
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> numbers(-0x1p20, 0x1p20);
  for (int i = 0; i < 40000; ++i) {
    double x = numbers(random);
    ASSERT_LE(std::abs(sin(x) - std::sin(static_cast<long double>(x))), 0x1p-52L) << x;
  }
}

TEST(WideMathFunctions, PowersAndAngles) {
  using W = WideMathFunctions;
  WideJit pow([](W &m, Value *x, Value *y) { return m.pow(x, y); });
  WideJit atan2([](W &m, Value *y, Value *x) { return m.atan2(y, x); });
  std::mt19937_64 random(10);
  std::uniform_real_distribution<double> exponents(-100, 100), powers(-10, 10);
  for (int i = 0; i < 50000; ++i) {
    double x = std::exp2(exponents(random)), y = powers(random);
    long double want = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    ASSERT_LE(wideUlps(pow(x, y), want), 2 + std::abs(y * std::log2(x)) / 32) << x << " ^ " << y;
    double a = std::exp2(exponents(random) / 4) * (i % 2 ? 1 : -1), b = powers(random);
    ASSERT_LE(wideUlps(atan2(a, b), std::atan2(static_cast<long double>(a), static_cast<long double>(b))), 2)
        << a << ", " << b;
  }
  for (double x : {-8., -1., -0., 0., 1., 2., double(INFINITY), -double(INFINITY), double(NAN)})
    for (double y : {-3., -2., -0.5, 0., 0.5, 1., 2., 3., double(INFINITY), -double(INFINITY)}) {
      EXPECT_LE(wideUlps(pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y))), 2)
          << x << " ^ " << y << " = " << pow(x, y);
      double want = std::atan2(x, y);
      EXPECT_LE(wideUlps(atan2(x, y), want), 2) << x << ", " << y << " gives " << atan2(x, y);
    }
}

TEST(WideMathFunctions, NumbersThatAreNone) {
  struct Row {
    WideEmit emit;
    Reference reference;
  };
  using W = WideMathFunctions;
  const Row rows[] = {
      {[](W &m, Value *x, Value *) { return m.exp(x); }, std::exp},
      {[](W &m, Value *x, Value *) { return m.exp2(x); }, std::exp2},
      {[](W &m, Value *x, Value *) { return m.expm1(x); }, std::expm1},
      {[](W &m, Value *x, Value *) { return m.log(x); }, std::log},
      {[](W &m, Value *x, Value *) { return m.log2(x); }, std::log2},
      {[](W &m, Value *x, Value *) { return m.log10(x); }, std::log10},
      {[](W &m, Value *x, Value *) { return m.log1p(x); }, std::log1p},
      {[](W &m, Value *x, Value *) { return m.sinh(x); }, std::sinh},
      {[](W &m, Value *x, Value *) { return m.tanh(x); }, std::tanh},
      {[](W &m, Value *x, Value *) { return m.erf(x); }, std::erf},
      {[](W &m, Value *x, Value *) { return m.cbrt(x); }, std::cbrt},
  };
  for (const Row &row : rows) {
    WideJit f(row.emit);
    for (double x : {0., -0., double(INFINITY), -double(INFINITY), double(NAN), 1.7e308, -1.7e308, 1e-310, 1., -1.})
      EXPECT_LE(wideUlps(f(x), row.reference(x)), 4) << "function " << &row - rows << " of " << x << " = " << f(x);
  }
  WideJit sin([](W &m, Value *x, Value *) { return m.sin(x); });
  EXPECT_TRUE(std::isnan(sin(INFINITY)) && std::isnan(sin(NAN)) && std::isnan(sin(1e30)));
}

//===-- Small floats ------------------------------------------------------------------===//

/// The module with `uint32_t encode(float)`, `uint32_t saturated(float)` and `float decode(uint32_t)` of a format.
class SmallJit {
public:
  explicit SmallJit(DType type) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("m", *context);
    llvm::IRBuilder<> builder(*context);
    llvm::Type *f32 = builder.getFloatTy(), *i32 = builder.getInt32Ty();
    SmallFloats floats(builder, type);
    auto begin = [&](const char *name, llvm::Type *result, llvm::Type *argument) {
      auto *function = llvm::Function::Create(llvm::FunctionType::get(result, {argument}, false),
                                              llvm::GlobalValue::ExternalLinkage, name, *module);
      builder.SetInsertPoint(llvm::BasicBlock::Create(*context, "entry", function));
      return function->getArg(0);
    };
    Value *x = begin("encode", i32, f32);
    builder.CreateRet(builder.CreateZExt(floats.encode(x, false), i32));
    x = begin("saturated", i32, f32);
    builder.CreateRet(builder.CreateZExt(floats.encode(x, true), i32));
    x = begin("decode", f32, i32);
    builder.CreateRet(floats.decode(builder.CreateTrunc(x, builder.getIntNTy(static_cast<unsigned>(bits(type))))));
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    module->setDataLayout(jit->getDataLayout());
    llvm::cantFail(jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
    encode = llvm::cantFail(jit->lookup("encode")).toPtr<uint32_t (*)(float)>();
    saturated = llvm::cantFail(jit->lookup("saturated")).toPtr<uint32_t (*)(float)>();
    decode = llvm::cantFail(jit->lookup("decode")).toPtr<float (*)(uint32_t)>();
  }
  uint32_t (*encode)(float), (*saturated)(float);
  float (*decode)(uint32_t);

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

TEST(SmallFloats, AreThoseOfTheReferenceBitForBit) {
  for (DType type : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f6e2m3fn,
                     DType::f6e3m2fn, DType::f4e2m1fn}) {
    SmallJit small(type);
    std::vector<float> values = {0, -0.f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, -3e38f};
    for (uint32_t code = 0; code < 1u << bits(type); ++code) {
      double want = soliton::decode(type, code);
      float got = small.decode(code);
      ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << name(type) << " " << code << ": " << got;
      // Every number, the middle to the next one, and what lies beside both.
      for (double x : {want, (want + soliton::decode(type, code + 1)) / 2})
        for (float nearby : {-INFINITY, INFINITY}) {
          values.push_back(static_cast<float>(x));
          values.push_back(std::nextafter(static_cast<float>(x), nearby));
        }
    }
    for (float x : values) {
      ASSERT_EQ(small.encode(x), soliton::encode(type, x)) << name(type) << " of " << x;
      ASSERT_EQ(small.saturated(x), soliton::encode(type, x, Overflow::saturate)) << name(type) << " of " << x;
    }
  }
}

TEST(MathFunctions, NumbersThatAreNone) {
  struct Row {
    Emit emit;
    double (*reference)(double);
  };
  const Row rows[] = {
      {[](MathFunctions &m, Value *x, Value *) { return m.exp(x); }, std::exp},
      {[](MathFunctions &m, Value *x, Value *) { return m.expm1(x); }, std::expm1},
      {[](MathFunctions &m, Value *x, Value *) { return m.log(x); }, std::log},
      {[](MathFunctions &m, Value *x, Value *) { return m.log2(x); }, std::log2},
      {[](MathFunctions &m, Value *x, Value *) { return m.log10(x); }, std::log10},
      {[](MathFunctions &m, Value *x, Value *) { return m.log1p(x); }, std::log1p},
      {[](MathFunctions &m, Value *x, Value *) { return m.tanh(x); }, std::tanh},
      {[](MathFunctions &m, Value *x, Value *) { return m.erf(x); }, std::erf},
  };
  for (const Row &row : rows) {
    Jit f(row.emit);
    for (float x : {0.f, -0.f, INFINITY, -INFINITY, NAN, 3.4e38f, -3.4e38f, 1e-40f, 1.f, -1.f})
      EXPECT_LE(ulps(f(x), row.reference(x)), 3) << "function " << &row - rows << " of " << x << " = " << f(x);
  }
  Jit sin([](MathFunctions &m, Value *x, Value *) { return m.sin(x); });
  EXPECT_TRUE(std::isnan(sin(INFINITY)) && std::isnan(sin(NAN)) && std::isnan(sin(1e30f)));
  EXPECT_EQ(sin(0), 0);
}

} // namespace
