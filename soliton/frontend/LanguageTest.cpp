//===- LanguageTest.cpp - What ops make of their operands ------------------------===//
#include "soliton/frontend/Program.h"
#include "soliton/frontend/TestSupport.h"

#include <cmath>

using namespace soliton;
using namespace soliton::frontend;

namespace {

using Dims = std::vector<Expr>;

class LanguageOpsTest : public LanguageTest {
protected:
  void TearDown() override { EXPECT_EQ(format(k.diagnostics()), ""); }
  const OpRecord &opOf(const Value &value) {
    const Program &program = *value.program();
    return program.ops[*program.values[value.id()].op];
  }
};

TEST_F(LanguageOpsTest, SymbolsByName) {
  auto [X, longName] = symbols<"X long_name2">();
  EXPECT_EQ(X, symbol("X"));
  EXPECT_EQ(longName, symbol("long_name2"));
  auto [P, Q] = symbols<"P,Q">();
  EXPECT_EQ(Q, symbol("Q"));
  EXPECT_NE(P, Q);
}

TEST_F(LanguageOpsTest, ElementTypes) {
  EXPECT_EQ(lang::toString(f8), "f8");
  EXPECT_EQ(lang::toString(bf8), "bf8");
  EXPECT_EQ(f8.resolve(DType::f8e4m3fnuz), DType::f8e4m3fnuz);
  EXPECT_EQ(bf8.resolve(DType::f8e4m3fnuz), DType::f8e5m2fnuz);
  EXPECT_EQ(bf8.resolve(DType::f8e4m3fn), DType::f8e5m2);
  EXPECT_EQ(f16.resolve(DType::f8e4m3fnuz), DType::f16);
  EXPECT_TRUE(isFloat(f8));
  EXPECT_EQ(parseElementType("f8"), f8);
  EXPECT_EQ(parseElementType("bf8"), bf8);
  EXPECT_EQ(parseElementType("bf16"), bf16);
  EXPECT_EQ(parseElementType("f17"), std::nullopt);
}

TEST_F(LanguageOpsTest, ReadTakesTheMemorysDimensions) {
  Value x = read(a);
  EXPECT_EQ(x.dims(), (Dims{M, N}));
  EXPECT_EQ(x.type(), f32);
}

TEST_F(LanguageOpsTest, DimensionsUniteWhenOneContainsTheOther) {
  EXPECT_EQ((read(v) + read(a)).dims(), (Dims{M, N}));
  EXPECT_EQ((read(a) + read(w)).dims(), (Dims{M, N}));
  EXPECT_EQ(select(read(v) < 0.0, read(a), 1).dims(), (Dims{M, N}));
}

TEST_F(LanguageOpsTest, NumbersTakeTheOtherSidesType) {
  Value sum = 2 + read(b);
  EXPECT_EQ(sum.type(), f16);
  const OpRecord &fill = k.program()->ops[*k.program()->values[opOf(sum).operands[0]].op];
  EXPECT_EQ(fill.kind, OpKind::fill);
  EXPECT_EQ(std::get<int64_t>(fill.constant), 2);
  EXPECT_EQ((read(ints) * 3.0).type(), i32);
}

TEST_F(LanguageOpsTest, ScalarsAreRepeated) {
  Value alpha = k.scalar("alpha", f32);
  Value product = alpha * read(a);
  const OpRecord &splat = k.program()->ops[*k.program()->values[opOf(product).operands[0]].op];
  EXPECT_EQ(splat.kind, OpKind::splat);
  EXPECT_EQ(product.dims(), (Dims{M, N}));
  EXPECT_EQ((alpha + alpha).dims(), Dims());
}

TEST_F(LanguageOpsTest, ComparisonsAreBits) {
  for (Value bit : {read(a) < 1, read(a) <= 1, read(a) > 1, read(a) >= 1, read(a) == 1, read(a) != 1, lt(1, read(a))})
    EXPECT_EQ(bit.type(), i1);
  EXPECT_EQ(opOf(read(a) >= read(a)).function, "ge");
  EXPECT_EQ(((read(a) < 1) & ~(read(a) > 2)).type(), i1);
}

TEST_F(LanguageOpsTest, FunctionsKeepTheType) {
  Value x = read(b);
  for (Value y : {abs(x),   exp(x),        exp2(x),     log(x),        log2(x),       log10(x),       sqrt(x),
                  rsqrt(x), reciprocal(x), sin(x),      cos(x),        sinh(x),       tanh(x),        erf(x),
                  cbrt(x),  floor(x),      ceil(x),     round(x),      roundeven(x),  tanh_approx(x), softsign(x),
                  -x,       pow(x, x),     atan2(x, x), maximum(x, 1), minimum(1, x), x % x,          floordiv(x, x)}) {
    EXPECT_EQ(y.type(), f16);
    EXPECT_EQ(y.dims(), (Dims{M, N}));
  }
  EXPECT_EQ(opOf(roundeven(x)).function, "roundeven");
  EXPECT_EQ(opOf(maximum(x, x)).function, "max");
}

TEST_F(LanguageOpsTest, ReductionsDropADimension) {
  EXPECT_EQ(sum(read(a), N).dims(), (Dims{M}));
  EXPECT_EQ(max(read(a), read(v), N).dims(), (Dims{M}));
  EXPECT_EQ(min(sum(read(a), M), N).dims(), Dims());
}

TEST_F(LanguageOpsTest, ConditionalsReturnOneSeveralOrNoValue) {
  Value one = k.conditional(sym::lt(M, 3), [&] { return read(a); }, [&] { return -read(a); });
  EXPECT_EQ(one.dims(), (Dims{M, N}));
  auto [x, y] =
      k.conditional(sym::lt(M, 3), [&] { return std::tuple{one, read(v)}; }, [&] { return std::tuple{-one, read(v)}; });
  EXPECT_EQ(x.dims(), (Dims{M, N}));
  EXPECT_EQ(y.dims(), (Dims{M}));
  k.conditional(sym::lt(M, 3), [&] { write(x, a); });
  k.conditional(sym::lt(M, 3), [&] { write(x, a); }, [&] { write(one, a); });
  EXPECT_TRUE(k.diagnostics().empty()) << format(k.diagnostics());
}

TEST_F(LanguageOpsTest, BitcastKeepsDims) {
  Value bits = bitcast(read(a), i32);
  EXPECT_EQ(bits.dims(), (Dims{M, N}));
  EXPECT_EQ(bits.type(), i32);
}

TEST_F(LanguageOpsTest, WriteRoundsFloats) {
  write(read(a), b);
  const OpRecord &write = k.program()->ops.back();
  ASSERT_EQ(write.kind, OpKind::write);
  const OpRecord &cast = k.program()->ops[*k.program()->values[write.operands[0]].op];
  EXPECT_EQ(cast.kind, OpKind::cast);
}

TEST_F(LanguageOpsTest, LoopsCarryOneSeveralAnyOrNoValue) {
  Value zero = k.fill({M, N}, f32, 0);
  Value one = k.iterate(K, zero, [&](Value acc) { return mma(read(lhs), read(rhs), acc); });
  EXPECT_EQ(one.dims(), (Dims{M, N}));
  auto [p, q] = k.iterate(K, {zero, read(v)}, [&](Value x, Value y) { return std::tuple{x + y, y}; });
  EXPECT_EQ(p.dims(), (Dims{M, N}));
  EXPECT_EQ(q.dims(), (Dims{M}));
  std::vector<Value> many = k.iterate(K, std::vector<Value>(3, zero), [&](const std::vector<Value> &x) { return x; });
  EXPECT_EQ(many.size(), 3u);
  k.iterate(K, [&] { write(zero, a); });
  EXPECT_EQ(k.program()->regions.size(), 5u);
}

TEST_F(LanguageOpsTest, MappingsBecomeOneIndexPerMemoryDimension) {
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  IndexMapping mapping{.num_iterators = 2, .inputs = {{M, 2 * j}, {N, i + 1}}, .outputs = {{N, i}, {M, j}}};
  Value x = read(a, {.mapping = mapping});
  EXPECT_EQ(x.dims(), (Dims{N, M}));
  EXPECT_EQ(*opOf(x).indices, (Dims{2 * symbol("$index1"), symbol("$index0") + 1}));
}

TEST_F(LanguageOpsTest, SourceAndTargetAreTheSame) {
  auto [i, j] = symbols<"i j">();
  std::vector<Constraint> list = constraints();
  list.push_back(IteratorBindings({{i, M}, {j, N}}));
  Kernel other{"other", list};
  auto table = other.memory("table", {N, M}, global, f32), rows = other.memory("rows", {M}, global, i32);
  Value x = read(table, {.source = {j, i}, .target = {i, j}});
  EXPECT_EQ(x.dims(), (Dims{M, N}));
  EXPECT_EQ(*opOf(x).indices, (Dims{symbol("$index1"), symbol("$index0")}));
  Value gathered = read(table, {.source = {j, read(rows)}, .target = {i, j}});
  EXPECT_EQ(*opOf(gathered).indices, (Dims{symbol("$index1"), symbol("$dynamic_val0")}));
  EXPECT_EQ(opOf(gathered).operands.size(), 1u);
  EXPECT_EQ(format(other.diagnostics()), "");
}

TEST_F(LanguageOpsTest, TagsAndNames) {
  Value x = tag(named(read(a, {.tag = "load"}), "x"), "more");
  EXPECT_EQ(opOf(x).tags, (std::vector<std::string>{"load", "more"}));
  EXPECT_EQ(describe(*k.program(), x.id()), "`x`");
}

TEST_F(LanguageOpsTest, PlacesAreTheAuthors) {
  line = __LINE__ + 1;
  Value x = read(a) + 1.0;
  EXPECT_EQ(opOf(x).place.line, line);
  EXPECT_NE(opOf(x).place.file.find("LanguageTest.cpp"), std::string::npos);
  line = __LINE__ + 1;
  Value y = -x;
  EXPECT_EQ(opOf(y).place.line, line);
}

TEST_F(LanguageOpsTest, AThrowingBodyLeavesTheLoop) {
  EXPECT_THROW(k.iterate(K, [&] { throw 1; }), int);
  EXPECT_EQ(k.program()->current, 0u);
}

} // namespace
