//===- EmitTest.cpp - Traced kernels as MLIR ---------------------------------------===//
#include "soliton/frontend/Emit.h"

#include "soliton/frontend/Ops.h"
#include "soliton/ir/Wave.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace soliton;

namespace {

using Lines = std::vector<std::string>;

class EmitTest : public testing::Test {
protected:
  /// The printed module of a kernel; its diagnostics if there are errors. Checks that it verifies and reads back.
  std::string emit(const Kernel &kernel, const EmitOptions &options) {
    EmittedKernel emitted = emitKernel(kernel, context, options);
    if (!emitted.module)
      return format(emitted.diagnostics);
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*emitted.module)));
    std::string text = print(*emitted.module);
    auto again = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(again) << text;
    if (again)
      EXPECT_EQ(print(*again), text);
    return text;
  }

  static std::string print(mlir::ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream);
    return text;
  }

  /// The lines of `text` from the first `^bb0` on, trimmed, without the closing braces.
  static std::vector<std::string> bodyOf(const std::string &text) {
    std::vector<std::string> lines;
    size_t at = text.find("^bb0");
    while (at != std::string::npos && at < text.size()) {
      size_t end = text.find('\n', at);
      std::string line = text.substr(at, end - at);
      line.erase(0, line.find_first_not_of(' '));
      if (!line.empty() && line != "}")
        lines.push_back(line);
      at = end == std::string::npos ? end : end + 1;
    }
    return lines;
  }

  mlir::MLIRContext context;
  Expr M = symbol("M"), N = symbol("N"), K = symbol("K");
  Expr BM = symbol("BLOCK_M"), BN = symbol("BLOCK_N"), BK = symbol("BLOCK_K");
};

TEST_F(EmitTest, Gemm) {
  Kernel gemm{"gemm",
              {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
               WaveConstraint(M, BM / 2), WaveConstraint(N, BN / 2), HardwareConstraint{.mma = F32_16x16x16_F16}}};
  auto a = gemm.memory("a", {M, K}, shared, f16), b = gemm.memory("b", {N, K}, shared, f16);
  auto c = gemm.memory("c", {M, N}, global, f32);
  auto sum = gemm.iterate(K, gemm.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); });
  write(sum, c);
  std::string text =
      emit(gemm, {.subs = {{M, 1024}, {N, 1024}, {K, 1024}, {BM, 128}, {BN, 128}, {BK, 32}}, .target = "gfx942"});
  EXPECT_EQ(
      bodyOf(text),
      (Lines{(R"(^bb0(%arg0: !wave.memory<["M", "K"], f16, shared>, %arg1: !wave.memory<["N", "K"], f16, shared>, )"
              R"(%arg2: !wave.memory<["M", "N"], f32, global>):)"),
             R"(%0 = wave.fill 0.000000e+00 : f32 -> <[M, N], f32>)",
             R"(%1 = wave.iterate "K"(%0) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {)",
             R"(^bb0(%arg3: index, %arg4: !wave.tile<[M, N], f32>):)",
             R"(%2 = wave.read %arg0 : <["M", "K"], f16, shared> -> <[M, K], f16>)",
             R"(%3 = wave.read %arg1 : <["N", "K"], f16, shared> -> <[N, K], f16>)",
             R"(%4 = wave.mma %2, %3, %arg4 : <[M, K], f16>, <[N, K], f16>, <[M, N], f32>)",
             R"(wave.yield %4 : !wave.tile<[M, N], f32>)",
             R"(wave.write %1, %arg2 : <[M, N], f32>, <["M", "N"], f32, global>)"}));
  EXPECT_NE(text.find(R"(#wave.wave<dim = "M", tile = <"BLOCK_M/2">>)"), std::string::npos);
  EXPECT_NE(text.find(R"(#wave.hardware<mma = "F32_16x16x16_F16">)"), std::string::npos);
  EXPECT_NE(text.find(R"(form = 0 : i32)"), std::string::npos);
  EXPECT_NE(text.find(R"(K = 1024 : i64)"), std::string::npos);
}

TEST_F(EmitTest, LocationsAreTheAuthors) {
  Kernel kernel{"kernel", {WorkgroupConstraint(M, BM, 0)}};
  auto a = kernel.memory("a", {M}, global, f32);
  int line = __LINE__ + 1;
  write(named(read(a), "x"), a);
  EmittedKernel emitted = emitKernel(kernel, context, {.subs = {{M, 64}, {BM, 64}}});
  ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
  emitted.module->walk([&](wave::ReadOp read) {
    auto name = llvm::dyn_cast<mlir::NameLoc>(read.getLoc());
    ASSERT_TRUE(name);
    EXPECT_EQ(name.getName(), "x");
    auto place = llvm::cast<mlir::FileLineColLoc>(name.getChildLoc());
    EXPECT_EQ(place.getLine(), static_cast<unsigned>(line));
    EXPECT_TRUE(place.getFilename().getValue().ends_with("EmitTest.cpp"));
  });
}

