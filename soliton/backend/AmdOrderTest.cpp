// What a schedule says is what the chip does: order, waits, barriers and hints in the binary. Nothing here runs on a
// GPU.
#include "soliton/backend/TestUtil.h"
#include "soliton/backend/amd/AskedFlags.h"
#include "soliton/backend/amd/Order.h"

#include "llvm/ADT/STLExtras.h"

namespace soliton::backend {
namespace {

std::string text(const std::vector<Placed> &list) {
  std::string result;
  for (const Placed &each : list)
    result += std::to_string(each.line) + " " + std::string(name(each.kind)) + "\n";
  return result;
}

std::string withoutKeepOrder(std::string program) {
  return replaceAll(replaceAll(program, "keep_order, ", ""), ", keep_order", "");
}

std::vector<std::string> waitsWith(const Disassembly &listing, llvm::StringRef counter) {
  std::vector<std::string> result;
  for (const Instruction &i : listing.instructions)
    if (i.kind == Kind::waitcnt && llvm::StringRef(i.operands).contains(counter))
      result.push_back(i.operands);
  return result;
}

std::vector<std::string> allOf(const Disassembly &listing, llvm::StringRef mnemonic) {
  std::vector<std::string> result;
  for (const Instruction &i : listing.instructions)
    if (i.mnemonic == mnemonic)
      result.push_back(i.operands);
  return result;
}

class Order : public Gfx9 {};
INSTANTIATE_TEST_SUITE_P(Chips, Order, ::testing::Values("gfx942", "gfx950"),
                         [](auto &info) { return std::string(info.param); });

TEST_P(Order, IsTheProgramsLineForLine) {
  std::string source = retarget(readInput("gemm-interleaved-amd.mlir"), target());
  Program program(source, "gemm.mlir");
  Compiled compiled = compileAmd(program);
  EXPECT_EQ(text(placedInstructions(compiled.listing)), text(placedOps(program.kernel))) << print(compiled.listing);
  EXPECT_EQ(scheduleMismatch(program.kernel, compiled.listing), std::nullopt);
  // Nothing is paid for it: 64 accumulators, 48 registers for addresses, fragments and what is in flight, no copies.
  EXPECT_LE(compiled.code.vgprs, 112u);
  EXPECT_EQ(compiled.code.spilledRegisters, 0u);
  EXPECT_EQ(compiled.listing.count(Kind::scratch), 0u);
  for (const Instruction &i : compiled.listing.instructions)
    EXPECT_FALSE(i.mnemonic.starts_with("v_accvgpr")) << i.text();
}

TEST_P(Order, IsLlvmsOwnWithoutTheAttribute) {
  // Why there is such an attribute: LLVM's scheduler gathers what the schedule has spread.
  Program program(withoutKeepOrder(retarget(readInput("gemm-interleaved-amd.mlir"), target())), "gemm.mlir");
  Compiled compiled = compileAmd(program);
  EXPECT_NE(text(placedInstructions(compiled.listing)), text(placedOps(program.kernel)));
  ASSERT_TRUE(scheduleMismatch(program.kernel, compiled.listing));
  EXPECT_NE(scheduleMismatch(program.kernel, compiled.listing)->find("where the program has"), std::string::npos);
}

TEST(Order950, PingPongKeepsEveryInstructionInItsPlace) {
  Program program(readInput("pingpong-amd.mlir"), "pingpong.mlir");
  Compiled compiled = compileAmd(program);
  EXPECT_EQ(text(placedInstructions(compiled.listing)), text(placedOps(program.kernel))) << print(compiled.listing);
  // The program's waits and none of LLVM's: nothing drains what is in flight, and shared reads come with one wait.
  EXPECT_EQ(waitsWith(compiled.listing, "vmcnt"), (std::vector<std::string>{"vmcnt(2)", "vmcnt(2)"}))
      << print(compiled.listing);
  EXPECT_EQ(allOf(compiled.listing, "s_setprio"), (std::vector<std::string>{"1", "0"}));
  EXPECT_EQ(compiled.listing.count(Kind::scratch), 0u);
}

/// The ping-pong kernel, whose loop also loads a row into registers and stores the one of the iteration before; the
/// store comes before the load, or after it.
std::string withRegisters(bool storeFirst) {
  std::string load = "    %g = machine.load %from_a [%in, %from] {immediate = 2048 : i64, alignment = 16 : i64} : "
                     "vector<8xbf16>\n",
              store = "    machine.store %g0, [%in] {immediate = 63488 : i64, alignment = 16 : i64} : vector<8xbf16>\n";
  std::string source = readInput("pingpong-amd.mlir");
  auto replace = [&](const std::string &from, const std::string &to) {
    EXPECT_NE(source.find(from), std::string::npos) << from;
    source = replaceAll(source, from, to);
  };
  replace("%sum:4", "%sum:5");
  replace("scf.yield %m0, %m1, %m2, %m3 : ", "scf.yield %g, %m0, %m1, %m2, %m3 : vector<8xbf16>, ");
  replace("iter_args(", "iter_args(%g0 = %first, ");
  replace("-> (vector<4xf32>", "-> (vector<8xbf16>, vector<4xf32>");
  for (const char *number : {"3", "2", "1", "0"})
    replace(std::string("%sum#") + number, std::string("%sum#") + static_cast<char>(*number + 1));
  replace("    machine.wait vm, 2\n",
          (storeFirst ? "    machine.wait vm, 2\n" + store + load : load + store) + "    machine.wait vm, 3\n");
  replace(
      "  machine.wait vm, 2\n  machine.barrier\n  %sum",
      "  %first = machine.load %from_a [%in, %row] {immediate = 2048 : i64, alignment = 16 : i64} : vector<8xbf16>\n"
      "  machine.wait vm, 3\n  machine.barrier\n  %sum");
  return source;
}

TEST(Order950, LlvmWaitsOnlyForARegisterThatIsCopied) {
  // One register set is enough when the old row is gone before the next one comes: nothing is added.
  Program first(withRegisters(true), "registers.mlir");
  Compiled clean = compileAmd(first);
  EXPECT_EQ(text(placedInstructions(clean.listing)), text(placedOps(first.kernel))) << print(clean.listing);
  EXPECT_TRUE(addedWaits(first.kernel, clean.listing).empty()) << print(clean.listing);
  // Otherwise the loop ends with a copy of what is still on its way, and LLVM waits for it.
  Program second(withRegisters(false), "registers.mlir");
  Compiled copied = compileAmd(second);
  EXPECT_FALSE(addedWaits(second.kernel, copied.listing).empty()) << print(copied.listing);
}

TEST(Order950, PrioritiesBracketTheMatrixInstructions) {
  for (bool keep : {true, false}) {
    std::string source = readInput("pingpong-amd.mlir");
    Program program(keep ? source : withoutKeepOrder(source), "pingpong.mlir");
    Compiled compiled = compileAmd(program);
    // One letter each: what lies between the loop's first barrier and its second, in both cases.
    std::string cluster;
    size_t barriers = 0;
    for (const Instruction &i : compiled.listing.instructions) {
      barriers += i.kind == Kind::barrier;
      if (barriers != 3 || i.kind == Kind::barrier)
        continue;
      cluster += i.mnemonic == "s_setprio"      ? (i.operands == "1" ? '(' : ')')
                 : i.kind == Kind::mfma         ? 'm'
                 : i.kind == Kind::sharedLoad   ? 'r'
                 : i.kind == Kind::sharedDirect ? 'd'
                 : i.kind == Kind::waitcnt      ? 'w'
                                                : 's';
    }
    cluster.erase(std::remove(cluster.begin(), cluster.end(), 's'), cluster.end());
    EXPECT_EQ(cluster, "(mmmm)") << print(compiled.listing);
  }
}

TEST(Order950, ABarrierForSomeWavesIsAScalarBranch) {
  Program program(readInput("pingpong-amd.mlir"), "pingpong.mlir");
  Compiled compiled = compileAmd(program);
  EXPECT_EQ(compiled.listing.count(Kind::barrier), program.count<machine::BarrierOp>());
  for (const Instruction &i : compiled.listing.instructions)
    EXPECT_EQ(i.text().find("exec"), std::string::npos) << i.text() << "\n" << print(compiled.listing);
}

TEST_P(Order, AccumulatorsHaveRegistersApartOnlyWhereTheyMust) {
  // 320 registers are alive at the barrier, more than an instruction can name: some go where accumulators would.
  std::string body = "  %zero = arith.constant 0 : i64\n  %bytes = arith.constant 1048576 : i64\n"
                     "  %c16 = arith.constant 16 : i32\n  %lane = machine.id lane\n"
                     "  %offset = arith.muli %lane, %c16 : i32\n  %from = machine.buffer %a[%zero], %bytes\n";
  auto access = [](int i) {
    return "%from [%offset] {immediate = " + std::to_string(i * 4096) +
           " : i64, alignment = 16 : i64} : vector<4xf32>\n";
  };
  for (int i = 0; i < 80; ++i)
    body += "  %v" + std::to_string(i) + " = machine.load " + access(i);
  body += "  machine.barrier\n";
  for (int i = 0; i < 80; ++i)
    body += "  machine.store %v" + std::to_string(79 - i) + ", " + access(i);
  Program program(kernelText(target(), "%a: !machine.ptr", body, 0, 4));
  Compiled compiled = compileAmd(program);
  EXPECT_EQ(compiled.code.scratchBytes, 0u);
  EXPECT_GT(compiled.code.agprs, 0u);
}

//===-- Waits and hints -------------------------------------------------------------===//

/// A body in which `hints` stand after two global loads, two shared stores and before the loads' use.
std::string around(const Target &target, const std::string &hints, bool keep) {
  std::string body = R"(
  %c16 = arith.constant 16 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %offset = arith.muli %lane, %c16 : i32
  %at = machine.buffer %b[%zero], %bytes
  %x = machine.load %at [%offset] {alignment = 16 : i64} : vector<4xi32>
  %y = machine.load %at [%offset] {immediate = 1024 : i64, alignment = 16 : i64} : vector<4xi32>
  %v = vector.broadcast %lane : i32 to vector<1xi32>
  machine.store %v, [%offset] {alignment = 4 : i64} : vector<1xi32>
  machine.store %v, [%offset] {immediate = 1024 : i64, alignment = 4 : i64} : vector<1xi32>
HINTS
  machine.store %x, %at [%offset] {immediate = 2048 : i64, alignment = 16 : i64} : vector<4xi32>
  machine.store %y, %at [%offset] {immediate = 3072 : i64, alignment = 16 : i64} : vector<4xi32>)";
  std::string result = kernelText(target, "%b: !machine.ptr", replaceAll(body, "HINTS", hints), 2048, 2);
  return keep ? replaceAll(result, "attributes {", "attributes {keep_order, ") : result;
}

TEST_P(Order, AWaitIsOneInstruction) {
  struct Row {
    const char *program, *instruction;
  } rows[] = {
      {"  machine.wait vm, 1", "vmcnt(1)"},
      {"  machine.wait shared, 1", "lgkmcnt(1)"},
      {"  machine.wait vm, 0\n  machine.wait shared, 1", "vmcnt(0) lgkmcnt(1)"},
      {"  machine.wait shared, 1\n  machine.wait vm, 1\n  machine.wait shared, 0", "vmcnt(1) lgkmcnt(0)"},
  };
  for (const Row &row : rows)
    for (bool keep : {true, false}) {
      Program program(around(target(), row.program, keep));
      Compiled compiled = compileAmd(program);
      std::vector<std::string> waits;
      bool between = false;
      for (const Instruction &i : compiled.listing.instructions) {
        between = i.kind == Kind::sharedStore || (between && i.kind != Kind::globalStore);
        if (between && i.kind == Kind::waitcnt)
          waits.push_back(i.operands);
      }
      ASSERT_FALSE(waits.empty());
      EXPECT_EQ(waits.front(), row.instruction) << print(compiled.listing);
      EXPECT_EQ(llvm::count(waits, row.instruction), 1) << print(compiled.listing);
    }
}

TEST_P(Order, HintsAreTheRightIntrinsics) {
  Options options;
  options.keepLlvmIr = true;
  Program program(around(target(), R"(  machine.priority 2
  machine.sched_barrier
  machine.sched_barrier {mask = 8 : i64}
  machine.sched_group {mask = 32 : i64, count = 2 : i64, sync = 1 : i64})",
                         false));
  Compiled compiled = compileAmd(program, options);
  for (const char *call :
       {"@llvm.amdgcn.s.setprio(i16 2)", "@llvm.amdgcn.sched.barrier(i32 0)", "@llvm.amdgcn.sched.barrier(i32 8)",
        "@llvm.amdgcn.sched.group.barrier(i32 32, i32 2, i32 1)"})
    EXPECT_NE(compiled.code.llvmIr.find(std::string("call void ") + call), std::string::npos) << call;
  // Only the priority is an instruction.
  EXPECT_EQ(allOf(compiled.listing, "s_setprio"), (std::vector<std::string>{"2"}));
  EXPECT_EQ(compiled.listing.count(Kind::other), 0u) << print(compiled.listing);
}

