//===- ErrorsTest.cpp - Mistakes found while tracing ------------------------------===//
#include "soliton/frontend/TestSupport.h"

#include <cmath>

using namespace soliton;

namespace {

class ErrorsTest : public LanguageTest {};

//===- Constraints --------------------------------------------------------------------===//

TEST_F(ErrorsTest, ConstraintRepeated) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(M, BN, 0, {.primary = false})}};
  expectMistake(bad.diagnostics(), DiagId::ConstraintRepeated, "a second workgroup constraint for `M`",
                "remove one of them");
}

TEST_F(ErrorsTest, HardwareRepeated) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {HardwareConstraint{}, HardwareConstraint{.mma = F32_16x16x16_F16}}};
  expectMistake(bad.diagnostics(), DiagId::HardwareRepeated, "a second hardware constraint",
                "put everything into one of them");
}

TEST_F(ErrorsTest, HardwareValue) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {HardwareConstraint{.max_bits_per_load = 96}}};
  expectMistake(bad.diagnostics(), DiagId::HardwareValue, "`max_bits_per_load` is 96, expected 8, 16, 32, 64 or 128");
  line = __LINE__ + 1;
  Kernel service{"service", {HardwareConstraint{.n_service_waves = -2}}};
  expectMistake(service.diagnostics(), DiagId::HardwareValue, "`n_service_waves` is -2, expected 0 or more");
}

TEST_F(ErrorsTest, WaveWithoutWorkgroup) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {WorkgroupConstraint(M, BM, 0), WaveConstraint(N, BN)}};
  expectMistake(
      bad.diagnostics(), DiagId::WaveWithoutWorkgroup,
      "a wave constraint for `N`, which has neither a workgroup nor a tiling constraint; those with one are `M`",
      "give the dimension a tile that waves can share");
}

TEST_F(ErrorsTest, WorkgroupDimsLeaveAGap) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 2)}};
  expectMistake(bad.diagnostics(), DiagId::WorkgroupDims, "`N` takes workgroup dimension 2, but nothing takes 1",
                "number workgroup dimensions 0, 1, 2 without gaps");
}

TEST_F(ErrorsTest, WorkgroupDimOutOfRange) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, -1, {.primary = false})}};
  expectMistake(bad.diagnostics(), DiagId::WorkgroupDims, "`N` takes workgroup dimension -1, expected 0 to 4");
}

TEST_F(ErrorsTest, WorkgroupDimShared) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 0)}};
  expectMistake(bad.diagnostics(), DiagId::WorkgroupDimShared, "`M` and `N` both take workgroup dimension 0",
                "use another workgroup dimension, `{.primary = false}` for the one that does not count workgroups, or "
                "`apply_fn` to say which part a workgroup has");
}

TEST_F(ErrorsTest, WorkgroupDimSharedByAFunctionIsAllowed) {
  Kernel good{"good",
              {WorkgroupConstraint(M, BM, 0, {.apply_fn = [this](Expr wg) { return BM * floordiv(wg, 4); }}),
               WorkgroupConstraint(N, BN, 0, {.apply_fn = [this](Expr wg) { return BN * mod(wg, 4); }})}};
  for (const Diagnostic &each : good.diagnostics())
    EXPECT_NE(each.id, DiagId::WorkgroupDimShared);
}

TEST_F(ErrorsTest, ConstraintDim) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {TilingConstraint(M + 1, BM)}};
  expectMistake(bad.diagnostics(), DiagId::ConstraintDim, "a tiling constraint on `M + 1`, which is no symbol",
                "constrain the dimension itself");
}

TEST_F(ErrorsTest, AliasOfAnUnconstrainedDimension) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {SymbolicAlias(M, N, [](Expr x) { return x; })}};
  expectMistake(bad.diagnostics(), DiagId::ConstraintMissing,
                "`M` is an alias of `N`, which has neither a workgroup nor a tiling constraint", "constrain `N`");
}

TEST_F(ErrorsTest, FunctionsOfConstraints) {
  line = __LINE__ + 1;
  Kernel alias{"alias", {WorkgroupConstraint(N, BN, 0), SymbolicAlias(M, N, [](Expr x) { return floordiv(x, 0); })}};
  expectMistake(alias.diagnostics(), DiagId::ExpressionInvalid, "the alias of `M` makes no expression of a tile");
  line = __LINE__ + 1;
  Kernel apply{"apply", {WorkgroupConstraint(N, BN, 0, {.apply_fn = [](Expr x) { return floordiv(x, 0); }})}};
  expectMistake(apply.diagnostics(), DiagId::ExpressionInvalid,
                "`apply_fn` of `N` makes no expression of a workgroup's number");
}

TEST_F(ErrorsTest, AssumptionInvalid) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {Assumption(M + 1)}};
  expectMistake(bad.diagnostics(), DiagId::AssumptionInvalid, "the assumption `M + 1` is no comparison",
                "write e.g. `eq(M % 64, 0)` or `M > 0`");
}

TEST_F(ErrorsTest, NotSupportedHere) {
  line = __LINE__ + 1;
  Kernel devices{"devices", {DeviceConstraint(M, BM, 0)}};
  expectMistake(devices.diagnostics(), DiagId::NotSupportedHere,
                "`DeviceConstraint` is part of the language, but this version does not implement it");
}

