// The formulas on this machine's processor, against the C library in f64: what MathFunctions.h says about their errors.
#include "soliton/backend/common/MathFunctions.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace soliton::backend;
using llvm::Value;

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
