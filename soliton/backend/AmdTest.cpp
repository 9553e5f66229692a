// HSACO: the binary holds what the machine form says, no more and no less. Nothing here runs on a GPU.
#include "soliton/backend/TestUtil.h"
#include "soliton/backend/common/Pressure.h"

namespace soliton::backend {
namespace {

/// Memory accesses, matrix instructions and barriers correspond one to one.
void expectOneToOne(const Compiled &compiled, Program &program) {
  const Disassembly &listing = compiled.listing;
  auto isGlobal = [](auto op) { return static_cast<bool>(op.getBuffer()); };
  auto isShared = [](auto op) { return !op.getBuffer(); };
  EXPECT_EQ(listing.count(Kind::globalLoad), program.count<machine::LoadOp>(isGlobal)) << print(listing);
  EXPECT_EQ(listing.count(Kind::globalStore), program.count<machine::StoreOp>(isGlobal));
  EXPECT_EQ(listing.count(Kind::sharedLoad),
            program.count<machine::LoadOp>(isShared) + program.count<machine::LoadMatrixOp>());
  EXPECT_EQ(listing.count(Kind::sharedStore), program.count<machine::StoreOp>(isShared));
  EXPECT_EQ(listing.count(Kind::sharedDirect), program.count<machine::CopyAsyncOp>());
  EXPECT_EQ(listing.count(Kind::mfma), program.count<machine::MmaOp>());
  // A single wave meets nobody: LLVM leaves its barriers out.
  EXPECT_EQ(listing.count(Kind::barrier), program.kernel.getWaves() == 1 ? 0 : program.count<machine::BarrierOp>());
  EXPECT_EQ(listing.count(Kind::scratch), 0u);
}

/// Shared accesses between one barrier and the next, in program order.
using Segments = std::vector<std::array<size_t, 3>>;

Segments segmentsOf(const Disassembly &listing) {
  Segments result(1);
  for (const Instruction &i : listing.instructions) {
    if (i.kind == Kind::barrier)
      result.emplace_back();
    result.back()[0] += i.kind == Kind::sharedLoad;
    result.back()[1] += i.kind == Kind::sharedStore;
    result.back()[2] += i.kind == Kind::sharedDirect;
  }
  return result;
}

Segments segmentsOf(machine::KernelOp kernel) {
  Segments result(1);
  kernel.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (llvm::isa<machine::BarrierOp>(op))
      result.emplace_back();
    auto load = llvm::dyn_cast<machine::LoadOp>(op);
    auto store = llvm::dyn_cast<machine::StoreOp>(op);
    result.back()[0] += (load && !load.getBuffer()) || llvm::isa<machine::LoadMatrixOp>(op);
    result.back()[1] += store && !store.getBuffer();
    result.back()[2] += llvm::isa<machine::CopyAsyncOp>(op);
  });
  return result;
}

/// The waits that come from `machine.wait` ops, in order.
std::vector<std::string> programWaits(Program &program, const Disassembly &listing) {
  std::vector<unsigned> lines;
  program.kernel.walk([&](machine::WaitOp op) { lines.push_back(static_cast<unsigned>(placeOf(op.getLoc()).line)); });
  std::vector<std::string> result;
  for (const Instruction &i : listing.instructions)
    if (i.kind == Kind::waitcnt && llvm::is_contained(lines, i.line))
      result.push_back(i.operands);
  return result;
}

INSTANTIATE_TEST_SUITE_P(Chips, Gfx9, ::testing::Values("gfx942", "gfx950"),
                         [](auto &info) { return std::string(info.param); });