TEST_P(Order, GroupsAreForLlvmsScheduler) {
  // Four reads, then eight multiplications: the author asks for one read before each two of them.
  std::string body = R"(
  %c16 = arith.constant 16 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 65536 : i64
  %acc0 = arith.constant dense<0.0> : vector<4xf32>
  %acc1 = arith.constant dense<1.0> : vector<4xf32>
  %lane = machine.id lane
  %offset = arith.muli %lane, %c16 : i32
  %to = machine.buffer %b[%zero], %bytes
)";
  for (int i = 0; i < 4; ++i)
    body += "  %r" + std::to_string(i) + " = machine.load [%offset] {immediate = " + std::to_string(i * 1024) +
            " : i64, alignment = 8 : i64} : vector<4xf16>\n";
  for (int i = 0; i < 8; ++i)
    body += "  %m" + std::to_string(i) + " = machine.mma \"v_mfma_f32_16x16x16_f16\" %r" + std::to_string(i / 2) +
            ", %r" + std::to_string(i / 2) + ", " + (i < 2 ? "%acc" : "%m") + std::to_string(i < 2 ? i : i - 2) +
            " : vector<4xf16>, vector<4xf16>, vector<4xf32>\n";
  for (int i = 0; i < 4; ++i)
    body += "  machine.sched_group {mask = 256 : i64, count = 1 : i64, sync = 0 : i64}\n"
            "  machine.sched_group {mask = 8 : i64, count = 2 : i64, sync = 0 : i64}\n";
  body += "  machine.store %m6, %to [%offset] {alignment = 16 : i64} : vector<4xf32>\n"
          "  machine.store %m7, %to [%offset] {immediate = 1024 : i64, alignment = 16 : i64} : vector<4xf32>";
  // They are followed with the attribute and without it: who writes groups lets LLVM arrange.
  for (bool keep : {true, false}) {
    std::string source = kernelText(target(), "%b: !machine.ptr", body, 4096);
    Program program(keep ? replaceAll(source, "attributes {", "attributes {keep_order, ") : source);
    Compiled compiled = compileAmd(program);
    std::string stream;
    for (const Placed &each : placedInstructions(compiled.listing))
      stream += each.kind == Kind::mfma ? "m" : each.kind == Kind::sharedLoad ? "r" : "";
    EXPECT_EQ(stream, "rmmrmmrmmrmm") << print(compiled.listing);
  }
}

