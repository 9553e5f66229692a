//===- CliTest.cpp - The command line, as others call it ------------------------------------------===//
#include "tools/soliton/TestCli.h"

#include "kernels/Kernels.h"

#include "soliton/target/Target.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace soliton::cli {
namespace {
using nlohmann::json;

//===-- run ---------------------------------------------------------------------------------------------===//

TEST_F(Cli, CacheListsVerifiesAndClears) {
  ::setenv("SOLITON_CACHE_DIR", path("cache").c_str(), 1);
  const char *was = std::getenv("SOLITON_CACHE");
  ::setenv("SOLITON_CACHE", "on", 1);
  std::vector<std::string> run = {"run", "copy", "--size", "M=64,N=64", "--json"};
  EXPECT_EQ(soliton(run).parsed().at("from_cache"), false);
  EXPECT_EQ(soliton(run).parsed().at("from_cache"), true);
  json list = soliton({"cache", "list", "--json"}).parsed();
  ASSERT_EQ(list.at("entries").size(), 1u);
  EXPECT_EQ(list["entries"][0].at("kernel"), "copy");
  EXPECT_EQ(list["entries"][0].at("target"), "gfx942");
  EXPECT_NE(soliton({"cache", "list"}).out.find("copy for gfx942, emulator, used "), std::string::npos);
  EXPECT_EQ(soliton({"cache", "verify"}).code, 0);
  std::ofstream(path("cache") + "/" + list["entries"][0].at("key").get<std::string>() + ".kernel", std::ios::app)
      << "x";
  Said verified = soliton({"cache", "verify"});
  EXPECT_EQ(verified.code, 1);
  EXPECT_EQ(verified.out, "0 kernels and plug-ins are whole, 1 were damaged and are gone\n");
  EXPECT_EQ(soliton(run).parsed().at("from_cache"), false);
  EXPECT_EQ(soliton({"cache", "clear", "--json"}).parsed().at("removed"), 1);
  EXPECT_EQ(soliton({"cache", "list", "--json"}).parsed().at("entries").size(), 0u);
  expectUsage({"cache", "frob"}, {"frob", "list", "verify", "clear"});
  std::filesystem::permissions(path("cache"), std::filesystem::perms::all);
  expectUsage({"cache", "list"}, {"can be written by others", "SOLITON_CACHE_DIR"});
  ::setenv("SOLITON_CACHE", "off", 1);
  expectUsage({"cache", "list"}, {"the cache is off"});
  ::unsetenv("SOLITON_CACHE_DIR");
  was ? ::setenv("SOLITON_CACHE", was, 1) : ::unsetenv("SOLITON_CACHE");
}

TEST_F(Cli, RunAsOthersCallIt) {
  Said said =
      soliton({"run", "gemm", "--target", "gfx942", "--device", "emulator", "--size", "M=256,N=256,K=256", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(std::ranges::count(said.out, '\n'), 1);
  json report = said.parsed();
  EXPECT_EQ(report.at("kernel"), "gemm");
  EXPECT_EQ(report.at("target"), "gfx942");
  EXPECT_EQ(report.at("device"), "emulator");
  EXPECT_EQ(report.at("ok"), true);
  EXPECT_GT(report.at("max_abs_error").get<double>(), 0);
  EXPECT_GT(report.at("error_bound").get<double>(), report.at("max_abs_error").get<double>());
  EXPECT_GT(report.at("run_ms").get<double>(), 0);
  double sum = 0;
  for (auto &[phase, ms] : report.at("compile_ms").items())
    sum += phase == "total" ? 0 : ms.get<double>();
  EXPECT_NEAR(report.at("compile_ms").at("total").get<double>(), sum, 1e-6);
  EXPECT_GT(sum, 0);
}

/// Sums of 8-bit floats by the matrix instructions that `auto` takes, held against the bound of what they keep.
TEST_F(Cli, RunSumsOfBytes) {
  for (const char *type : {"f8", "f8-f16", "f8-bf16"})
    for (const char *shortSums : {"off", "on"}) {
      Said said = soliton({"run", "gemm", "--target", "sm_90a", "--device", "emulator", "--dtype", type, "--size",
                           "M=70,N=72,K=400", "--short-sums", shortSums, "--json"});
      ASSERT_EQ(said.code, 0) << said.err;
      EXPECT_EQ(said.parsed().at("ok"), true);
    }
  expectUsage({"run", "gemm", "--target", "sm_90a", "--short-sums", "perhaps"}, {"--short-sums", "perhaps"});
}

TEST_F(Cli, RunOnEveryTarget) {
  for (const Target *target : allTargets()) {
    Said said = soliton(
        {"run", "gemm", "--target", target->name, "--device", "emulator", "--size", "M=33,N=17,K=40", "--json"});
    ASSERT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(said.parsed().at("target"), target->name);
    EXPECT_EQ(said.parsed().at("ok"), true);
  }
}

TEST_F(Cli, RunWithEveryOption) {
  Said said = soliton({"run", "gemm", "--target", "sm_90a", "--dtype", "bf16-bf16", "--set", "BLOCK_M=64,BLOCK_N=64",
                       "--dynamic", "M,N,K", "--seed", "7", "--check", "off", "--size", "M=65,N=3,K=31", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.parsed().at("dtype"), "bf16-bf16");
  EXPECT_EQ(said.parsed().at("size"), json({{"M", 65}, {"N", 3}, {"K", 31}}));
}

TEST_F(Cli, DirectCopiesAreSaidAndMade) {
  std::vector<std::string> compile = {"compile", "gemm", "--target", "gfx950", "--emit", "machine"};
  auto makes = [&](const char *value) {
    std::vector<std::string> words = compile;
    words.insert(words.end(), {"--direct-copies", value});
    Said said = soliton(words);
    EXPECT_EQ(said.code, 0) << said.err;
    return said.out.find("machine.copy_async") != std::string::npos;
  };
  EXPECT_TRUE(makes("on"));
  EXPECT_FALSE(makes("off"));
  EXPECT_EQ(soliton({"run", "gemm", "--target", "gfx950", "--direct-copies", "on", "--size", "M=70,N=65,K=96"}).code,
            0);
}

TEST_F(Cli, RunInWords) {
  Said said = soliton({"run", "copy", "--size", "M=3,N=5"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(said.out.starts_with("copy on gfx942 (emulator): right, max error 0")) << said.out;
}

TEST_F(Cli, RunInPlaceWhereTheKernelAllowsIt) {
  for (const Target *target : allTargets()) {
    auto run = [&](const char *kernel, const char *size, const char *pair) {
      return soliton({"run", kernel, "--target", target->name, "--size", size, "--in-place", pair});
    };
    EXPECT_EQ(run("row_softmax", "M=37,N=601", "b=a").code, 0) << target->name;
    EXPECT_EQ(run("axpy", "M=3000", "z=y").code, 0) << target->name;
    Said refused = run("transpose", "M=64,N=64", "b=a");
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find("[argument-overlap]"), std::string::npos) << refused.err;
  }
  expectUsage({"run", "axpy", "--in-place", "z=alpha"}, {"`alpha` is no input", "x", "y", "OUTPUT=INPUT"});
  expectUsage({"run", "axpy", "--in-place", "x"}, {"`x` is no output", "z"});
}

TEST_F(Cli, SameSeedSameError) {
  auto error = [&](const char *seed) {
    return soliton({"run", "gelu", "--size", "M=20,N=20", "--seed", seed, "--json"})
        .parsed()
        .at("max_abs_error")
        .get<double>();
  };
  EXPECT_EQ(error("3"), error("3"));
  EXPECT_NE(error("3"), error("4"));
}

//===-- compile -------------------------------------------------------------------------------------------===//

TEST_F(Cli, CompileToEveryFormOfAmd) {
  struct {
    const char *emit, *begins, *contains;
  } forms[] = {{"wave", "", "wave.kernel @gemm"},
               {"machine", "", "machine.kernel @gemm"},
               {"llvm", "", "define amdgpu_kernel void @gemm"},
               {"asm", "", "v_mfma_f32"},
               {"hsaco",
                "\x7f"
                "ELF",
                ".kd"}};
  for (auto [emit, begins, contains] : forms) {
    Said said = soliton(
        {"compile", "gemm", "--target", "gfx950", "--size", "M=128,N=128,K=64", "--emit", emit, "-o", path(emit)});
    EXPECT_EQ(said.code, 0) << emit << "\n" << said.err;
    EXPECT_EQ(said.out, "wrote " + path(emit) + "\n");
    EXPECT_TRUE(read(emit).starts_with(begins)) << emit;
    EXPECT_NE(read(emit).find(contains), std::string::npos) << emit;
  }
}

TEST_F(Cli, CompileToPtx) {
  Said said = soliton({"compile", "gemm", "--target", "sm_90a", "--size", "M=128,N=128,K=64", "--emit", "ptx"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find(".target sm_90a"), std::string::npos);
  EXPECT_NE(said.out.find("wgmma.mma_async"), std::string::npos);
  said = soliton(
      {"compile", "gemm", "--target", "sm_90a", "--size", "M=128,N=128,K=64", "--schedule", "none", "--emit", "ptx"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("mma.sync"), std::string::npos);
}

/// Wherever code is written that a driver will assemble, an assembler at hand has its say first.
TEST_F(Cli, WhatTheAssemblerSaysOfSpillsIsHeardOfEveryForm) {
  std::filesystem::create_directories(folder / "bin");
  write("bin/ptxas", "#!/bin/sh\nfor last; do :; done\necho cubin > $last\necho '  8 bytes stack frame, 8 bytes spill "
                     "stores, 8 bytes spill loads'\n");
  std::filesystem::permissions(folder / "bin" / "ptxas", std::filesystem::perms::owner_all);
  const char *home = std::getenv("CUDA_HOME");
  std::string before = home ? home : "";
  ::setenv("CUDA_HOME", folder.c_str(), 1);
  std::vector<std::string> words = {"compile", "copy", "--target", "sm_90a", "--size", "M=64,N=64"};
  auto with = [&](const std::vector<std::string> &more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return soliton(all);
  };
  for (const std::vector<std::string> &form : {std::vector<std::string>{"--emit", "image", "-o", path("image")},
                                               {"--emit", "cubin", "-o", path("cubin")},
                                               {"--aot", path("shipped")}}) {
    Said said = with(form);
    EXPECT_EQ(said.code, 2) << form[1] << said.out;
    EXPECT_NE(said.err.find("spills 8 bytes of registers a lane [register-spill]"), std::string::npos) << said.err;
    EXPECT_NE(said.err.find("note: most registers are alive here"), std::string::npos) << said.err;
  }
  // A text is for whoever wants to know what is wrong with it.
  Said text = with({"--emit", "ptx"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.err.find("warning: `copy` spills 8 bytes of registers a lane [register-spill]"), std::string::npos)
      << text.err;
  home ? ::setenv("CUDA_HOME", before.c_str(), 1) : ::unsetenv("CUDA_HOME");
}

TEST_F(Cli, CompileExplainsWhatAutoTook) {
  std::vector<std::string> words = {"compile", "gemm", "--target", "sm_90a", "--emit", "machine", "-o", path("m")};
  Said quiet = soliton(words);
  EXPECT_EQ(quiet.code, 0) << quiet.err;
  EXPECT_EQ(quiet.err.find("auto-choice"), std::string::npos) << quiet.err;
  words.insert(words.end(), {"--explain", "auto"});
  Said said = soliton(words);
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.err.find("`auto` took tiles of"), std::string::npos) << said.err;
}

TEST_F(Cli, CompileHasLaunchesBeginEarly) {
  std::vector<std::string> words = {"compile", "gemm", "--target", "sm_90a", "--emit", "machine", "-o", path("m")};
  auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return soliton(all);
  };
  EXPECT_EQ(with({}).code, 0);
  EXPECT_EQ(read("m").find("machine.grid_"), std::string::npos);
  Said said = with({"--dependent-launch", "on", "--stable", "b", "--explain", "auto"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.err.find("launches of it begin before those ahead have ended, as asked"), std::string::npos)
      << said.err;
  EXPECT_NE(read("m").find("machine.grid_wait"), std::string::npos);
  EXPECT_NE(read("m").find("stable = [\"b\"]"), std::string::npos);
  EXPECT_EQ(with({"--dependent-launch", "off"}).code, 0);
  EXPECT_EQ(read("m").find("machine.grid_"), std::string::npos);
  Said wrong = with({"--dependent-launch", "perhaps"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("--dependent-launch"), std::string::npos) << wrong.err;
  Said unknown = with({"--stable", "bb"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("the kernel has no memory `bb` that could be stable; did you mean `b`? [stable-memory]"),
            std::string::npos)
      << unknown.err;
}

TEST_F(Cli, CompileHasTeamsTakeTurns) {
  auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"compile",
                                    "attention",
                                    "--target",
                                    "sm_90a",
                                    "--size",
                                    "B=1,H=1,Q=128,KV=1024,D=64",
                                    "--set",
                                    "BLOCK_Q=128,BLOCK_KV=128,WAVES=8",
                                    "--mma",
                                    "F32_64xNx16_F16",
                                    "--direct-copies",
                                    "on",
                                    "--schedule",
                                    "ring",
                                    "--emit",
                                    "machine",
                                    "-o",
                                    path("m")};
    all.insert(all.end(), more.begin(), more.end());
    return soliton(all);
  };
  for (const char *turns : {"off", "on"}) {
    Said said = with({"--turns", turns});
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(read("m").find("machine.barrier plus") != std::string::npos, turns == std::string("on"));
  }
  Said wrong = with({"--turns", "sometimes"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("--turns"), std::string::npos) << wrong.err;
}

TEST_F(Cli, CompileToCubinNeedsAnAssembler) {
  Said said =
      soliton({"compile", "copy", "--target", "sm_90a", "--size", "M=64,N=64", "--emit", "cubin", "-o", path("cubin")});
  if (said.code == 0) {
    EXPECT_TRUE(read("cubin").starts_with("\x7f"
                                          "ELF"));
  } else {
    EXPECT_EQ(said.code, 2);
    EXPECT_NE(said.err.find("ptxas"), std::string::npos) << said.err;
  }
}

TEST_F(Cli, CompileAsJson) {
  Said said = soliton({"compile", "gemm", "--target", "gfx942", "--size", "M=128,N=128,K=64", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  json report = said.parsed();
  EXPECT_EQ(report.at("ok"), true);
  EXPECT_EQ(report.at("kind"), "hsaco");
  EXPECT_EQ(report.at("threads"), 256);
  EXPECT_GT(report.at("code_object_bytes").get<int>(), 0);
  EXPECT_GT(report.at("shared_bytes").get<int>(), 0);
  EXPECT_EQ(report.at("spill_bytes"), 0);
  EXPECT_GT(report.at("matrix_ops").get<int>(), 0);
  EXPECT_TRUE(report.at("compile_ms").contains("llvm_codegen"));
  ASSERT_FALSE(report.at("bank_conflicts").empty());
  for (const json &access : report.at("bank_conflicts")) {
    EXPECT_EQ(access.at("conflicts"), 0) << access;
    EXPECT_NE(access.at("file").get<std::string>().find("Gemm.cpp"), std::string::npos);
    EXPECT_GT(access.at("line").get<int>(), 0);
  }
}

TEST_F(Cli, CompileSaysHowLongEachStepTook) {
  Said said = soliton({"compile", "copy", "--size", "M=64,N=64", "--emit", "machine", "-o", path("m"), "--time"});
  EXPECT_EQ(said.code, 0) << said.err;
  for (const char *phase : {"trace", "transform", "lower", "total"})
    EXPECT_NE(said.out.find(phase), std::string::npos) << said.out;
}

TEST_F(Cli, CompilePrintsAfterAPass) {
  testing::internal::CaptureStderr();
  Said said = soliton({"compile", "copy", "--size", "M=64,N=64", "--emit", "machine", "-o", path("m"),
                       "--print-after=wave-assign-layouts"});
  std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(printed.find("IR Dump After"), std::string::npos) << printed;
  EXPECT_NE(printed.find("lane = "), std::string::npos);
  testing::internal::CaptureStderr();
  soliton({"compile", "copy", "--size", "M=64,N=64", "--emit", "machine", "-o", path("m"), "--print-after=all"});
  std::string all = testing::internal::GetCapturedStderr();
  EXPECT_GT(all.size(), 4 * printed.size());
}

TEST_F(Cli, CompileExplainsTheChoiceOfLayouts) {
  Said said = soliton({"compile", "gemm", "--target", "gfx942", "--size", "M=128,N=128,K=64", "--emit", "machine", "-o",
                       path("m"), "--explain", "layouts"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.err.find("remark: mma exchanged"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("; second mma "), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("[layout-choice]"), std::string::npos) << said.err;
  Said wrong = soliton({"compile", "gemm", "--explain", "everything"});
  EXPECT_NE(wrong.code, 0);
  EXPECT_NE(wrong.err.find("expected `layouts`"), std::string::npos) << wrong.err;
}

//===-- compile FILE ------------------------------------------------------------------------------------===//

const char *const kCopy = R"mlir(wave.kernel @twice attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"256">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 1000 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  %1 = wave.binary add %0, %0 : !wave.tile<[M], f32>, !wave.tile<[M], f32> -> !wave.tile<[M], f32>
  wave.write %1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
)mlir";

/// Rows that lie apart, some of them one.
const char *const kStrided = R"mlir(wave.kernel @sums attributes {arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"64">, workgroupDim = 1>,
                   #wave.hardware<>], subs = {}, dynamic = ["LDA", "M", "N"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global, strides = ["LDA", "1"]>, %b: !wave.memory<["M", "N"], f32, global, strides = ["0", "1"]>,
     %c: !wave.memory<["M", "N"], f32, global, strides = ["LDA + 3", "1"]>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global, strides = ["LDA", "1"]> -> !wave.tile<[M, N], f32>
  %1 = wave.read %b : !wave.memory<["M", "N"], f32, global, strides = ["0", "1"]> -> !wave.tile<[M, N], f32>
  %2 = wave.binary add %0, %1 : !wave.tile<[M, N], f32>, !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
  wave.write %2, %c : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global, strides = ["LDA + 3", "1"]>
}
)mlir";

TEST_F(Cli, RowsOfArgumentsMayLieApart) {
  std::string file = write("sums.mlir", kStrided);
  for (const char *target : {"gfx942", "gfx950", "sm_90a"}) {
    Said said =
        soliton({"run", file, "--target", target, "--device", "emulator", "--size", "M=20,N=50,LDA=77", "--json"});
    EXPECT_EQ(said.code, 0) << said.out << said.err;
    EXPECT_EQ(said.parsed().at("ok"), true) << said.out;
  }
  expectUsage({"run", file, "--device", "emulator", "--size", "M=20,N=50"}, {"`LDA`", "--size LDA=NUMBER"});
  // Rows of the result that overlap.
  Said said = soliton({"run", file, "--device", "emulator", "--size", "M=20,N=50,LDA=40"});
  EXPECT_NE(said.code, 0);
  EXPECT_NE(said.err.find("[argument-self-overlap]"), std::string::npos) << said.err;
  Said compiled = soliton({"compile", file, "--emit", "wave"});
  EXPECT_NE(compiled.out.find("strides = [\"LDA\", \"1\"]"), std::string::npos) << compiled.out << compiled.err;
  ASSERT_EQ(soliton({"compile", file, "--aot", path("rows")}).code, 0);
  EXPECT_NE(read("rows/sums.h").find("strides [LDA, 1]"), std::string::npos) << read("rows/sums.h");
}

TEST_F(Cli, CompileAFile) {
  std::string file = write("twice.mlir", kCopy);
  Said said = soliton({"compile", file, "--emit", "machine"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("machine.kernel @twice"), std::string::npos);
  Said report = soliton({"compile", file, "--target", "gfx942", "--json"});
  ASSERT_EQ(report.code, 0) << report.err;
  EXPECT_EQ(report.parsed().at("target"), "gfx942");
}

TEST_F(Cli, FilesThatAreNoPrograms) {
  expectUsage({"compile", path("nothing.mlir")}, {"cannot read `", "nothing.mlir`"});
  Said target = soliton({"compile", write("twice.mlir", kCopy), "--target", "gfx94"});
  EXPECT_EQ(target.code, 2);
  EXPECT_NE(target.err.find("target `gfx94`"), std::string::npos) << target.err;
  EXPECT_NE(target.err.find("`sm_90a`, `gfx942` or `gfx950`"), std::string::npos) << target.err;
  std::filesystem::create_directory(path("folder.mlir"));
  EXPECT_EQ(soliton({"compile", path("folder.mlir")}).code, 2);
  std::string text = kCopy;
  struct {
    std::string name, text, expected;
  } bad[] = {{"empty.mlir", "", "expected 1"},
             {"noise.mlir",
              std::string("\0\xff\x7f"
                          "ELF(",
                          7),
              "error"},
             {"half.mlir", text.substr(0, text.size() / 2), "half.mlir:"},
             {"type.mlir", std::string(text).replace(text.find("f32>\n  %1"), 3, "f16"), "type.mlir:5:"},
             {"tile.mlir", std::string(text).replace(text.find("\"64\""), 4, "\"60\""), "[wave-tile-indivisible]"},
             {"target.mlir", std::string(text).replace(text.find("gfx942"), 6, "gfx9__"), "[unknown-target]"},
             {"machine.mlir", "func.func @f()", "error"}};
  for (const auto &[name, content, expected] : bad) {
    Said said = soliton({"compile", write(name, content), "--emit", "machine"});
    EXPECT_EQ(said.code, 2) << name;
    EXPECT_EQ(said.out, "") << name;
    EXPECT_NE(said.err.find(expected), std::string::npos) << name << "\n" << said.err;
    Said asked = soliton({"compile", path(name), "--json"});
    EXPECT_EQ(asked.code, 2) << name;
    ASSERT_TRUE(json::accept(asked.out)) << asked.out;
    EXPECT_EQ(asked.parsed().at("ok"), false);
    EXPECT_FALSE(asked.parsed().at("diagnostics").empty()) << name;
  }
}

TEST_F(Cli, OutputThatCannotBeWritten) {
  expectUsage({"compile", "copy", "--size", "M=4,N=4", "--emit", "wave", "-o", path("no/such/folder")},
              {"cannot write `"});
}

//===-- pipeline ----------------------------------------------------------------------------------------===//

TEST_F(Cli, PipelineShowsBlocksAndProof) {
  Said said = soliton({"pipeline", "pipeline4wave", "--geometry", "64x64x64", "--edges", "--costs"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.err, "");
  for (const char *part : {"pipeline4wave, exact: 24 ops, 8 blocks, 16 hazards, 4 barriers a trip",
                           "b2   VM(4)  LGKM(0)  BARRIER  LOAD_B[s0,1]@K0", "critical path", "16 of 16 hazards proven"})
    EXPECT_NE(said.out.find(part), std::string::npos) << part << " in\n" << said.out;
}

TEST_F(Cli, PipelineAsJson) {
  json said = soliton({"pipeline", "ping_pong", "--dtype", "fp8", "--json"}).parsed();
  EXPECT_EQ(said.at("ok"), true);
  EXPECT_EQ(said.at("mode"), "exact");
  EXPECT_EQ(said.at("body").size(), 24u);
  EXPECT_EQ(said.at("block_starts").size(), 8u);
  for (const json &hazard : said.at("hazards"))
    EXPECT_EQ(hazard.at("class"), "proven");
}

TEST_F(Cli, PipelineOnAnotherTarget) {
  Said said = soliton({"pipeline", "pipeline4wave", "--target", "sm_90a", "--geometry", "128x192x64"});
  EXPECT_EQ(said.code, 0) << said.err;
  for (const char *part : {"1 barriers a trip", "BOXES(1)  MMA(1)  BARRIER", "wait mma 1 completes", "hazards proven"})
    EXPECT_NE(said.out.find(part), std::string::npos) << part << " in\n" << said.out;
  json flight = soliton({"pipeline", "ping_pong", "--target", "sm_90a", "--json"}).parsed().at("in_flight");
  EXPECT_EQ(flight.at(1).at("counter"), "mma");
}

TEST_F(Cli, FaithfulPipelineFailsUnlessWaived) {
  Said shipped = soliton({"pipeline", "pipeline4wave", "--geometry", "64x64x64", "--faithful"});
  EXPECT_EQ(shipped.code, 2);
  EXPECT_NE(shipped.err.find("[schedule-latency-only]"), std::string::npos) << shipped.err;
  EXPECT_NE(shipped.out.find("kernel, 48 entries"), std::string::npos) << "it is shown all the same\n" << shipped.out;
  Said waived = soliton({"pipeline", "pipeline4wave", "--geometry", "64x64x64", "--faithful", "--waive", "as shipped"});
  EXPECT_EQ(waived.code, 0) << waived.err;
  json machine = soliton({"pipeline", "pipeline4wave", "--faithful", "--json"}).parsed();
  EXPECT_EQ(machine.at("ok"), false);
  EXPECT_EQ(machine.at("dead_reads").size(), 2u);
}

TEST_F(Cli, PipelineWritesPictures) {
  Said said =
      soliton({"pipeline", "ping_pong", "--html", path("p.html"), "--svg", path("p.svg"), "--trace", path("p.json")});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(read("p.html").find("LOAD_A[s0,0]"), std::string::npos);
  EXPECT_NE(read("p.svg").find("<svg"), std::string::npos);
  EXPECT_TRUE(json::accept(read("p.json")));
}

TEST_F(Cli, PipelineMistakes) {
  expectUsage({"pipeline", "ping_pong", "--geometry", "256x256"}, {"256x256", "BMxBNxBK"});
  expectUsage({"pipeline", "ping_pong", "--geometry", "256x-1x64"}, {"BMxBNxBK"});
  expectUsage({"pipeline", "ping_pong", "--dtype", "f32"}, {"`f32`", "`bf16`"});
  Said unknown = soliton({"pipeline", "pingpong"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("did you mean `ping_pong`?"), std::string::npos) << unknown.err;
  EXPECT_NE(soliton({"pipeline", "ping_pong", "--target", "sm90"}).err.find("[unknown-target]"), std::string::npos);
  EXPECT_NE(soliton({"pipeline", "ping_pong", "--target", "gfx942"}).err.find("[not-supported-here]"),
            std::string::npos);
  Said tile = soliton({"pipeline", "ping_pong", "--geometry", "128x256x32"});
  EXPECT_NE(tile.err.find("[pipeline-geometry]"), std::string::npos) << tile.err;
}

//===-- schedule ----------------------------------------------------------------------------------------===//

TEST_F(Cli, ScheduleIsATable) {
  Said said = soliton({"schedule", "gemm", "--target", "gfx942", "--schedule", "prefetch"});
  ASSERT_EQ(said.code, 0) << said.err;
  for (const char *words : {"prefetch · gemm · gfx942", "bound", "registers", "stage 0 (n+1)", "mma ×32", "── barrier",
                            "barriers and waits", "has written it", "modelled"})
    EXPECT_NE(said.out.find(words), std::string::npos) << words << " in\n" << said.out;
}

TEST_F(Cli, ScheduleOfEveryAlgorithmAsJson) {
  for (const char *schedule : {"none", "prefetch", "four_stage", "list", "modulo"}) {
    Said said = soliton({"schedule", "gemm", "--target", "gfx942", "--schedule", schedule, "--json"});
    ASSERT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(std::ranges::count(said.out, '\n'), 1);
    json report = said.parsed();
    EXPECT_EQ(report.at("ok"), true);
    ASSERT_EQ(report.at("loops").size(), 1u);
    const json &loop = report.at("loops")[0];
    EXPECT_EQ(loop.at("algorithm"), schedule);
    EXPECT_EQ(loop.at("ok"), true);
    auto isSync = [](const json &point) { return point.at("phase") == "kernel"; };
    EXPECT_EQ(loop.at("operations").size() + std::ranges::count_if(loop.at("synchronisation"), isSync),
              loop.at("program").at("kernel").size());
    EXPECT_GE(loop.at("modelled_interval").get<double>(), loop.at("bound").at("lower").get<double>());
    for (const json &hazard : loop.at("hazards"))
      EXPECT_EQ(hazard.at("class"), "proven");
  }
}

TEST_F(Cli, ScheduleWritesPagePictureTraceAndFile) {
  Said said = soliton({"schedule", "gemm", "--schedule", "modulo", "--html", path("page.html"), "--trace",
                       path("trace.json"), "--svg", path("still.svg"), "-o", path("modulo.schedule")});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("wrote " + path("page.html")), std::string::npos);
  EXPECT_TRUE(read("page.html").starts_with("<!doctype html>"));
  EXPECT_TRUE(read("still.svg").starts_with("<svg "));
  EXPECT_FALSE(json::parse(read("trace.json")).at("traceEvents").empty());
  EXPECT_TRUE(read("modulo.schedule").starts_with("soliton-schedule 2"));
}

TEST_F(Cli, SchedulePageShowsBothWaveGroups) {
  Said said = soliton(
      {"schedule", "gemm", "--target", "gfx942", "--schedule", "two_pp_cluster", "--html", path("groups.html")});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("2 wave groups"), std::string::npos) << said.out;
  EXPECT_NE(read("groups.html").find("\"stagger\":[0,1]"), std::string::npos);
}

/// Pictures have a lane for the wave that copies; the file says who copies and who walks, and what an option says
/// otherwise is refused where the file says it.
TEST_F(Cli, SchedulesSpeakOfRoles) {
  std::vector<std::string> gemm{"schedule",        "gemm",
                                "--dtype",         "f16-f16",
                                "--target",        "sm_90a",
                                "--size",          "M=256,N=256,K=512",
                                "--set",           "BLOCK_M=128,BLOCK_N=128,BLOCK_K=64,WAVES_M=8,WAVES_N=1",
                                "--mma",           "F32_64x128x16_F16",
                                "--direct-copies", "on"};
  auto with = [&](const std::vector<std::string> &more) {
    std::vector<std::string> all = gemm;
    all.insert(all.end(), more.begin(), more.end());
    return soliton(all);
  };
  const std::string file = path("roles.schedule"), svg = path("roles.svg"), html = path("roles.html");
  Said said = with(
      {"--schedule", "ring", "--service-waves", "4", "--persistent", "2", "-o", file, "--svg", svg, "--html", html});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_NE(read("roles.svg").find("wave 8 copies"), std::string::npos);
  EXPECT_NE(read("roles.html").find("8 waves compute, 1 copies"), std::string::npos);
  EXPECT_NE(read("roles.schedule")
                .find("specialize waves 4 registers 0 \"read_a/copy_async\" \"read_b/copy_async\"\npersistent 2\n"),
            std::string::npos)
      << read("roles.schedule");
  Said same = with({"--schedule", file, "--diff", file});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.out, "`K` is scheduled as in " + file + "\n");
  for (auto [option, value, found] :
       {std::tuple("--service-waves", "1",
                   "4 waves that copy, and the kernel or the compilation's options say 1 service waves"),
        {"--persistent", "3", "2 workgroups that walk tiles, and the kernel or the compilation's options say 3"}}) {
    Said other = with({"--schedule", file, option, value});
    EXPECT_NE(other.code, 0);
    EXPECT_NE((other.out + other.err).find(found), std::string::npos) << other.out << other.err;
    EXPECT_NE((other.out + other.err).find("[schedule-roles]"), std::string::npos);
  }
}

TEST_F(Cli, ScheduleThatWasWrittenIsReadEditedAndCompared) {
  std::string file = path("gemm.schedule");
  ASSERT_EQ(soliton({"schedule", "gemm", "--schedule", "prefetch", "-o", file}).code, 0);
  Said same = soliton({"schedule", "gemm", "--schedule", file, "--diff", file});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_NE(same.out.find("is scheduled as in " + file), std::string::npos) << same.out;
  EXPECT_EQ(soliton({"run", "gemm", "--schedule", file, "--size", "M=64,N=64,K=96"}).code, 0);
  Said other = soliton({"schedule", "gemm", "--schedule", "four_stage", "--diff", file});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.out.find("~ interval 2 -> 1\n"), std::string::npos) << other.out;
  Said machine = soliton({"schedule", "gemm", "--schedule", "four_stage", "--diff", file, "--json"});
  EXPECT_EQ(machine.parsed().at("loops")[0].at("diff")[0], "~ interval 2 -> 1");
  // An op that is gone is an error with its name, never left out silently.
  std::string text = read("gemm.schedule");
  size_t begin = text.find("op \"mma"), end = text.find('\n', begin);
  Said missing =
      soliton({"schedule", "gemm", "--schedule", write("less.schedule", text.erase(begin, end + 1 - begin))});
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("[schedule-missing-op]"), std::string::npos) << missing.err;
}

TEST_F(Cli, ScheduleFilesHoldWhatASchedulePutsIn) {
  for (const char *schedule : {"two_pp_cluster", "gemm_unroll", "gemm_pipeline_then_unroll", "modulo"})
    for (const char *name : {"all.schedule", "all.json"}) {
      std::string file = path(name);
      ASSERT_EQ(soliton({"schedule", "gemm", "--target", "gfx942", "--schedule", schedule, "-o", file}).code, 0);
      EXPECT_EQ(read(name).starts_with("{"), std::string_view(name).ends_with(".json"));
      Said same = soliton({"schedule", "gemm", "--target", "gfx942", "--schedule", file, "--diff", file});
      EXPECT_EQ(same.code, 0) << schedule << same.err;
      EXPECT_NE(same.out.find("is scheduled as in " + file), std::string::npos) << schedule << same.out;
    }
  // What was put in is compared too.
  ASSERT_EQ(soliton({"schedule", "gemm", "--target", "gfx942", "--schedule", "two_pp_cluster", "-o", path("pp")}).code,
            0);
  std::string text = read("pp");
  EXPECT_NE(text.find("\nstagger 0 1\n"), std::string::npos) << text;
  size_t begin = text.find("added \"schedule/set_wave_prio"), end = text.find('\n', begin);
  ASSERT_NE(begin, std::string::npos) << text;
  std::string without = text.substr(0, begin) + text.substr(end + 1);
  Said less =
      soliton({"schedule", "gemm", "--target", "gfx942", "--schedule", write("less", without), "--diff", path("pp")});
  EXPECT_EQ(less.code, 0) << less.err;
  EXPECT_TRUE(less.out.starts_with("- schedule/set_wave_prio")) << less.out;
  EXPECT_EQ(std::ranges::count(less.out, '\n'), 1) << less.out;
}

TEST_F(Cli, ScheduleFilesHoldAllLoopsOfAKernel) {
  for (const char *name : {"two.schedule", "two.json"}) {
    std::string file = path(name);
    ASSERT_EQ(soliton({"schedule", "row_softmax", "--schedule", "prefetch", "-o", file}).code, 0);
    Said same = soliton({"schedule", "row_softmax", "--schedule", file, "--diff", file});
    EXPECT_EQ(same.code, 0) << same.err;
    std::string line = "`N` is scheduled as in " + file + "\n";
    EXPECT_EQ(same.out, line + line);
    EXPECT_EQ(soliton({"run", "row_softmax", "--schedule", file}).code, 0);
    Said other = soliton({"schedule", "gemm", "--schedule", file});
    EXPECT_EQ(other.code, 2);
    EXPECT_NE(other.err.find("holds 2 schedules, the kernel has 1 loop"), std::string::npos) << other.err;
  }
}

TEST_F(Cli, ScheduleFileOfDirectCopiesAsksForThem) {
  ASSERT_EQ(
      soliton({"schedule", "gemm", "--target", "gfx942", "--schedule", "async_two_pp_clusters", "-o", path("copies")})
          .code,
      0);
  Said said =
      soliton({"schedule", "gemm", "--target", "gfx942", "--schedule", path("copies"), "--diff", path("copies")});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("is scheduled as in"), std::string::npos) << said.out;
}

TEST_F(Cli, ScheduleWithAProofThatIsCheckedAgain) {
  std::string file = path("gemm.proof");
  std::vector<std::string> small = {"schedule", "gemm", "--size", "M=64,N=64,K=256", "--set", "BLOCK_M=32,BLOCK_N=32"};
  auto with = [&](std::vector<std::string> words) {
    words.insert(words.begin(), small.begin(), small.end());
    return soliton(words);
  };
  ASSERT_EQ(with({"--schedule", "exact", "--certificate", file}).code, 0);
  EXPECT_TRUE(read("gemm.proof").starts_with("soliton-certificate 1\n")) << read("gemm.proof");
  Said holds = with({"--check-certificate", file});
  EXPECT_EQ(holds.code, 0) << holds.err;
  EXPECT_NE(holds.out.find("the proof holds"), std::string::npos) << holds.out;
  std::string text = read("gemm.proof");
  size_t interval = text.find("interval ") + 9;
  Said wrong = with({"--check-certificate", write("bad.proof", text.replace(interval, 1, "9")), "--json"});
  EXPECT_EQ(wrong.code, 1) << wrong.out;
  EXPECT_FALSE(wrong.parsed().at("ok"));
  EXPECT_EQ(with({"--schedule", "prefetch", "--certificate", file}).code, 2);
}

TEST_F(Cli, ScheduleFilesOfWave) {
  std::string file = path("gemm.wave");
  for (const char *schedule : {"prefetch", "four_stage", "modulo"}) {
    Said wrote = soliton({"schedule", "gemm", "--schedule", schedule, "-o", file});
    ASSERT_EQ(wrote.code, 0) << wrote.err;
    EXPECT_TRUE(read("gemm.wave").starts_with("Initiation Interval: ")) << read("gemm.wave");
    Said same = soliton({"schedule", "gemm", "--schedule", file, "--diff", file});
    EXPECT_EQ(same.code, 0) << schedule << same.err;
    EXPECT_NE(same.out.find("is scheduled as in " + file), std::string::npos) << same.out;
    EXPECT_EQ(soliton({"run", "gemm", "--schedule", file, "--size", "M=64,N=64,K=96"}).code, 0) << schedule;
  }
  Said other = soliton({"schedule", "gemm", "--schedule", "prefetch", "--diff", file});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_TRUE(other.out.starts_with("~ interval ")) << other.out;
  expectUsage({"schedule", "gemm", "--schedule", "two_pp_cluster", "-o", file},
              {"no place for", "added barriers", "groups of waves", "gemm.schedule"});
  Said damaged = soliton({"schedule", "gemm", "--schedule", write("bad.wave", "Initiation Interval: 2\nnonsense\n")});
  EXPECT_EQ(damaged.code, 2);
  EXPECT_NE(damaged.err.find("bad.wave:2"), std::string::npos) << damaged.err;
}

TEST_F(Cli, ScheduleThatIsRefusedIsShownAllTheSame) {
  ASSERT_EQ(soliton({"schedule", "gemm", "--schedule", "prefetch", "-o", path("good")}).code, 0);
  // All in stage 0: what is stored is loaded before.
  std::string text = read("good");
  for (size_t at = 0; (at = text.find(" stage 1 ", at)) != std::string::npos;)
    text.replace(at, 9, " stage 0 ");
  std::string bad = write("bad", text);
  Said said = soliton({"schedule", "gemm", "--schedule", bad, "--html", path("bad.html"), "--trace", path("bad.trace"),
                       "--svg", path("bad.svg")});
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("[schedule-dependence]"), std::string::npos) << said.err;
  EXPECT_NE(said.out.find("wrote " + path("bad.html")), std::string::npos) << said.out;
  EXPECT_NE(read("bad.html").find("<p class=\"problem\">"), std::string::npos);
  EXPECT_FALSE(json::parse(read("bad.trace")).at("traceEvents").empty());
  Said machine = soliton({"schedule", "gemm", "--schedule", bad, "--json"});
  EXPECT_EQ(machine.code, 2);
  EXPECT_EQ(machine.parsed().at("ok"), false);
  EXPECT_EQ(machine.parsed().at("loops").size(), 1u);
  EXPECT_FALSE(machine.parsed().at("diagnostics").empty());
  EXPECT_EQ(soliton({"run", "gemm", "--schedule", bad, "--size", "M=64,N=64,K=96"}).code, 2);
}

TEST_F(Cli, ScheduleThatCannotBeShown) {
  expectUsage({"schedule", "copy", "--schedule", "modulo"}, {"`copy` has no loop"});
  expectUsage({"schedule", "gemm", "--schedule", "modullo"}, {"unknown schedule `modullo`", "did you mean `modulo`?"});
  expectUsage({"schedule", "gemm", "--html", path("no/such/folder")}, {"cannot write `"});
  expectUsage({"schedule", "gemm", "--diff", path("nothing")}, {"cannot read `"});
  Said noise = soliton({"schedule", "gemm", "--diff", write("noise", "noise")});
  EXPECT_EQ(noise.code, 2);
  EXPECT_NE(noise.err.find("soliton-schedule 2"), std::string::npos) << noise.err;
}

//===-- Wrong words -------------------------------------------------------------------------------------===//

TEST_F(Cli, UnknownWordsGetTheChoicesAndTheNearestGuess) {
  expectUsage({"run", "gem"}, {"unknown kernel `gem`", "did you mean `gemm`?", "`row_softmax`", "`gemm_nn`"});
  expectUsage({"compile", "sofmax"}, {"unknown kernel `sofmax`", "`row_softmax`"});
  expectUsage({"run", "gemm", "--size", "L=3"}, {"unknown size `L`", "`M`, `N` or `K`"});
  expectUsage({"run", "gemm", "--set", "BLOCK_X=3"}, {"unknown symbol `BLOCK_X`", "did you mean `BLOCK_M`?"});
  expectUsage({"run", "gemm", "--dynamic", "M,L"}, {"unknown size `L`"});
  expectUsage({"run", "gemm", "--target", "gfx94"},
              {"unknown target `gfx94`", "did you mean `gfx942`?", "`gfx950`", "`sm_90a`"});
  expectUsage({"run", "gemm", "--dtype", "f17"}, {"unknown dtype `f17`", "did you mean `f16`?", "`bf16-bf16`"});
  expectUsage({"run", "gemm", "--targt", "gfx942"},
              {"unknown option `--targt`", "did you mean `--target`?", "`--seed`"});
  expectUsage({"runn", "gemm"},
              {"unknown command `runn`", "did you mean `run`?",
               "`targets`, `kernels`, `compile`, `schedule`, `layout`, `pipeline`, `run`, `bench`, `tune` or `cache`"});
  expectUsage({"compile", "gemm", "--emit", "hsac"}, {"`--emit hsac`", "did you mean `hsaco`?", "`machine`"});
  expectUsage({"run", "gemm", "--check", "maybe"}, {"`--check maybe`", "`on` or `off`"});
  expectUsage({"bench", "gemm", "--direct-copies", "yes"}, {"`--direct-copies yes`", "`on` or `off`"});
}

TEST_F(Cli, NumbersThatAreNone) {
  for (const char *size : {"M", "=3", "M=", "M=x", "M=1x", "M=1.5", "M=99999999999999999999", "M= 3"})
    expectUsage({"run", "gemm", "--size", size}, {"found `" + std::string(size) + "`", "expected `NAME=NUMBER`"});
  for (const char *size : {"M=0", "M=-1"})
    expectUsage({"run", "gemm", "--size", size}, {"found `" + std::string(size) + "`", "at least 1"});
  expectUsage({"run", "gemm", "--seed", "x"}, {"--seed"});
  expectUsage({"bench", "gemm", "--repetitions", "0"}, {"--repetitions"});
}

TEST_F(Cli, WordsThatAreMissingOrTooMany) {
  expectUsage({}, {"subcommand"});
  expectUsage({"run"}, {"kernel is required"});
  expectUsage({"run", "gemm", "extra"}, {"extra"});
  expectUsage({"run", "gemm", "--target"}, {"--target"});
}

TEST_F(Cli, MistakesOfTheKernelHaveIdAndPlace) {
  struct {
    std::vector<std::string> arguments;
    std::string id;
  } wrong[] = {{{"--set", "BLOCK_M=17"}, "division-inexact"},
               {{"--set", "BLOCK_M=1024,BLOCK_N=1024,BLOCK_K=64"}, "shared-memory-exceeded"},
               {{"--set", "BLOCK_M=6"}, "tile-not-multiple-of-mma"},
               {{"--target", "sm_90a", "--emit", "hsaco"}, "wrong-target"},
               {{"--target", "gfx942", "--emit", "ptx"}, "wrong-target"}};
  for (const auto &[arguments, id] : wrong) {
    std::vector<std::string> all = {"compile", "gemm"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    Said words = soliton(all);
    EXPECT_EQ(words.code, 2) << id;
    EXPECT_EQ(words.out, "");
    EXPECT_NE(words.err.find("[" + id + "]"), std::string::npos) << words.err;
    all.push_back("--json");
    Said said = soliton(all);
    EXPECT_EQ(said.code, 2);
    ASSERT_TRUE(json::accept(said.out)) << said.out;
    json first = said.parsed().at("diagnostics").at(0);
    EXPECT_EQ(first.at("id"), id);
    EXPECT_EQ(first.at("severity"), "error");
    EXPECT_NE(first.at("place").at("file").get<std::string>().find("Gemm.cpp"), std::string::npos) << first;
    EXPECT_GT(first.at("place").at("line").get<int>(), 0);
  }
}

TEST_F(Cli, DevicesThatAreNotThere) {
  Said said = soliton({"run", "copy", "--device", "cuda:99"});
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("[no-device]"), std::string::npos) << said.err;
}

TEST_F(Cli, WordsThatAreNoText) {
  Said said = soliton({"run", "copy", "--device", "\x98~", "--json"});
  EXPECT_EQ(said.code, 2);
  EXPECT_TRUE(json::accept(said.out)) << said.out;
  expectUsage({"run", "\xff\xfe"}, {"unknown kernel"});
  Said written = soliton({"compile", "copy", "--size", "M=4,N=4", "--emit", "wave", "-o", path("\xff"), "--json"});
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_TRUE(json::accept(written.out)) << written.out;
}

//===-- Lists and help ----------------------------------------------------------------------------------===//

TEST_F(Cli, Targets) {
  json list = soliton({"targets", "--json"}).parsed().at("targets");
  ASSERT_EQ(list.size(), allTargets().size());
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i].at("name"), allTargets()[i]->name);
    EXPECT_EQ(list[i].at("mmas").size(), allTargets()[i]->mmas.size());
    EXPECT_NE(soliton({"targets"}).out.find(allTargets()[i]->name), std::string::npos);
  }
}

TEST_F(Cli, Kernels) {
  json list = soliton({"kernels", "--json"}).parsed().at("kernels");
  ASSERT_EQ(list.size(), kernels::allKernels().size());
  EXPECT_EQ(list[0].at("name"), "copy");
  auto gemm = std::ranges::find_if(list, [](const json &each) { return each.at("name") == "gemm"; });
  ASSERT_NE(gemm, list.end());
  EXPECT_EQ(gemm->at("family"), "gemm");
  EXPECT_EQ(gemm->at("sizes"), json({{"M", 256}, {"N", 256}, {"K", 256}}));
  EXPECT_EQ(gemm->at("fixed_sizes"), json::array());
  EXPECT_EQ(gemm->at("dtypes")[0], "f16");
  auto attention = std::ranges::find_if(list, [](const json &each) { return each.at("name") == "attention"; });
  ASSERT_NE(attention, list.end());
  EXPECT_EQ(attention->at("fixed_sizes"), json({"D"}));
}

TEST_F(Cli, KernelsAreListedByFamily) {
  std::string text = soliton({"kernels"}).out;
  size_t rows = text.find("rows\n"), softmax = text.find("  row_softmax"),
         attention = text.find("attention\n  attention ");
  EXPECT_LT(rows, softmax);
  EXPECT_LT(softmax, attention);
  EXPECT_NE(attention, std::string::npos);
}

TEST_F(Cli, SizesThatAreBoundWhenCompilingAreNotDynamic) {
  expectUsage({"run", "attention", "--dynamic", "D"}, {"`D` of `attention` is bound when it is compiled", "`KV`"});
}

TEST_F(Cli, APaddingMayBeZero) {
  EXPECT_EQ(soliton({"run", "conv1d", "--size", "W=9,C=3,F=5,PAD=0"}).code, 0);
  expectUsage({"run", "conv1d", "--size", "PAD=-1"}, {"`PAD=-1`", "at least 0"});
}

TEST_F(Cli, HeadsThatCanNotBeSharedAreRefused) {
  Said said = soliton({"run", "attention_gqa", "--size", "H=4,H_KV=3,Q=5,KV=5,D=16"});
  EXPECT_NE(said.code, 0);
  EXPECT_NE(said.err.find("H_KV"), std::string::npos) << said.err;
}

TEST_F(Cli, HelpHasTwoExamples) {
  EXPECT_EQ(soliton({"--help"}).code, 0);
  for (const char *command : {"targets", "kernels", "compile", "run", "bench"}) {
    Said said = soliton({command, "--help"});
    EXPECT_EQ(said.code, 0);
    size_t examples = said.out.find("Examples:");
    ASSERT_NE(examples, std::string::npos) << said.out;
    size_t first = said.out.find("\n  soliton " + std::string(command), examples);
    ASSERT_NE(first, std::string::npos) << said.out;
    EXPECT_NE(said.out.find("\n  soliton " + std::string(command), first + 1), std::string::npos) << said.out;
    EXPECT_NE(said.out.find("--json"), std::string::npos);
  }
}

TEST_F(Cli, BenchOnTheEmulatorSaysSo) {
  Said said = soliton({"bench", "copy", "--device", "emulator", "--size", "M=4,N=4", "--repetitions", "2", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.parsed().at("emulated"), true);
  EXPECT_EQ(said.parsed().at("repetitions"), 2);
  EXPECT_GT(said.parsed().at("median_us").get<double>(), 0);
}

} // namespace
} // namespace soliton::cli
