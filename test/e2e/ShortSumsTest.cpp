//===- ShortSumsTest.cpp - Products of 8-bit floats by instructions of four waves ----------------------===//
//
// Matrix instructions that add up 8-bit floats in few bits: begun anew with every tile and added in f32, or taken as
// they are where the author says so. Exact for small integers, within the bound for random numbers, at all kinds of
// sizes, for every pair of types, under the schedules that fit; what the emulator loses is what an H200 was measured to
// lose; assembled by ptxas, where it is found, without a spill and without a serialised instruction.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "soliton/soliton.h"
#include "soliton/support/Float.h"
#include "soliton/target/Target.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

namespace soliton::test {
namespace {

/// A product c[M, N] = a · bᵀ of 8-bit floats and how it is distributed.
struct Product {
  int64_t m = 64, n = 64, k = 128;
  int64_t blockM = 64, blockN = 64, blockK = 128;
  /// Columns of the instruction.
  int64_t columns = 64;
  DType lhs = DType::f8e4m3fn, rhs = DType::f8e4m3fn, out = DType::f32;
  /// The factor's memory is [K, M] or [K, N].
  bool leftByK = false, rightByK = false;
  bool directCopies = false;
  std::string schedule = "none";
  std::vector<std::string> dynamic = {};
  bool shortSums = false;
};

std::ostream &operator<<(std::ostream &out, const Product &p) {
  out << p.m << "x" << p.n << "x" << p.k << " in " << p.blockM << "x" << p.blockN << "x" << p.blockK << " of "
      << name(p.lhs) << " and " << name(p.rhs) << " into " << name(p.out) << ", " << p.schedule;
  return out << (p.leftByK ? " leftByK" : "") << (p.rightByK ? " rightByK" : "") << (p.directCopies ? " copies" : "")
             << (p.shortSums ? " short sums" : "");
}

ElementType elementOf(DType type) {
  switch (type) {
  case DType::f8e4m3fn:
    return f8e4m3fn;
  case DType::f8e5m2:
    return f8e5m2;
  case DType::f16:
    return f16;
  case DType::bf16:
    return bf16;
  default:
    return f32;
  }
}

/// Tiles, waves and instruction are symbols and names in `options`, so that `auto` may choose them too.
Kernel build(const Product &p) {
  auto [M, N, K, BM, BN, BK, WM, WN] = symbols<"M N K BM BN BK WM WN">();
  Kernel kernel{"product",
                {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
                 WaveConstraint(M, BM / WM), WaveConstraint(N, BN / WN), HardwareConstraint{}}};
  auto memory = [&](const char *name, Expr outer, bool byK, DType type) {
    return kernel.memory(name, byK ? std::vector<Expr>{K, outer} : std::vector<Expr>{outer, K}, shared,
                         elementOf(type));
  };
  auto a = memory("a", M, p.leftByK, p.lhs), b = memory("b", N, p.rightByK, p.rhs);
  auto c = kernel.memory("c", {M, N}, global, elementOf(p.out));
  auto factor = [&](const MemoryRef &from, Expr outer, bool byK) {
    auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
    if (!byK)
      return read(from);
    return read(from, {.mapping = IndexMapping{
                           .num_iterators = 2, .inputs = {{K, j}, {outer, i}}, .outputs = {{outer, i}, {K, j}}}});
  };
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0),
                       [&](lang::Value acc) { return mma(factor(a, M, p.leftByK), factor(b, N, p.rightByK), acc); }),
        c);
  return kernel;
}