TEST_P(Gfx9, Copy) {
  Program program(retarget(readInput("copy.mlir"), target()), "copy.mlir");
  Compiled compiled = compileAmd(program);
  expectLaunch(compiled, program);
  expectOneToOne(compiled, program);
  EXPECT_EQ(compiled.facts.target, "amdgcn-amd-amdhsa--" + target().name);
  EXPECT_EQ(compiled.code.parameters[2], (Parameter{"n", ParameterKind::scalar, 16, 4}));
  // The mask is no branch, and the 16 bytes are one instruction at the line of its op.
  EXPECT_EQ(compiled.listing.count(Kind::branch), 1u) << print(compiled.listing);
  const Instruction &load =
      *llvm::find_if(compiled.listing.instructions, [](auto &i) { return i.kind == Kind::globalLoad; });
  EXPECT_EQ(load.mnemonic, "buffer_load_dwordx4");
  EXPECT_EQ(load.file, "copy.mlir");
  EXPECT_EQ(load.line, 23u);
}

/// The copy with its load in a function of a header and its store in another file.
std::string copyOfThreeFiles(const Target &target) {
  std::string text = retarget(readInput("copy.mlir"), target);
  text = replaceAll(text, "mask %inside {alignment = 16 : i64} : vector<8xf16>\n  machine.store",
                    "mask %inside {alignment = 16 : i64} : vector<8xf16> "
                    "loc(callsite(\"folder/tiles.h\":9:5 at \"kernel.cpp\":70:1))\n  machine.store");
  return replaceAll(text, "vector<8xf16>\n}", "vector<8xf16> loc(\"epilogue.h\":7:3)\n}");
}

TEST_P(Gfx9, InstructionsNameTheInnermostPlaceOfTheAuthor) {
  Program program(copyOfThreeFiles(target()), "copy.mlir");
  Compiled compiled = compileAmd(program);
  std::set<std::string> files;
  for (const Instruction &i : compiled.listing.instructions) {
    files.insert(i.file);
    if (i.kind == Kind::globalLoad)
      EXPECT_EQ(i.file + ":" + std::to_string(i.line), "folder/tiles.h:9");
    if (i.kind == Kind::globalStore)
      EXPECT_EQ(i.file + ":" + std::to_string(i.line), "epilogue.h:7");
  }
  EXPECT_EQ(files, (std::set<std::string>{"copy.mlir", "epilogue.h", "folder/tiles.h"})) << print(compiled.listing);
}

TEST_P(Gfx9, LinesLeaveTheCodeAsItIs) {
  for (const char *file : {"gemm-amd.mlir", "masks.mlir"}) {
    Program program(retarget(readInput(file), target()), file), plain(retarget(readInput(file), target()), file);
    Options options;
    options.lineInfo = false;
    Compiled with = compileAmd(program), without = compileAmd(plain, options);
    auto textOf = [](const Disassembly &listing) {
      std::string text;
      for (const Instruction &i : listing.instructions)
        text += i.text() + "\n";
      return text;
    };
    EXPECT_EQ(textOf(with.listing), textOf(without.listing));
  }
}

TEST_P(Gfx9, Gemm) {
  Program program(retarget(readInput("gemm-amd.mlir"), target()), "gemm.mlir");
  Compiled compiled = compileAmd(program);
  expectLaunch(compiled, program);
  expectOneToOne(compiled, program);
  EXPECT_EQ(segmentsOf(compiled.listing), segmentsOf(program.kernel)) << print(compiled.listing);
  EXPECT_EQ(programWaits(program, compiled.listing), (std::vector<std::string>{"lgkmcnt(0)", "lgkmcnt(0)"}));
  for (const Instruction &i : compiled.listing.instructions) {
    if (i.kind == Kind::sharedStore)
      EXPECT_EQ(i.mnemonic, "ds_write_b128");
    if (i.kind == Kind::sharedLoad)
      EXPECT_EQ(i.mnemonic, "ds_read_b64");
    if (i.kind == Kind::mfma) {
      EXPECT_GE(i.line, 85u);
      EXPECT_LE(i.line, 124u);
    }
  }
  // No copies of accumulators: at most one register move for each of the 64 before and after the loop.
  size_t moves = llvm::count_if(compiled.listing.instructions, [](auto &i) {
    return i.mnemonic.starts_with("v_accvgpr_mov") || i.mnemonic.starts_with("v_mov_b32") ||
           i.mnemonic.starts_with("v_mov_b64");
  });
  EXPECT_LE(moves, 130u) << print(compiled.listing);
  EXPECT_LE(compiled.code.vgprs, 128u);
}