TEST_F(EmitTest, EveryOp) {
  Kernel kernel{"kernel", {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1)}};
  auto a = kernel.memory("a", {M, N}, global, f32);
  auto t = kernel.memory("t", {N, M}, global, f32);
  Value s = kernel.scalar("s", f32);
  Value x = read(a, {.elements_per_thread = BN / 16, .tag = "load"});
  Value y = select(x < s, exp2(x), max(x, N));
  Value index = apply_expr(kernel.self_index(N, i32), [](Expr n) { return 2 * n + 1; });
  Value z = y + cast(broadcast(index, {M, N}), f32);
  write(permute(z, {N, M}, {.tag = "turn"}), t, {.bounds = DimMap{{M, 5}}});
  std::string text = emit(kernel, {.subs = {{M, 64}, {N, 64}, {BM, 64}, {BN, 64}}});
  EXPECT_EQ(
      bodyOf(text),
      (Lines{
          (R"(^bb0(%arg0: !wave.memory<["M", "N"], f32, global>, %arg1: !wave.memory<["N", "M"], f32, global>, )"
           R"(%arg2: f32):)"),
          R"(%0 = wave.read %arg0 {elements_per_thread = 4 : i64, tags = ["load"]} : <["M", "N"], f32, global> -> <[M, N], f32>)",
          R"(%1 = wave.splat %arg2 : f32 -> <[M, N], f32>)",
          R"(%2 = wave.compare lt %0, %1 : <[M, N], f32>, <[M, N], f32> -> <[M, N], i1>)",
          R"(%3 = wave.unary exp2 %0 : <[M, N], f32> -> <[M, N], f32>)",
          R"(%4 = wave.reduce max %0 along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>)",
          R"(%5 = wave.select %2, %3, %4 : <[M, N], i1>, <[M, N], f32>, <[M], f32> -> <[M, N], f32>)",
          R"(%6 = wave.self_index "N" : <[N], i32>)",
          R"(%7 = wave.apply_expr <"2*$APPLY_EXPR_ARG_0 + 1"> %6 : (!wave.tile<[N], i32>) -> !wave.tile<[N], i32>)",
          R"(%8 = wave.broadcast %7 : <[N], i32> -> <[M, N], i32>)",
          R"(%9 = wave.cast %8 : <[M, N], i32> -> <[M, N], f32>)",
          R"(%10 = wave.binary add %5, %9 : <[M, N], f32>, <[M, N], f32> -> <[M, N], f32>)",
          R"(%11 = wave.permute %10 {tags = ["turn"]} : <[M, N], f32> -> <[N, M], f32>)",
          R"(wave.write %11, %arg1 {bounds = ["unbounded", #wave.expr<"5">]} : <[N, M], f32>, <["N", "M"], f32, global>)"}));
}

TEST_F(EmitTest, RelationsAreOneBit) {
  Kernel kernel{"kernel", {WorkgroupConstraint(N, BN, 0)}};
  auto a = kernel.memory("a", {N}, global, i32);
  Value x = read(a);
  Value inside = apply_expr(x, [](Expr e) { return sym::logicalAnd(sym::le(2, e), sym::lt(e, 9)); });
  EXPECT_EQ(inside.type(), i1);
  write(select(inside, x, 0), a);
  std::string text = emit(kernel, {.subs = {{N, 64}, {BN, 64}}});
  EXPECT_NE(text.find("-> !wave.tile<[N], i1>"), std::string::npos) << text;
}

TEST_F(EmitTest, BarriersWaitsAndHints) {
  Kernel kernel{"kernel", {WorkgroupConstraint(N, BN, 0)}};
  auto a = kernel.memory("a", {N}, global, f32);
  kernel.set_wave_prio(3);
  Value x = read(a);
  kernel.shared_memory_barrier_signal(7);
  kernel.memory_counter_wait_barrier({.load = 1, .ds = 0});
  kernel.shared_memory_barrier_wait(7);
  kernel.shared_memory_barrier();
  kernel.scheduling_barrier({InstructionClass::VALU, InstructionClass::SALU});
  kernel.scheduling_group_barrier({{InstructionClass::MMA, 4}, {InstructionClass::DS_READ, 1}}, 2);
  write(x, a);
  std::vector<std::string> lines = bodyOf(emit(kernel, {.subs = {{N, 64}, {BN, 64}}}));
  std::erase_if(lines,
                [](const std::string &line) { return line.starts_with("wave.write") || !line.starts_with("wave."); });
  EXPECT_EQ(lines, (Lines{"wave.priority 3", "wave.wait vm, 1", "wave.wait shared, 0", "wave.barrier", "wave.barrier",
                          "wave.barrier", "wave.sched_barrier {mask = 6 : i64}",
                          "wave.sched_group {count = 4 : i64, group = 2 : i64, mask = 8 : i64}",
                          "wave.sched_group {count = 1 : i64, group = 2 : i64, mask = 256 : i64}"}));
}

