// PTX: one instruction per op, and ptxas takes every one of them without spilling.
#include "soliton/backend/TestUtil.h"

#include "llvm/Support/FileSystem.h"

namespace soliton::backend {
namespace {

const Target &hopper() {
  return chip("sm_90a");
}

/// Times `text` stands at the beginning of an instruction.
size_t times(const std::string &ptx, const std::string &text) {
  size_t count = 0;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    llvm::StringRef trimmed = llvm::StringRef(line).ltrim();
    if (trimmed.starts_with("@"))
      trimmed = trimmed.drop_until([](char c) { return c == ' '; }).ltrim();
    count += trimmed.starts_with(text);
  }
  return count;
}

TEST(Nvidia, Gemm) {
  Program program(readInput("gemm-nvidia.mlir"), "gemm.mlir");
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  EXPECT_EQ(times(code->assembly, "mma.sync.aligned.m16n8k16"), program.count<machine::MmaOp>());
  EXPECT_EQ(times(code->assembly, "ldmatrix.sync.aligned.m8n8.x4.shared"), program.count<machine::LoadMatrixOp>());
  EXPECT_EQ(times(code->assembly, "cp.async.cg.shared.global"), program.count<machine::CopyAsyncOp>());
  EXPECT_EQ(times(code->assembly, "cp.async.commit_group"), 1u);
  EXPECT_EQ(times(code->assembly, "cp.async.wait_group 0"), 1u);
  EXPECT_EQ(times(code->assembly, "bar.sync"), program.count<machine::BarrierOp>());
  EXPECT_EQ(times(code->assembly, "st.global.v2.b32"), program.count<machine::StoreOp>());
  EXPECT_NE(code->assembly.find(".maxntid 128"), std::string::npos);
  EXPECT_TRUE(code->sharedIsDynamic);
  EXPECT_EQ(code->sharedBytes, 16384u);
  EXPECT_EQ(code->parameters[3], (Parameter{"k", ParameterKind::scalar, 24, 4}));
  EXPECT_NE(code->assembly.find(".loc"), std::string::npos);
  SOLITON_ASSEMBLE(program, *code);
}

/// Without what says where the instructions come from.
std::string withoutLines(const std::string &ptx) {
  std::string result;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    llvm::StringRef text = llvm::StringRef(line).trim();
    bool places = text.starts_with(".loc") || text.starts_with(".file") || text.starts_with(".section") ||
                  text.starts_with("$L__tmp") || text.starts_with("$L__func");
    if (!places && !text.empty())
      result += line + "\n";
  }
  return result;
}

TEST(Nvidia, LinesLeaveTheCodeAsItIs) {
  Options options;
  options.lineInfo = false;
  Program program(readInput("gemm-nvidia.mlir"), "gemm.mlir"), plain(readInput("gemm-nvidia.mlir"), "gemm.mlir");
  auto code = program.compile(), other = plain.compile(options);
  ASSERT_TRUE(succeeded(code) && succeeded(other)) << program.said() << plain.said();
  EXPECT_EQ(withoutLines(code->assembly), withoutLines(other->assembly));
  EXPECT_EQ(other->assembly.find(".loc"), std::string::npos);
}

TEST(Nvidia, LinesNameTheInnermostPlaceOfTheAuthor) {
  std::string text = retarget(readInput("copy.mlir"), hopper());
  text = replaceAll(text, "vector<8xf16>\n}",
                    "vector<8xf16> loc(callsite(\"folder/epilogue.h\":7:3 at \"kernel.cpp\":70:1))\n}");
  Program program(text, "copy.mlir");
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  llvm::StringRef ptx = code->assembly;
  EXPECT_TRUE(ptx.contains(".file\t1 \"copy.mlir\"")) << code->assembly;
  EXPECT_TRUE(ptx.contains(".file\t2 \"folder/epilogue.h\""));
  EXPECT_FALSE(ptx.contains("kernel.cpp"));
  EXPECT_TRUE(ptx.take_front(ptx.find("st.global")).rsplit(".loc\t").second.starts_with("2 7 3")) << code->assembly;
  SOLITON_ASSEMBLE(program, *code);
  EXPECT_NE(code->bytes.find(".debug_line"), std::string::npos) << "the cubin has lines too";
}