TEST_F(ErrorsTest, WorkgroupsPerCluster) {
  line = __LINE__ + 1;
  Kernel square{"square", {HardwareConstraint{.workgroups_per_cluster = {2, 2, 1}}}};
  expectMistake(square.diagnostics(), DiagId::NotSupportedHere,
                "`workgroups_per_cluster` has neighbours along several dimensions of the grid, expected one",
                "let all entries but one be 1");
  line = __LINE__ + 1;
  Kernel none{"none", {HardwareConstraint{.workgroups_per_cluster = {0}}}};
  expectMistake(none.diagnostics(), DiagId::HardwareValue, "`workgroups_per_cluster` contains 0, expected at least 1");
  line = __LINE__ + 1;
  Kernel four{"four", {HardwareConstraint{.workgroups_per_cluster = {2, 1, 1, 1}}}};
  expectMistake(four.diagnostics(), DiagId::HardwareValue,
                "`workgroups_per_cluster` has 4 entries, expected at most 3");
}

//===- Names and parameters -----------------------------------------------------------===//

TEST_F(ErrorsTest, NameInvalid) {
  line = __LINE__ + 1;
  Kernel bad{"2 gemms", {}};
  expectMistake(bad.diagnostics(), DiagId::NameInvalid, "the kernel's name `2 gemms` is no identifier",
                "use letters, digits and `_`, starting with a letter");
  line = __LINE__ + 1;
  k.memory("a-b", {M}, global, f32);
  expectMistake(DiagId::NameInvalid, "the parameter's name `a-b` is no identifier",
                "use letters, digits and `_`, starting with a letter");
}

TEST_F(ErrorsTest, MemoryRepeated) {
  line = __LINE__ + 1;
  k.memory("a", {M}, global, f32);
  expectMistake(DiagId::MemoryRepeated, "kernel `k` has two parameters named `a`", "give one another name");
  EXPECT_EQ(k.diagnostics()[0].notes.size(), 1u);
}

TEST_F(ErrorsTest, MemoryRank) {
  line = __LINE__ + 1;
  k.memory("x", {}, global, f32);
  expectMistake(DiagId::MemoryRank, "memory `x` has no dimensions, expected at least one",
                "give it a shape, e.g. `{M, K}`; numbers are passed with `Kernel::scalar`");
}

TEST_F(ErrorsTest, MemoryDims) {
  line = __LINE__ + 1;
  k.memory("x", {M, M}, global, f32);
  expectMistake(DiagId::MemoryDims, "memory `x` has the dimension `M` twice in `[M, M]`",
                "use another symbol with the same size");
}

TEST_F(ErrorsTest, MemoryWithoutNamedDimensions) {
  auto x = k.memory("x", {M, 64}, global, f32);
  line = __LINE__ + 1;
  read(x);
  expectMistake(DiagId::MemoryDims, "dimension 1 of `x` is `64`, which names no dimension of a tile",
                "use a symbol and bind it in `subs`, or give a mapping");
}

TEST_F(ErrorsTest, AddressSpace) {
  line = __LINE__ + 1;
  k.memory("x", {M}, 3, f32);
  expectMistake(DiagId::AddressSpaceUnknown,
                "the address space of `x` is `3`, expected `global`, `shared` or a symbol");
}

TEST_F(ErrorsTest, TileDims) {
  line = __LINE__ + 1;
  k.fill({M, M}, f32, 0);
  expectMistake(DiagId::TileDims, "the tile has the dimension `M` twice in `[M, M]`",
                "use another symbol with the same size");
}

//===- Values -------------------------------------------------------------------------===//

TEST_F(ErrorsTest, ForeignValue) {
  Kernel other{"other", constraints()};
  auto x = other.memory("x", {M, N}, global, f32);
  Value mine = read(x);
  line = __LINE__ + 1;
  write(mine, a);
  expectMistake(DiagId::ForeignValue, "`write` in kernel `k` uses the tile of `x` of kernel `other`",
                "write it to a memory in one kernel and read it in the other");
  EXPECT_EQ(other.diagnostics().size(), 1u);
}

TEST_F(ErrorsTest, ForeignValueInALoop) {
  Kernel other{"other", constraints()};
  auto x = other.memory("x", {M, N}, global, f32);
  Value mine = read(x);
  line = __LINE__ + 1;
  Value result = k.iterate(K, mine, [&](Value acc) { return acc; });
  EXPECT_TRUE(result.isPoisoned());
  expectMistake(DiagId::ForeignValue, "`iterate` in kernel `k` uses the tile of `x` of kernel `other`",
                "write it to a memory in one kernel and read it in the other");
}

TEST_F(ErrorsTest, UndefinedMemory) {
  Value x = read(a);
  line = __LINE__ + 1;
  write(x, MemoryRef());
  expectMistake(DiagId::UndefinedValue, "`write` got a memory that no kernel made", "make it with `Kernel::memory`");
  EXPECT_TRUE(read(MemoryRef()).isPoisoned());
}

TEST_F(ErrorsTest, UndefinedValue) {
  line = __LINE__ + 1;
  write(Value(), a);
  expectMistake(DiagId::UndefinedValue, "`write` got a value that was never assigned",
                "values come from `read`, `fill` and other ops");
}

TEST_F(ErrorsTest, ValueOutOfLoop) {
  Value leaked;
  k.iterate(K, [&] { leaked = read(lhs); });
  line = __LINE__ + 1;
  exp(leaked);
  expectMistake(DiagId::ValueOutOfLoop, "`exp` uses the tile of `lhs`, which exists only inside the loop over `K`",
                "return it from the loop's body and use the loop's result");
}

