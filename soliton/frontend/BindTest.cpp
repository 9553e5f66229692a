//===- BindTest.cpp - Mistakes that need numbers or a target ------------------------===//
#include "soliton/frontend/Bind.h"

#include "soliton/frontend/Emit.h"
#include "soliton/frontend/TestSupport.h"

using namespace soliton;
using namespace soliton::frontend;

namespace {

class BindTest : public LanguageTest {
protected:
  void SetUp() override { write(read(a) + 1.0, a); }

  /// Numbers for every symbol of the kernel, `changed` last.
  static Substitutions numbers(const Substitutions &changed = {}) {
    auto [M, N, K, BM, BN, BK] = symbols<"M N K BLOCK_M BLOCK_N BLOCK_K">();
    Substitutions subs{{M, 256}, {N, 256}, {K, 256}, {BM, 64}, {BN, 64}, {BK, 32}};
    for (const auto &[symbol, value] : changed) {
      std::erase_if(subs, [&, key = symbol](const auto &pair) { return pair.first == key; });
      subs.emplace_back(symbol, value);
    }
    return subs;
  }
  static Substitutions without(Expr symbol) {
    Substitutions subs = numbers();
    std::erase_if(subs, [&](const auto &pair) { return pair.first == symbol; });
    return subs;
  }

  std::vector<Diagnostic> bind(const Kernel &kernel, const BindOptions &options) {
    std::vector<Diagnostic> found;
    bound = bindProgram(*kernel.program(), options, found);
    return found;
  }

  /// A kernel with one wrong constraint, and what its waves are.
  Kernel with(Constraint constraint) {
    Kernel kernel{"with", {WorkgroupConstraint(M, BM, 0), std::move(constraint)}};
    auto x = kernel.memory("x", {M}, global, f32);
    write(read(x), x);
    return kernel;
  }