TEST(Nvidia, StaggeredBarriersAndHints) {
  // The same program with the hints and without them is the same code: they mean nothing here.
  auto source = [](bool hints) {
    std::string body = R"(
  %c4 = arith.constant 4 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %wave = machine.id wave
  %offset = arith.muli %lane, %c4 : i32
  %to = machine.buffer %b[%zero], %bytes
  %late = arith.cmpi sge, %wave, %c4 : i32
  scf.if %late {
    machine.barrier
  }
HINTS
  %v = vector.broadcast %lane : i32 to vector<1xi32>
  machine.store %v, [%offset] {alignment = 4 : i64} : vector<1xi32>
  machine.wait shared, 3
  machine.barrier
  %x = machine.load [%offset] {alignment = 4 : i64} : vector<1xi32>
  machine.wait vm, 2
  %early = arith.cmpi slt, %wave, %c4 : i32
  scf.if %early {
    machine.barrier
  }
  machine.store %x, %to [%offset] {alignment = 4 : i64} : vector<1xi32>)";
    return kernelText(hopper(), "%b: !machine.ptr",
                      replaceAll(body, "HINTS",
                                 hints ? R"(  machine.priority 1
  machine.sched_barrier
  machine.sched_group {mask = 8 : i64, count = 1 : i64, sync = 0 : i64})"
                                       : ""),
                      128, 8);
  };
  Options options;
  options.lineInfo = false;
  Program program(source(true)), plain(source(false));
  auto code = program.compile(options), other = plain.compile(options);
  ASSERT_TRUE(succeeded(code) && succeeded(other)) << program.said() << plain.said();
  EXPECT_EQ(code->assembly, other->assembly);
  // All threads of the block are counted at each of the three.
  EXPECT_EQ(times(code->assembly, "bar.sync \t0;") + times(code->assembly, "bar.sync 0;"), 3u) << code->assembly;
  SOLITON_ASSEMBLE(program, *code);
}

TEST(Nvidia, Warpgroup) {
  Program program(readInput("warpgroup.mlir"), "warpgroup.mlir");
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  EXPECT_EQ(times(code->assembly, "wgmma.mma_async"), program.count<machine::MmaAsyncOp>());
  EXPECT_EQ(times(code->assembly, "wgmma.fence"), 1u);
  EXPECT_EQ(times(code->assembly, "wgmma.commit_group"), 1u);
  EXPECT_EQ(times(code->assembly, "wgmma.wait_group.sync.aligned 0"), 1u);
  EXPECT_EQ(times(code->assembly, "cp.async.bulk.tensor.2d"), 2u);
  EXPECT_EQ(times(code->assembly, "mbarrier.try_wait"), 1u);
  // The maps come last, by value, at 64 bytes.
  EXPECT_EQ(code->parameters[4], (Parameter{"map_a", ParameterKind::tensorMap, 64, 128}));
  EXPECT_EQ(code->parameterBytes, 320u);
  SOLITON_ASSEMBLE(program, *code);
  EXPECT_TRUE(code->warnings.empty());
}

TEST(Nvidia, TileCopies) {
  Program program(readInput("tile-copy.mlir"), "tile-copy.mlir");
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  EXPECT_EQ(times(code->assembly, "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"),
            1u);
  EXPECT_EQ(times(code->assembly, "prefetch.tensormap"), 1u);
  EXPECT_EQ(code->parameters.back(), (Parameter{"map", ParameterKind::tensorMap, 64, 128}));
  SOLITON_ASSEMBLE(program, *code);
  EXPECT_TRUE(code->warnings.empty());
}

TEST(Nvidia, TileStores) {
  std::string text = readInput("tile-store.mlir");
  for (bool adds : {false, true}) {
    std::string wanted =
        adds ? replaceAll(text, "[%column0, %row0], [%c0]\n", "[%column0, %row0], [%c0] {add}\n") : text;
    Program program(wanted, "tile-store.mlir");
    auto code = program.compile();
    ASSERT_TRUE(succeeded(code)) << program.said();
    EXPECT_EQ(times(code->assembly, "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"), adds ? 0u : 1u);
    EXPECT_EQ(times(code->assembly, "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"),
              adds ? 1u : 0u);
    EXPECT_EQ(times(code->assembly, "cp.async.bulk.commit_group"), 1u);
    EXPECT_EQ(times(code->assembly, "cp.async.bulk.wait_group.read 0"), 1u);
    EXPECT_EQ(times(code->assembly, "elect.sync"), 1u) << code->assembly;
    EXPECT_EQ(times(code->assembly, "fence.proxy.async.shared::cta"), 1u);
    SOLITON_ASSEMBLE(program, *code);
    EXPECT_TRUE(code->warnings.empty());
  }
}

TEST(Nvidia, Clusters) {
  Program program(readInput("multicast.mlir"), "multicast.mlir");
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  const std::string &ptx = code->assembly;
  EXPECT_NE(ptx.find(".reqnctapercluster 2, 1, 1"), std::string::npos) << ptx;
  EXPECT_EQ(
      times(ptx, "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"),
      1u);
  EXPECT_EQ(times(ptx, "mapa.shared::cluster.u32"), 1u);
  EXPECT_EQ(times(ptx, "mbarrier.arrive.shared::cluster.b64"), 1u) << "a scope would cost a quarter of the time";
  EXPECT_EQ(times(ptx, "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"), 2u);
  EXPECT_EQ(times(ptx, "barrier.cluster.arrive.aligned"), 1u);
  EXPECT_EQ(times(ptx, "barrier.cluster.wait.aligned"), 1u);
  EXPECT_EQ(times(ptx, "griddepcontrol.wait"), 1u);
  EXPECT_EQ(times(ptx, "griddepcontrol.launch_dependents"), 1u);
  EXPECT_NE(ptx.find("%cluster_ctarank"), std::string::npos);
  EXPECT_NE(ptx.find("%clusterid.x"), std::string::npos);
  SOLITON_ASSEMBLE(program, *code);
  EXPECT_TRUE(code->warnings.empty());
}

