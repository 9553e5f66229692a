//===- TranslateTest.cpp - Every op of the machine form, on the emulator ----------------===//
//
// Each op of the dialect stands here once, in a kernel that is translated, or with the refusal that says why not: an op
// that is added and has neither makes the first test fail.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/emulator/Translate.h"

#include "soliton/emulator/Machine.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/support/Float.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <bit>
#include <cstring>
#include <gtest/gtest.h>

namespace soliton {
namespace {

/// A kernel of two waves over the buffers `%a` and `%b`, with what most bodies need.
std::string kernelText(const std::string &body, const std::string &target) {
  std::string size = std::to_string(findTarget(target)->waveSize);
  return "machine.kernel @kernel attributes {arg_names = [\"a\", \"b\", \"map\"], wave_size = " + size +
         " : i64, waves = 2 : i64, shared_bytes = 8192 : i64, target = \"" + target + R"(",
  )" + (body.find("cluster") == std::string::npos ? "" : "cluster = array<i64: 2, 1, 1>, ") +
         R"(maps = [#machine.tensor_map<argument = 0, element = f16, sizes = [8, 8], strides = [16], box = [8, 8]>]} {
^bb0(%a: !machine.ptr, %b: !machine.ptr, %map: !machine.map):
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 4096 : i64
  %from = machine.buffer %a[%zero], %bytes
  %to = machine.buffer %b[%zero], %bytes
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %lane = machine.id lane
  %at = arith.muli %lane, %c16 : i32
)" + body +
         "\n}\n";
}

struct Translated {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  DiagnosticCollector collector{&context};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<emu::Program> program;

  Translated(const std::string &body, const std::string &target) {
    context.loadDialect<machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                        mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(kernelText(body, target), &context);
    if (!module)
      return;
    auto kernel = *module->getOps<machine::KernelOp>().begin();
    if (mlir::FailureOr<emu::Program> done = translateToEmulator(kernel, *findTarget(target)); succeeded(done))
      program = std::move(*done);
  }
  std::string said() const { return format(collector.diagnostics()); }
};

struct Entry {
  std::string op;
  std::string body;
  std::string target = "gfx942";
  /// What a refusal says; empty where the op is executed.
  std::string refusal = "";
};