//===-- What is not kept is an error ------------------------------------------------===//

/// Four accesses to the same 4 KiB; `middle` stands between two loads of the same place and their use.
std::string twiceTheSame(const Target &target, const std::string &middle) {
  std::string body = R"(
  %c16 = arith.constant 16 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %offset = arith.muli %lane, %c16 : i32
  %at = machine.buffer %b[%zero], %bytes
  %x = machine.load %at [%offset] {alignment = 16 : i64} : vector<4xi32>
  %y = machine.load %at [%offset] {alignment = 16 : i64} : vector<4xi32>
MIDDLE
  %z = arith.addi %x, %y : vector<4xi32>
  machine.store %z, %at [%offset] {immediate = 2048 : i64, alignment = 16 : i64} : vector<4xi32>)";
  return kernelText(target, "%b: !machine.ptr", replaceAll(body, "MIDDLE", middle));
}

TEST_P(Order, AnAccessThatIsCountedIsNeverMerged) {
  // LLVM sees one load where nothing counts them, and two where a wait does.
  Program merged(twiceTheSame(target(), ""));
  EXPECT_EQ(compileAmd(merged).listing.count(Kind::globalLoad), 1u);
  Program counted(twiceTheSame(target(), "  machine.wait vm, 1"));
  EXPECT_EQ(compileAmd(counted).listing.count(Kind::globalLoad), 2u);
}