/// Lanes of a wave are in step: where one took a branch, or went round a loop longer, they wait for each other.
TEST(Nvidia, LanesThatPartMeetAgain) {
  auto meetings = [](const std::string &body) {
    std::string start =
        "  %c0 = arith.constant 0 : i32\n  %c1 = arith.constant 1 : i32\n  %c9 = arith.constant 9 : i32\n"
        "  %v = arith.constant dense<1.0> : vector<1xf32>\n  %lane = machine.id lane\n"
        "  %group = machine.id workgroup0\n  %o = arith.constant 0 : i64\n  %m = arith.constant 4096 : i64\n"
        "  %b = machine.buffer %a[%o], %m\n"
        "  %first = arith.cmpi eq, %lane, %c0 : i32\n  %second = arith.cmpi eq, %group, %c1 : i32\n";
    Program program(kernelText(hopper(), "%a: !machine.ptr, %n: i32", start + body));
    auto code = program.compile();
    EXPECT_TRUE(succeeded(code)) << program.said();
    if (failed(code))
      return size_t(99);
    return times(code->assembly, "bar.warp.sync");
  };
  std::string store = "machine.store %v, %b [%lane] {alignment = 4 : i64} : vector<1xf32>\n";
  std::string first = "  scf.if %first {\n" + store + "  }\n";
  EXPECT_EQ(meetings(store), 0u);
  EXPECT_EQ(meetings(first), 1u);
  EXPECT_EQ(meetings("  scf.if %second {\n" + store + "  }\n"), 0u) << "all lanes take it, or none";
  EXPECT_EQ(meetings("  scf.if %second {\n" + first + "  }\n"), 1u);
  EXPECT_EQ(meetings("  scf.if %first {\n" + first + first + "  }\n"), 1u) << "inside, some lanes are not there";
  EXPECT_EQ(meetings("  scf.for %i = %c0 to %n step %c1 : i32 {\n" + first + "  }\n"), 1u);
  EXPECT_EQ(meetings("  scf.for %i = %c0 to %lane step %c1 : i32 {\n" + first + "  }\n"), 1u);
  // What one lane chose all may hear: then nobody parts.
  std::string drawn =
      "  %d = scf.if %first -> (i32) {\n    scf.yield %n : i32\n  } else {\n    scf.yield %c9 : i32\n  }\n";
  EXPECT_EQ(meetings(drawn + "  scf.for %i = %c0 to %d step %c1 : i32 {\n" + store + "  }\n"), 2u);
  EXPECT_EQ(meetings(drawn + "  %u = machine.uniform %d : i32\n  scf.for %i = %c0 to %u step %c1 : i32 {\n" + store +
                     "  }\n"),
            1u);
  std::string counted = "  %r = scf.while (%i = %c0) : (i32) -> i32 {\n    %go = arith.cmpi slt, %i, LIMIT : i32\n"
                        "    scf.condition(%go) %i : i32\n  } do {\n  ^bb1(%j: i32):\n" +
                        store + "    %next = arith.addi %j, %c1 : i32\n    scf.yield %next : i32\n  }\n";
  EXPECT_EQ(meetings(replaceAll(counted, "LIMIT", "%n")), 0u);
  EXPECT_EQ(meetings(replaceAll(counted, "LIMIT", "%lane")), 1u);
}

TEST(Nvidia, ClustersOfMoreThanTheHardwareHas) {
  std::string text =
      replaceAll(readInput("multicast.mlir"), "cluster = array<i64: 2, 1, 1>", "cluster = array<i64: 8, 4, 1>");
  EXPECT_NE(errorOf(text, DiagId::BackendUnsupported).find("clusters of 32 workgroups, expected at most 16 on sm_90a"),
            std::string::npos);
}