TEST_P(Gfx9, MaskedAccessesOfEveryWidth) {
  Program program(retarget(readInput("masks.mlir"), target()), "masks.mlir");
  Compiled compiled = compileAmd(program);
  expectLaunch(compiled, program);
  expectOneToOne(compiled, program);
  std::vector<std::string> loads;
  for (const Instruction &i : compiled.listing.instructions)
    if (i.kind == Kind::globalLoad)
      loads.push_back(i.mnemonic);
  llvm::sort(loads);
  EXPECT_EQ(loads, (std::vector<std::string>{"buffer_load_dword", "buffer_load_dwordx2", "buffer_load_dwordx4",
                                             "buffer_load_ubyte", "buffer_load_ushort"}));
}

TEST_P(Gfx9, SharedAccessesOfEveryWidthAreOneInstruction) {
  // Every width at every alignment that the back end takes.
  std::string body =
      "  %zero = arith.constant 0 : i64\n  %bytes = arith.constant 65536 : i64\n  %c16 = arith.constant 16 : i32\n"
      "  %lane = machine.id lane\n  %offset = arith.muli %lane, %c16 : i32\n"
      "  %to = machine.buffer %b[%zero], %bytes\n";
  int i = 0;
  for (auto [type, alignment] : {std::pair("1xi8", 1), std::pair("2xi8", 2), std::pair("1xi32", 4),
                                 std::pair("2xi32", 8), std::pair("3xi32", 16), std::pair("4xi32", 16)}) {
    std::string at = std::to_string(i * 2048),
                attributes = ", alignment = " + std::to_string(alignment) + " : i64} : vector<" + type + ">\n";
    std::string name = "%v" + std::to_string(i++);
    body += "  " + name + " = machine.load [%offset] {immediate = " + at + " : i64" + attributes;
    body += "  machine.store " + name + ", [%offset] {immediate = " + std::to_string(i * 2048 - 1024) + " : i64" +
            attributes;
  }
  Program program(kernelText(target(), "%b: !machine.ptr", body, 32768));
  Compiled compiled = compileAmd(program);
  EXPECT_EQ(compiled.listing.count(Kind::sharedLoad), 6u) << print(compiled.listing);
  EXPECT_EQ(compiled.listing.count(Kind::sharedStore), 6u) << print(compiled.listing);
}

TEST_P(Gfx9, LanesAndAtomicsAndMath) {
  for (const char *file : {"lanes.mlir", "atomic.mlir", "math.mlir"}) {
    Program program(retarget(readInput(file), target()), file);
    Compiled compiled = compileAmd(program);
    expectLaunch(compiled, program);
    EXPECT_EQ(compiled.listing.count(Kind::globalAtomic), file == std::string("atomic.mlir") ? 3u : 0u);
    if (file == std::string("lanes.mlir")) {
      auto uses = [&](llvm::StringRef text) {
        return llvm::count_if(compiled.listing.instructions,
                              [&](auto &i) { return llvm::StringRef(i.text()).contains(text); });
      };
      EXPECT_EQ(uses("ds_swizzle"), 3);  // 16, 17 and 31
      EXPECT_EQ(uses("ds_bpermute"), 5); // up and down twice each, and the index
    }
  }
}