CompileOptions optionsOf(const Product &p) {
  auto [BM, BN, BK, WM, WN] = symbols<"BM BN BK WM WN">();
  CompileOptions options;
  options.target = "sm_90a";
  options.device = "emulator";
  options.directCopies = p.directCopies;
  options.shortSums = p.shortSums;
  options.schedule.name = p.schedule;
  options.cache = false;
  if (p.schedule != "auto") {
    options.mma = "F32_64x" + std::to_string(p.columns) + "x32_F8";
    options.paddedRows = RowPadding::never;
    options.subs = {{BM, p.blockM}, {BN, p.blockN}, {BK, p.blockK}, {WM, p.blockM / 16}, {WN, 1}};
  }
  for (auto [name, size] : {std::pair("M", p.m), {"N", p.n}, {"K", p.k}})
    if (std::ranges::count(p.dynamic, name) == 0)
      options.subs.push_back({symbol(name), size});
    else
      options.dynamic.push_back(symbol(name));
  return options;
}

enum class Numbers : uint8_t { integers, random, positive };

struct Data {
  DType type;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
  std::vector<double> values;

  Data(DType type, std::vector<int64_t> shape, Numbers numbers, unsigned seed) : type(type), shape(std::move(shape)) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<double> real(numbers == Numbers::positive ? 0.5 : -1, 1.5);
    size_t width = static_cast<size_t>(bits(type)) / 8, count = static_cast<size_t>(this->shape[0] * this->shape[1]);
    bytes.resize(count * width);
    for (size_t i = 0; i < count; ++i) {
      double value = numbers == Numbers::integers ? static_cast<double>(engine() % 9) - 4 : real(engine);
      uint64_t number = encode(type, value);
      values.push_back(decode(type, number));
      std::memcpy(&bytes[i * width], &number, width);
    }
  }
  rt::Tensor tensor() { return rt::Tensor::dense(bytes.data(), type, shape); }
  double stored(size_t i) const {
    uint64_t number = 0;
    size_t width = static_cast<size_t>(bits(type)) / 8;
    std::memcpy(&number, &bytes[i * width], width);
    return decode(type, number);
  }
};

/// A result, what it should be, and Σ|a||b|.
struct Element {
  double found, wanted, magnitude;
};

std::vector<Element> multiplied(const CompiledKernel &run, const Product &p, Numbers numbers) {
  Data a(p.lhs, p.leftByK ? std::vector{p.k, p.m} : std::vector{p.m, p.k}, numbers, 1);
  Data b(p.rhs, p.rightByK ? std::vector{p.k, p.n} : std::vector{p.n, p.k}, numbers, 2);
  Data c(p.out, {p.m, p.n}, numbers, 3);
  std::memset(c.bytes.data(), 0xff, c.bytes.size());
  run(a.tensor(), b.tensor(), c.tensor());
  std::vector<Element> elements;
  // By pointers: tests are not optimised, and these are millions of products.
  const int64_t stepA = p.leftByK ? p.m : 1, stepB = p.rightByK ? p.n : 1;
  for (int64_t m = 0; m < p.m; ++m)
    for (int64_t n = 0; n < p.n; ++n) {
      const double *x = a.values.data() + (p.leftByK ? m : m * p.k), *y = b.values.data() + (p.rightByK ? n : n * p.k);
      double wanted = 0, magnitude = 0;
      for (int64_t k = 0; k < p.k; ++k, x += stepA, y += stepB) {
        double term = *x * *y;
        wanted += term;
        magnitude += term < 0 ? -term : term;
      }
      elements.push_back({c.stored(static_cast<size_t>(m * p.n + n)), wanted, magnitude});
    }
  return elements;
}

/// Of Σ|a||b|: 2·n·u of the accumulator over the products that it adds up, and 2·n·u of f32 over all.
double boundOf(const Product &p, bool shortSums) {
  const MmaKind &kind = *findTarget("sm_90a")->mmasNamed("F32_64x64x32_F8").front();
  auto terms = static_cast<double>(shortSums ? p.k : std::min(p.k, kShortSum));
  return 2 * terms * std::ldexp(1.0, -static_cast<int>(kind.sumBits)) + 2 * static_cast<double>(p.k) * 0x1p-24;
}