TEST(Nvidia, TileCopiesOfEveryRank) {
  for (int rank = 1; rank <= 5; ++rank) {
    std::string sizes = "64", strides, box = "64", coordinates = "%c0";
    for (int d = 1; d < rank; ++d) {
      sizes += ", 8";
      strides += (d == 1 ? "strides = [" : ", ") + std::to_string(128 << (3 * (d - 1)));
      box += ", 2";
      coordinates += ", %c0";
    }
    std::string body = "  %c0 = arith.constant 0 : i32\n  %lane = machine.id lane\n"
                       "  %first = arith.cmpi eq, %lane, %c0 : i32\n  scf.if %first {\n"
                       "    machine.copy_tile %map [" +
                       coordinates + "], [%c0], %c0\n  }";
    std::string text = kernelText(hopper(), "%a: !machine.ptr, %map: !machine.map", body, 8192);
    std::string maps = ", maps = [#machine.tensor_map<argument = 0, element = bf16, sizes = [" + sizes + "], " +
                       (strides.empty() ? "" : strides + "], ") + "box = [" + box + "], swizzle = 128>]} {";
    Program program(replaceAll(text, "} {\n^bb0", maps + "\n^bb0"));
    auto code = program.compile();
    ASSERT_TRUE(succeeded(code)) << program.said();
    EXPECT_EQ(times(code->assembly, "cp.async.bulk.tensor." + std::to_string(rank) + "d"), 1u);
    SOLITON_ASSEMBLE(program, *code);
  }
}

TEST(Nvidia, PixelsOfImagesOfEveryRank) {
  for (int rank = 3; rank <= 5; ++rank) {
    std::string sizes = "64", strides, coordinates = "%c0", corners, steps, offsets;
    for (int d = 1; d < rank; ++d) {
      sizes += ", 8";
      strides += (d == 1 ? "" : ", ") + std::to_string(128 << (3 * (d - 1)));
      coordinates += ", %c0";
    }
    for (int d = 2; d < rank; ++d) {
      std::string comma = d == 2 ? "" : ", ";
      corners += comma + "-1";
      steps += comma + "2";
      offsets += comma + "%c1";
    }
    std::string body = "  %c0 = arith.constant 0 : i32\n  %c1 = arith.constant 1 : i32\n  %lane = machine.id lane\n"
                       "  %first = arith.cmpi eq, %lane, %c0 : i32\n  scf.if %first {\n"
                       "    machine.copy_tile %map [" +
                       coordinates + "], [%c0], %c0 offsets [" + offsets + "]\n  }";
    std::string text = kernelText(hopper(), "%a: !machine.ptr, %map: !machine.map", body, 8192);
    std::string maps = ", maps = [#machine.tensor_map<argument = 0, element = bf16, sizes = [" + sizes +
                       "], strides = [" + strides + "], box = [64, 32], lower = [" + corners + "], upper = [" +
                       corners + "], steps = [" + steps + "], swizzle = 128>]} {";
    Program program(replaceAll(text, "} {\n^bb0", maps + "\n^bb0"));
    auto code = program.compile();
    ASSERT_TRUE(succeeded(code)) << program.said();
    EXPECT_EQ(times(code->assembly,
                    "cp.async.bulk.tensor." + std::to_string(rank) + "d.shared::cluster.global.im2col.mbarrier"),
              1u);
    SOLITON_ASSEMBLE(program, *code);
  }
}

TEST(Nvidia, MaskedAccessesAreOneInstruction) {
  Program program(retarget(readInput("masks.mlir"), hopper()), "masks.mlir");
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  for (const char *load :
       {"ld.global.v4.b32", "ld.global.v2.b32", "ld.global.b32", "ld.global.b16", "ld.global.b8", "ld.shared.v4.b32"})
    EXPECT_EQ(times(code->assembly, load), 1u) << load << code->assembly;
  EXPECT_EQ(times(code->assembly, "bra"), 0u);
  SOLITON_ASSEMBLE(program, *code);
}

