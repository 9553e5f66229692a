//===- GlobalChecksTest.cpp - Races on global memory ----------------------===//
//
// Who reads and writes one place in no order: several readers, writers of one value, buffers that overlap, tensors of
// many gibibytes.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/GlobalTestSupport.h"

#include <sys/mman.h>

using namespace soliton;
using namespace soliton::emu;
using namespace soliton::emu::global;

namespace {

TEST(GlobalChecks, ASecondReaderDoesNotHideTheFirst) {
  // Waves 0 and 1 read, in either order; wave 2 meets only one of them and writes.
  auto program = [](uint32_t met) {
    Builder b({.waveSize = 32, .waves = 3, .rules = {.barrierCompletesShared = true}});
    uint32_t data = b.buffer("data");
    Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4)), wave = b.id(IdKind::Wave);
    b.beginIf(b.cmp(CmpOp::Ne, wave, b.constant(DType::i32, 2)));
    b.at({"k.cpp", 1, 1}, "read");
    b.load(DType::i32, 1, {.region = data, .lane = at});
    b.endIf();
    b.beginIf(b.cmp(CmpOp::Ne, wave, b.constant(DType::i32, 1 - met)));
    b.barrier(1, 2);
    b.endIf();
    b.beginIf(isWave(b, 2));
    b.at({"k.cpp", 2, 1}, "write");
    b.store(b.id(IdKind::Lane), {.region = data, .lane = at});
    b.endIf();
    return b.finish();
  };
  for (uint32_t met : {0u, 1u})
    for (uint64_t seed : kSeeds) {
      std::vector<uint32_t> data(32);
      Result r = run(program(met), {.buffers = {{data.data(), 128}}, .seed = seed, .checks = true});
      ASSERT_TRUE(finds(r, FindingKind::MissingBarrier)) << met << ' ' << seed;
      EXPECT_EQ(r.findings[0].origin.place.line + r.findings[0].otherOrigin.place.line, 3);
    }
}

TEST(GlobalChecks, ReadersThatAllMetTheWriterAreClean) {
  Builder b({.waveSize = 32, .waves = 4, .rules = {.barrierCompletesShared = true}});
  uint32_t data = b.buffer("data");
  Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4));
  Loop loop = b.beginFor(b.constant(DType::i32, 0), b.constant(DType::i32, 5), b.constant(DType::i32, 1));
  b.load(DType::i32, 1, {.region = data, .lane = at});
  b.barrier();
  b.beginIf(b.cmp(CmpOp::Eq, b.binary(BinaryOp::RemU, loop.induction, b.constant(DType::i32, 4)), b.id(IdKind::Wave)));
  b.store(b.id(IdKind::Lane), {.region = data, .lane = at});
  b.endIf();
  b.barrier();
  b.endFor(loop);
  Program program = b.finish();
  for (uint64_t seed : kSeeds) {
    std::vector<uint32_t> data(32);
    Result r = run(program, {.buffers = {{data.data(), 128}}, .seed = seed, .checks = true});
    EXPECT_TRUE(r.ok()) << format(r);
  }
}

TEST(GlobalChecks, OneValueFromSeveralIsAWarning) {
  auto program = [](bool same, bool byWaves, bool read) {
    Builder b({.waveSize = 32, .waves = 2});
    uint32_t out = b.buffer("out");
    Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4));
    Value who = b.id(byWaves ? IdKind::Wave : IdKind::Workgroup0);
    Value mine = b.mul(b.id(byWaves ? IdKind::Workgroup0 : IdKind::Wave), b.constant(DType::i32, 128));
    b.at({"k.cpp", 1, 1}, "store");
    b.store(same ? b.id(IdKind::Lane) : b.add(who, b.id(IdKind::Lane)), {.region = out, .lane = at, .uniform = mine});
    b.at({"k.cpp", 2, 1}, "load");
    if (read)
      b.load(DType::i32, 1, {.region = out, .lane = at, .uniform = mine});
    return b.finish();
  };
  for (bool byWaves : {false, true})
    for (uint32_t threads : {1u, 2u, 4u})
      for (uint64_t seed : kSeeds) {
        std::vector<uint32_t> out(256);
        auto go = [&](const Program &p) {
          return run(
              p,
              {.grid = {4, 1, 1}, .buffers = {{out.data(), 1024}}, .seed = seed, .checks = true, .threads = threads});
        };
        Result same = go(program(true, byWaves, false));
        EXPECT_TRUE(same.ok()) << format(same);
        ASSERT_EQ(same.warnings.size(), 1u);
        EXPECT_EQ(same.warnings[0].kind, FindingKind::RedundantWrite);
        EXPECT_NE(format(same).find("warning: "), std::string::npos);
        Result different = go(program(false, byWaves, false));
        EXPECT_EQ(different.findings.size(), 1u) << byWaves << ' ' << threads << ' ' << seed << '\n'
                                                 << format(different);
        // Who reads what others write, be it always the same, is in no order with them.
        EXPECT_FALSE(go(program(true, byWaves, true)).ok());
      }
}

