// What AMD's lanes exchange and convert: permutations followed through registers, small floats, hints. Nothing runs on
// a GPU.
#include "soliton/backend/TestUtil.h"

namespace soliton::backend {
namespace {

class Gfx9Lanes : public Gfx9 {};
INSTANTIATE_TEST_SUITE_P(Chips, Gfx9Lanes, ::testing::Values("gfx942", "gfx950"),
                         [](auto &info) { return std::string(info.param); });

/// The lane from which each lane takes its value, by what the instruction says.
std::optional<std::array<int, 64>> permutationOf(const Instruction &instruction) {
  std::array<int, 64> source;
  llvm::StringRef text = instruction.operands;
  auto number = [&](llvm::StringRef key) {
    int value = 0;
    (void)text.split(key).second.ltrim().consumeInteger(0, value);
    return value;
  };
  for (int lane = 0; lane < 64; ++lane) {
    int row = lane & ~15, in = lane & 15;
    if (text.contains("quad_perm:[")) {
      int digit = text.split("quad_perm:[").second[static_cast<size_t>(lane % 4) * 2] - '0';
      source[lane] = (lane & ~3) + digit;
    } else if (text.contains("row_half_mirror")) {
      source[lane] = (lane & ~7) + (7 - lane % 8);
    } else if (text.contains("row_mirror")) {
      source[lane] = row + 15 - in;
    } else if (text.contains("row_ror:")) {
      source[lane] = row + (in + 16 - number("row_ror:")) % 16;
    } else if (text.contains("swizzle(SWAP,") || text.contains("swizzle(REVERSE,")) {
      source[lane] = text.contains("SWAP") ? lane ^ number("SWAP,") : lane ^ (number("REVERSE,") - 1);
    } else if (instruction.mnemonic == "ds_swizzle_b32") {
      // swizzle(BITMASK_PERM, "pppii"): p keeps, i inverts
      llvm::StringRef mask = text.split('"').second.split('"').first;
      int result = lane;
      for (size_t i = 0; i < mask.size(); ++i)
        result ^= mask[i] == 'i' ? 16 >> i : 0;
      if (mask.size() != 5 || mask.find_first_not_of("pi") != llvm::StringRef::npos)
        return std::nullopt;
      source[lane] = result;
    } else {
      return std::nullopt;
    }
  }
  return source;
}

llvm::StringRef firstOperand(const Instruction &instruction) {
  return llvm::StringRef(instruction.operands).split(", ").first;
}

TEST_P(Gfx9Lanes, ButterfliesMoveWhatTheySay) {
  std::string body =
      "  %c256 = arith.constant 256 : i32\n  %zero = arith.constant 0 : i64\n  %bytes = arith.constant 16384 : i64\n"
      "  %lane = machine.id lane\n  %offset = arith.muli %lane, %c256 : i32\n"
      "  %to = machine.buffer %b[%zero], %bytes\n"
      "  %v = machine.load %to [%offset] {alignment = 4 : i64} : vector<1xi32>\n";
  unsigned firstLine = 3 + 7;
  for (int offset = 1; offset < 32; ++offset)
    body += "  %s" + std::to_string(offset) + " = machine.shuffle bfly %v {offset = " + std::to_string(offset) +
            " : i64} : vector<1xi32>\n";
  for (int offset = 1; offset < 32; ++offset)
    body += "  machine.store %s" + std::to_string(offset) +
            ", %to [%offset] {immediate = " + std::to_string(offset * 4) +
            " : i64, alignment = 4 : i64} : vector<1xi32>\n";
  Program program(kernelText(target(), "%b: !machine.ptr", body));
  Compiled compiled = compileAmd(program);
  for (unsigned offset = 1; offset < 32; ++offset) {
    std::array<int, 64> total;
    for (int lane = 0; lane < 64; ++lane)
      total[static_cast<size_t>(lane)] = lane;
    // From the store backwards to the load, through the registers that the lanes' instructions write.
    const std::vector<Instruction> &list = compiled.listing.instructions;
    auto at = llvm::find_if(
        list, [&](auto &i) { return i.kind == Kind::globalStore && i.line == firstLine + 31 + offset - 1; });
    ASSERT_NE(at, list.end()) << offset << print(compiled.listing);
    std::vector<const Instruction *> chain;
    for (llvm::StringRef wanted = firstOperand(*at); at->kind != Kind::globalLoad; --at)
      if (at->kind == Kind::lanes && firstOperand(*at) == wanted) {
        chain.push_back(&*at);
        wanted =
            llvm::StringRef(at->operands).split(", ").second.take_until([](char c) { return c == ' ' || c == ','; });
      }
    ASSERT_FALSE(chain.empty()) << offset << print(compiled.listing);
    for (const Instruction *step : chain) {
      auto source = permutationOf(*step);
      ASSERT_TRUE(source) << step->text();
      for (int &lane : total)
        lane = (*source)[static_cast<size_t>(lane)];
    }
    for (unsigned lane = 0; lane < 64; ++lane)
      ASSERT_EQ(static_cast<unsigned>(total[lane]), lane ^ offset) << "offset " << offset << "\n"
                                                                   << print(compiled.listing);
  }
}

TEST_P(Gfx9Lanes, HintsUniformValuesAndSwaps) {
  bool swaps = target().name == "gfx950";
  std::string body = R"(
  %c4 = arith.constant 4 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %wide = arith.extui %lane : i32 to i64
  %first = machine.uniform %wide : i64
  %low = arith.trunci %first : i64 to i32
  %offset = arith.muli %lane, %c4 : i32
  %to = machine.buffer %b[%zero], %bytes
  %v = machine.load %to [%offset, %low] {alignment = 4 : i64} : vector<1xi32>
  machine.priority 2
  machine.sched_barrier
  %far = machine.shuffle bfly %v {offset = 32 : i64} : vector<1xi32>
  machine.sched_group {mask = 64 : i64, count = 1 : i64, sync = 0 : i64}
  machine.fence global
  machine.store %far, %to [%offset] {immediate = 1024 : i64, alignment = 4 : i64} : vector<1xi32>
)";
  if (swaps)
    body += R"(
  %x = vector.extract %v[0] : i32 from vector<1xi32>
  %p, %q = machine.swap %x, %lane {width = 16 : i64}
  %pair = vector.from_elements %p, %q : vector<2xi32>
  machine.store %pair, %to [%offset] {immediate = 2048 : i64, alignment = 4 : i64} : vector<2xi32>)";
  Options options;
  options.workgroupsPerUnit = 2;
  options.lineInfo = false;
  Program program(kernelText(target(), "%b: !machine.ptr", body));
  Compiled compiled = compileAmd(program, options);
  auto has = [&](llvm::StringRef mnemonic) {
    return llvm::any_of(compiled.listing.instructions,
                        [&](auto &i) { return llvm::StringRef(i.mnemonic).starts_with(mnemonic); });
  };
  EXPECT_TRUE(has("s_setprio")) << print(compiled.listing);
  EXPECT_TRUE(has("v_readfirstlane_b32"));
  EXPECT_EQ(has("ds_bpermute"), !swaps);
  EXPECT_EQ(has("v_permlane32_swap"), swaps);
  EXPECT_EQ(has("v_permlane16_swap"), swaps);
  for (const Instruction &i : compiled.listing.instructions)
    EXPECT_EQ(i.line, 0u) << "no lines were asked for";
}