TEST_F(ErrorsTest, OneMistakeIsReportedOnce) {
  line = __LINE__ + 1;
  Value bad = read(a) + read(b);
  write(exp(bad) * 2.0 + sum(bad, N), a);
  auto result = k.iterate(K, bad, [&](Value acc) { return acc + 1.0; });
  EXPECT_TRUE(result.isPoisoned());
  expectMistake(DiagId::ElementwiseTypeMismatch, "`+` of `f32` and `f16`, expected one element type",
                "`cast` one of them");
}

TEST_F(ErrorsTest, EveryMistakeIsReported) {
  read(a) + read(b);
  exp(read(ints));
  k.memory("a", {M}, global, f32);
  EXPECT_EQ(k.diagnostics().size(), 3u);
}

//===- Loops --------------------------------------------------------------------------===//

TEST_F(ErrorsTest, IterateWithoutTiling) {
  Value zero = k.fill({M}, f32, 0);
  line = __LINE__ + 1;
  k.iterate(N, zero, [&](Value acc) { return acc; });
  expectMistake(DiagId::IterateWithoutTiling, "a loop over `N`, which has no tiling constraint; those with one are `K`",
                "add `TilingConstraint(N, BLOCK_N)`");
}

TEST_F(ErrorsTest, IterateNested) {
  k.iterate(K, [&] {
    line = __LINE__ + 1;
    k.iterate(K, [&] {});
  });
  expectMistake(DiagId::IterateNested, "a loop over `K` inside a loop over `K`",
                "split the dimension into two symbols");
}

TEST_F(ErrorsTest, IndexOfATile) {
  Value tile = k.fill({M}, i32, 1);
  line = __LINE__ + 1;
  index_of(tile);
  expectMistake(DiagId::IndexOfTile, "`index_of` takes `i32[M]`, expected one integer",
                "read one element, or reduce the tile to one");
}

TEST_F(ErrorsTest, IndexOfAFloat) {
  Value number = k.fill({}, f32, 1);
  line = __LINE__ + 1;
  index_of(number);
  expectMistake(DiagId::IndexOfTile, "`index_of` takes `f32[]`, expected one integer", "cast it to `i32` first");
}

TEST_F(ErrorsTest, ANumberTakenInALoopIsUsedAfterIt) {
  Expr taken;
  k.iterate(K, [&] { taken = index_of(k.fill({}, i32, 1)); });
  line = __LINE__ + 1;
  k.conditional(sym::lt(taken, 3), [] {});
  expectMistake(DiagId::ValueOutOfLoop, "`conditional` uses a number that `index_of` took inside a loop or branch",
                "return the tile from there and take the number here");
}

TEST_F(ErrorsTest, ANumberOfAnotherKernel) {
  Kernel other{"other", {}};
  Expr taken = index_of(other.fill({}, i32, 1));
  line = __LINE__ + 1;
  k.conditional(sym::lt(taken, 3), [] {});
  expectMistake(DiagId::ForeignValue, "`conditional` uses a number that `index_of` took in another kernel",
                "take it in this kernel");
}

TEST_F(ErrorsTest, ANumberOfAnotherKernelWhoseNameBeginsLikewise) {
  Kernel longer{k.name() + "_0", {}};
  Expr taken = index_of(longer.fill({}, i32, 1));
  line = __LINE__ + 1;
  k.conditional(sym::lt(taken, 3), [] {});
  expectMistake(DiagId::ForeignValue, "`conditional` uses a number that `index_of` took in another kernel",
                "take it in this kernel");
}

TEST_F(ErrorsTest, SetSymbolOfANumber) {
  Value number = k.fill({}, i32, 1);
  line = __LINE__ + 1;
  set_symbol(M + 1, number);
  expectMistake(DiagId::SetSymbol, "`set_symbol` of `M + 1`, expected a symbol of the kernel's own",
                "make one with `symbols<…>()`");
}

TEST_F(ErrorsTest, SetSymbolOfATileSize) {
  Value number = k.fill({}, i32, 1);
  line = __LINE__ + 1;
  set_symbol(BM, number);
  expectMistake(DiagId::SetSymbol, "`set_symbol` of `BLOCK_M`, which is a tile of a constraint",
                "tiles are the same in the whole kernel: set another symbol");
}

TEST_F(ErrorsTest, ArgmaxAlongASetDimension) {
  Value tile = read(a);
  set_symbol(N, k.fill({}, i32, 1));
  line = __LINE__ + 1;
  argmax(tile, N);
  expectMistake(DiagId::SetSymbol, "`argmax` goes along a dimension that `set_symbol` has set, which changes no tile",
                "set a symbol that is no dimension, and say what counts with `bounds`, `count` or `select`");
}

TEST_F(ErrorsTest, ReshapeTwice) {
  Value tile = read(a);
  line = __LINE__ + 1;
  reshape(tile, {K, K});
  expectMistake(DiagId::ReshapeDims, "the result of `reshape` has the dimension `K` twice in `[K, K]`",
                "use another symbol with the same size");
}

TEST_F(ErrorsTest, SliceOfAnotherDimension) {
  Value tile = read(v);
  line = __LINE__ + 1;
  slice(tile, N, K);
  expectMistake(DiagId::SliceDims, "`slice` along `N`, but the tile has the dimensions `[M]`");
}

TEST_F(ErrorsTest, SliceIntoADimensionThatIsThere) {
  Value tile = read(a);
  line = __LINE__ + 1;
  slice(tile, N, M);
  expectMistake(DiagId::SliceDims, "the result of `slice` has the dimension `M` twice in `[M, M]`",
                "use another symbol with the same size");
}

