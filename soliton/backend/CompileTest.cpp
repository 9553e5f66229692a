// What both targets share: errors, survival, threads, time.
#include "soliton/backend/TestUtil.h"
#include "soliton/backend/common/Codegen.h"

#include "llvm/Support/ErrorHandling.h"

#include <csignal>
#include <thread>

namespace soliton::backend {
namespace {

void expectSays(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << "expected: " << part << "\nfound: " << text;
}

const std::string kPrelude = R"(
  %c0 = arith.constant 0 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %true = arith.constant true
  %lane = machine.id lane
  %buffer = machine.buffer %b[%zero], %bytes
)";

std::string errorIn(const char *target, const std::string &body, DiagId id = DiagId::BackendUnsupported,
                    int shared = 1024) {
  return errorOf(kernelText(chip(target), "%b: !machine.ptr", kPrelude + body, shared, 2), id);
}

TEST(Compile, WrongTarget) {
  Program program(readInput("copy.mlir"));
  EXPECT_TRUE(failed(compileToHsaco(program.kernel, chip("gfx950"))));
  EXPECT_TRUE(failed(compileToPtx(program.kernel, chip("sm_90a"))));
  EXPECT_TRUE(failed(compileToPtx(program.kernel, chip("gfx942"))));
  EXPECT_TRUE(program.saidId(DiagId::WrongTarget));
  expectSays(program.said(), "`copy` was made for gfx942, not for gfx950");
}

TEST(Compile, TooMuchOfSomething) {
  expectSays(errorOf(kernelText(chip("gfx942"), "%b: !machine.ptr", "", 65537), DiagId::BackendUnsupported),
             "needs 65537 bytes of shared memory, gfx942 has 65536");
  expectSays(errorOf(kernelText(chip("gfx942"), "%b: !machine.ptr", "", 0, 17), DiagId::BackendUnsupported),
             "has 1088 lanes");
  expectSays(errorOf(replaceAll(kernelText(chip("sm_90a"), "%b: !machine.ptr", ""), "wave_size = 32", "wave_size = 64"),
                     DiagId::BackendUnsupported),
             "has waves of 64 lanes, sm_90a has 32");
}

TEST(Compile, MatrixInstructionOfAnotherTarget) {
  std::string body =
      "  %a = arith.constant dense<0.0> : vector<8xf16>\n  %acc = arith.constant dense<0.0> : vector<4xf32>\n"
      "  %d = machine.mma \"v_mfma_f32_16x16x32_f16\" %a, %a, %acc : vector<8xf16>, vector<8xf16>, vector<4xf32>\n"
      "  machine.store %d, %buffer [%c0] {alignment = 16 : i64} : vector<4xf32>";
  std::string text = errorIn("gfx942", body);
  expectSays(text, "`v_mfma_f32_16x16x32_f16` does not exist on gfx942");
  expectSays(text, "v_mfma_f32_16x16x16_f16");
  expectSays(errorIn("sm_90a", body), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  expectSays(errorIn("gfx950", replaceAll(body, "<8xf16>", "<4xf16>")), "expected 128 bits a lane");
}

TEST(Compile, LongListsNameWhatIsAlike) {
  std::string text =
      errorIn("sm_90a", "  %d = arith.constant 0 : i64\n  %acc = arith.constant dense<0.0> : vector<64xf32>\n"
                        "  %r = machine.mma_async \"wgmma.mma_async.sync.aligned.m64n130k16.f32.bf16.bf16\" "
                        "lhs %d, %d, %acc : vector<64xf32>");
  expectSays(text, "m64n128k16.f32.bf16.bf16");
  EXPECT_EQ(text.find("f32.f16.f16"), std::string::npos) << text;
  EXPECT_LT(text.size(), 2000u) << text;
}

TEST(Compile, WidthsAndAlignments) {
  expectSays(errorIn("gfx942", "  %v = machine.load [%c0] {alignment = 8 : i64} : vector<4xf32>"),
             "a shared access of 16 bytes is aligned to 8, expected 16");
  expectSays(errorIn("gfx942", "  %v = machine.load [%c0] {alignment = 4 : i64} : vector<1xf32>",
                     DiagId::BackendUnsupported, 0),
             "in a kernel that has none");
  expectSays(errorIn("sm_90a", "  %v = machine.load %buffer [%c0] {alignment = 4 : i64} : vector<3xf32>"), "12 bytes");
  expectSays(errorIn("sm_90a", "  %v = machine.load %buffer [%c0] {alignment = 8 : i64} : vector<4xf32>"),
             "aligned to 8, expected 16");
}

TEST(Compile, WhatATargetDoesNotHave) {
  expectSays(errorIn("gfx942", "  machine.barrier {id = 1 : i64, waves = 1 : i64}"), "only one for all 2");
  expectSays(errorIn("sm_90a", "  machine.barrier {id = 16 : i64}"), "expected an id below 16");
  expectSays(errorIn("gfx942", "  machine.wait cp_async, 0"), "a counter that gfx942 does not have");
  expectSays(errorIn("gfx942", "  machine.wait vm, 64"), "expected 0 to 63");
  expectSays(errorIn("sm_90a", "  machine.wait mma, 8"), "expected 0 to 7");
  expectSays(errorIn("sm_90a", "  machine.commit vm"), "not counted in groups");
  expectSays(errorIn("gfx942", "  machine.registers 40"), "`machine.registers` does not exist on gfx942");
  expectSays(errorIn("sm_90a", "  machine.registers 41"), "a multiple of 8");
  expectSays(errorIn("gfx942", "  machine.priority 4"), "expected 0 to 3");
  expectSays(errorIn("gfx942", "  machine.fence shared_async"), "no asynchronous proxy");
  expectSays(errorIn("gfx942", "  %x, %y = machine.swap %c0, %c0 {width = 32 : i64}"), "has no instruction that swaps");
  expectSays(errorIn("gfx950", "  %x, %y = machine.swap %c0, %c0 {width = 8 : i64}"), "expected 16 or 32");
  expectSays(errorIn("gfx942", "  machine.copy_async %buffer [%c0], [%c0] {bytes = 16 : i64, lane_scatter}"),
             "expected `4`");
  expectSays(errorIn("gfx950", "  machine.copy_async %buffer [%c0], [%c0] {bytes = 16 : i64}"), "set lane_scatter");
  expectSays(errorIn("sm_90a", "  machine.copy_async %buffer [%c0], [%c0] {bytes = 12 : i64}"),
             "expected `4`, `8` or `16`");
  expectSays(errorIn("gfx942", "  %v = machine.load_matrix \"ds_read_b64_tr_b16\" [%c0] : vector<4xf16>"),
             "which has none");
  expectSays(errorIn("sm_90a", "  %v = machine.load_matrix \"ldmatrix.x3\" [%c0] : vector<4xf16>"),
             "`ldmatrix.x4.trans`");
}

TEST(Compile, TypesThatNoInstructionHas) {
  expectSays(errorIn("gfx942", "  %v = arith.constant dense<1.0> : vector<4xf32>\n"
                               "  %w = machine.convert %v : vector<4xf32> -> vector<4xf8E4M3FN>"),
             "gfx942 converts `f8e4m3fnuz` or `f8e5m2fnuz`");
  expectSays(errorIn("sm_90a", "  %v = arith.constant dense<1.0> : vector<4xf32>\n"
                               "  %w = machine.convert %v : vector<4xf32> -> vector<4xf4E2M1FN>"),
             "sm_90a converts `f8e4m3fn` or `f8e5m2`");
  expectSays(errorIn("sm_90a", "  %v = arith.constant dense<1.0> : vector<4xf32>\n"
                               "  %w = arith.truncf %v : vector<4xf32> to vector<4xf8E4M3FN>"),
             "use machine.convert");
  expectSays(errorIn("gfx942", "  %v = arith.constant 1.0 : f64\n  %w = math.exp %v : f64"), "expected f32 or smaller");
  expectSays(errorIn("gfx942", "  %v = arith.constant dense<1.0> : vector<2x2xf32>"), "expected a vector of rank 1");
  expectSays(errorIn("gfx942", "  %v = arith.constant 1 : index"), "which no target has");
  expectSays(errorIn("gfx942", "  %v = arith.constant dense<1> : vector<1xi8>\n"
                               "  %w = machine.atomic add %v, [%c0] : vector<1xi8> -> vector<1xi8>"),
             "expected 32 or 64 bits");
}

TEST(Compile, SurvivesWhatLlvmDoes) {
  EXPECT_EQ(runGuarded([] {}), std::nullopt);
  EXPECT_EQ(runGuarded([] { llvm::report_fatal_error("boom"); }), "boom");
  EXPECT_EQ(runGuarded([] { llvm::report_fatal_error("no dump", false); }), "no dump");
  EXPECT_TRUE(runGuarded([] { std::raise(SIGSEGV); }).has_value());
  Program program(readInput("copy.mlir"));
  EXPECT_TRUE(succeeded(program.compile())) << program.said();
}

TEST(Compile, LoopsAndBranches) {
  std::string body = R"(
  %c1 = arith.constant 1 : i32
  %c10 = arith.constant 10 : i32
  %start = arith.constant dense<0.0> : vector<4xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %start) -> (vector<4xf32>) : i32 {
    %even = arith.remsi %i, %c10 : i32
    %is = arith.cmpi eq, %even, %c0 : i32
    %next = scf.if %is -> (vector<4xf32>) {
      %x = machine.load %buffer [%i] {alignment = 16 : i64} : vector<4xf32>
      %y = arith.addf %acc, %x : vector<4xf32>
      scf.yield %y : vector<4xf32>
    } else {
      scf.yield %acc : vector<4xf32>
    }
    scf.yield %next : vector<4xf32>
  }
  %last = scf.while (%i = %n) : (i32) -> i32 {
    %more = arith.cmpi sgt, %i, %c10 : i32
    scf.condition(%more) %i : i32
  } do {
  ^bb0(%i: i32):
    %half = arith.shrsi %i, %c1 : i32
    scf.yield %half : i32
  }
  machine.store %sum, %buffer [%last] {alignment = 16 : i64} : vector<4xf32>)";
  for (const char *name : {"gfx942", "gfx950", "sm_90a"}) {
    Program program(kernelText(chip(name), "%b: !machine.ptr, %n: i32", kPrelude + body));
    auto code = program.compile();
    ASSERT_TRUE(succeeded(code)) << program.said();
    if (chip(name).vendor == Vendor::nvidia)
      SOLITON_ASSEMBLE(program, *code);
  }
}