std::vector<Entry> entries() {
  return {
      {"kernel", ""},
      {"id", "%x = machine.id workgroup0"},
      {"buffer", ""},
      {"load", "%x = machine.load %from [%at] {alignment = 16 : i64} : vector<4xf32>"},
      {"store", "%x = arith.constant dense<1> : vector<4xi32>\n"
                "machine.store %x, %to [%at] {alignment = 16 : i64} : vector<4xi32>"},
      {"atomic", "%x = arith.constant dense<1> : vector<1xi32>\n"
                 "%y = machine.atomic add %x, %to [%at] : vector<1xi32> -> vector<1xi32>"},
      {"copy_async", "machine.copy_async %from [%at], [%c0] {bytes = 4 : i64, lane_scatter}"},
      {"copy_tile", "machine.copy_tile %map [%c0, %c0], [%c0], %c0", "sm_90a"},
      {"store_tile", "machine.store_tile %map [%c0, %c0], [%c0] {add}", "sm_90a"},
      {"load_matrix", "%x = machine.load_matrix \"ldmatrix.x4\" [%at] : vector<8xf16>", "sm_90a"},
      {"store_matrix",
       "%x = arith.constant dense<1.0> : vector<8xf16>\nmachine.store_matrix \"stmatrix.x4\" %x, [%at] : vector<8xf16>",
       "sm_90a"},
      {"mma", "%x = arith.constant dense<1.0> : vector<4xf16>\n%y = arith.constant dense<1.0> : vector<4xf32>\n"
              "%z = machine.mma \"v_mfma_f32_16x16x16_f16\" %x, %x, %y : vector<4xf16>, vector<4xf16>, vector<4xf32>"},
      {"mma_async",
       "%x = arith.constant dense<1.0> : vector<4xf32>\n"
       "%y = machine.mma_async \"wgmma_m64n8k16_f32_f16\" lhs %zero, %zero, %x : vector<4xf32>",
       "sm_90a", "a descriptor's bits do not say which shared tile they mean"},
      {"shared_tile",
       "%x = machine.shared_tile [%c0] {leading = 16 : i64, stride = 1024 : i64, swizzle = 128 : i64, k_major}",
       "sm_90a"},
      {"shuffle", "%x = arith.constant dense<1> : vector<1xi32>\n"
                  "%y = machine.shuffle bfly %x {offset = 1 : i64} : vector<1xi32>"},
      {"uniform", "%x = machine.uniform %lane : i32"},
      {"pin", "%x = machine.pin %lane : i32"},
      {"elect", "%x = machine.elect", "sm_90a"},
      {"ballot", "%x = arith.cmpi eq, %lane, %c0 : i32\n%y = machine.ballot %x"},
      {"swap", "%x, %y = machine.swap %lane, %at {width = 16 : i64}"},
      {"convert", "%x = arith.constant dense<1.0> : vector<4xf32>\n"
                  "%y = machine.convert %x : vector<4xf32> -> vector<4xf8E4M3FNUZ>"},
      {"barrier", "machine.barrier"},
      {"commit", "machine.commit cp_async", "sm_90a"},
      {"wait", "machine.wait vm, 0"},
      {"mbarrier_init", "machine.mbarrier_init %c0 {count = 64 : i64}", "sm_90a"},
      {"mbarrier_arrive", "machine.mbarrier_arrive %c0", "sm_90a"},
      {"mbarrier_wait", "machine.mbarrier_wait %c0, %c0", "sm_90a"},
      {"cluster_arrive", "machine.cluster_arrive", "sm_90a"},
      {"cluster_wait", "machine.cluster_wait", "sm_90a"},
      {"grid_wait", "machine.grid_wait", "sm_90a"},
      {"grid_launch", "machine.grid_launch", "sm_90a"},
      {"fence", "machine.fence global"},
      {"sched_barrier", "machine.sched_barrier"},
      {"sched_group", "machine.sched_group {mask = 8 : i64, count = 1 : i64, sync = 0 : i64}"},
      {"priority", "machine.priority 1"},
      {"prefetch", "machine.prefetch %from [%at, %c16] {immediate = 128 : i64}"},
      {"registers", "machine.registers 40", "sm_90a"},
      {"print", "%x = arith.constant dense<1.0> : vector<1xf32>\n"
                "machine.print \"x\" %x at (%c0) {dims = [\"M\"]} : vector<1xf32>"},
  };
}

TEST(EmulatorTranslator, KnowsEveryOpOfTheDialect) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<machine::MachineDialect>();
  std::vector<Entry> known = entries();
  for (mlir::RegisteredOperationName op : context.getRegisteredOperations()) {
    if (op.getDialectNamespace() != "machine")
      continue;
    bool found = llvm::any_of(known, [&](const Entry &entry) { return op.stripDialect() == entry.op; });
    EXPECT_TRUE(found) << op.getStringRef().str() << " has neither a translation nor a refusal in this test";
  }
}

TEST(EmulatorTranslator, TranslatesOrRefusesEachOp) {
  for (const Entry &entry : entries()) {
    Translated result(entry.body, entry.target);
    ASSERT_TRUE(result.module) << entry.op << ": " << result.said();
    if (entry.refusal.empty()) {
      EXPECT_TRUE(result.program) << entry.op << ": " << result.said();
      continue;
    }
    EXPECT_FALSE(result.program) << entry.op;
    ASSERT_EQ(result.collector.diagnostics().size(), 1u);
    EXPECT_EQ(result.collector.diagnostics()[0].id, DiagId::BackendUnsupported);
    EXPECT_NE(result.said().find("`machine." + entry.op + "`: " + entry.refusal), std::string::npos) << result.said();
  }
}