TEST_P(Order, AnAccessThatIsCountedStaysThoughNobodyUsesIt) {
  auto unused = [&](const std::string &middle) {
    return replaceAll(twiceTheSame(target(), middle), "addi %x, %y", "addi %y, %y");
  };
  Program dropped(unused(""));
  EXPECT_EQ(compileAmd(dropped).listing.count(Kind::globalLoad), 1u);
  Program counted(unused("  machine.wait vm, 1"));
  Compiled code = compileAmd(counted);
  EXPECT_EQ(code.listing.count(Kind::globalLoad), 2u);
  // The program's wait, and LLVM's for the load that is used: nobody waits for the other.
  auto isForLoads = [](const Instruction &i) {
    return i.kind == Kind::waitcnt && i.operands.find("vmcnt") != std::string::npos;
  };
  EXPECT_EQ(llvm::count_if(code.listing.instructions, isForLoads), 2);
}

TEST_P(Order, FencesOfCountedAccessesAreNotLookedUpAmongRegisters) {
  Options options;
  options.keepLlvmIr = true;
  Program counted(twiceTheSame(target(), "  machine.wait vm, 1"));
  std::string ir = compileAmd(counted, options).code.llvmIr;
  EXPECT_NE(ir.find("asm sideeffect"), std::string::npos) << ir;
  EXPECT_EQ(ir.find("~{memory}"), std::string::npos) << "half a millisecond each" << ir;
}