TEST(Compile, ThreadsGetTheSameBytes) {
  auto compileBoth = [] {
    Program amd(readInput("gemm-amd.mlir")), nvidia(readInput("gemm-nvidia.mlir"));
    auto hsaco = amd.compile();
    auto ptx = nvidia.compile();
    return succeeded(hsaco) && succeeded(ptx) ? hsaco->bytes + ptx->assembly : std::string();
  };
  std::string alone = compileBoth();
  ASSERT_FALSE(alone.empty());
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string &result : results)
    threads.emplace_back([&] { result = compileBoth(); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &result : results)
    EXPECT_TRUE(result == alone);
}

TEST(Compile, TakesLittleMoreThanLlvm) {
  for (const char *file : {"gemm-amd.mlir", "gemm-nvidia.mlir"}) {
    double best = INFINITY;
    for (int i = 0; i < 3; ++i) {
      Program program(readInput(file));
      auto code = program.compile();
      ASSERT_TRUE(succeeded(code));
      double llvm = code->msOf("llvm_opt") + code->msOf("llvm_codegen");
      best = std::min(best, (llvm + code->msOf("translate") + code->msOf("lld")) / llvm);
    }
    EXPECT_LE(best, 1.3) << file;
  }
}

} // namespace
} // namespace soliton::backend