TEST_P(Gfx9Lanes, SmallFloats) {
  std::string text = retarget(readInput("convert.mlir"), target());
  if (target().fp8e4m3 == DType::f8e4m3fnuz)
    text = replaceAll(replaceAll(text, "f8E4M3FN", "f8E4M3FNUZ"), "f8E5M2", "f8E5M2FNUZ");
  Program program(text);
  Compiled compiled = compileAmd(program);
  expectLaunch(compiled, program);
  size_t toSmall = llvm::count_if(compiled.listing.instructions, [](auto &i) {
    return i.mnemonic.starts_with("v_cvt_pk_fp8_f32") || i.mnemonic.starts_with("v_cvt_pk_bf8_f32");
  });
  EXPECT_EQ(toSmall, 8u) << print(compiled.listing); // four vectors of four, two elements each
}

TEST(Gfx950, SixAndFourBits) {
  for (auto [type, words, mnemonic] : {std::tuple("f4E2M1FN", 4, "v_cvt_scalef32_pk_fp4_f32"),
                                       std::tuple("f6E2M3FN", 6, "v_cvt_scalef32_2xpk16_fp6_f32"),
                                       std::tuple("f6E3M2FN", 6, "v_cvt_scalef32_2xpk16_bf6_f32")}) {
    std::string small = std::string("vector<32x") + type + ">", word = "vector<" + std::to_string(words) + "xi32>";
    std::string body = R"(
  %c128 = arith.constant 128 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 8192 : i64
  %lane = machine.id lane
  %offset = arith.muli %lane, %c128 : i32
  %from = machine.buffer %a[%zero], %bytes
  %to = machine.buffer %b[%zero], %bytes
  %w = arith.constant dense<0.0> : vector<32xf32>
  %p = machine.load %from [%offset] {alignment = 16 : i64} : vector<4xf32>
  %x = vector.insert_strided_slice %p, %w {offsets = [4], strides = [1]} : vector<4xf32> into vector<32xf32>
  %s = machine.convert %x {saturate} : vector<32xf32> -> SMALL
  %i = vector.bitcast %s : SMALL to WORD
  %q = vector.extract_strided_slice %i {offsets = [0], sizes = [4], strides = [1]} : WORD to vector<4xi32>
  machine.store %q, %to [%offset] {alignment = 16 : i64} : vector<4xi32>
  %back = machine.convert %s : SMALL -> vector<32xf32>
  %r = vector.extract_strided_slice %back {offsets = [4], sizes = [4], strides = [1]} : vector<32xf32> to vector<4xf32>
  machine.store %r, %to [%offset] {immediate = 16 : i64, alignment = 16 : i64} : vector<4xf32>)";
    Program program(kernelText(chip("gfx950"), "%a: !machine.ptr, %b: !machine.ptr",
                               replaceAll(replaceAll(body, "SMALL", small), "WORD", word)));
    Compiled compiled = compileAmd(program);
    EXPECT_TRUE(llvm::any_of(compiled.listing.instructions, [&](auto &i) { return i.mnemonic.starts_with(mnemonic); }))
        << print(compiled.listing);
  }
}