TEST(Nvidia, WhatPtxasGetsWrongIsNotSaid) {
  // See Sidestep.h: negations, absolute values, extremes and sums of halves of words.
  Program program(kernelText(hopper(), "%b: !machine.ptr", R"(
  %start = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %c8 = arith.constant 8 : i32
  %lane = machine.id lane
  %offset = arith.muli %lane, %c8 : i32
  %at = machine.buffer %b[%start], %bytes
  %x = machine.load %at [%offset] {alignment = 8 : i64} : vector<4xi16>
  %zero = arith.constant dense<0> : vector<4xi16>
  %ones = arith.constant dense<1> : vector<4xi16>
  %eights = arith.constant dense<-8> : vector<4xi16>
  %minus = arith.subi %zero, %x : vector<4xi16>
  %size = math.absi %x : vector<4xi16>
  %scaled = arith.muli %x, %eights : vector<4xi16>
  %more = arith.addi %x, %ones : vector<4xi16>
  %greatest = arith.maxsi %x, %ones : vector<4xi16>
  %least = arith.minui %x, %eights : vector<4xi16>
  %is_one = arith.cmpi eq, %greatest, %ones : vector<4xi16>
  %chosen = arith.select %is_one, %least, %greatest : vector<4xi1>, vector<4xi16>
  machine.store %minus, %at [%offset] {immediate = 1024 : i64, alignment = 8 : i64} : vector<4xi16>
  machine.store %size, %at [%offset] {immediate = 2048 : i64, alignment = 8 : i64} : vector<4xi16>
  machine.store %scaled, %at [%offset] {immediate = 3072 : i64, alignment = 8 : i64} : vector<4xi16>
  machine.store %chosen, %at [%offset] {immediate = 512 : i64, alignment = 8 : i64} : vector<4xi16>
  machine.store %more, %at [%offset] {alignment = 8 : i64} : vector<4xi16>)"));
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  for (const char *wrong : {"neg.s16", "abs.s16", "s16x2", "max.s16", "min.u16", "u16x2"})
    EXPECT_EQ(times(code->assembly, wrong), 0u) << wrong << code->assembly;
  EXPECT_EQ(times(code->assembly, "neg.s32"), 4u) << "shared by the scaled ones" << code->assembly;
  for (const char *right : {"abs.s32", "max.s32", "min.u32"})
    EXPECT_EQ(times(code->assembly, right), 4u) << right << code->assembly;
  SOLITON_ASSEMBLE(program, *code);
}

TEST(Nvidia, LanesAtomicsMathAndSmallFloats) {
  for (const char *file : {"lanes.mlir", "atomic.mlir", "math.mlir", "convert.mlir", "copy.mlir"}) {
    Program program(retarget(readInput(file), hopper()), file);
    auto code = program.compile();
    ASSERT_TRUE(succeeded(code)) << file << program.said();
    if (file == std::string("convert.mlir"))
      EXPECT_EQ(times(code->assembly, "cvt.rn.satfinite.e4m3x2.f32"), 2u) << "the unsaturated one shares it";
    SOLITON_ASSEMBLE(program, *code);
  }
}

TEST(Nvidia, EveryMatrixInstructionOfTheTable) {
  std::vector<std::string> done;
  for (const MmaKind &kind : hopper().mmas) {
    if (kind.async || llvm::is_contained(done, kind.native.instruction))
      continue;
    done.push_back(kind.native.instruction);
    Program program(mmaText(hopper(), kind));
    ASSERT_TRUE(program.kernel) << kind.name;
    auto code = program.compile();
    ASSERT_TRUE(succeeded(code)) << kind.native.instruction << program.said();
    // Those of f8 are of f16, as ptxas would make them.
    llvm::StringRef instruction = kind.native.instruction;
    bool isSmall = instruction.contains(".f32.e");
    EXPECT_EQ(times(code->assembly, kind.native.instruction), isSmall ? 0u : 1u) << code->assembly;
    if (isSmall)
      EXPECT_EQ(times(code->assembly, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
                instruction.contains("m16n8k32") ? 2u : 1u)
          << code->assembly;
    SOLITON_ASSEMBLE(program, *code);
  }
  EXPECT_GE(done.size(), 8u);
}

TEST(Nvidia, EveryMatrixAccessOfTheTable) {
  for (const MatrixAccess &access : hopper().matrixAccesses) {
    char count = access.name[access.name.find(".x") + 2];
    std::string type = std::string("vector<") + count + "xi32>", alignment = std::to_string((count - '0') * 4);
    std::string body = R"(
  %c16 = arith.constant 16 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %lane = machine.id lane
  %offset = arith.muli %lane, %c16 : i32
  %to = machine.buffer %b[%zero], %bytes
)";
    body += access.store
                ? "  %v = machine.load %to [%offset] {alignment = " + alignment + " : i64} : " + type +
                      "\n  machine.store_matrix \"" + access.name + "\" %v, [%offset] {immediate = 512 : i64} : " + type
                : "  %v = machine.load_matrix \"" + access.name + "\" [%offset] {immediate = 512 : i64} : " + type +
                      "\n  machine.store %v, %to [%offset] {alignment = " + alignment + " : i64} : " + type;
    Program program(kernelText(hopper(), "%b: !machine.ptr", body, 4096));
    auto code = program.compile();
    ASSERT_TRUE(succeeded(code)) << access.name << program.said();
    bool isTransposed = llvm::StringRef(access.name).ends_with(".trans");
    EXPECT_EQ(code->assembly.find(".trans.shared.b16") != std::string::npos, isTransposed) << code->assembly;
    SOLITON_ASSEMBLE(program, *code);
  }
}

/// One asynchronous product whose accumulator starts at zero, from shared memory or with the left operand in registers.
std::string asyncText(const MmaKind &kind, bool inRegisters) {
  std::string acc = "vector<" + std::to_string(kind.acc.nativeRegs) + "x" + std::string(name(kind.acc.type)) + ">";
  std::string body =
      "  %c16 = arith.constant 16 : i32\n  %zero = arith.constant 0 : i64\n  %bytes = arith.constant 1048576 : i64\n"
      "  %lane = machine.id lane\n  %offset = arith.muli %lane, %c16 : i32\n"
      "  %to = machine.buffer %b[%zero], %bytes\n  %d = arith.constant 4611686293305360384 : i64\n"
      "  %init = arith.constant dense<" +
      std::string(kind.acc.type == DType::f32 ? "0.0" : "0") + "> : " + acc + "\n";
  if (inRegisters) {
    body += "  %a = machine.load %to [%offset] {alignment = 16 : i64} : vector<8xf16>\n"
            "  %p = machine.mma_async \"" +
            kind.native.instruction + "\" %a : vector<8xf16>, %d, %init {zero_acc} : " + acc + "\n";
  } else {
    body += "  %p = machine.mma_async \"" + kind.native.instruction + "\" lhs %d, %d, %init {zero_acc} : " + acc + "\n";
  }
  body += "  machine.commit mma\n  %r = machine.wait mma, 0 (%p) : (" + acc + ") -> " + acc + "\n";
  std::string piece = "vector<4x" + std::string(name(kind.acc.type)) + ">";
  for (int64_t i = 0; i < kind.acc.nativeRegs; i += 4)
    body += "  %s" + std::to_string(i) + " = vector.extract_strided_slice %r {offsets = [" + std::to_string(i) +
            "], sizes = [4], strides = [1]} : " + acc + " to " + piece + "\n  machine.store %s" + std::to_string(i) +
            ", %to [%offset] {immediate = " + std::to_string(i * 2048) + " : i64, alignment = 16 : i64} : " + piece +
            "\n";
  return kernelText(hopper(), "%b: !machine.ptr", body, 65536, 4);
}

/// Tiles that lie a constant apart share what they begin with, which may be below 0 without the constant: buffer 1 - b
/// of a ring is 32768 - 32768 b. Its sign has to stay, or its bits reach the distances beside the address.
TEST(Nvidia, DescriptorsOfTilesThatBeginBelowTheirConstant) {
  std::string body = R"(
  %b = machine.id workgroup0
  %less = arith.constant -32768 : i32
  %c0 = arith.constant 32768 : i32
  %c1 = arith.constant 32800 : i32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %x = arith.muli %b, %less : i32
  %a0 = arith.addi %x, %c0 : i32
  %a1 = arith.addi %x, %c1 : i32
  %d0 = machine.shared_tile [%a0] {leading = 16384 : i64, stride = 1024 : i64, swizzle = 128 : i64}
  %d1 = machine.shared_tile [%a1] {leading = 16384 : i64, stride = 1024 : i64, swizzle = 128 : i64}
  %1 = machine.mma_async "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16" lhs %d0, %d1, %zero : vector<4xf32>
  machine.commit mma
  %2 = machine.wait mma, 0 (%1) : (vector<4xf32>) -> vector<4xf32>)";
  Program program(kernelText(hopper(), "%p: !machine.ptr", body, 65536, 4));
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  const std::string &ptx = code->assembly;
  // -32768 / 16, or a shift that keeps the sign; never one that fills with zeros.
  EXPECT_EQ(ptx.find("268433408"), std::string::npos) << ptx;
  bool keepsSign = ptx.find("-2048") != std::string::npos || ptx.find("shr.s32") != std::string::npos;
  EXPECT_TRUE(keepsSign) << ptx;
  SOLITON_ASSEMBLE(program, *code);
}