TEST_F(ErrorsTest, ConcatenateOfOtherTypes) {
  Value x = read(a), y = read(b);
  line = __LINE__ + 1;
  concatenate({{x, N}, {y, N}}, K);
  expectMistake(DiagId::ConcatenatePieces,
                "piece 1 of `concatenate` is `f16[M, N]` and lies along `N`, expected `f32[M, K]` with that dimension "
                "in the place of `K`",
                "`permute` or `cast` it first");
}

TEST_F(ErrorsTest, SortOfTruths) {
  Value truths = read(a) > 0.0;
  line = __LINE__ + 1;
  sort(truths, N);
  expectMistake(DiagId::ElementwiseType, "`sort` of `i1`, expected numbers of whole bytes",
                "cast to `i32` or `f32` first");
}

TEST_F(ErrorsTest, SortCarriesOtherDimensions) {
  Value keys = read(a), row = read(w);
  line = __LINE__ + 1;
  sort_by(keys, {row}, N);
  expectMistake(DiagId::SortPayload, "`sort_by` carries `f32[N]`, expected the dimensions `[M, N]`",
                "`broadcast` or `permute` it first");
}

TEST_F(ErrorsTest, CompareAndSwapOfFloats) {
  Value x = read(a);
  line = __LINE__ + 1;
  atomic_cas(x, x, a);
  expectMistake(DiagId::AtomicType, "`atomic_cas` on `a`, which holds `f32`, expected i32 or i64",
                "declare `a` with one of these types, and cast the value to it");
}

TEST_F(ErrorsTest, CompareAndSwapExpectsAnotherType) {
  Value x = read(ints), y = read(a);
  line = __LINE__ + 1;
  atomic_cas(y, x, ints);
  expectMistake(DiagId::AtomicType, "`atomic_cas` expects `f32[M, N]` where the value is `i32[M, N]`",
                "give both the memory's type and the same dimensions");
}

TEST_F(ErrorsTest, ScatterAddAlongADimensionThatIsNotThere) {
  Value x = read(a), at = read(ints);
  line = __LINE__ + 1;
  scatter_add(x, at, K, a);
  expectMistake(DiagId::MappingDims, "`scatter_add` along `K` of `a`, which has the dimensions `[M, N]`");
}

TEST_F(ErrorsTest, LoopExitOutsideOfALoop) {
  line = __LINE__ + 1;
  k.continue_while(sym::lt(M, 3));
  expectMistake(DiagId::LoopExit, "`continue_while` does not stand in the body of a loop",
                "write it into the loop's body, not into a branch of it: `select` what it depends on");
}

TEST_F(ErrorsTest, TwoLoopExits) {
  k.iterate(K, [&] {
    k.continue_while(sym::lt(M, 3));
    line = __LINE__ + 1;
    k.continue_while(sym::lt(N, 3));
  });
  expectMistake(DiagId::LoopExit, "a loop has two `continue_while`", "combine the conditions, e.g. `a && b`");
}

TEST_F(ErrorsTest, ReadAtTooFewIndices) {
  line = __LINE__ + 1;
  read_at(a, {0});
  expectMistake(DiagId::MappingDims, "`read_at` of `a` says 1 indices, expected 2, one for each dimension");
}

TEST_F(ErrorsTest, LoopTypeMismatch) {
  Value zero = k.fill({M, N}, f32, 0);
  k.iterate(K, zero, [&](Value acc) {
    line = __LINE__ + 1;
    return cast(acc, f16);
  });
  expectMistake(DiagId::LoopTypeMismatch, "the loop carries `f32[M, N]` but its body returns `f16[M, N]`",
                "cast the result to `f32`");
}

TEST_F(ErrorsTest, LoopCount) {
  Value zero = k.fill({M, N}, f32, 0);
  line = __LINE__ + 1;
  k.iterate(K, {zero, zero}, [&](Value x, Value) { return x; });
  expectMistake(DiagId::LoopCount, "the loop's body returns 1 values, expected 2, one for each that it carries");
}

TEST_F(ErrorsTest, TilingOutsideLoop) {
  line = __LINE__ + 1;
  read(lhs);
  expectMistake(DiagId::TilingOutsideLoop,
                "`read` of `K` outside a loop over it, but its tiling constraint says that a loop walks it",
                "move it into `iterate(K, …)`, or remove the tiling constraint");
}

//===- Matrices and reductions --------------------------------------------------------===//

TEST_F(ErrorsTest, MmaShapeMismatch) {
  Value acc = k.fill({M, N}, f32, 0);
  k.iterate(K, [&] {
    line = __LINE__ + 1;
    mma(read(rhs), read(lhs), acc);
  });
  expectMistake(DiagId::MmaShapeMismatch, "the left operand of `mma` has the dimensions `[N, K]`, expected `M` and `K`",
                "swap the operands");
  EXPECT_EQ(k.diagnostics()[0].notes.size(), 3u);
}

TEST_F(ErrorsTest, MmaContractsNothing) {
  Value acc = k.fill({M, N}, f32, 0);
  line = __LINE__ + 1;
  mma(read(a), read(a), acc);
  expectMistake(
      DiagId::MmaShapeMismatch,
      "`mma` contracts `[]`, expected exactly one dimension that both operands have and the accumulator lacks",
      "the left operand has rows and K, the right one columns and K");
}

TEST_F(ErrorsTest, MmaOperandTypes) {
  Value acc = k.fill({M, N}, i32, 0);
  k.iterate(K, [&] {
    line = __LINE__ + 1;
    mma(read(lhs), read(rhs), acc);
  });
  expectMistake(DiagId::MmaOperandTypes,
                "`mma` of `f16` and `f16` into `i32`, expected floats with floats or integers with integers",
                "accumulate in `f32`");
}