TEST_P(Gfx9, EveryMatrixInstructionOfTheTable) {
  std::vector<std::string> done;
  for (const MmaKind &kind : target().mmas) {
    std::string key = kind.native.instruction + std::string(name(kind.lhs.type)) + std::string(name(kind.rhs.type));
    if (llvm::is_contained(done, key))
      continue;
    done.push_back(key);
    Program program(mmaText(target(), kind));
    ASSERT_TRUE(program.kernel) << kind.name;
    Compiled compiled = compileAmd(program);
    ASSERT_EQ(compiled.listing.count(Kind::mfma), 1u) << kind.native.instruction << program.said();
    const Instruction &mfma =
        *llvm::find_if(compiled.listing.instructions, [](auto &i) { return i.kind == Kind::mfma; });
    // Without scales LLVM takes the form that has none.
    EXPECT_EQ(mfma.mnemonic, replaceAll(kind.native.instruction, "_scale", ""));
  }
  EXPECT_GE(done.size(), 12u);
}

TEST(Gfx950, EveryMatrixLoadOfTheTable) {
  size_t count = 0;
  for (const MatrixAccess &access : chip("gfx950").matrixAccesses) {
    int words = access.name.find("b96") != std::string::npos ? 3 : 2;
    std::string type = "vector<" + std::to_string(words) + "xi32>";
    std::string body = R"(
  %c16 = arith.constant 16 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %offset = arith.muli %lane, %c16 : i32
  %to = machine.buffer %b[%zero], %bytes
  %v = machine.load_matrix "KIND" [%offset] {immediate = 1024 : i64} : TYPE
  machine.store %v, %to [%offset] {alignment = 8 : i64} : TYPE)";
    Program program(kernelText(chip("gfx950"), "%b: !machine.ptr",
                               replaceAll(replaceAll(body, "KIND", access.name), "TYPE", type), 4096));
    Compiled compiled = compileAmd(program);
    EXPECT_TRUE(llvm::any_of(
        compiled.listing.instructions,
        [&](auto &i) { return i.mnemonic == access.name && llvm::StringRef(i.operands).ends_with("offset:1024"); }))
        << access.name << "\n"
        << print(compiled.listing);
    ++count;
  }
  EXPECT_GE(count, 3u);
}

TEST(Gfx950, WaitsAreTheProgramsOwn) {
  Program program(readInput("async-amd.mlir"), "async.mlir");
  Compiled compiled = compileAmd(program);
  expectLaunch(compiled, program);
  expectOneToOne(compiled, program);
  EXPECT_EQ(segmentsOf(compiled.listing), segmentsOf(program.kernel)) << print(compiled.listing);
  std::vector<std::string> vm;
  for (const Instruction &i : compiled.listing.instructions)
    if (i.kind == Kind::waitcnt && llvm::StringRef(i.operands).contains("vmcnt"))
      vm.push_back(i.operands);
  EXPECT_EQ(vm, (std::vector<std::string>{"vmcnt(2)", "vmcnt(0)"})) << print(compiled.listing);
}

TEST(Gfx950, CountedWaitOnSharedComesAfterAllArguments) {
  std::string body = R"(
  %c4 = arith.constant 4 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %offset = arith.muli %lane, %c4 : i32
  %v = vector.broadcast %lane : i32 to vector<1xi32>
  machine.store %v, [%offset] {alignment = 4 : i64} : vector<1xi32>
  machine.store %v, [%offset] {immediate = 1024 : i64, alignment = 4 : i64} : vector<1xi32>
  machine.wait shared, 1
  machine.barrier
  %x = machine.load [%offset] {alignment = 4 : i64} : vector<1xi32>
  %to = machine.buffer %b[%zero], %bytes
  machine.store %x, %to [%offset] {alignment = 4 : i64} : vector<1xi32>)";
  Program program(kernelText(chip("gfx950"), "%b: !machine.ptr", body, 2048));
  Compiled compiled = compileAmd(program);
  EXPECT_EQ(programWaits(program, compiled.listing), (std::vector<std::string>{"lgkmcnt(1)"}))
      << print(compiled.listing);
  // The argument's scalar load must be done before the first shared access.
  auto first = [&](Kind kind) {
    return llvm::find_if(compiled.listing.instructions, [&](auto &i) { return i.kind == kind; }) -
           compiled.listing.instructions.begin();
  };
  EXPECT_LT(first(Kind::scalarLoad), first(Kind::waitcnt));
  EXPECT_LT(first(Kind::waitcnt), first(Kind::sharedStore)) << print(compiled.listing);
}