TEST(GlobalChecks, OverlappingBuffersAreOneMemory) {
  // `in` is `out`, one element further.
  Builder b({.waveSize = 32, .waves = 1});
  uint32_t in = b.buffer("in"), out = b.buffer("out");
  Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4));
  Value mine = b.mul(b.id(IdKind::Workgroup0), b.constant(DType::i32, 128));
  b.at({"k.cpp", 1, 1}, "read");
  Value value = b.load(DType::i32, 1, {.region = in, .lane = at, .uniform = mine});
  b.at({"k.cpp", 2, 1}, "write");
  b.store(value, {.region = out, .lane = at, .uniform = mine});
  Program program = b.finish();
  for (uint64_t seed : kSeeds) {
    std::vector<uint32_t> memory(4 * 32 + 1);
    Result exact = launch(program, 4, {{memory.data(), 512}, {memory.data(), 512}}, seed);
    EXPECT_TRUE(exact.ok()) << format(exact);
    Result shifted = launch(program, 4, {{memory.data() + 1, 512}, {memory.data(), 512}}, seed);
    ASSERT_TRUE(finds(shifted, FindingKind::GlobalConflict));
    EXPECT_EQ(shifted.findings[0].origin.place.line + shifted.findings[0].otherOrigin.place.line, 3);
  }
}

/// 8 GiB of address space; pages exist once they are touched.
struct Sparse {
  explicit Sparse(uint64_t bytes) : bytes(bytes) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~Sparse() { munmap(memory, bytes); }
  uint64_t bytes;
  void *memory;
};

TEST(LargeTensors, EightGibibytesWithChecks) {
  // Workgroup i works at i GiB + i * 260 bytes: beyond 2 and 4 GiB, where 32 bits of bytes or of elements end.
  Sparse memory(uint64_t(8) << 30);
  ASSERT_NE(memory.memory, MAP_FAILED);
  auto program = [](bool conflict) {
    Builder b({.waveSize = 64, .waves = 1});
    uint32_t big = b.buffer("big");
    Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4));
    Value group = b.convert(ConvertOp::ExtS, DType::i64, b.id(IdKind::Workgroup0));
    Value base = b.mul(group, b.constant(DType::i64, (int64_t(1) << 30) + 260));
    Value old = b.load(DType::i32, 1, {.region = big, .lane = at, .base = base});
    b.store(b.add(old, b.id(IdKind::Workgroup0)), {.region = big, .lane = at, .base = base});
    b.at({"k.cpp", 1, 1}, "last");
    if (conflict)
      b.store(b.id(IdKind::Workgroup0), {.region = big, .base = b.constant(DType::i64, (int64_t(8) << 30) - 4)},
              {.mask = firstLaneOnly(b)});
    return b.finish();
  };
  for (uint64_t seed : {0u, 9u}) {
    Result r = launch(program(false), 8, {{memory.memory, memory.bytes}}, seed);
    EXPECT_TRUE(r.ok()) << format(r);
  }
  auto *words = static_cast<uint32_t *>(memory.memory);
  for (uint64_t group = 0; group < 8; ++group)
    EXPECT_EQ(words[(group << 28) + group * 65 + 63], 2 * group);
  Result r = launch(program(true), 8, {{memory.memory, memory.bytes}}, 0);
  ASSERT_TRUE(finds(r, FindingKind::GlobalConflict));
  EXPECT_EQ(r.findings[0].address, (int64_t(8) << 30) - 4);
  // One byte further is outside.
  Result outside = launch(program(true), 1, {{memory.memory, memory.bytes - 1}}, 0);
  ASSERT_TRUE(finds(outside, FindingKind::OutOfBounds));
}

} // namespace