TEST(EmulatorTranslator, ArrivalsAreCountedByLane) {
  // All 64 lanes of two waves arrive; one arrival more or less would be found.
  auto body = [](int count) {
    return R"(
  %wave = machine.id wave
  %first = arith.cmpi eq, %wave, %c0 : i32
  scf.if %first {
    machine.mbarrier_init %c0 {count = )" +
           std::to_string(count) + R"( : i64}
  }
  machine.barrier
  machine.mbarrier_arrive %c0
  machine.mbarrier_wait %c0, %c0
)";
  };
  std::vector<std::byte> a(4096), b(4096);
  auto run = [&](int count) {
    Translated result(body(count), "sm_90a");
    EXPECT_TRUE(result.program) << result.said();
    return emu::run(*result.program, {.buffers = {{a.data(), 4096}, {b.data(), 4096}}, .checks = true});
  };
  EXPECT_TRUE(run(64).ok());
  EXPECT_EQ(run(65).findings.at(0).kind, emu::FindingKind::Deadlock);
  EXPECT_EQ(run(63).findings.at(0).kind, emu::FindingKind::MbarrierMisuse);
}

/// Loads a vector of `type` from `a` at `bytes` a lane, applies `body` to `%x` and stores `%y` of `result` to `b`.
std::vector<uint8_t> evaluate(const std::string &type, const std::string &result, const std::string &body, int inBytes,
                              int outBytes, const std::vector<uint8_t> &input) {
  std::string text =
      "  %in = arith.constant " + std::to_string(inBytes) + " : i32\n  %out = arith.constant " +
      std::to_string(outBytes) + " : i32\n  %p = arith.muli %lane, %in : i32\n" +
      "  %q = arith.muli %lane, %out : i32\n  %x = machine.load %from [%p] {alignment = 1 : i64} : " + type + "\n" +
      body + "\n  %w = machine.id wave\n  %only = arith.cmpi eq, %w, %c0 : i32\n" +
      "  machine.store %y, %to [%q] mask %only {alignment = 1 : i64} : " + result + "\n";
  Translated translated(text, "gfx950");
  EXPECT_TRUE(translated.program) << translated.said();
  std::vector<uint8_t> a = input, b(4096);
  a.resize(4096);
  if (translated.program) {
    emu::Result r = emu::run(*translated.program, {.buffers = {{a.data(), 4096}, {b.data(), 4096}}, .checks = true});
    EXPECT_TRUE(r.ok()) << emu::format(r);
  }
  b.resize(size_t(outBytes) * 64);
  return b;
}

std::vector<uint8_t> everyByte() {
  std::vector<uint8_t> bytes(1024);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 37 + i / 256);
  return bytes;
}

/// In memory an i1 is a byte: anything but 0 is true, and true is stored as 1.
TEST(EmulatorTranslator, AnI1InMemoryIsAByte) {
  std::string body = "  %f = arith.constant dense<false> : vector<4xi1>\n  %y = arith.ori %x, %f : vector<4xi1>";
  std::vector<uint8_t> bytes = {0, 1, 2, 255, 128, 0, 0, 7}, want = {0, 1, 1, 1, 1, 0, 0, 1};
  std::vector<uint8_t> found = evaluate("vector<4xi1>", "vector<4xi1>", body, 4, 4, bytes);
  found.resize(want.size());
  EXPECT_EQ(found, want);
}

uint32_t element(const std::vector<uint8_t> &bytes, size_t index, int width) {
  uint32_t value = 0;
  for (int bit = 0; bit < width; ++bit) {
    size_t at = index * size_t(width) + size_t(bit);
    value |= uint32_t(bytes[at / 8] >> (at % 8) & 1) << bit;
  }
  return value;
}