TEST(Gfx942, SpillIsAWarningWithItsSize) {
  std::string body =
      "  %zero = arith.constant 0 : i64\n  %bytes = arith.constant 1048576 : i64\n  %c16 = arith.constant 16 : i32\n"
      "  %lane = machine.id lane\n  %offset = arith.muli %lane, %c16 : i32\n"
      "  %from = machine.buffer %a[%zero], %bytes\n";
  for (int i = 0; i < 40; ++i)
    body += "  %v" + std::to_string(i) + " = machine.load %from [%offset] {immediate = " + std::to_string(i * 4096) +
            " : i64, alignment = 16 : i64} : vector<4xf32>\n";
  body += "  machine.barrier\n";
  for (int i = 0; i < 40; ++i)
    body += "  machine.store %v" + std::to_string(39 - i) +
            ", %from [%offset] {immediate = " + std::to_string(i * 4096) +
            " : i64, alignment = 16 : i64} : vector<4xf32>\n";
  // Sixteen waves leave each lane 128 registers; 160 are alive at the barrier.
  Program program(kernelText(chip("gfx942"), "%a: !machine.ptr", body, 0, 16));
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  EXPECT_GT(code->spilledRegisters, 0u);
  ASSERT_EQ(code->warnings.size(), 1u);
  EXPECT_EQ(code->warnings[0].id, DiagId::RegisterSpill);
  EXPECT_NE(code->warnings[0].message.find(std::to_string(code->spilledRegisters) + " vector registers"),
            std::string::npos);
}

/// Loads so many vectors of four words, then stores them all.
std::string allAtOnce(int vectors) {
  std::string body =
      "  %zero = arith.constant 0 : i64\n  %bytes = arith.constant 16777216 : i64\n  %c16 = arith.constant 16 : i32\n"
      "  %lane = machine.id lane\n  %offset = arith.muli %lane, %c16 : i32\n"
      "  %from = machine.buffer %a[%zero], %bytes\n";
  auto at = [](int i) {
    return " %from [%offset] {immediate = " + std::to_string(i * 4096) +
           " : i64, alignment = 16 : i64} : vector<4xf32>\n";
  };
  for (int i = 0; i < vectors; ++i)
    body += "  %v" + std::to_string(i) + " = machine.load" + at(i);
  for (int i = 0; i < vectors; ++i)
    body += "  machine.store %v" + std::to_string(i) + "," + at(i);
  return kernelText(chip("gfx942"), "%a: !machine.ptr", body, 0, 4);
}

TEST(Gfx942, TwiceTheRegistersIsRefusedAtOnce) {
  Program fits(allAtOnce(40)), far(allAtOnce(300));
  EXPECT_EQ(registersAlive(fits.kernel), 160);
  EXPECT_EQ(registersAlive(far.kernel), 1200);
  EXPECT_TRUE(failed(far.compile()));
  EXPECT_TRUE(far.saidId(DiagId::RegisterSpill)) << far.said();
  EXPECT_NE(far.said().find("keeps about 1200 registers a lane alive, gfx942 has 512"), std::string::npos)
      << far.said();
  EXPECT_NE(far.said().find("hint: use a smaller tile or more waves"), std::string::npos) << far.said();
}

/// A kernel with bounds for a loop, and a buffer.
std::string withLoop(const std::string &body) {
  std::string bounds = R"(  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c9 = arith.constant 9 : i32
  %from = machine.buffer %a[%zero], %bytes
)";
  return kernelText(chip("gfx942"), "%a: !machine.ptr", bounds + body, 0, 1);
}