/// Two products behind a wait, of %f and of %g, which `factors` defines.
std::string twoProducts(const Target &target, const char *factors) {
  return replaceAll(twiceTheSame(target, R"(  machine.wait vm, 1
  %a = arith.constant dense<1.0> : vector<1xf32>
  %c = arith.constant dense<0.0> : vector<4xf32>
FACTORS
  %p = machine.mma "v_mfma_f32_16x16x4_f32" %f, %f, %c : vector<1xf32>, vector<1xf32>, vector<4xf32>
  %q = machine.mma "v_mfma_f32_16x16x4_f32" %g, %g, %c : vector<1xf32>, vector<1xf32>, vector<4xf32>)"),
                    "FACTORS", factors);
}

constexpr const char *kEqualSums = R"(  %f = arith.addf %a, %a : vector<1xf32>
  %two = arith.constant dense<2.0> : vector<1xf32>
  %g = arith.mulf %a, %two : vector<1xf32>)";

TEST_P(Order, ProductsOfTheSameNumbersAreNeverMerged) {
  for (const char *factors : {kEqualSums,
                              // one element of a vector of which others come from memory
                              R"(  %bits = vector.bitcast %x : vector<4xi32> to vector<4xf32>
  %mixed = vector.insert_strided_slice %a, %bits {offsets = [0], strides = [1]} : vector<1xf32> into vector<4xf32>
  %f = vector.extract_strided_slice %mixed {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  %one = arith.constant dense<1.0> : vector<1xf32>
  %g = arith.mulf %a, %one : vector<1xf32>)",
                              // what a mask turns off that LLVM sees through: lanes are not negative
                              R"(  %none = arith.constant 0 : i32
  %off = arith.cmpi slt, %lane, %none : i32
  %words = vector.bitcast %x : vector<4xi32> to vector<4xf32>
  %first = vector.extract_strided_slice %words {offsets = [0], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  %second = vector.extract_strided_slice %words {offsets = [1], sizes = [1], strides = [1]} : vector<4xf32> to vector<1xf32>
  %f = arith.select %off, %first, %a : vector<1xf32>
  %g = arith.select %off, %second, %a : vector<1xf32>)"}) {
    Program program(twoProducts(target(), factors));
    EXPECT_EQ(compileAmd(program).listing.count(Kind::mfma), 2u) << factors;
  }
}

TEST_P(Order, WhatLlvmMergedIsAnError) {
  // Whatever it is that LLVM leaves out: the code of a program with one product, compared with one that has two.
  auto text = [&](bool twice) {
    std::string both = twoProducts(target(), kEqualSums);
    size_t second = both.find("  %q = ");
    return twice ? both : both.substr(0, second) + both.substr(both.find('\n', second) + 1);
  };
  Program one(text(false)), two(text(true));
  std::optional<std::string> said = scheduleMismatch(two.kernel, compileAmd(one).listing);
  ASSERT_TRUE(said);
  EXPECT_NE(said->find("where the program has `mfma`"), std::string::npos) << *said;
}

TEST_P(Order, ProductsThatLlvmFindsEqualBehindABranchAreTiedToTheirPlaces) {
  Program program(twoProducts(target(), R"(  %half = arith.constant 32 : i32
  %first = arith.cmpi slt, %lane, %half : i32
  %f = scf.if %first -> vector<1xf32> {
    scf.yield %a : vector<1xf32>
  } else {
    scf.yield %a : vector<1xf32>
  }
  %g = arith.mulf %f, %a : vector<1xf32>)"));
  EXPECT_EQ(compileAmd(program).listing.count(Kind::mfma), 2u);
}

/// Follows flags through instructions that are written as the disassembler writes them.
struct FlagsOfLanes : testing::Test {
  Flags flags;

  void run(const char *mnemonic, const char *operands) {
    Instruction i;
    i.mnemonic = mnemonic;
    i.operands = operands;
    flags.execute(i);
  }
  bool mayJump(const char *mnemonic) const {
    Instruction branch;
    branch.mnemonic = mnemonic;
    return flags.mayJump(branch);
  }
};

TEST_F(FlagsOfLanes, TheLanesOfBothArmsAreAllLanesAgain) {
  run("s_and_saveexec_b64", "s[4:5], vcc");
  EXPECT_TRUE(mayJump("s_cbranch_execz")) << "perhaps no lane takes the first arm";
  run("s_xor_b64", "s[4:5], exec, s[4:5]");
  run("s_andn2_saveexec_b64", "s[4:5], s[4:5]");
  EXPECT_TRUE(mayJump("s_cbranch_execz")) << "perhaps no lane takes the second arm";
  run("s_or_b64", "exec, exec, s[4:5]");
  EXPECT_FALSE(mayJump("s_cbranch_execz")) << "behind them some lane is on";
}

TEST_F(FlagsOfLanes, TheOtherArmMayHaveARegisterOfItsOwn) {
  run("s_and_saveexec_b64", "s[6:7], s[4:5]");
  run("s_xor_b64", "s[4:5], exec, s[6:7]");
  run("s_andn2_saveexec_b64", "s[4:5], s[4:5]");
  EXPECT_TRUE(mayJump("s_cbranch_execz")) << "perhaps no lane takes the second arm";
  run("s_or_b64", "exec, exec, s[4:5]");
  EXPECT_FALSE(mayJump("s_cbranch_execz")) << "behind them some lane is on";
}

TEST_F(FlagsOfLanes, WhatIsReadStaysAndWhatIsWrittenDoesNot) {
  EXPECT_FALSE(mayJump("s_cbranch_execz"));
  run("v_mbcnt_lo_u32_b32", "v11, exec_lo, 0");
  run("v_mbcnt_hi_u32_b32", "v11, exec_hi, v11");
  run("s_ff1_i32_b64", "s27, exec");
  EXPECT_FALSE(mayJump("s_cbranch_execz")) << "all of them read it";
  run("s_mov_b64", "s[4:5], -1");
  run("v_addc_co_u32_e64", "v1, s[6:7], v2, v3, s[4:5]");
  run("s_andn2_b64", "vcc, exec, s[4:5]");
  EXPECT_FALSE(mayJump("s_cbranch_vccnz")) << "a carry is read";
  run("v_add_co_u32_e64", "v1, s[4:5], v2, v3");
  run("s_andn2_b64", "vcc, exec, s[4:5]");
  EXPECT_TRUE(mayJump("s_cbranch_vccnz")) << "a carry is written";
  run("v_cmpx_lt_i32_e32", "vcc, v1, v2");
  EXPECT_TRUE(mayJump("s_cbranch_execz")) << "a comparison that leaves lanes";
}

/// Instructions of four bytes; `target` is where a branch goes.
Instruction instructionAt(uint64_t address, const char *mnemonic, const char *operands,
                          std::optional<uint64_t> target = {}) {
  Instruction i;
  i.address = address;
  i.mnemonic = mnemonic;
  i.operands = operands;
  i.kind = classify(mnemonic, operands);
  i.target = target;
  return i;
}

TEST_F(FlagsOfLanes, WhatNobodyAsksIsForgotten) {
  const std::vector<Instruction> code = {
      instructionAt(0, "s_mov_b64", "s[8:9], s[4:5]"),
      instructionAt(4, "s_andn2_b64", "vcc, exec, s[8:9]"),
      instructionAt(8, "s_cbranch_vccnz", "0", 16),
      instructionAt(12, "s_cbranch_scc1", "0", 0),
      instructionAt(16, "s_endpgm", ""),
  };
  AskedFlags asked(code);
  Flags one;
  std::swap(one, flags);
  run("s_mov_b64", "s[4:5], -1");
  std::swap(one, flags);
  run("s_mov_b64", "s[6:7], 0");
  run("s_mov_b64", "s[8:9], 0");
  run("s_mov_b64", "s[4:5], -1");
  EXPECT_TRUE(one.knowsNoMoreThan(flags));
  EXPECT_FALSE(flags.knowsNoMoreThan(one));
  asked.prune(flags, 0);
  EXPECT_EQ(flags, one) << "s[6:7] is not asked, s[8:9] is written before";
  Flags other;
  asked.prune(flags, 16);
  asked.prune(other, 16);
  EXPECT_EQ(flags, other) << "behind the last branch nothing is asked";
}

TEST_F(FlagsOfLanes, WhatTwoWaysKnowIsWhatBothDo) {
  Flags other;
  run("s_mov_b64", "s[4:5], -1");
  run("s_mov_b64", "s[6:7], 0");
  std::swap(other, flags);
  run("s_mov_b64", "s[4:5], -1");
  run("s_mov_b64", "s[6:7], -1");
  flags.keepCommon(other);
  EXPECT_TRUE(flags.knowsNoMoreThan(other));
  run("s_andn2_b64", "vcc, exec, s[4:5]");
  EXPECT_FALSE(mayJump("s_cbranch_vccnz"));
  run("s_andn2_b64", "vcc, exec, s[6:7]");
  EXPECT_TRUE(mayJump("s_cbranch_vccnz")) << "they differ about it";
}

/// LLVM's disassembler counts 8 registers for every factor; those of 4 and 6 bits have 4 and 6, up to the last one.
TEST(AmdDisassembly, ProductsOfNarrowFactorsInTheLastRegisters) {
  const std::vector<uint32_t> words = {
      0xd3ac0000, 0x00022d0c, 0xd3ad8c52, 0x954bf566, // a scaled product of v[102:105] and v[250:253]
      0xd3ad0c26, 0x946bf542,                         // one without scales
      0xd3ac0000, 0x0002391a, 0xd3ad0c0a, 0x842a451e, // one that LLVM knows
      0xbf810000};
  std::vector<uint8_t> bytes;
  for (uint32_t word : words)
    for (int i = 0; i < 4; ++i)
      bytes.push_back(static_cast<uint8_t>(word >> 8 * i));
  std::string error;
  auto found = disassembleBytes(bytes, 0x100, "gfx950", error);
  ASSERT_TRUE(found) << error;
  ASSERT_EQ(found->size(), 4u);
  EXPECT_EQ((*found)[0].mnemonic, "v_mfma_scale_f32_16x16x128_f8f6f4");
  EXPECT_EQ((*found)[1].mnemonic, "v_mfma_f32_16x16x128_f8f6f4");
  EXPECT_EQ((*found)[1].address, 0x110u);
  EXPECT_EQ((*found)[2].text(), "v_mfma_scale_f32_16x16x128_f8f6f4 v[10:13], v[30:33], v[34:37], v[10:13], v26, v28 "
                                "op_sel_hi:[0,0,0] cbsz:4 blgp:4");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ((*found)[static_cast<size_t>(i)].kind, Kind::mfma);
  EXPECT_FALSE(disassembleBytes(std::span(bytes).first(4), 0, "gfx950", error)) << "half an instruction";
}

TEST_F(FlagsOfLanes, AFlagComesBackFromLanesOfAVectorRegister) {
  auto spillAndFill = [&](const char *between, const char *what) {
    run("s_mov_b64", "s[4:5], -1");
    run("v_writelane_b32", "v91, s4, 3");
    run("v_writelane_b32", "v91, s5, 7");
    run("s_mov_b64", "s[4:5], s[8:9]");
    run("v_readlane_b32", "s12, v91, 3");
    run(between, what);
    run("v_readlane_b32", "s13, v91, 7");
    run("s_andn2_b64", "vcc, exec, s[12:13]");
    return mayJump("s_cbranch_vccnz");
  };
  EXPECT_FALSE(spillAndFill("v_cndmask_b32_e64", "v2, v3, v4, s[12:13]")) << "read, not written";
  EXPECT_TRUE(spillAndFill("s_add_i32", "s12, s12, s14")) << "the lower half is another one";
  EXPECT_TRUE(spillAndFill("v_add_u32_e32", "v91, v2, v3")) << "the lanes are others";
}

/// The first instruction of a class.
auto firstOf(Disassembly &listing, Kind kind) {
  return llvm::find_if(listing.instructions, [&](const Instruction &i) { return i.kind == kind; });
}

TEST_P(Order, MismatchesAreNamed) {
  Program program(around(target(), "  machine.wait vm, 1", false));
  Compiled compiled = compileAmd(program);
  EXPECT_EQ(scheduleMismatch(program.kernel, compiled.listing), std::nullopt);
  auto withWait = [&](const char *text) {
    Disassembly other = compiled.listing;
    for (Instruction &i : other.instructions)
      if (i.kind == Kind::waitcnt && i.operands == "vmcnt(1)")
        i.operands = text;
    return scheduleMismatch(program.kernel, other);
  };
  EXPECT_EQ(withWait("vmcnt(0)"), std::nullopt) << "a stronger wait is right";
  EXPECT_EQ(withWait("vmcnt(2)"), // lines counted from the kernel's first
            "no wait `vmcnt(1)` before `global-store` (line 16) for the program's wait at line 15");
  EXPECT_EQ(withWait("lgkmcnt(0)"),
            "no wait `vmcnt(1)` before `global-store` (line 16) for the program's wait at line 15");
  Disassembly other = compiled.listing;
  std::swap(*firstOf(other, Kind::sharedStore), *firstOf(other, Kind::globalLoad));
  EXPECT_EQ(scheduleMismatch(program.kernel, other),
            "`shared-store` (line 13) where the program has `global-load` (line 10)");
  other = compiled.listing;
  other.instructions.erase(firstOf(other, Kind::sharedStore));
  EXPECT_EQ(scheduleMismatch(program.kernel, other),
            "`shared-store` (line 14) where the program has `shared-store` (line 13)");
  other = compiled.listing;
  std::erase_if(other.instructions, [](const Instruction &i) { return i.kind == Kind::globalStore; });
  EXPECT_EQ(scheduleMismatch(program.kernel, other), "the end where the program has `global-store` (line 16)");
}

//===-- Ways ---------------------------------------------------------------------------===//

/// Loads and stores around `control`, which sees `%n`, `%lane`, and the buffer `%at`.
std::string controlled(const Target &target, const std::string &control) {
  std::string body = R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 65536 : i64
  %lane = machine.id lane
  %offset = arith.muli %lane, %c16 : i32
  %at = machine.buffer %b[%zero], %bytes
  %init = arith.constant dense<0> : vector<4xi32>
CONTROL
  machine.store %r, %at [%offset] {immediate = 2048 : i64, alignment = 16 : i64} : vector<4xi32>)";
  std::string text = kernelText(target, "%b: !machine.ptr, %n: i32", replaceAll(body, "CONTROL", control), 4096, 2);
  return replaceAll(text, "attributes {", "attributes {keep_order, ");
}

const char *const kLoop = R"(
  %r = scf.for %i = LOW to HIGH step %c1 iter_args(%sum = %init) -> (vector<4xi32>) : i32 {
    %u = arith.muli %i, %c16 : i32
    %x = machine.load %at [%offset, %u] {alignment = 16 : i64} : vector<4xi32>
    machine.wait vm, 0
    %s = arith.addi %sum, %x : vector<4xi32>
    machine.barrier
    scf.yield %s : vector<4xi32>
  })";

