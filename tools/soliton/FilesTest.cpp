//===- FilesTest.cpp - Arrays from files, results to files, and modules that run ------------------===//
#include "tools/soliton/TestCli.h"

#include "soliton/runtime/ArrayFile.h"

#include <cstring>

namespace soliton::cli {
namespace {

constexpr const char *kModule = R"mlir(wave.kernel @sums attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"128">, workgroupDim = 1>],
    subs = {N = 100 : i64}, dynamic = ["M"], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], i32, global>, %b: !wave.memory<["M", "N"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], i32, global> -> !wave.tile<[M, N], i32>
  %1 = wave.scan sum %0 along "N" : !wave.tile<[M, N], i32> -> !wave.tile<[M, N], i32>
  wave.write %1, %b : !wave.tile<[M, N], i32>, !wave.memory<["M", "N"], i32, global>
}
)mlir";

class FilesOfArrays : public Cli {
protected:
  template <typename T>
  std::string save(const std::string &name, DType type, const std::vector<int64_t> &shape,
                   const std::vector<T> &values) {
    rt::writeNpy(path(name), type, shape, std::as_bytes(std::span(values)));
    return path(name);
  }
  template <typename T>
  std::vector<T> load(const std::string &name, std::vector<int64_t> shape) {
    rt::ArrayFile file = rt::readNpy(path(name));
    EXPECT_EQ(file.shape, shape);
    std::vector<T> values(file.bytes.size() / sizeof(T));
    std::memcpy(values.data(), file.bytes.data(), file.bytes.size());
    return values;
  }
};

TEST_F(FilesOfArrays, InputsComeFromNpyAndResultsGoThere) {
  std::vector<float> a(30 * 20);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(i) / 7;
  std::string file = save("a.npy", DType::f32, {30, 20}, a);
  // M and N follow from the array.
  Said said = soliton({"run", "transpose", "--input", "a=" + file, "--output", "b=" + path("b.npy"), "--json"});
  ASSERT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(said.parsed().at("given_ok"), true);
  EXPECT_EQ(said.parsed().at("size").at("M"), 30);
  std::vector<float> b = load<float>("b.npy", {20, 30});
  for (size_t m = 0; m < 30; ++m)
    for (size_t n = 0; n < 20; ++n)
      ASSERT_EQ(b[n * 30 + m], a[m * 20 + n]);
}

TEST_F(FilesOfArrays, HalvesAndPlainBytesAreTakenToo) {
  std::vector<uint16_t> half(64 * 32, 0x3c00); // 1.0
  std::string a = save("a.npy", DType::f16, {64, 32}, half);
  rt::writeBytes(path("b.bin"), std::as_bytes(std::span(half)));
  Said said = soliton({"run", "gemm", "--size", "M=64,N=64,K=32", "--input", "a=" + a, "--input", "b=" + path("b.bin"),
                       "--output", "c=" + path("c.bin")});
  ASSERT_EQ(said.code, 0) << said.out << said.err;
  std::string c = read("c.bin");
  ASSERT_EQ(c.size(), 64u * 64 * 4);
  float first = 0;
  std::memcpy(&first, c.data(), 4);
  EXPECT_EQ(first, 32);
}

TEST_F(FilesOfArrays, WhatDoesNotFitIsRefusedWithBoth) {
  std::string a = save("a.npy", DType::f64, {256, 256}, std::vector<double>(256 * 256));
  Said said = soliton({"run", "copy", "--input", "a=" + a});
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("[array-file]"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("<f8 (256, 256), expected <f4 (256, 256)"), std::string::npos) << said.err;
  said = soliton({"run", "copy", "--dtype", "f64", "--size", "M=8,N=256", "--input", "a=" + a});
  EXPECT_NE(said.err.find("expected <f8 (8, 256)"), std::string::npos) << said.err;
  said = soliton({"run", "copy", "--input", "a=" + write("a.bin", "four")});
  EXPECT_NE(said.err.find("has 4 bytes, the argument takes 262144"), std::string::npos) << said.err;
  said = soliton({"run", "copy", "--input", "a=" + path("nothing.npy")});
  EXPECT_NE(said.err.find("[array-file]"), std::string::npos) << said.err;
  expectUsage({"run", "copy", "--input", "x=" + write("x.bin", "")},
              {"`--input`", "unknown argument `x`", "`a` or `b`"});
  expectUsage({"run", "copy", "--output", "x=" + path("x.npy")}, {"`--output`", "unknown argument `x`"});
  expectUsage({"run", "copy", "--input", "a"}, {"expected `ARGUMENT=FILE`"});
}

TEST_F(FilesOfArrays, ModulesRunAndAreJudgedByTheirMeaning) {
  std::string file = write("sums.mlir", kModule);
  Said said = soliton({"run", file, "--size", "M=7", "--json"});
  ASSERT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(said.parsed().at("target"), "gfx942");
  EXPECT_EQ(said.parsed().at("exact_ok"), true);
  EXPECT_EQ(soliton({"run", file, "--size", "M=7", "--target", "sm_90a"}).code, 0);
  EXPECT_EQ(soliton({"bench", file, "--size", "M=7", "--device", "emulator", "--repetitions", "1"}).code, 0);
  expectUsage({"run", file}, {"`M` of `sums` is known only at launch", "--size M=NUMBER"});
  expectUsage({"run", file, "--size", "M=7,Q=3"}, {"unknown size `Q`"});
  expectUsage({"run", file, "--size", "M=-7"}, {"found `M=-7`", "at least 0"});

  std::vector<int32_t> ones(3 * 100, 1);
  std::string a = save("a.npy", DType::i32, {3, 100}, ones);
  said = soliton({"run", file, "--input", "a=" + a, "--output", "b=" + path("b.npy"), "--json"});
  ASSERT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_EQ(load<int32_t>("b.npy", {3, 100})[199], 100);
}

} // namespace
} // namespace soliton::cli