TEST(Gfx942, WhatALoopUsesLivesUntilItEnds) {
  Program program(withLoop(R"(
  %kept = machine.load %from [%c0] {alignment = 16 : i64} : vector<4xf32>
  scf.for %i = %c0 to %c9 step %c1 : i32 {
    machine.store %kept, %from [%c0] {alignment = 16 : i64} : vector<4xf32>
    %other = machine.load %from [%c0] {alignment = 16 : i64} : vector<4xf32>
    machine.store %other, %from [%c0] {alignment = 16 : i64} : vector<4xf32>
  })"));
  EXPECT_EQ(registersAlive(program.kernel), 8);
}

TEST(Gfx942, WhatALoopCarriesIsCountedOnce) {
  Program program(withLoop(R"(
  %first = machine.load %from [%c0] {alignment = 16 : i64} : vector<4xf32>
  %last = scf.for %i = %c0 to %c9 step %c1 iter_args(%carried = %first) -> (vector<4xf32>) : i32 {
    machine.store %carried, %from [%c0] {alignment = 16 : i64} : vector<4xf32>
    %next = machine.load %from [%c0] {alignment = 16 : i64} : vector<4xf32>
    scf.yield %next : vector<4xf32>
  }
  machine.store %last, %from [%c0] {alignment = 16 : i64} : vector<4xf32>)"));
  EXPECT_EQ(registersAlive(program.kernel), 4);
}

TEST(Gfx942, MovingElementsTakesNoRegisters) {
  std::string body = R"(
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %c0 = arith.constant 0 : i32
  %at = machine.buffer %a[%zero], %bytes
  %few = machine.load %at [%c0] {alignment = 16 : i64} : vector<4xf32>
)";
  for (int i = 0; i < 100; ++i)
    body +=
        "  %many" + std::to_string(i) + " = vector.shuffle %few, %few [0, 0, 1, 7] : vector<4xf32>, vector<4xf32>\n";
  for (int i = 0; i < 100; ++i)
    body += "  machine.store %many" + std::to_string(i) + ", %at [%c0] {immediate = " + std::to_string(16 * i) +
            " : i64, alignment = 16 : i64} : vector<4xf32>\n";
  Program program(kernelText(chip("gfx942"), "%a: !machine.ptr", body));
  EXPECT_EQ(registersAlive(program.kernel), 4);
}

TEST_P(Gfx9, ABaseThatLlvmComputesInLanesIsStillScalar) {
  // Scalar units divide no 64-bit numbers.
  Program program(kernelText(target(), "%b: !machine.ptr, %m: i32, %n: i32", R"(
  %lane = machine.id lane
  %wide = arith.extsi %m : i32 to i64
  %by = arith.extsi %n : i32 to i64
  %start = arith.floordivsi %wide, %by : i64
  %at = machine.buffer %b[%start], %wide
  %one = arith.constant dense<1> : vector<1xi8>
  machine.store %one, %at [%lane] {alignment = 1 : i64} : vector<1xi8>)"));
  Compiled compiled = compileAmd(program);
  auto comparesLanes = [](const Instruction &i) { return i.mnemonic.starts_with("s_and_saveexec"); };
  EXPECT_EQ(llvm::count_if(compiled.listing.instructions, comparesLanes), 0) << print(compiled.listing);
}

TEST_P(Gfx9, BytesAreTakenApartInRegisters) {
  Program program(kernelText(target(), "%b: !machine.ptr", R"(
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %at = machine.buffer %b[%zero], %bytes
  %x = machine.load %at [%lane] {alignment = 4 : i64} : vector<4xi8>
  %small = vector.bitcast %x : vector<4xi8> to vector<8xf4E2M1FN>
  %wide = machine.convert %small : vector<8xf4E2M1FN> -> vector<8xf32>
  %twice = arith.addf %wide, %wide : vector<8xf32>
  %back = machine.convert %twice : vector<8xf32> -> vector<8xf4E2M1FN>
  %y = vector.bitcast %back : vector<8xf4E2M1FN> to vector<4xi8>
  machine.store %y, %at [%lane] {alignment = 4 : i64} : vector<4xi8>)"));
  Compiled compiled = compileAmd(program);
  EXPECT_EQ(compiled.listing.count(Kind::scratch), 0u) << print(compiled.listing);
  expectOneToOne(compiled, program);
}

TEST_P(Gfx9, RemaindersOfBf16) {
  Program program(kernelText(target(), "%b: !machine.ptr", R"(
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %at = machine.buffer %b[%zero], %bytes
  %x = machine.load %at [%lane] {alignment = 2 : i64} : vector<1xbf16>
  %wide = arith.extf %x : vector<1xbf16> to vector<1xf32>
  %seven = arith.constant dense<7.0> : vector<1xf32>
  %rest = arith.remf %wide, %seven : vector<1xf32>
  %narrow = arith.truncf %rest : vector<1xf32> to vector<1xbf16>
  machine.store %narrow, %at [%lane] {alignment = 2 : i64} : vector<1xbf16>)"));
  EXPECT_EQ(compileAmd(program).listing.count(Kind::globalStore), 1u);
}

TEST_P(Gfx9, HalvesTakeTheSignsOfBf16) {
  Program program(kernelText(target(), "%b: !machine.ptr", R"(
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %at = machine.buffer %b[%zero], %bytes
  %x = machine.load %at [%lane] {alignment = 2 : i64} : vector<1xf16>
  %y = machine.load %at [%lane] {immediate = 128 : i64, alignment = 2 : i64} : vector<1xbf16>
  %wide = arith.extf %x : vector<1xf16> to vector<1xf32>
  %sign = arith.extf %y : vector<1xbf16> to vector<1xf32>
  %both = math.copysign %wide, %sign : vector<1xf32>
  %narrow = arith.truncf %both : vector<1xf32> to vector<1xf16>
  machine.store %narrow, %at [%lane] {alignment = 2 : i64} : vector<1xf16>)"));
  Compiled compiled = compileAmd(program);
  auto isOne = [](const Instruction &i) { return llvm::StringRef(i.mnemonic).starts_with("v_bfi_b32"); };
  EXPECT_EQ(llvm::count_if(compiled.listing.instructions, isOne), 1) << print(compiled.listing);
}

TEST_P(Gfx9, OddNumbersOfHalvesGoAroundLoops) {
  Program program(kernelText(target(), "%b: !machine.ptr, %n: i32", R"(
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %none = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %lane = machine.id lane
  %at = machine.buffer %b[%zero], %bytes
  %x = machine.load %at [%lane] {alignment = 4 : i64} : vector<6xbf16>
  %c = arith.constant dense<0.0> : vector<6xbf16>
  %r:2 = scf.for %i = %none to %n step %one iter_args(%s = %c, %t = %c) -> (vector<6xbf16>, vector<6xbf16>) : i32 {
    %p = arith.addf %s, %x : vector<6xbf16>
    %q = arith.addf %t, %x : vector<6xbf16>
    scf.yield %p, %q : vector<6xbf16>, vector<6xbf16>
  }
  machine.store %r#0, %at [%lane] {alignment = 4 : i64} : vector<6xbf16>
  machine.store %r#1, %at [%lane] {immediate = 2048 : i64, alignment = 4 : i64} : vector<6xbf16>)"));
  EXPECT_EQ(compileAmd(program).listing.count(Kind::globalStore), 2u);
}

TEST(Gfx942, KeepsTextsOnRequest) {
  Program program(readInput("copy.mlir"));
  Options options;
  options.keepAssembly = options.keepLlvmIr = true;
  auto code = program.compile(options);
  ASSERT_TRUE(succeeded(code));
  EXPECT_NE(code->assembly.find("buffer_load_dwordx4"), std::string::npos);
  EXPECT_NE(code->llvmIr.find("llvm.amdgcn.raw.ptr.buffer.load"), std::string::npos);
  for (const char *phase : {"translate", "llvm_opt", "llvm_codegen", "lld"})
    EXPECT_GT(code->msOf(phase), 0) << phase;
}

} // namespace
} // namespace soliton::backend