/// The largest of eight numbers of this lane and three others.
std::string reductionText(const Target &target) {
  std::string body = R"(
  %c32 = arith.constant 32 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 8192 : i64
  %lane = machine.id lane
  %offset = arith.muli %lane, %c32 : i32
  %from = machine.buffer %a[%zero], %bytes
  %p = machine.load %from [%offset] {alignment = 16 : i64} : vector<4xf32>
  %q = machine.load %from [%offset] {immediate = 16 : i64, alignment = 16 : i64} : vector<4xf32>
)";
  for (int i = 0; i < 8; ++i)
    body += "  %x" + std::to_string(i) + " = vector.extract_strided_slice " + (i < 4 ? "%p" : "%q") + " {offsets = [" +
            std::to_string(i % 4) + "], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>\n";
  for (int i = 1; i < 8; ++i)
    body += "  %m" + std::to_string(i) + " = arith.maximumf " + (i == 1 ? "%x0" : "%m" + std::to_string(i - 1)) +
            ", %x" + std::to_string(i) + " : vector<1xf32>\n";
  body += "  %s0 = machine.shuffle bfly %m7 {offset = 1 : i64} : vector<1xf32>\n"
          "  %t0 = arith.maximumf %m7, %s0 : vector<1xf32>\n"
          "  %s1 = machine.shuffle bfly %t0 {offset = 2 : i64} : vector<1xf32>\n"
          "  %t1 = arith.maximumf %t0, %s1 : vector<1xf32>\n"
          "  machine.store %t1, %from [%offset] {alignment = 4 : i64} : vector<1xf32>";
  return kernelText(target, "%a: !machine.ptr", body);
}

TEST_P(Gfx9Lanes, AMaximumKeepsNanAtLittleCost) {
  Program program(reductionText(target()));
  Compiled compiled = compileAmd(program);
  auto count = [&](llvm::StringRef start) {
    return llvm::count_if(compiled.listing.instructions,
                          [&](const Instruction &i) { return llvm::StringRef(i.mnemonic).starts_with(start); });
  };
  if (target().name == "gfx950") { // two numbers an instruction, and no compares
    EXPECT_GE(count("v_maximum3_f32"), 4) << print(compiled.listing);
    EXPECT_EQ(count("v_cmp"), 0) << print(compiled.listing);
    return;
  }
  // One compare for two of the eight leaves, one select at the end; what crosses lanes is scalar.
  EXPECT_EQ(count("v_cmp_u_f32"), 4) << print(compiled.listing);
  EXPECT_EQ(count("v_cndmask"), 1) << print(compiled.listing);
  EXPECT_LE(count("v_max"), 7) << print(compiled.listing);
}

TEST(Amd, NumbersOfClustersAreRefused) {
  std::string text = kernelText(chip("gfx942"), "%a: !machine.ptr", "  %rank = machine.id cluster_rank");
  EXPECT_NE(errorOf(text, DiagId::BackendUnsupported).find("the number `cluster_rank` does not exist on gfx942"),
            std::string::npos);
  std::string clustered = replaceAll(kernelText(chip("gfx942"), "%a: !machine.ptr", ""), "} {\n^bb0",
                                     ", cluster = array<i64: 2, 1, 1>} {\n^bb0");
  EXPECT_NE(
      errorOf(clustered, DiagId::BackendUnsupported).find("clusters of 2 workgroups, expected at most 1 on gfx942"),
      std::string::npos);
}

TEST(Amd, DependentLaunchesAreRefused) {
  std::string text =
      replaceAll(kernelText(chip("gfx942"), "%a: !machine.ptr", ""), "} {\n^bb0", ", dependent} {\n^bb0");
  EXPECT_NE(errorOf(text, DiagId::BackendUnsupported)
                .find("`gfx942` has no launches that begin before those ahead of them end"),
            std::string::npos);
}

TEST(Amd, TensorMapsAreRefused) {
  std::string text = kernelText(chip("gfx942"), "%a: !machine.ptr, %map: !machine.map", "");
  text = replaceAll(text, "} {\n^bb0",
                    ", maps = [#machine.tensor_map<argument = 0, element = f16, sizes = [64], box = [64]>]} {\n^bb0");
  EXPECT_NE(errorOf(text, DiagId::BackendUnsupported).find("`gfx942` has no tile copies"), std::string::npos);
}

} // namespace
} // namespace soliton::backend