std::string loopText(const std::string &low, const std::string &high) {
  return replaceAll(replaceAll(kLoop, "LOW", low), "HIGH", high);
}

TEST_P(Order, LoopsMayHaveNoTripsOneOrMany) {
  for (const char *high : {"%c0", "%c1", "%c16", "%n"}) {
    Program program(controlled(target(), loopText("%c0", high)));
    EXPECT_EQ(scheduleMismatch(program.kernel, compileAmd(program).listing), std::nullopt) << high;
  }
}

const char *const kArms = R"(
  %c = arith.cmpi slt, CONDITION, %c16 : i32
  %r = scf.if %c -> (vector<4xi32>) {
    %x = machine.load %at [%offset] {alignment = 16 : i64} : vector<4xi32>
    %y = machine.load %at [%offset] {immediate = 1024 : i64, alignment = 16 : i64} : vector<4xi32>
    machine.wait vm, 1
    %s = arith.addi %x, %y : vector<4xi32>
    scf.yield %s : vector<4xi32>
  } else {
    %x = machine.load %at [%offset] {alignment = 16 : i64} : vector<4xi32>
    machine.store %x, [%offset] {alignment = 16 : i64} : vector<4xi32>
    %y = machine.load %at [%offset] {immediate = 1024 : i64, alignment = 16 : i64} : vector<4xi32>
    scf.yield %y : vector<4xi32>
  })";