TEST(EmulatorTranslator, PackedElementsKeepTheirBits) {
  std::vector<uint8_t> input = everyByte();
  for (const auto &[type, bytes] : {std::pair<std::string, int>{"vector<8xi4>", 4},
                                    {"vector<2xi4>", 1},
                                    {"vector<8xf4E2M1FN>", 4},
                                    {"vector<32xf4E2M1FN>", 16},
                                    {"vector<16xf6E2M3FN>", 12}}) {
    std::string plain = "vector<" + std::to_string(bytes) + "xi8>";
    std::vector<uint8_t> expected(input.begin(), input.begin() + bytes * 64);
    EXPECT_EQ(evaluate(type, plain, "%y = vector.bitcast %x : " + type + " to " + plain, bytes, bytes, input), expected)
        << type;
    EXPECT_EQ(evaluate(plain, type, "%y = vector.bitcast %x : " + plain + " to " + type, bytes, bytes, input), expected)
        << type;
  }
}

uint32_t wordAt(const std::vector<uint8_t> &bytes, size_t index) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + index * 4, 4);
  return word;
}

TEST(EmulatorTranslator, PackedElementsAreEvenIndexLow) {
  std::vector<uint8_t> input = everyByte();
  std::vector<uint8_t> fours = evaluate("vector<4xf4E2M1FN>", "vector<4xf32>",
                                        "%y = machine.convert %x : vector<4xf4E2M1FN> -> vector<4xf32>", 2, 16, input);
  std::vector<uint8_t> signs =
      evaluate("vector<4xi4>", "vector<4xi32>", "%y = arith.extsi %x : vector<4xi4> to vector<4xi32>", 2, 16, input);
  for (size_t i = 0; i < 256; ++i) {
    uint32_t bits = element(input, i, 4);
    EXPECT_EQ(std::bit_cast<float>(wordAt(fours, i)), float(decode(DType::f4e2m1fn, bits))) << i;
    EXPECT_EQ(static_cast<int32_t>(wordAt(signs, i)), static_cast<int32_t>(bits << 28) >> 28) << i;
  }
  // Four elements of six bits are three bytes: those of the second quarter of twelve.
  std::vector<uint8_t> sixes = evaluate(
      "vector<16xf6E2M3FN>", "vector<4xf32>",
      "%s = vector.extract_strided_slice %x {offsets = [4], sizes = [4], strides = [1]} : vector<16xf6E2M3FN> to "
      "vector<4xf6E2M3FN>\n%y = machine.convert %s : vector<4xf6E2M3FN> -> vector<4xf32>",
      12, 16, input);
  for (size_t lane = 0; lane < 64; ++lane)
    for (size_t e = 0; e < 4; ++e)
      EXPECT_EQ(std::bit_cast<float>(wordAt(sixes, lane * 4 + e)),
                float(decode(DType::f6e2m3fn, element(input, lane * 16 + 4 + e, 6))));
}

TEST(EmulatorTranslator, PackedElementsAreRoundedOnce) {
  // From -8 to 8 in steps of 1/16, so that every number of both formats and every tie between two is there.
  std::vector<uint8_t> input(1024);
  for (int i = 0; i < 256; ++i) {
    float value = float(i - 128) / 16;
    std::memcpy(input.data() + i * 4, &value, 4);
  }
  std::vector<uint8_t> fours =
      evaluate("vector<4xf32>", "vector<4xf4E2M1FN>",
               "%y = machine.convert %x {saturate} : vector<4xf32> -> vector<4xf4E2M1FN>", 16, 2, input);
  std::vector<uint8_t> sixes = evaluate(
      "vector<4xf32>", "vector<16xf6E2M3FN>",
      "%z8 = arith.constant dense<0> : vector<12xi8>\n%z = vector.bitcast %z8 : vector<12xi8> to vector<16xf6E2M3FN>\n"
      "%s = machine.convert %x {saturate} : vector<4xf32> -> vector<4xf6E2M3FN>\n"
      "%y = vector.insert_strided_slice %s, %z {offsets = [8], strides = [1]} : vector<4xf6E2M3FN> into "
      "vector<16xf6E2M3FN>",
      16, 12, input);
  for (size_t i = 0; i < 256; ++i) {
    double value = double(int(i) - 128) / 16;
    EXPECT_EQ(element(fours, i, 4), encode(DType::f4e2m1fn, value, Overflow::saturate)) << value;
    EXPECT_EQ(element(sixes, i / 4 * 16 + 8 + i % 4, 6), encode(DType::f6e2m3fn, value, Overflow::saturate)) << value;
  }
}