void expectRight(const CompiledKernel &run, const Product &p) {
  for (const Element &each : multiplied(run, p, Numbers::integers))
    ASSERT_EQ(each.found, decode(p.out, encode(p.out, each.wanted)));
  for (const Element &each : multiplied(run, p, Numbers::random)) {
    double half = p.out == DType::f32 ? 0 : std::abs(each.wanted) * epsilon(p.out);
    ASSERT_LE(std::abs(each.found - each.wanted), boundOf(p, p.shortSums) * each.magnitude + half);
  }
}

/// Compiled, run and held against the reference; ptxas takes it as it is.
void check(const Product &p, const std::vector<Product> &further = {}) {
  SCOPED_TRACE(testing::PrintToString(p));
  Kernel kernel = build(p);
  rt::ImageKind binary = backend::findPtxas() ? rt::ImageKind::cubin : rt::ImageKind::ptx;
  CompileAttempt code = compileImage(kernel, optionsOf(p), binary);
  ASSERT_TRUE(code) << format(code.diagnostics);
  // Remarks may say why a tile is not copied directly; what ptxas has to say would be warnings.
  EXPECT_TRUE(std::ranges::all_of(code.result->warnings, [](const Diagnostic &said) {
    return said.severity == Severity::remark;
  })) << format(code.result->warnings);
  CompiledKernel run = compile(kernel, optionsOf(p));
  expectRight(run, p);
  for (const Product &other : further) {
    SCOPED_TRACE(testing::PrintToString(other));
    expectRight(run, other);
  }
}

constexpr DType kBytes[] = {DType::f8e4m3fn, DType::f8e5m2};

TEST(ShortSums, EveryPairOfTypes) {
  for (bool shortSums : {false, true})
    for (DType lhs : kBytes)
      for (DType rhs : kBytes)
        for (DType out : {DType::f32, DType::f16, DType::bf16})
          check({.k = 256, .lhs = lhs, .rhs = rhs, .out = out, .shortSums = shortSums});
}

TEST(ShortSums, TilesOfK) {
  for (bool shortSums : {false, true})
    for (int64_t blockK : {32, 64, 96, 128})
      check({.n = 40, .k = 3 * blockK, .blockN = 40, .blockK = blockK, .columns = 40, .shortSums = shortSums});
  check({.k = 512, .blockK = 256, .shortSums = true});
}

TEST(ShortSums, SizesThatFillNoTile) {
  for (bool shortSums : {false, true})
    for (bool copies : {false, true}) {
      check({.m = 127, .n = 131, .k = 277, .directCopies = copies, .shortSums = shortSums});
      check({.m = 1, .n = 1, .k = 1, .directCopies = copies, .shortSums = shortSums});
      check({.m = 65, .n = 16, .k = 400, .out = DType::f16, .directCopies = copies, .shortSums = shortSums});
    }
}

TEST(ShortSums, SizesThatALaunchSays) {
  for (const char *schedule : {"none", "ring"})
    check({.m = 128, .n = 64, .k = 512, .directCopies = true, .schedule = schedule, .dynamic = {"M", "N", "K"}},
          {{.m = 1, .n = 1, .k = 1}, {.m = 127, .n = 131, .k = 277}, {.m = 5, .n = 70, .k = 0}, {.k = 1280}});
}

/// Bytes lie along K in shared memory, whatever global memory does.
TEST(ShortSums, FactorsEitherWayRound) {
  for (bool copies : {false, true})
    for (bool left : {false, true})
      for (bool right : {false, true}) {
        check({.m = 128, .n = 128, .k = 256, .leftByK = left, .rightByK = right, .directCopies = copies});
        check({.m = 72, .n = 80, .k = 144, .leftByK = left, .rightByK = right, .directCopies = copies});
      }
}

TEST(ShortSums, Schedules) {
  for (const char *schedule : {"prefetch", "modulo", "list", "four_stage", "ring"})
    for (bool copies : {false, true})
      for (bool shortSums : {false, true})
        check({.m = 128,
               .n = 160,
               .k = 768,
               .blockM = 128,
               .blockN = 128,
               .columns = 128,
               .directCopies = copies,
               .schedule = schedule,
               .shortSums = shortSums});
}