TEST_F(ErrorsTest, ReduceDim) {
  line = __LINE__ + 1;
  sum(read(v), N);
  expectMistake(DiagId::ReduceDim, "`sum` along `N`, but the tile has the dimensions `[M]`");
}

TEST_F(ErrorsTest, TruthsAndNumbersAreReducedBySortsOfTheirOwn) {
  line = __LINE__ + 1;
  any(read(a), N);
  expectMistake(DiagId::ElementwiseType, "`any` of `f32`, expected `i1`", "compare first, e.g. `x != 0`");
}

TEST_F(ErrorsTest, ASumOfTruths) {
  Value truths = read(a) > 0.0;
  line = __LINE__ + 1;
  prod(truths, N);
  expectMistake(DiagId::ElementwiseType, "`prod` of `i1`, expected numbers", "cast to `i32` first");
}

TEST_F(ErrorsTest, ScanDim) {
  line = __LINE__ + 1;
  cumsum(read(v), N);
  expectMistake(DiagId::ReduceDim, "`cumsum` along `N`, but the tile has the dimensions `[M]`");
}

TEST_F(ErrorsTest, ScanInit) {
  line = __LINE__ + 1;
  cummax(read(a), read(w), N);
  expectMistake(DiagId::ReduceInit, "`cummax` starts from `f32[N]`, expected `f32[M]`");
}

TEST_F(ErrorsTest, ExtremeOfTruths) {
  Value truths = read(a) > 0.0;
  line = __LINE__ + 1;
  argmax(truths, N);
  expectMistake(DiagId::ElementwiseType, "`argmax` of `i1`, expected numbers", "cast to `i32` first");
}

/// Scales have neither 0 nor a sign.
TEST_F(ErrorsTest, SumsOfScales) {
  Value scales = read(k.memory("scales", {M}, global, f8e8m0fnu));
  line = __LINE__ + 1;
  sum(scales, M);
  expectMistake(DiagId::ElementwiseType, "`sum` of `f8e8m0fnu`, expected numbers", "it is a format of scales");
}

TEST_F(ErrorsTest, ArithmeticOfScales) {
  Value scales = read(k.memory("scales", {M}, global, f8e8m0fnu));
  line = __LINE__ + 1;
  maximum(scales, scales);
  expectMistake(DiagId::ElementwiseType, "`maximum` of `f8e8m0fnu`, expected a type of numbers");
}

TEST_F(ErrorsTest, SoftsignOfIntegers) {
  Value numbers = read(k.memory("numbers", {M}, global, i32));
  line = __LINE__ + 1;
  softsign(numbers);
  expectMistake(DiagId::ElementwiseType, "`softsign` of `i32`, expected a float type", "cast it to `f32` first");
}

TEST_F(ErrorsTest, ExtremeInit) {
  line = __LINE__ + 1;
  argmin(read(a), Extreme{read(v), read(v)}, N);
  expectMistake(DiagId::ReduceInit, "`argmin` starts from `f32[M]`, expected `i32[M]`");
}

TEST_F(ErrorsTest, ReduceInit) {
  line = __LINE__ + 1;
  max(read(a), read(w), N);
  expectMistake(DiagId::ReduceInit, "`max` starts from `f32[N]`, expected `f32[M]`");
}

//===- Element-wise -------------------------------------------------------------------===//

TEST_F(ErrorsTest, ElementwiseDims) {
  Value x = read(v), y = read(w);
  line = __LINE__ + 1;
  x *y;
  expectMistake(DiagId::ElementwiseDims,
                "`*` of tiles with the dimensions `[M]` and `[N]`, expected one to contain the other",
                "`broadcast` both to the dimensions of the result");
}

TEST_F(ErrorsTest, PartialOverlapIsNoBroadcast) {
  auto x = k.memory("x", {M, symbol("P")}, global, f32);
  line = __LINE__ + 1;
  read(a) + read(x);
  expectMistake(DiagId::ElementwiseDims,
                "`+` of tiles with the dimensions `[M, N]` and `[M, P]`, expected one to contain the other",
                "`broadcast` both to the dimensions of the result");
}

TEST_F(ErrorsTest, ElementwiseType) {
  line = __LINE__ + 1;
  sqrt(read(ints));
  expectMistake(DiagId::ElementwiseType, "`sqrt` of `i32`, expected a float type", "cast it to `f32` first");
}

TEST_F(ErrorsTest, IntegerDivision) {
  line = __LINE__ + 1;
  read(ints) / read(ints);
  expectMistake(DiagId::ElementwiseType, "`/` of `i32`, expected a float type",
                "use `floordiv` for integers, or cast them to `f32`");
}

TEST_F(ErrorsTest, ConstantRange) {
  line = __LINE__ + 1;
  read(ints) + 0.5;
  expectMistake(DiagId::ConstantRange, "the number 0.5 is no `i32`",
                "cast the tile to a float type first, or use an integer");
}

TEST_F(ErrorsTest, ConstantTooLarge) {
  line = __LINE__ + 1;
  read(b) * 1e6;
  expectMistake(DiagId::ConstantRange, "the number 1000000.0 is no `f16`", "use a wider type");
}

TEST_F(ErrorsTest, SelectCondition) {
  line = __LINE__ + 1;
  select(read(ints), read(a), 0.0);
  expectMistake(DiagId::SelectCondition, "the condition of `select` is `i32`, expected `i1`",
                "compare it, e.g. `x != 0`");
}