TEST_P(Order, ArmsOfABranchAreComparedEachOnItsOwn) {
  for (const char *condition : {"%n", "%lane"}) {
    std::string text = controlled(target(), replaceAll(kArms, "CONDITION", condition));
    Program program(text);
    Compiled compiled = compileAmd(program);
    EXPECT_EQ(scheduleMismatch(program.kernel, compiled.listing), std::nullopt) << condition;
    // The same number of everything, but nothing waits.
    Disassembly other = compiled.listing;
    std::erase_if(other.instructions, [](const Instruction &i) { return i.kind == Kind::waitcnt; });
    EXPECT_NE(scheduleMismatch(program.kernel, other), std::nullopt) << condition;
    other = compiled.listing;
    std::swap(*firstOf(other, Kind::sharedStore),
              other.instructions[firstOf(other, Kind::globalLoad) - other.instructions.begin()]);
    EXPECT_NE(scheduleMismatch(program.kernel, other), std::nullopt) << condition;
  }
}

TEST_P(Order, WhatMayBeSkippedIsNotCounted) {
  // Where all lanes of a wave are off the store is branched around: a wait that counts it would let the first one go.
  std::string control = R"(
  %m = arith.cmpi slt, %lane, %n : i32
  machine.store %init, [%offset] {alignment = 16 : i64} : vector<4xi32>
  machine.store %init, [%offset] mask %m {immediate = 1024 : i64, alignment = 16 : i64} : vector<4xi32>
  machine.wait shared, 1
  machine.barrier
  %r = machine.load [%offset] {alignment = 16 : i64} : vector<4xi32>)";
  Program program(controlled(target(), control));
  Compiled compiled = compileAmd(program);
  EXPECT_EQ(scheduleMismatch(program.kernel, compiled.listing), std::nullopt);
  auto barrier = firstOf(compiled.listing, Kind::barrier);
  EXPECT_EQ(std::prev(barrier)->operands, "lgkmcnt(0)") << print(compiled.listing);
}

} // namespace
} // namespace soliton::backend