/// Two and three instructions beside each other: the sum of one is taken while products of another are under way.
TEST(ShortSums, PiecesTakeTurns) {
  Product two{.m = 70, .n = 64, .blockN = 64, .columns = 32, .directCopies = true, .schedule = "ring"};
  for (int64_t k : {1, 128, 256, 384, 512, 77 * 16, 1280}) {
    two.k = k;
    check(two);
  }
  two.dynamic = {"M", "K"};
  check(two, {{.m = 1, .k = 1}, {.m = 64, .k = 0}, {.m = 64, .k = 128}, {.m = 65, .k = 640}, {.m = 3, .k = 77}});
  check({.n = 72, .k = 1024, .blockN = 72, .columns = 24, .directCopies = true, .schedule = "ring"});
}

TEST(ShortSums, Automatically) {
  for (bool shortSums : {false, true}) {
    check({.m = 256, .n = 384, .k = 640, .out = DType::f16, .schedule = "auto", .shortSums = shortSums});
    check({.m = 130, .n = 70, .k = 77, .schedule = "auto", .shortSums = shortSums});
    check({.m = 256, .n = 256, .k = 256, .lhs = DType::f8e5m2, .schedule = "auto", .shortSums = shortSums});
  }
}

//===-- What is lost --------------------------------------------------------------------------------------===//

double meanError(bool shortSums) {
  Product p{.m = 64, .n = 8, .k = 16384, .blockN = 8, .columns = 8, .shortSums = shortSums};
  double sum = 0;
  std::vector<Element> elements = multiplied(compile(build(p), optionsOf(p)), p, Numbers::positive);
  for (const Element &each : elements)
    sum += (each.found - each.wanted) / each.wanted;
  return sum / static_cast<double>(elements.size());
}

/// Numbers between 0.5 and 1.5, K = 16384: on an H200 sums are 31 % too small, with f32 after every 128 of K 0.04 % at
/// most (of which some is the output's bf16).
TEST(ShortSums, AsManyBitsAreLostAsWereMeasured) {
  EXPECT_NEAR(meanError(true), -0.31, 0.005);
  EXPECT_NEAR(meanError(false), 0, 0.0004);
}

/// What the sums that are begun anew are held against is more than the short ones can keep.
TEST(ShortSums, TheBoundTellsThemApart) {
  Product p{.m = 64, .n = 8, .k = 16384, .blockN = 8, .columns = 8, .shortSums = true};
  for (const Element &each : multiplied(compile(build(p), optionsOf(p)), p, Numbers::positive))
    ASSERT_GT(std::abs(each.found - each.wanted), boundOf(p, /*shortSums=*/false) * each.magnitude);
}

//===-- What is said of it --------------------------------------------------------------------------------===//

/// How often a text occurs in what the product becomes.
int occurrences(const Product &p, Artefact artefact, const std::string &text) {
  CompileOptions options = optionsOf(p);
  options.keep = {artefact};
  CompileAttempt code = compileImage(build(p), options, rt::ImageKind::ptx);
  EXPECT_TRUE(code) << format(code.diagnostics);
  std::string all = code ? code.result->artefacts.front().second : "";
  int count = 0;
  for (size_t at = 0; (at = all.find(text, at)) != std::string::npos; ++at)
    ++count;
  return count;
}

/// One product of a tile begins with zeros, and nobody fills registers with them.
TEST(ShortSums, ATileBeginsWithoutAnAccumulator) {
  EXPECT_EQ(occurrences({.k = 1024}, Artefact::machine, "zero_acc"), 1);
  EXPECT_EQ(occurrences({.k = 1024}, Artefact::ptx, "setp.ne.b32 p, 0, 0;"), 1);
  EXPECT_EQ(occurrences({.k = 1024, .shortSums = true}, Artefact::machine, "zero_acc"), 0);
  // One after another in a row, they use the same registers: in others ptxas would have all of them at once.
  Product ring{.k = 2048, .directCopies = true, .schedule = "ring"};
  EXPECT_GT(occurrences(ring, Artefact::machine, "zero_acc"), 2);
  EXPECT_EQ(occurrences(ring, Artefact::machine, "%cst {zero_acc}"), 2);
}