TEST_F(ErrorsTest, ApplyExprType) {
  line = __LINE__ + 1;
  apply_expr(read(v), [](Expr x) { return 2 * x; });
  expectMistake(DiagId::ApplyExprType,
                "operand 0 of `apply_expr` is `f32[M]`, expected integers with dimensions among the first one's, `[M]`",
                "cast it to `i32`");
}

TEST_F(ErrorsTest, ExpressionInvalid) {
  line = __LINE__ + 1;
  apply_expr(read(ints), [](Expr x) { return floordiv(x, 0); });
  ASSERT_EQ(k.diagnostics().size(), 1u);
  EXPECT_EQ(k.diagnostics()[0].id, DiagId::ExpressionInvalid);
  EXPECT_EQ(k.diagnostics()[0].place.line, line);
  EXPECT_TRUE(k.diagnostics()[0].message.starts_with("the expression of `apply_expr` is wrong: "));
}

/// What is wrong where it is written is reported by whoever gets it; tracing goes on.
TEST_F(ErrorsTest, ExpressionsThatAreWrongWhereTheyAreWritten) {
  line = __LINE__ + 1;
  Kernel bad{"bad", {WorkgroupConstraint(M, floordiv(BM, 0), 0), HardwareConstraint{}}};
  expectMistake(bad.diagnostics(), DiagId::ExpressionInvalid,
                "the tile of a constraint is `floordiv(BLOCK_M, 0)`: the divisor of `floordiv` is 0");
  Expr wrong = 1 + M % (N - N);
  EXPECT_FALSE(wrong.isDefined());
  line = __LINE__ + 1;
  read(a, {.elements_per_thread = wrong});
  expectMistake(DiagId::ExpressionInvalid, "`elements_per_thread` of `read` is `mod(M, 0)`: the divisor of `mod` is 0");
}

TEST_F(ErrorsTest, ExpressionsThatOverflowWhereTheyAreWritten) {
  line = __LINE__ + 1;
  MemoryRef huge = k.memory("huge", {M, N * (INT64_MAX / 2) * 4}, global, f32);
  write(read(huge), a); // quiet: its memory was reported
  ASSERT_EQ(k.diagnostics().size(), 1u) << format(k.diagnostics());
  EXPECT_EQ(k.diagnostics()[0].place.line, line);
  EXPECT_TRUE(k.diagnostics()[0].message.starts_with("the shape of `huge` is `(4611686018427387903*N) * (4)`: "))
      << k.diagnostics()[0].message;
}

TEST_F(ErrorsTest, DimensionsThatAreWrongWhereTheyAreWritten) {
  line = __LINE__ + 1;
  Value loop = k.iterate(shl(K, -1), k.fill({M, N}, f32, 0.0), [&](Value sum) { return sum; });
  EXPECT_TRUE(loop.isPoisoned());
  ASSERT_EQ(k.diagnostics().size(), 1u) << format(k.diagnostics());
  EXPECT_EQ(k.diagnostics()[0].id, DiagId::ExpressionInvalid);
  EXPECT_EQ(k.diagnostics()[0].place.line, line);
}

//===- Types and dimensions -----------------------------------------------------------===//

TEST_F(ErrorsTest, CastImpossible) {
  line = __LINE__ + 1;
  cast(read(a), i1);
  expectMistake(DiagId::CastImpossible, "`cast` from `f32` to `i1`", "compare instead, e.g. `x != 0.0`");
}

TEST_F(ErrorsTest, BranchesOfDifferentTypes) {
  line = __LINE__ + 1;
  k.conditional(sym::lt(M, 3), [&] { return read(a); }, [&] { return cast(read(a), f16); });
  expectMistake(DiagId::ConditionalBranches,
                "one branch returns `f32[M, N]` and the other `f16[M, N]`, expected the same",
                "`cast` or `broadcast` one of them");
}

TEST_F(ErrorsTest, BranchesOfDifferentCounts) {
  line = __LINE__ + 1;
  k.conditional(sym::lt(M, 3), [&] { return std::vector<Value>{read(a)}; }, [&] { return std::vector<Value>(); });
  expectMistake(DiagId::ConditionalBranches, "one branch returns 1 values and the other 0, expected as many",
                "return from the other branch what the value is there, e.g. a `fill` of its type");
}

TEST_F(ErrorsTest, ValueOutOfABranch) {
  Value inside;
  k.conditional(sym::lt(M, 3), [&] { inside = read(a); });
  line = __LINE__ + 1;
  -inside;
  expectMistake(DiagId::ValueOutOfLoop,
                "`-` uses the tile of `a`, which exists only inside a branch of a `conditional`",
                "return it from both branches and use the conditional's result");
}

TEST_F(ErrorsTest, BitcastWidths) {
  line = __LINE__ + 1;
  bitcast(read(a), f16);
  expectMistake(
      DiagId::CastImpossible,
      "`bitcast` from `f32` of 32 bits in `[M, N]` to `f16` of 16 bits, expected types of the same number of "
      "whole bytes, or others of which the wider has whole bytes, and a last dimension that can be counted in "
      "them",
      "use `cast` to convert numbers; two `f4e2m1fn` in a byte are an `i8` in `[M, K/2]`, four `f6e2m3fn` in "
      "three bytes `i8` in `[M, 3*K/4]`");
}

TEST_F(ErrorsTest, SplitBarrierSignalledTwice) {
  k.shared_memory_barrier_signal(2);
  line = __LINE__ + 1;
  k.shared_memory_barrier_signal(2);
  expectMistake(DiagId::BarrierPairing, "the barrier 2 is signalled twice with no wait between",
                "put `shared_memory_barrier_wait` between them");
}