TEST_F(EmitTest, MappingsAndDynamicValues) {
  Kernel kernel{"kernel", {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1)}};
  auto table = kernel.memory("table", {N, M}, global, f32), out = kernel.memory("out", {M, N}, global, f32);
  auto rows = kernel.memory("rows", {M}, global, i32);
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1), d = IndexMapping::dynamic_val(0);
  IndexMapping mapping{.num_iterators = 2, .inputs = {{N, j}, {M, d}}, .outputs = {{M, i}, {N, j}}};
  write(read(table, {.mapping = mapping, .mapping_dynamic_vals = {read(rows)}}), out);
  std::string text = emit(kernel, {.subs = {{BM, 64}, {BN, 64}}, .dynamic = {M, N}});
  EXPECT_NE(text.find(R"(wave.read %arg0 using %0 : !wave.tile<[M], i32> {indices = [#wave.expr<"$index1">, )"
                      R"(#wave.expr<"$dynamic_val0">]})"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(dynamic = ["M", "N"])"), std::string::npos) << text;
}

TEST_F(EmitTest, NativeF8IsTheTargets) {
  for (auto [target, type] : {std::pair{"gfx942", "f8E4M3FNUZ"}, {"gfx950", "f8E4M3FN"}, {"sm_90a", "f8E4M3FN"}}) {
    Kernel kernel{"kernel", {WorkgroupConstraint(M, BM, 0)}};
    auto a = kernel.memory("a", {M}, global, f8);
    write(read(a), a);
    std::string text = emit(kernel, {.subs = {{M, 64}, {BM, 64}}, .target = target});
    EXPECT_NE(text.find(std::string("!wave.memory<[\"M\"], ") + type + ", global>"), std::string::npos) << text;
  }
}

TEST_F(EmitTest, EveryConstraint) {
  Expr P = symbol("P");
  Kernel kernel{
      "kernel",
      {WorkgroupConstraint(M, BM, 0, {.apply_fn = [](Expr wg) { return 2 * wg; }, .iters = 7}),
       TilingConstraint(N, BN, {.iters = 3, .start = 1}), WaveConstraint(M, BM / 2),
       HardwareConstraint{
           .threads_per_wave = 64, .waves_per_block = {2, 1, 1}, .vector_shapes = {{N, 8}}, .max_bits_per_load = 64},
       GridConstraint(304), ReorderingConstraint(symbol("$WG0") * 2, 0),
       SymbolicAlias(P, M, [](Expr x) { return x / 2; }), Assumption(M > 3)}};
  auto a = kernel.memory("a", {M}, global, f32);
  write(read(a), a);
  std::string text = emit(kernel, {.subs = {{M, 64}, {BM, 64}, {BN, 8}, {P, 32}}});
  for (const char *part :
       {R"(#wave.workgroup<dim = "M", tile = <"BLOCK_M">, workgroupDim = 0, apply = <"2*$WG">, iters = <"7">>)",
        R"(#wave.tiling<dim = "N", tile = <"BLOCK_N">, iters = <"3">, start = <"1">>)", R"(threadsPerWave = 64 : i64)",
        R"(maxBitsPerLoad = 64)", R"(#wave.grid<size = <"304">>)",
        R"(#wave.reordering<equation = <"2*$WG0">, workgroupDim = 0>)",
        R"(#wave.alias<source = "P", target = "M", sourceToTarget = <"$x/2">>)", R"(#wave.assume<predicate = <)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_F(EmitTest, LoopsOfSeveralValuesAndNone) {
  Kernel kernel{"kernel", {WorkgroupConstraint(M, BM, 0), TilingConstraint(N, BN)}};
  auto a = kernel.memory("a", {M, N}, global, f32);
  Value zero = kernel.fill({M}, f32, 0);
  auto [p, q] = kernel.iterate(N, {zero, zero}, [&](Value x, Value y) { return std::tuple{sum(read(a), x, N), y}; });
  kernel.iterate(N, [&, p = p, q = q] { write(read(a) + p + q, a); }, {.tag = "second"});
  std::string text = emit(kernel, {.subs = {{M, 64}, {N, 64}, {BM, 64}, {BN, 8}}});
  EXPECT_NE(text.find(R"(= wave.iterate "N"(%0, %0) :)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(wave.iterate "N"() {tags = ["second"]} : () -> ())"), std::string::npos) << text;
}

} // namespace