  Bindings bound;
};

TEST_F(BindTest, BindsWhatIsUsed) {
  Substitutions subs = numbers();
  subs.emplace_back(symbol("UNUSED"), 3);
  EXPECT_EQ(format(bind(k, {.subs = subs})), "");
  EXPECT_EQ(bound.values.at("BLOCK_M"), 64);
  EXPECT_FALSE(bound.values.contains("UNUSED"));
  EXPECT_TRUE(bound.dynamic.empty());
}

TEST_F(BindTest, ChainsInAnyOrder) {
  auto [X, Y] = symbols<"X Y">();
  EXPECT_EQ(format(bind(k, {.subs = numbers({{BM, X * 2}, {X, Y + 1}, {Y, 31}})})), "");
  EXPECT_EQ(bound.values.at("BLOCK_M"), 64);
}

TEST_F(BindTest, DynamicSizes) {
  Substitutions subs = without(M);
  EXPECT_EQ(format(bind(k, {.subs = subs, .dynamic = {M}})), "");
  EXPECT_EQ(bound.dynamic, std::vector<std::string>{"M"});
}

TEST_F(BindTest, AddressSpaceBySymbol) {
  Expr space = symbol("ADDRESS_SPACE");
  line = __LINE__ + 1;
  k.memory("x", {M}, space, f32);
  EXPECT_EQ(format(bind(k, {.subs = numbers({{space, shared}})})), "");
  EXPECT_EQ(bound.spaces.at("ADDRESS_SPACE"), AddressSpace::Shared);
  expectMistake(
      bind(k, {.subs = numbers()}), DiagId::AddressSpaceUnknown,
      "the address space of `x` is the symbol `ADDRESS_SPACE`, which `subs` does not bind to an address space",
      "add `{ADDRESS_SPACE, shared}` or `{ADDRESS_SPACE, global}` to `subs`");
}

TEST_F(BindTest, SymbolUnbound) {
  line = __LINE__ + 1;
  auto x = k.memory("x", {symbol("P")}, global, f32);
  expectMistake(bind(k, {.subs = numbers()}), DiagId::SymbolUnbound,
                "`P` in the shape of `x` is neither bound in `subs` nor dynamic",
                "add `{P, …}` to `subs`, or P to `dynamic`");
}

TEST_F(BindTest, NameInvalid) {
  line = __LINE__ + 1;
  auto x = k.memory("x", {symbol("P-1")}, global, f32);
  expectMistake(bind(k, {.subs = numbers()}), DiagId::NameInvalid, "`P-1` in the shape of `x` is no name of a size",
                "use letters, digits and `_`, starting with a letter");
}

TEST_F(BindTest, MachineSymbolsAreNoSizes) {
  line = __LINE__ + 1;
  Kernel kernel = with(TilingConstraint(K, symbol("$WG0")));
  expectMistake(bind(kernel, {.subs = numbers()}), DiagId::NameInvalid,
                "`$WG0` in the loop tile of `K` is no name of a size",
                "use letters, digits and `_`, starting with a letter");
}

TEST_F(BindTest, SymbolUnboundMisspelt) {
  line = __LINE__ + 1;
  auto x = k.memory("x", {symbol("LENGTH")}, global, f32);
  expectMistake(bind(k, {.subs = numbers({{symbol("LENGHT"), 3}})}), DiagId::SymbolUnbound,
                "`LENGTH` in the shape of `x` is neither bound in `subs` nor dynamic",
                "`subs` binds `LENGHT`, which the kernel does not use; did you mean `LENGTH`?");
}

TEST_F(BindTest, SymbolBoundAndDynamic) {
  Kernel kernel = with(HardwareConstraint{});
  std::vector<Diagnostic> found = bind(kernel, {.subs = numbers(), .dynamic = {M}});
  ASSERT_EQ(found.size(), 1u) << format(found);
  EXPECT_EQ(found[0].id, DiagId::SymbolBoundAndDynamic);
  EXPECT_EQ(found[0].message, "`M` is both bound in `subs` and dynamic");
  EXPECT_EQ(found[0].hint, "remove it from one of them");
}

TEST_F(BindTest, TileDynamic) {
  line = __LINE__ + 1;
  Kernel kernel = with(TilingConstraint(K, BK));
  expectMistake(bind(kernel, {.subs = without(BK), .dynamic = {BK}}), DiagId::TileDynamic,
                "the loop tile of `K` depends on `BLOCK_K`, which is dynamic",
                "bind tiles in `subs`; only sizes may be dynamic");
}

TEST_F(BindTest, DivisionInexact) {
  line = __LINE__ + 1;
  Kernel kernel = with(WaveConstraint(M, BM / 3));
  std::vector<Diagnostic> found = bind(kernel, {.subs = numbers()});
  ASSERT_EQ(found.size(), 1u) << format(found);
  EXPECT_EQ(found[0].id, DiagId::DivisionInexact);
  EXPECT_EQ(found[0].place.line, line);
  EXPECT_TRUE(found[0].message.starts_with("the wave tile of `M` is `BLOCK_M/3` with BLOCK_M = 64: "))
      << found[0].message;
  EXPECT_EQ(found[0].hint, "choose a multiple, or write `floordiv` or `ceildiv`");
}

/// What only a launch or a lane knows cannot be divided without a rest, unless something says so.
TEST_F(BindTest, DivisionOfWhatIsKnownLater) {
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  auto mapped = [&](Expr row) {
    return AccessOptions{
        .mapping = IndexMapping{.num_iterators = 2, .inputs = {{M, row}, {N, j}}, .outputs = {{M, i}, {N, j}}}};
  };
  auto inMapping = [&](Expr row) {
    Kernel kernel = with(HardwareConstraint{});
    auto x = kernel.memory("x", {M, N}, global, f32);
    line = __LINE__ + 1;
    write(read(x, mapped(row)), x);
    return bind(kernel, {.subs = numbers()});
  };
  expectMistake(inMapping(i / 2), DiagId::DivisionInexact,
                "`iterator(0)/2` in the mapping divides exactly, but nothing proves that nothing remains",
                "write `floordiv` or `ceildiv`, or add an `Assumption`");
  EXPECT_TRUE(inMapping((4 * i + 2 * j) / 2).empty());

  auto inCondition = [&](Constraint constraint) {
    Kernel kernel = with(constraint);
    auto x = kernel.memory("x", {M, N}, global, f32);
    line = __LINE__ + 1;
    kernel.conditional(sym::lt(workgroup_id(0), M / 2), [&] { write(read(x), x); });
    return bind(kernel, {.subs = without(M), .dynamic = {M}});
  };
  expectMistake(inCondition(HardwareConstraint{}), DiagId::DivisionInexact,
                "`workgroup_id(0) < M/2` in the condition divides exactly, but nothing proves that nothing remains",
                "write `floordiv` or `ceildiv`, or add an `Assumption`");
  EXPECT_TRUE(inCondition(Assumption(sym::eq(sym::mod(M, 2), 0))).empty());
}

TEST_F(BindTest, WaveTileIndivisible) {
  line = __LINE__ + 1;
  Kernel kernel = with(WaveConstraint(M, 48));
  expectMistake(bind(kernel, {.subs = numbers()}), DiagId::WaveTileIndivisible,
                "the workgroup tile of `M` is 64, which is no multiple of the wave tile 48",
                "choose tiles that divide");
}

TEST_F(BindTest, WaveTileOfALoopIndivisible) {
  line = __LINE__ + 1;
  Kernel kernel{"kernel", {WorkgroupConstraint(M, BM, 0), TilingConstraint(N, 96), WaveConstraint(N, 64)}};
  expectMistake(bind(kernel, {.subs = numbers()}), DiagId::WaveTileIndivisible,
                "the loop tile of `N` is 96, which is no multiple of the wave tile 64", "choose tiles that divide");
}

TEST_F(BindTest, WavesMismatch) {
  Expr tile = 32;
  line = __LINE__ + 1;
  HardwareConstraint hardware{.waves_per_block = {4, 1, 1}};
  Kernel kernel{"kernel", {WorkgroupConstraint(M, BM, 0), WaveConstraint(M, tile), hardware}};
  expectMistake(
      bind(kernel, {.subs = numbers()}), DiagId::WavesMismatch,
      "`waves_per_block` disagrees with the constraints of `M`, which make 2 waves along workgroup dimension 0",
      "leave `waves_per_block` out");
}

TEST_F(BindTest, SizeNotPositive) {
  line = __LINE__ + 1;
  Kernel kernel = with(TilingConstraint(K, BK - 32));
  expectMistake(bind(kernel, {.subs = numbers()}), DiagId::SizeNotPositive,
                "`BLOCK_K - 32` in the loop tile of `K` is 0, expected at least 1");
}

TEST_F(BindTest, ConstraintMissing) {
  Expr P = symbol("P");
  auto x = k.memory("x", {P}, global, f32);
  line = __LINE__ + 1;
  write(read(x), x);
  expectMistake(
      bind(k, {.subs = numbers(), .dynamic = {P}}), DiagId::ConstraintMissing,
      "`P` is dynamic and has neither a workgroup nor a tiling constraint, so one workgroup would hold all of it",
      "walk it by `TilingConstraint(P, BLOCK_P)` and `iterate`, share it out by `WorkgroupConstraint(P, BLOCK_P, 0)`, "
      "or bind P in `subs`");
}

TEST_F(BindTest, SubstitutionInvalid) {
  line = __LINE__ + 1;
  Place here = std::source_location::current();
  expectMistake(bind(k, {.subs = numbers({{M + 1, 3}}), .place = here}), DiagId::SubstitutionInvalid,
                "`subs` binds `M + 1`, which is no symbol");
  Substitutions twice = numbers();
  twice.emplace_back(M, 3);
  expectMistake(bind(k, {.subs = twice, .place = here}), DiagId::SubstitutionInvalid,
                "`subs` binds `M` to `256` and to `3`", "remove one of them");
}

TEST_F(BindTest, SubstitutionRefersToItself) {
  Kernel kernel = with(HardwareConstraint{});
  auto [X, Y] = symbols<"X Y">();
  std::vector<Diagnostic> found = bind(kernel, {.subs = numbers({{BM, X}, {X, Y}, {Y, X}})});
  ASSERT_EQ(found.size(), 1u) << format(found);
  EXPECT_EQ(found[0].id, DiagId::SubstitutionInvalid);
  EXPECT_EQ(found[0].hint, "bind the symbols in it, and let none refer to itself");
}

//===- Targets ------------------------------------------------------------------------===//

TEST_F(BindTest, UnknownTarget) {
  std::vector<Diagnostic> found = bind(k, {.subs = numbers(), .target = "gfx943"});
  ASSERT_EQ(found.size(), 1u) << format(found);
  EXPECT_EQ(idText(found[0].id), "unknown-target");
}

TEST_F(BindTest, WaveSizeMismatch) {
  line = __LINE__ + 1;
  Kernel kernel = with(HardwareConstraint{.threads_per_wave = 64});
  expectMistake(bind(kernel, {.subs = numbers(), .target = "sm_90a"}), DiagId::WaveSizeMismatch,
                "`threads_per_wave` is 64, but waves of `sm_90a` have 32", "leave it out for the target's default");
  EXPECT_EQ(format(bind(kernel, {.subs = numbers(), .target = "gfx942"})), "");
}

TEST_F(BindTest, ServiceWavesWhereBoxesAreCopied) {
  line = __LINE__ + 1;
  Kernel served = with(HardwareConstraint{.n_service_waves = 4});
  EXPECT_EQ(format(bind(served, {.subs = numbers(), .target = "sm_90a"})), "");
  EXPECT_EQ(format(bind(served, {.subs = numbers()})), "");
  for (const char *target : {"gfx942", "gfx950"})
    expectMistake(bind(served, {.subs = numbers(), .target = target}), DiagId::NotSupportedHere,
                  "`n_service_waves` is 4, but `" + std::string(target) +
                      "` copies no boxes, which those waves ask for",
                  "leave it out for this target");
}

TEST_F(BindTest, ClustersWhereTheTargetHasThem) {
  line = __LINE__ + 1;
  Kernel together = with(HardwareConstraint{.workgroups_per_cluster = {1, 4, 1}});
  EXPECT_EQ(format(bind(together, {.subs = numbers(), .target = "sm_90a"})), "");
  EXPECT_EQ(format(bind(together, {.subs = numbers()})), "");
  expectMistake(bind(together, {.subs = numbers(), .target = "gfx942"}), DiagId::NotSupportedHere,
                "`workgroups_per_cluster` asks for 4, but `gfx942` has no clusters",
                "leave it out for this target, or ask for fewer");
  line = __LINE__ + 1;
  Kernel many = with(HardwareConstraint{.workgroups_per_cluster = {32}});
  expectMistake(bind(many, {.subs = numbers(), .target = "sm_90a"}), DiagId::NotSupportedHere,
                "`workgroups_per_cluster` asks for 32, but `sm_90a` has clusters of 16 at most",
                "leave it out for this target, or ask for fewer");
}

TEST_F(BindTest, ServiceWavesAreOfTheKernel) {
  mlir::MLIRContext context;
  for (int64_t waves : {0, 1, 4}) {
    Kernel served = with(HardwareConstraint{.n_service_waves = waves});
    EmittedKernel emitted = emitKernel(served, context, {.subs = numbers(), .target = "sm_90a"});
    ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
    wave::KernelOp kernel = *emitted.module->getOps<wave::KernelOp>().begin();
    EXPECT_EQ(kernel.getServiceWaves(), waves > 0 ? std::optional<uint64_t>(waves) : std::nullopt);
  }
}

TEST_F(BindTest, AVectorShapeOfZeroIsForTilesOfOneElement) {
  Kernel one{"one", {WorkgroupConstraint(M, 1, 0), HardwareConstraint{.vector_shapes = {{M, 0}}}}};
  EXPECT_EQ(format(bind(one, {.subs = numbers()})), "");
  line = __LINE__ + 1;
  HardwareConstraint hardware{.vector_shapes = {{M, 0}}};
  Kernel kernel{"kernel", {WorkgroupConstraint(M, 4, 0), hardware}};
  expectMistake(bind(kernel, {.subs = numbers()}), DiagId::HardwareValue,
                "the vector shape of `M` is 0, so a workgroup has one element of it, but its tile has 4",
                "give `M` a tile of 1, or leave its vector shape out");
}

TEST_F(BindTest, ADimensionThatOnlyWorkgroupsHaveIsBoundOrMissed) {
  Expr S = symbol("S");
  line = __LINE__ + 1;
  WorkgroupConstraint parts(S, 1, 1);
  Kernel kernel{"kernel", {WorkgroupConstraint(M, 4, 0), parts}};
  expectMistake(bind(kernel, {.subs = numbers()}), DiagId::SymbolUnbound,
                "`S` in the workgroups of `S` is neither bound in `subs` nor dynamic",
                "`subs` binds `K`, which the kernel does not use; did you mean `S`?");
  EXPECT_EQ(format(bind(kernel, {.subs = numbers({{S, 2}})})), "");
}

TEST_F(BindTest, MmaOfTheTarget) {
  Value acc = k.fill({M, N}, f32, 0);
  k.iterate(K, [&] {
    line = __LINE__ + 1;
    write(mma(read(lhs), read(rhs), acc, {.mma_type = "F32_16x16x16_F61"}), a);
  });
  std::vector<Diagnostic> found = bind(k, {.subs = numbers(), .target = "gfx942"});
  ASSERT_EQ(found.size(), 1u) << format(found);
  EXPECT_EQ(idText(found[0].id), "mma-unknown");
  EXPECT_EQ(found[0].place.line, line);
}

TEST_F(BindTest, MmaOfAnotherTarget) {
  Value acc = k.fill({M, N}, f32, 0);
  k.iterate(K, [&] { write(mma(read(lhs), read(rhs), acc, {.mma_type = F32_16x16x128_F8F6F4}), a); });
  std::vector<Diagnostic> found = bind(k, {.subs = numbers(), .target = "gfx942"});
  ASSERT_EQ(found.size(), 1u) << format(found);
  EXPECT_EQ(idText(found[0].id), "mma-not-on-target");
}

TEST_F(BindTest, MmaOfOtherTypes) {
  Value acc = k.fill({M, N}, f32, 0);
  k.iterate(K, [&] { write(mma(read(lhs), read(rhs), acc, {.mma_type = F32_16x16x32_F8}), a); });
  std::vector<Diagnostic> found = bind(k, {.subs = numbers(), .target = "gfx942"});
  ASSERT_EQ(found.size(), 1u) << format(found);
  EXPECT_EQ(idText(found[0].id), "mma-type-mismatch");
}

//===- Emission -----------------------------------------------------------------------===//

TEST_F(BindTest, KernelWritesNothing) {
  line = __LINE__ + 1;
  Kernel idle{"idle", {}};
  mlir::MLIRContext context;
  EmittedKernel emitted = emitKernel(idle, context, {});
  EXPECT_FALSE(emitted.module);
  expectMistake(emitted.diagnostics, DiagId::KernelWritesNothing,
                "kernel `idle` writes nothing, expected at least one `write`", "write its result to a memory");
}

TEST_F(BindTest, SplitBarriersThatNobodyWaitsFor) {
  write(read(a), b);
  line = __LINE__ + 1;
  k.shared_memory_barrier_signal(3);
  mlir::MLIRContext context;
  EmittedKernel emitted = emitKernel(k, context, {.subs = numbers(), .target = "gfx942"});
  EXPECT_FALSE(emitted.module);
  expectMistake(emitted.diagnostics, DiagId::BarrierPairing,
                "the barrier 3 is signalled and never waited for in this block",
                "put `shared_memory_barrier_wait` behind it, in the same loop or branch");
}

TEST_F(BindTest, AllMistakesComeTogether) {
  read(a) + read(b);
  mlir::MLIRContext context;
  EmittedKernel emitted = emitKernel(k, context, {.subs = without(M)});
  EXPECT_FALSE(emitted.module);
  EXPECT_EQ(emitted.diagnostics.size(), 2u) << format(emitted.diagnostics);
}

} // namespace