TEST_F(ErrorsTest, SplitBarrierOfAnotherBlock) {
  k.shared_memory_barrier_signal(-1);
  k.iterate(K, [&] {
    line = __LINE__ + 1;
    k.shared_memory_barrier_wait(-1);
  });
  expectMistake(DiagId::BarrierPairing,
                "a wait for the barrier -1, which nothing before it in this block has signalled",
                "signal it before, in the same loop or branch");
}

TEST_F(ErrorsTest, SplitBarrierThatNoWorkgroupHas) {
  k.shared_memory_barrier_signal(0); // none
  line = __LINE__ + 1;
  k.shared_memory_barrier_signal(-3);
  expectMistake(DiagId::BarrierPairing,
                "`shared_memory_barrier_signal` of the barrier -3, expected 1 to 16, or -1 for the workgroup's own",
                "traps and clusters have no barriers here");
}

TEST_F(ErrorsTest, HintOutsideItsRange) {
  line = __LINE__ + 1;
  k.set_wave_prio(4);
  expectMistake(DiagId::HintValue, "the priority of `set_wave_prio` is 4, expected 0 to 3");
}

TEST_F(ErrorsTest, NegativeCountsOfHints) {
  k.memory_counter_wait({.load = -1});
  k.scheduling_group_barrier({{InstructionClass::MMA, -4}});
  ASSERT_EQ(k.diagnostics().size(), 2u);
  for (const Diagnostic &each : k.diagnostics())
    EXPECT_EQ(each.id, DiagId::HintValue);
}

TEST_F(ErrorsTest, ScalesAreOfTheirType) {
  auto bytes = k.memory("bytes", {M, K / 2}, global, i8), right = k.memory("right", {N, K / 2}, global, i8);
  auto raw = k.memory("raw", {M, K / 32}, global, i8), scale = k.memory("scale", {N, K / 32}, global, f8e8m0fnu);
  Value acc = k.fill({M, N}, f32, 0.0);
  k.iterate(K, [&] {
    Value x = bitcast(read(bytes), f4e2m1fn), y = bitcast(read(right), f4e2m1fn);
    line = __LINE__ + 1;
    scaled_mma(x, read(raw), y, read(scale), acc);
  });
  expectMistake(DiagId::ScaleType, "the scales of the left operand of `scaled_mma` are `i8`, expected `f8e8m0fnu`",
                "use `bitcast(scales, f8e8m0fnu)`");
}

TEST_F(ErrorsTest, ScalesAreOneForABlock) {
  auto left = k.memory("left", {M, K}, global, f8e4m3fn), right = k.memory("right", {N, K}, global, f8e5m2);
  auto scale = k.memory("scale", {M, K / 32}, global, f8e8m0fnu), few = k.memory("few", {N, K / 16}, global, f8e8m0fnu);
  Value acc = k.fill({M, N}, f32, 0.0);
  k.iterate(K, [&] {
    line = __LINE__ + 1;
    scaled_mma(read(left), read(scale), read(right), read(few), acc);
  });
  expectMistake(DiagId::ScaleDims,
                "the scales of the right operand of `scaled_mma` have the dimensions `[N, K/16]`, expected `[N, K/32]`",
                "there is one scale for 32 elements along the contracted dimension");
}

TEST_F(ErrorsTest, ALoopWalksElementsAndNotTheirGroups) {
  line = __LINE__ + 1;
  k.iterate(K / 32, [&] {});
  expectMistake(DiagId::IterateWithoutTiling,
                "a loop over `K/32`, which has no tiling constraint; those with one are `K`",
                "add `TilingConstraint(K/32, BLOCK_K/32)`");
}

TEST_F(ErrorsTest, ScaledElementsAreSmallFloats) {
  auto scale = k.memory("scale", {M, K / 32}, global, f8e8m0fnu),
       other = k.memory("other", {N, K / 32}, global, f8e8m0fnu);
  Value acc = k.fill({M, N}, f32, 0.0);
  k.iterate(K, [&] {
    line = __LINE__ + 1;
    scaled_mma(read(lhs), read(scale), read(rhs), read(other), acc);
  });
  expectMistake(DiagId::MmaOperandTypes,
                "`scaled_mma` of `f16` and `f16` into `f32`, expected floats of 8, 6 or 4 bits into `f32`");
}

TEST_F(ErrorsTest, BroadcastDims) {
  line = __LINE__ + 1;
  broadcast(read(a), {M, K});
  expectMistake(DiagId::BroadcastDims, "`broadcast` from `[M, N]` to `[M, K]`, which lacks dimensions of the tile",
                "name every dimension of the tile");
}

TEST_F(ErrorsTest, PermuteDims) {
  line = __LINE__ + 1;
  permute(read(v), {N, M});
  expectMistake(DiagId::PermuteDims, "`permute` from `[M]` to `[N, M]`, expected the same dimensions in another order",
                "use `broadcast` to add dimensions");
}

TEST_F(ErrorsTest, SplatScalar) {
  line = __LINE__ + 1;
  k.splat({M, N}, read(v));
  expectMistake(DiagId::SplatScalar, "`splat` got a tile of `f32[M]`, expected a scalar parameter",
                "use `broadcast` for tiles");
}

//===- Memory -------------------------------------------------------------------------===//

TEST_F(ErrorsTest, WriteDims) {
  Value x = permute(read(a), {N, M});
  line = __LINE__ + 1;
  write(x, a);
  expectMistake(DiagId::WriteDims, "`write` of a tile with the dimensions `[N, M]` to `a`, expected `[M, N]`",
                "`permute(value, {M, N})` first");
}