/// In a ring a group of waves waits for its sums behind the barrier and the copies, not in front of them.
TEST(ShortSums, SumsAreWaitedForBehindTheCopies) {
  CompileOptions options = optionsOf({.k = 2048, .directCopies = true, .schedule = "ring"});
  options.keep = {Artefact::machine};
  CompileAttempt code =
      compileImage(build({.k = 2048, .directCopies = true, .schedule = "ring"}), options, rt::ImageKind::ptx);
  ASSERT_TRUE(code) << format(code.diagnostics);
  std::string text = code.result->artefacts.front().second;
  size_t loop = text.find("scf.for"), product = text.find("mma_async", loop), copy = text.find("copy_tile", product),
         wait = text.find("machine.wait mma", product), add = text.find("arith.addf", product);
  ASSERT_NE(loop, std::string::npos);
  EXPECT_LT(product, copy);
  EXPECT_LT(copy, wait);
  EXPECT_LT(wait, add);
}

/// With two pieces products of one are under way while the sum of the other is added; no wait is for all of them.
TEST(ShortSums, ProductsAreUnderWayWhileSumsAreAdded) {
  Product p{.k = 2048, .columns = 32, .directCopies = true, .schedule = "ring"};
  CompileOptions options = optionsOf(p);
  options.keep = {Artefact::machine};
  CompileAttempt code = compileImage(build(p), options, rt::ImageKind::ptx);
  ASSERT_TRUE(code) << format(code.diagnostics);
  std::string text = code.result->artefacts.front().second;
  size_t loop = text.find("scf.for"), end = text.find("scf.yield", loop);
  ASSERT_NE(end, std::string::npos);
  std::istringstream body(text.substr(loop, end - loop));
  std::string found;
  for (std::string line; std::getline(body, line);)
    for (auto [word, letter] : {std::pair("zero_acc", 'P'),
                                {"commit mma", 'c'},
                                {"wait mma, 1", 'w'},
                                {"wait mma, 0", '0'},
                                {"arith.addf", 'A'},
                                {"machine.barrier", 'B'}})
      if (line.find(word) != std::string::npos)
        found += letter;
  EXPECT_EQ(found, "PcwAPcBwA");
}

TEST(ShortSums, MoreThanATileIsRefusedUnlessItIsAccepted) {
  Product p{.k = 512, .blockK = 256};
  CompileAttempt code = compileImage(build(p), optionsOf(p), rt::ImageKind::ptx);
  ASSERT_FALSE(code);
  EXPECT_EQ(code.diagnostics.front().id, DiagId::NotSupportedHere);
  EXPECT_NE(code.diagnostics.front().message.find("a tile has 256 along `K`"), std::string::npos);
  EXPECT_NE(code.diagnostics.front().hint.find("--short-sums on"), std::string::npos);
}

/// The tiles that `auto` takes for large products, assembled.
TEST(ShortSums, LargeProductsDoNotSpill) {
  for (bool shortSums : {false, true})
    for (DType out : {DType::f32, DType::f16, DType::bf16}) {
      Product p{.m = 8192, .n = 8192, .k = 8192, .out = out, .schedule = "auto", .shortSums = shortSums};
      SCOPED_TRACE(testing::PrintToString(p));
      rt::ImageKind binary = backend::findPtxas() ? rt::ImageKind::cubin : rt::ImageKind::ptx;
      CompileAttempt code = compileImage(build(p), optionsOf(p), binary);
      ASSERT_TRUE(code) << format(code.diagnostics);
      const std::string &said = code.result->warnings.front().message;
      EXPECT_NE(
          said.find(shortSums ? "`auto` took tiles of 128 by 256 by 128" : "`auto` took tiles of 128 by 192 by 128"),
          std::string::npos)
          << format(code.result->warnings);
    }
}

} // namespace
} // namespace soliton::test
