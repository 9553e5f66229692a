//===- ProgramTest.cpp - Programs as bytes, validation, disassembly -------===//
#include "soliton/emulator/SamplePrograms.h"
#include "soliton/emulator/TestSupport.h"

#include <random>

using namespace soliton;
using namespace soliton::emu;

namespace {

Program doubling() {
  Builder b({.name = "double", .waveSize = 64, .waves = 1});
  uint32_t in = b.buffer("in"), out = b.buffer("out");
  b.at({"double.cpp", 3, 5}, "read");
  Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4));
  Value x = b.load(DType::f32, 1, {.region = in, .lane = at});
  b.store(b.binary(BinaryOp::AddF, x, x), {.region = out, .lane = at});
  return b.finish();
}

TEST(Program, Disassembly) {
  EXPECT_EQ(disassemble(doubling()), "program double: waves 1 x 64, shared 0, buffers 2, scalars 0\n"
                                     "0\ts0 = id lane\t: i32\t; double.cpp:3:5 read\n"
                                     "1\ts1 = const {4 0}\t: i32 uniform\t; double.cpp:3:5 read\n"
                                     "2\ts2 = mul s0, s1\t: i32\t; double.cpp:3:5 read\n"
                                     "3\ts3 = load in[s2 + 0]\t: f32\t; double.cpp:3:5 read\n"
                                     "4\ts4 = addf s3, s3\t: f32\t; double.cpp:3:5 read\n"
                                     "5\tstore _, s4 out[s2 + 0]\t; double.cpp:3:5 read\n"
                                     "6\tend\t; double.cpp:3:5 read\n");
}

TEST(Program, ReadingRefusesWhatIsNoProgram) {
  std::vector<uint8_t> bytes = serialize(doubling());
  EXPECT_EQ(deserialize(bytes), doubling());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(deserialize(std::span(bytes).first(size)), ProgramError);
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  EXPECT_THROW(deserialize(longer), ProgramError);
  bytes[4] = 99;
  EXPECT_THROW(deserialize(bytes), ProgramError);
}

/// A program with one thing wrong is refused with a sentence about it.
TEST(Program, ValidationNamesTheInstruction) {
  auto refused = [](const std::function<void(Program &)> &damage) {
    Program program = doubling();
    damage(program);
    std::string problem = validate(program);
    EXPECT_EQ(run(program, {}).error, problem);
    return problem;
  };
  EXPECT_EQ(refused([](Program &p) { p.code[4].src[0] = 99; }), "instruction 4 `binary`: a slot does not exist");
  EXPECT_EQ(refused([](Program &p) { p.code[4].sub = uint8_t(BinaryOp::AddI); }),
            "instruction 4 `binary`: not an operation of this type");
  EXPECT_EQ(refused([](Program &p) { p.slots[4].uniform = true; }),
            "instruction 4 `binary`: a uniform result of an operand that differs between lanes");
  EXPECT_EQ(refused([](Program &p) { p.code[3].index = 7; }), "instruction 3 `load`: an address does not exist");
  EXPECT_EQ(refused([](Program &p) { p.slots[3].count = 5; }), "instruction 3 `load`: moves 1 to 16 bytes a lane");
  EXPECT_EQ(refused([](Program &p) { p.code.pop_back(); }), "the last instruction has to be `end` or `jump`");
  EXPECT_EQ(refused([](Program &p) { p.regions[0].argument = 2; }), "region `in` is of a buffer that does not exist");
  EXPECT_EQ(refused([](Program &p) { p.waveSize = 48; }), "a wave of 48 lanes, expected 32 or 64");
  EXPECT_EQ(refused([](Program &p) { p.cluster = {1, 0, 1}; }),
            "a cluster of 0 workgroups along an axis, expected 1 to 16");
  EXPECT_EQ(refused([](Program &p) { p.cluster = {4, 4, 2}; }),
            "a cluster of 32 workgroups of 1 waves, expected at most 16 workgroups and 512 waves");
  EXPECT_EQ(refused([](Program &p) { p.code.back() = {.op = Op::Jump, .index = 70}; }),
            "instruction 6 `jump`: jumps out of the program");
}

TEST(Builder, MisuseIsRefusedWhenBuilding) {
  Builder b({.waveSize = 64, .waves = 1, .sharedBytes = 64});
  EXPECT_THROW(b.shared("tile", 32, 64), ProgramError);
  EXPECT_THROW(b.add(b.id(IdKind::Lane), b.constant(DType::i64, 1)), ProgramError);
  EXPECT_THROW(b.load(DType::i32, 1, {.region = 3}), ProgramError);
  EXPECT_THROW(b.beginElse(), ProgramError);
  EXPECT_THROW(b.breakUnless(b.constant(DType::i1, 1)), ProgramError);
  b.beginIf(b.constant(DType::i1, 1));
  EXPECT_THROW(b.finish(), ProgramError);
}

/// Damaged programs never crash: they are refused, or run to an end within the step limit.
TEST(Program, DamagedBytesNeverCrash) {
  std::mt19937 random(99);
  std::vector<Program> seeds{doubling(), samples::gemmWaves64({128, 128, 32}), samples::gemmWaves32({128, 128, 32}),
                             samples::gemmTiles({128, 128, 64}), samples::gemmTiles({128, 128, 64})};
  seeds.back().cluster = {2, 1, 1};
  int ran = 0;
  for (int round = 0; round < 1200; ++round) {
    Program program = seeds[size_t(round) % seeds.size()];
    // Damage what instructions say; whole-byte damage of the tables is mostly refused at once.
    for (int i = 0; i < 1 + round % 3; ++i) {
      Instr &instr = program.code[random() % program.code.size()];
      switch (random() % 6) {
      case 0:
        instr.src[random() % 4] = Slot(random() % (program.slots.size() + 1));
        break;
      case 1:
        instr.imm = int64_t(random() % 64) - 8;
        break;
      case 2:
        instr.index = uint32_t(random() % (program.addresses.size() + program.code.size()));
        break;
      case 3:
        instr.sub = uint8_t(random() % 32);
        break;
      case 4:
        program.addresses[random() % program.addresses.size()].immediate = int64_t(random() % 100000) - 50000;
        break;
      default:
        instr.flags = uint8_t(random());
      }
    }
    std::vector<uint8_t> bytes = serialize(program);
    if (round % 4 == 0)
      bytes[random() % bytes.size()] ^= uint8_t(1u << (random() % 8));
    try {
      Program read = deserialize(bytes);
      if (read.numBuffers > 4 || !validate(read).empty())
        continue;
      std::vector<std::vector<uint8_t>> memory(read.numBuffers, std::vector<uint8_t>(1000));
      LaunchConfig config{.grid = read.cluster,
                          .seed = random() % 2,
                          .checks = random() % 2 == 0,
                          .adversarial = random() % 2 == 0,
                          .stepLimit = 2000};
      for (std::vector<uint8_t> &buffer : memory)
        config.buffers.push_back({buffer.data(), buffer.size()});
      config.scalars.resize(read.scalars.size(), 5);
      run(read, config);
      ++ran;
    } catch (const ProgramError &) {
    }
  }
  EXPECT_GT(ran, 300);
}

} // namespace