/// In a cluster an address says in its upper bits whose it is, where a descriptor has its leading distance: workgroups
/// but the first read other panels of tiles whose leading distance counts. Found on an H200.
TEST(Nvidia, DescriptorsInClustersSayNothingOfTheWorkgroup) {
  std::string body = R"(
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %d = machine.shared_tile [%c0] {leading = 16384 : i64, stride = 1024 : i64, swizzle = 128 : i64}
  %1 = machine.mma_async "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16" lhs %d, %d, %zero : vector<4xf32>
  machine.commit mma
  %2 = machine.wait mma, 0 (%1) : (vector<4xf32>) -> vector<4xf32>)";
  std::string text = kernelText(hopper(), "%p: !machine.ptr", body, 65536, 4);
  auto mask = [](const std::string &text) {
    Program program(text);
    auto code = program.compile();
    EXPECT_TRUE(succeeded(code)) << program.said();
    // 16383 of units of 16 bytes, of which the block begins on a multiple of 64.
    return succeeded(code) && code->assembly.find(", 16320;") != std::string::npos;
  };
  EXPECT_FALSE(mask(text));
  EXPECT_TRUE(mask(replaceAll(text, "} {\n^bb0", ", cluster = array<i64: 2, 1, 1>} {\n^bb0")));
}

TEST(Nvidia, AsynchronousMatrixInstructions) {
  size_t count = 0;
  for (const MmaKind &kind : hopper().mmas) {
    if (!kind.async || (kind.n != 8 && kind.n != 128))
      continue;
    for (bool inRegisters : {false, true}) {
      if (inRegisters && kind.lhs.type != DType::f16)
        continue;
      Program program(asyncText(kind, inRegisters));
      ASSERT_TRUE(program.kernel) << kind.name;
      auto code = program.compile();
      ASSERT_TRUE(succeeded(code)) << kind.native.instruction << program.said();
      SOLITON_ASSEMBLE(program, *code);
      ++count;
    }
  }
  EXPECT_GE(count, 14u);
}