TEST(EmulatorTranslator, AccessesThatFillNoBytesAreRefused) {
  for (const char *type : {"vector<4xf6E2M3FN>", "vector<3xi4>"}) {
    Translated result(std::string("%x = machine.load %from [%at] {alignment = 1 : i64} : ") + type, "gfx950");
    EXPECT_FALSE(result.module) << type;
    EXPECT_NE(result.said().find("expected 1, 2, 4, 8, 12 or 16 bytes"), std::string::npos) << result.said();
  }
}

TEST(EmulatorTranslator, AFenceAndAnAtomicHandOverBetweenWorkgroups) {
  // Each workgroup writes its number; the one that comes last, by an atomic ticket, reads them all.
  auto body = [](const std::string &fence) {
    return R"(
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c1024 = arith.constant 1024 : i32
  %wave = machine.id wave
  %group = machine.id workgroup0
  %mine = arith.muli %group, %c4 : i32
  %lane0 = arith.cmpi eq, %lane, %c0 : i32
  %wave0 = arith.cmpi eq, %wave, %c0 : i32
  %one = arith.andi %lane0, %wave0 : i1
  %value = vector.broadcast %group : i32 to vector<1xi32>
  %ones = arith.constant dense<1> : vector<1xi32>
  machine.store %value, %from [%mine] mask %one {alignment = 4 : i64} : vector<1xi32>
  )" + fence +
           R"(
  %old = machine.atomic add %ones, %to [%c1024] mask %one : vector<1xi32> -> vector<1xi32>
  %ticket = vector.extract %old[0] : i32 from vector<1xi32>
  %isLast = arith.cmpi eq, %ticket, %c4 : i32
  %last = arith.andi %isLast, %one : i1
  scf.if %last {
    )" + fence +
           R"(
    %all = machine.load %from [%c0] {alignment = 4 : i64} : vector<4xi32>
    machine.store %all, %to [%c0] {alignment = 4 : i64} : vector<4xi32>
  }
)";
  };
  for (uint64_t seed : {0u, 1u, 2u, 3u})
    for (const char *target : {"gfx942", "sm_90a"}) {
      Translated right(body("machine.fence global"), target), wrong(body(""), target);
      ASSERT_TRUE(right.program && wrong.program) << right.said() << wrong.said();
      EXPECT_GT(emu::residentWorkgroups(*right.program), 100u);
      std::vector<int32_t> a(1024), b(1024), c(1024), d(1024);
      emu::Result clean = emu::run(*right.program, {.grid = {5, 1, 1},
                                                    .buffers = {{a.data(), 4096}, {b.data(), 4096}},
                                                    .seed = seed,
                                                    .checks = true,
                                                    .adversarial = true});
      EXPECT_TRUE(clean.ok()) << emu::format(clean);
      EXPECT_EQ(std::vector<int32_t>(b.begin(), b.begin() + 4), (std::vector<int32_t>{0, 1, 2, 3}));
      emu::Result raced =
          emu::run(*wrong.program,
                   {.grid = {5, 1, 1}, .buffers = {{c.data(), 4096}, {d.data(), 4096}}, .seed = seed, .checks = true});
      ASSERT_EQ(raced.findings.size(), 1u) << emu::format(raced);
      EXPECT_EQ(raced.findings[0].kind, emu::FindingKind::GlobalConflict);
    }
}

} // namespace
} // namespace soliton