TEST_F(ErrorsTest, WriteDimsBroadcast) {
  line = __LINE__ + 1;
  write(read(v), a);
  expectMistake(DiagId::WriteDims, "`write` of a tile with the dimensions `[M]` to `a`, expected `[M, N]`",
                "`broadcast(value, {M, N})` first");
}

TEST_F(ErrorsTest, WriteType) {
  line = __LINE__ + 1;
  write(read(a), ints);
  expectMistake(DiagId::WriteType, "`write` of `f32` to `ints`, which holds `i32`", "cast the value to `i32`");
}

TEST_F(ErrorsTest, MemoryStridesCount) {
  line = __LINE__ + 1;
  k.memory("s", {M, N}, global, f32, {.strides = {N}});
  expectMistake(DiagId::MemoryStrides, "memory `s` has 1 strides for 2 dimensions, expected one for each",
                "the stride of a dimension in which elements follow each other is 1");
}

TEST_F(ErrorsTest, MemoryStridesBelowZero) {
  line = __LINE__ + 1;
  k.memory("s", {M, N}, global, f32, {.strides = {-64, 1}});
  expectMistake(DiagId::MemoryStrides, "memory `s` has the stride `-64`, expected 0 or more",
                "begin at the other end, and count backwards by a mapping");
}

TEST_F(ErrorsTest, MemoryStridesOfElementsThatShareBytes) {
  line = __LINE__ + 1;
  k.memory("s", {M, N}, global, f4e2m1fn, {.strides = {64, 1}});
  expectMistake(DiagId::MemoryStrides, "memory `s` has strides, and its elements share bytes",
                "pass the packed bytes as `i8` and `bitcast` what is read");
}

TEST_F(ErrorsTest, AllocateDims) {
  line = __LINE__ + 1;
  k.allocate("tile", {M, N + 2}, f32);
  expectMistake(DiagId::MemoryDims,
                "the shared tile `tile` has the dimension `N + 2`, expected a symbol or one divided by a number",
                "it holds the tile that a workgroup has of each of its dimensions");
}

TEST_F(ErrorsTest, AtomicType) {
  MemoryRef bytes = k.memory("bytes", {M}, global, i8);
  line = __LINE__ + 1;
  atomic_add(read(bytes), bytes);
  expectMistake(DiagId::AtomicType,
                "`atomic_add` on `bytes`, which holds `i8`, expected i32, i64, f32, f64, f16 or bf16",
                "declare `bytes` with one of these types, and cast the value to it");
}

TEST_F(ErrorsTest, AtomicBitsOfFloats) {
  line = __LINE__ + 1;
  atomic_xor(read(a), a);
  expectMistake(DiagId::AtomicType, "`atomic_xor` on `a`, which holds `f32`, expected i32 or i64",
                "declare `a` with one of these types, and cast the value to it");
}

TEST_F(ErrorsTest, AtomicDims) {
  line = __LINE__ + 1;
  atomic_max(read(v), a);
  expectMistake(DiagId::WriteDims, "`atomic_max` of a tile with the dimensions `[M]` to `a`, expected `[M, N]`",
                "`broadcast(value, {M, N})` first");
}

TEST_F(ErrorsTest, BoundsDim) {
  line = __LINE__ + 1;
  read(v, {.bounds = DimMap{{N, 5}}});
  expectMistake(DiagId::BoundsDim, "`bounds` has an entry for `N`, but the tile has the dimensions `[M]`");
}

TEST_F(ErrorsTest, MappingArity) {
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  IndexMapping mapping{.num_iterators = 1, .inputs = {{M, i}, {N, j}}, .outputs = {{M, i}, {N, j}}};
  line = __LINE__ + 1;
  read(a, {.mapping = mapping});
  expectMistake(DiagId::MappingArity, "a mapping with 1 iterators has 2 outputs, expected one for each iterator");
}

TEST_F(ErrorsTest, MappingUsesAnUnknownDynamicValue) {
  auto i = IndexMapping::iterator(0);
  IndexMapping mapping{.num_iterators = 1, .inputs = {{M, IndexMapping::dynamic_val(0)}}, .outputs = {{M, i}}};
  line = __LINE__ + 1;
  read(v, {.mapping = mapping});
  expectMistake(DiagId::MappingArity, "the mapping uses `dynamic_val(0)`, but it has 1 iterators and 0 dynamic values");
}

TEST_F(ErrorsTest, MappingIdentity) {
  auto i = IndexMapping::iterator(0);
  IndexMapping mapping{.num_iterators = 1, .inputs = {{M, i}}, .outputs = {{M, i + 1}}};
  line = __LINE__ + 1;
  read(v, {.mapping = mapping});
  expectMistake(DiagId::MappingIdentity,
                "the outputs of a read map `M` to `iterator(0) + 1`, expected a bare iterator that is used once",
                "move the arithmetic to the inputs");
}

TEST_F(ErrorsTest, MappingDims) {
  auto i = IndexMapping::iterator(0);
  IndexMapping mapping{.num_iterators = 1, .inputs = {{N, i}}, .outputs = {{M, i}}};
  line = __LINE__ + 1;
  read(v, {.mapping = mapping});
  expectMistake(DiagId::MappingDims, "the inputs of the mapping index `[N]`, expected the dimensions `[M]` of `v`");
}

TEST_F(ErrorsTest, SourceWithoutBindings) {
  line = __LINE__ + 1;
  read(v, {.source = {symbol("i")}, .target = {symbol("i")}});
  expectMistake(DiagId::MappingIdentity, "`source`/`target` without iterator bindings",
                "add `IteratorBindings({{i, M}, {j, N}})` to the constraints");
}

} // namespace