TEST(Nvidia, UseOfAPendingAccumulatorIsAWarning) {
  const MmaKind &kind = *llvm::find_if(hopper().mmas, [](const MmaKind &k) { return k.async && k.n == 64; });
  std::string acc = "vector<32xf32>", call = "machine.mma_async \"" + kind.native.instruction + "\" lhs %d, %d, ";
  std::string text = replaceAll(asyncText(kind, false), "  machine.commit mma\n  %r = machine.wait mma, 0 (%p)",
                                "  %q = arith.addf %p, %p : " + acc + "\n  %p2 = " + call + "%q : " + acc +
                                    "\n  machine.commit mma\n  %r = machine.wait mma, 0 (%p2)");
  Program program(text);
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  EXPECT_EQ(times(code->assembly, "wgmma.fence"), 2u) << "the second reads registers that were just written";
  SOLITON_ASSEMBLE(program, *code);
  ASSERT_FALSE(code->warnings.empty());
  EXPECT_EQ(code->warnings[0].id, DiagId::MatrixSerialized);
  EXPECT_NE(code->warnings[0].message.find("C7517"), std::string::npos);
}

TEST(Nvidia, ALaterInstructionOfAGroupFencesWhatWasWrittenSince) {
  // Registers of the third are written between the first and the second, which needs none of them.
  const MmaKind &kind = *llvm::find_if(hopper().mmas, [](const MmaKind &k) { return k.async && k.n == 64; });
  std::string acc = "vector<32xf32>", call = "machine.mma_async \"" + kind.native.instruction + "\" lhs %d, %d, ";
  std::string text = replaceAll(asyncText(kind, false), "  machine.commit mma\n  %r = machine.wait mma, 0 (%p)",
                                "  %q = arith.addf %zeros, %zeros : " + acc + "\n  %p2 = " + call + "%p : " + acc +
                                    "\n  %p3 = " + call + "%q : " + acc +
                                    "\n  machine.commit mma\n  %w:2 = machine.wait mma, 0 (%p2, %p3) : (" + acc + ", " +
                                    acc + ") -> (" + acc + ", " + acc + ")\n  %r = arith.addf %w#0, %w#1 : " + acc +
                                    "\n  %unused = machine.wait mma, 0 (%w#0)");
  size_t at = text.find("  %p = machine.mma_async");
  ASSERT_NE(at, std::string::npos) << text;
  text.insert(at, "  %lanes = machine.id lane\n  %number = arith.sitofp %lanes : i32 to f32\n"
                  "  %zeros = vector.broadcast %number : f32 to " +
                      acc + "\n");
  Program program(text);
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  EXPECT_EQ(times(code->assembly, "wgmma.fence"), 2u) << code->assembly;
  SOLITON_ASSEMBLE(program, *code);
}

/// An assembler that says what it is told to and writes something.
std::string fakePtxas(const std::string &messages) {
  std::string path = ::testing::TempDir() + "fake-ptxas";
  std::ofstream(path) << "#!/bin/sh\nfor last; do :; done\necho cubin > $last\ncat <<END\n" << messages << "\nEND\n";
  llvm::cantFail(llvm::errorCodeToError(llvm::sys::fs::setPermissions(path, llvm::sys::fs::all_all)));
  return path;
}

TEST(Nvidia, WhatPtxasSaysBecomesDiagnostics) {
  Program program(retarget(readInput("copy.mlir"), hopper()));
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code));
  Options options;
  options.ptxas = fakePtxas(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x\n"
      "    24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers");
  CodeObject strict = *code;
  EXPECT_TRUE(failed(assembleCubin(strict, program.kernel, hopper(), options)));
  EXPECT_TRUE(program.saidId(DiagId::RegisterSpill)) << program.said();
  options.allowSpills = true;
  EXPECT_TRUE(failed(assembleCubin(strict, program.kernel, hopper(), options)));
  EXPECT_TRUE(program.saidId(DiagId::MatrixSerialized)) << program.said();
  options.allowSerialization = true;
  ASSERT_TRUE(succeeded(assembleCubin(*code, program.kernel, hopper(), options)));
  EXPECT_EQ(code->bytes, "cubin\n");
  EXPECT_EQ(code->vgprs, 168u);
  EXPECT_EQ(code->scratchBytes, 24u);
  EXPECT_EQ(code->spillBytes, 20u);
  ASSERT_EQ(code->warnings.size(), 2u);
  EXPECT_EQ(code->warnings[0].id, DiagId::RegisterSpill);
  EXPECT_NE(code->warnings[0].message.find("spills 20 bytes"), std::string::npos);
  EXPECT_EQ(code->warnings[1].id, DiagId::MatrixSerialized);
}

