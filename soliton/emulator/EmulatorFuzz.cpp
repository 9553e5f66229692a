//===- EmulatorFuzz.cpp - libFuzzer target --------------------------------===//
//
// Any bytes, or a right program with some of its bytes replaced: read, validated, run with a step limit.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Builder.h"
#include "soliton/emulator/Machine.h"

using namespace soliton;
using namespace soliton::emu;

/// Two waves that go through shared memory, and workgroups that take tickets and wait for the first.
static std::vector<uint8_t> sampleProgram() {
  Builder b({.name = "sample", .waveSize = 32, .waves = 2, .sharedBytes = 256});
  uint32_t data = b.buffer("data"), flags = b.buffer("flags"), tile = b.shared("tile", 0, 256);
  Value lane = b.id(IdKind::Lane), at = b.mul(lane, b.constant(DType::i32, 4));
  Value own = b.mul(b.id(IdKind::Wave), b.constant(DType::i32, 128));
  Value one = b.constant(DType::i32, 1), zero = b.constant(DType::i32, 0);
  Loop loop = b.beginFor(zero, b.constant(DType::i32, 3), one, {lane}, {false});
  b.copyAsync(4, {.region = data, .lane = at}, {.region = tile, .uniform = own}, CounterKind::vm, true);
  b.wait(CounterKind::vm, 0);
  b.barrier();
  Value x = b.load(DType::i32, 1, {.region = tile, .lane = at});
  b.endFor(loop, {b.add(loop.carried[0], x)});
  Value first = b.cmp(CmpOp::Eq, lane, zero);
  b.beginIf(first);
  b.store(loop.carried[0], {.region = data, .lane = at, .uniform = own});
  b.endIf();
  b.fence(FenceOp::Global);
  Value ticket = b.atomic(AtomicOp::Add, one, {.region = flags}, {.mask = first}, true);
  b.beginIf(b.cmp(CmpOp::Ne, b.firstLane(ticket), zero));
  b.beginLoop();
  Value seen = b.load(DType::i32, 1, {.region = flags, .immediate = 4}, {.order = Order::Acquire});
  b.breakUnless(b.cmp(CmpOp::Eq, b.firstLane(seen), zero));
  b.endLoop();
  b.beginElse();
  b.store(one, {.region = flags, .immediate = 4}, {.mask = first, .order = Order::Release});
  b.endIf();
  return serialize(b.finish());
}

/// The sample with some bytes replaced: the input is a list of places (two bytes) and values.
static std::vector<uint8_t> damagedSample(const uint8_t *data, size_t size) {
  static const std::vector<uint8_t> sample = sampleProgram();
  std::vector<uint8_t> bytes = sample;
  for (size_t i = 0; i + 2 < size; i += 3)
    bytes[(data[i] | data[i + 1] << 8) % bytes.size()] = data[i + 2];
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    Program program = size % 2 ? deserialize(damagedSample(data, size)) : deserialize({data, size});
    if (!validate(program).empty() || program.numBuffers > 8 || program.waves * program.clusterSize() > 16)
      return 0;
    std::vector<std::vector<uint8_t>> memory(program.numBuffers, std::vector<uint8_t>(777));
    LaunchConfig config;
    // Up to three workgroups, or clusters of them, of which two are resident.
    config.grid = {program.cluster[0] * (1 + uint32_t(size % 3)), program.cluster[1], program.cluster[2]};
    config.resident = 2;
    config.seed = size % 4;
    config.checks = size % 5 != 0;
    config.adversarial = size % 7 < 4;
    config.stepLimit = 2000;
    config.threads = 1;
    for (std::vector<uint8_t> &buffer : memory)
      config.buffers.push_back({buffer.data(), buffer.size()});
    config.scalars.resize(program.scalars.size(), 7);
    run(program, config);
  } catch (const ProgramError &) {
  }
  return 0;
}