TEST(Nvidia, WhatPtxasSaysIsReportedWhereItIs) {
  const MmaKind &kind = *llvm::find_if(hopper().mmas, [](const MmaKind &k) { return k.async && k.n == 64; });
  Program program(asyncText(kind, false));
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  mlir::Location matrix = program.kernel.getLoc();
  program.kernel.walk([&](machine::MmaAsyncOp mma) { matrix = mma.getLoc(); });
  ASSERT_NE(placeOf(matrix), placeOf(program.kernel.getLoc()));
  for (const char *code75 : {"C7508", "C7510", "C7513", "C7514", "C7520"}) {
    Options options;
    options.ptxas =
        fakePtxas("ptxas info    : (" + std::string(code75) + ") Potential Performance Loss: x in function 'k'");
    CodeObject strict = *code;
    program.collector.take();
    EXPECT_TRUE(failed(assembleCubin(strict, program.kernel, hopper(), options))) << code75;
    ASSERT_EQ(program.collector.diagnostics().size(), 1u) << program.said();
    EXPECT_EQ(program.collector.diagnostics()[0].id, DiagId::MatrixSerialized);
    EXPECT_EQ(program.collector.diagnostics()[0].place, placeOf(matrix)) << program.said();
  }
  Options options;
  options.ptxas = fakePtxas("    8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads");
  program.collector.take();
  EXPECT_TRUE(failed(assembleCubin(*code, program.kernel, hopper(), options)));
  ASSERT_EQ(program.collector.diagnostics().size(), 1u) << program.said();
  const Diagnostic &spill = program.collector.diagnostics()[0];
  EXPECT_EQ(spill.id, DiagId::RegisterSpill);
  ASSERT_EQ(spill.notes.size(), 1u) << program.said();
  EXPECT_NE(spill.notes[0].message.find("most registers are alive here: about 32"), std::string::npos)
      << program.said();
}

TEST(Nvidia, RegisterBudgetsAndNamedBarriers) {
  std::string body = R"(
  %c4 = arith.constant 4 : i32
  %lane = machine.id lane
  %wave = machine.id wave
  %first = arith.cmpi slt, %wave, %c4 : i32
  scf.if %first {
    machine.registers 40
    machine.barrier {id = 1 : i64, waves = 4 : i64}
  } else {
    machine.registers 232 {increase}
  }
  machine.fence shared_async
  machine.fence global
  machine.barrier)";
  Program program(kernelText(hopper(), "%b: !machine.ptr", body, 1024, 8));
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  EXPECT_EQ(times(code->assembly, "setmaxnreg"), 2u) << code->assembly;
  EXPECT_NE(code->assembly.find("bar.sync \t1, 128"), std::string::npos) << code->assembly;
  EXPECT_EQ(times(code->assembly, "fence.proxy.async.shared::cta"), 1u);
  SOLITON_ASSEMBLE(program, *code);
}

/// A barrier at which waves arrive is waited at with a number too, also by all of them: an H200 faults otherwise.
TEST(Nvidia, NamedBarriersSayHowManyComeThere) {
  std::string body = R"(
  %wave = machine.id wave
  machine.barrier plus %wave {id = 1 : i64, waves = 8 : i64, arrives}
  machine.barrier plus %wave {id = 1 : i64, waves = 8 : i64}
  machine.barrier {id = 1 : i64, waves = 8 : i64}
  machine.barrier)";
  Program program(kernelText(hopper(), "%b: !machine.ptr", body, 1024, 8));
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code)) << program.said();
  const std::string &ptx = code->assembly;
  EXPECT_EQ(times(ptx, "bar.sync"), 3u) << ptx;
  EXPECT_EQ(times(ptx, "bar.arrive"), 1u) << ptx;
  size_t counted = 0;
  for (size_t at = ptx.find(", 256;"); at != std::string::npos; at = ptx.find(", 256;", at + 1))
    ++counted;
  EXPECT_EQ(counted, 3u) << ptx;
  EXPECT_NE(ptx.find("bar.sync \t0;"), std::string::npos) << ptx;
  SOLITON_ASSEMBLE(program, *code);
}

TEST(Nvidia, AssemblerThatFails) {
  Program program(retarget(readInput("copy.mlir"), hopper()));
  auto code = program.compile();
  ASSERT_TRUE(succeeded(code));
  Options options;
  options.ptxas = "/nowhere/ptxas";
  EXPECT_FALSE(findPtxas(options));
  EXPECT_TRUE(failed(assembleCubin(*code, program.kernel, hopper(), options)));
  EXPECT_NE(program.said().find("there is no ptxas"), std::string::npos) << program.said();
  options.ptxas = "/bin/false";
  EXPECT_TRUE(failed(assembleCubin(*code, program.kernel, hopper(), options)));
  EXPECT_TRUE(program.saidId(DiagId::BackendFailed));
}

} // namespace
} // namespace soliton::backend
