//===- WorkgroupsTest.cpp - Workgroups that see each other ----------------===//
//
// Hand-overs between workgroups: right ones run clean and give the right result under every seed, those with one thing
// missing are found at both lines, and those that wait for a workgroup that cannot start are a deadlock.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/GlobalTestSupport.h"

#include <numeric>
#include <random>
#include <set>

using namespace soliton;
using namespace soliton::emu;
using namespace soliton::emu::global;

namespace {

Value isWorkgroup(Builder &b, int64_t number) {
  return b.cmp(CmpOp::Eq, b.id(IdKind::Workgroup0), b.constant(DType::i32, number));
}

/// Goes on when the place is no longer 0.
void pollByAtomic(Builder &b, const At &flag, const Masked &how = {}) {
  b.beginLoop();
  Masked masked = how;
  masked.mask = firstLaneOnly(b);
  Value old = b.atomic(AtomicOp::Add, b.constant(DType::i32, 0), flag, masked, true);
  b.breakUnless(b.cmp(CmpOp::Eq, b.firstLane(old), b.constant(DType::i32, 0)));
  b.endLoop();
}

struct HandOver {
  bool release = true, acquire = true, atomicFlag = true;
  Scope scope = Scope::Device;
};

/// Workgroup 0 writes data and raises a flag, workgroup 1 waits for it and copies the data.
Program handOver(const HandOver &how) {
  Builder b({.waveSize = 64, .waves = 1});
  uint32_t data = b.buffer("data"), flags = b.buffer("flags"), out = b.buffer("out");
  Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4)), one = b.constant(DType::i32, 1);
  Masked scoped{.scope = how.scope};
  b.beginIf(isWorkgroup(b, 0));
  b.at({"k.cpp", 1, 1}, "write");
  b.store(b.add(b.id(IdKind::Lane), one), {.region = data, .lane = at});
  if (how.release)
    b.fence(FenceOp::Global, Order::Release, how.scope);
  b.at({"k.cpp", 2, 1}, "raise");
  scoped.mask = firstLaneOnly(b);
  if (how.atomicFlag)
    b.atomic(AtomicOp::Exchange, one, {.region = flags}, scoped);
  else
    b.store(one, {.region = flags}, scoped);
  b.beginElse();
  b.at({"k.cpp", 3, 1}, "poll");
  pollByAtomic(b, {.region = flags}, {.scope = how.scope});
  if (how.acquire)
    b.fence(FenceOp::Global, Order::Acquire, how.scope);
  b.at({"k.cpp", 4, 1}, "read");
  b.store(b.load(DType::i32, 1, {.region = data, .lane = at}), {.region = out, .lane = at});
  b.endIf();
  return b.finish();
}

struct Memory {
  std::vector<uint32_t> data = std::vector<uint32_t>(64), flags = std::vector<uint32_t>(16),
                        out = std::vector<uint32_t>(64);
  std::vector<Buffer> buffers() { return {{data.data(), 256}, {flags.data(), 64}, {out.data(), 256}}; }
};

TEST(Workgroups, ReleaseAndAcquireHandOver) {
  for (uint64_t seed : kSeeds)
    for (bool adversarial : {false, true}) {
      Memory memory;
      Result r = launch(handOver({}), 2, memory.buffers(), seed, 0, adversarial);
      EXPECT_TRUE(r.ok()) << format(r);
      for (uint32_t lane = 0; lane < 64; ++lane)
        ASSERT_EQ(memory.out[lane], lane + 1) << "seed " << seed;
    }
}

TEST(Workgroups, AHandOverWithoutReleaseOrAcquireIsFoundAtBothLines) {
  for (uint64_t seed : kSeeds)
    for (HandOver how : {HandOver{.release = false}, HandOver{.acquire = false}}) {
      Memory memory;
      Result r = launch(handOver(how), 2, memory.buffers(), seed);
      ASSERT_TRUE(finds(r, FindingKind::GlobalConflict)) << "seed " << seed;
      EXPECT_EQ(r.findings[0].origin.place.line + r.findings[0].otherOrigin.place.line, 1 + 4);
      EXPECT_NE(r.findings[0].message.find("read and write byte 0 of `data`"), std::string::npos);
    }
}

TEST(Workgroups, APlainFlagIsARace) {
  Memory memory;
  Result r = launch(handOver({.atomicFlag = false}), 2, memory.buffers(), 3);
  ASSERT_FALSE(r.findings.empty());
  bool onFlag = false;
  for (const Finding &finding : r.findings)
    onFlag |= finding.origin.place.line + finding.otherOrigin.place.line == 2 + 3;
  EXPECT_TRUE(onFlag) << format(r);
}

TEST(Workgroups, AtomicsOfAWorkgroupAreNoneForAnother) {
  Memory memory;
  Result r = launch(handOver({.scope = Scope::Workgroup}), 2, memory.buffers(), 0);
  ASSERT_EQ(kindsOf(r), (std::vector{FindingKind::GlobalConflict, FindingKind::GlobalConflict})) << format(r);
  EXPECT_NE(format(r).find("make both atomic for the whole device"), std::string::npos);
}

TEST(Workgroups, AccessesReleaseAndAcquireWithoutFences) {
  auto program = [](Order store, Order load) {
    Builder b({.waveSize = 32, .waves = 1});
    uint32_t data = b.buffer("data"), flags = b.buffer("flags"), out = b.buffer("out");
    Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4)), one = b.constant(DType::i32, 1);
    b.beginIf(isWorkgroup(b, 0));
    b.store(one, {.region = data, .lane = at});
    b.store(one, {.region = flags}, {.mask = firstLaneOnly(b), .order = store});
    b.beginElse();
    b.beginLoop();
    Value flag = b.load(DType::i32, 1, {.region = flags}, {.order = load});
    b.breakUnless(b.cmp(CmpOp::Eq, b.firstLane(flag), b.constant(DType::i32, 0)));
    b.endLoop();
    b.store(b.load(DType::i32, 1, {.region = data, .lane = at}), {.region = out, .lane = at});
    b.endIf();
    return b.finish();
  };
  for (uint64_t seed : kSeeds) {
    Memory right, wrong;
    Result r = launch(program(Order::Release, Order::Acquire), 2, right.buffers(), seed);
    EXPECT_TRUE(r.ok()) << format(r);
    EXPECT_EQ(right.out[31], 1u);
    EXPECT_TRUE(
        finds(launch(program(Order::Relaxed, Order::Acquire), 2, wrong.buffers(), seed), FindingKind::GlobalConflict));
    Memory again;
    EXPECT_TRUE(
        finds(launch(program(Order::Release, Order::Relaxed), 2, again.buffers(), seed), FindingKind::GlobalConflict));
  }
}

/// Each workgroup writes a partial sum and takes a ticket; the one with the last ticket adds all of them. A chain of
/// read-modify-writes hands on what every one of them released.
Program lastOneAdds(uint32_t grid, bool fenced, uint32_t waves = 1) {
  Builder b({.waveSize = 32, .waves = waves});
  uint32_t partials = b.buffer("partials"), counter = b.buffer("counter"), out = b.buffer("out");
  Value four = b.constant(DType::i32, 4), lane = b.id(IdKind::Lane), group = b.id(IdKind::Workgroup0);
  Value mine =
      b.add(b.mul(group, b.constant(DType::i32, 128 * waves)), b.mul(b.id(IdKind::Wave), b.constant(DType::i32, 128)));
  b.at({"k.cpp", 1, 1}, "partial");
  b.store(b.add(group, lane), {.region = partials, .lane = b.mul(lane, four), .uniform = mine});
  b.wait(CounterKind::vm, 0);
  b.barrier();
  b.beginIf(isWave(b, 0));
  if (fenced)
    b.fence(FenceOp::Global);
  Value ticket =
      b.atomic(AtomicOp::Add, b.constant(DType::i32, 1), {.region = counter}, {.mask = firstLaneOnly(b)}, true);
  b.beginIf(b.cmp(CmpOp::Eq, b.firstLane(ticket), b.constant(DType::i32, grid - 1)));
  if (fenced)
    b.fence(FenceOp::Global);
  Loop loop = b.beginFor(b.constant(DType::i32, 0), b.constant(DType::i32, grid * waves), b.constant(DType::i32, 1),
                         {b.constant(DType::i32, 0)}, {false});
  b.at({"k.cpp", 2, 1}, "collect");
  Value part = b.load(
      DType::i32, 1,
      {.region = partials, .lane = b.mul(lane, four), .uniform = b.mul(loop.induction, b.constant(DType::i32, 128))});
  b.endFor(loop, {b.add(loop.carried[0], part)});
  b.store(loop.carried[0], {.region = out, .lane = b.mul(lane, four)});
  b.endIf();
  b.endIf();
  return b.finish();
}

TEST(Workgroups, TheLastOneMayAddWhatAllWrote) {
  constexpr uint32_t grid = 40;
  for (uint32_t waves : {1u, 3u})
    for (uint64_t seed : kSeeds) {
      std::vector<uint32_t> partials(grid * waves * 32), counter(1), out(32);
      Result r =
          launch(lastOneAdds(grid, true, waves), grid,
                 {{partials.data(), partials.size() * 4}, {counter.data(), 4}, {out.data(), 128}}, seed, 0, true);
      EXPECT_TRUE(r.ok()) << format(r);
      for (uint32_t lane = 0; lane < 32; ++lane)
        ASSERT_EQ(out[lane], waves * (grid * (grid - 1) / 2 + grid * lane));
    }
  std::vector<uint32_t> partials(grid * 32), counter(1), out(32);
  Result r = launch(lastOneAdds(grid, false), grid,
                    {{partials.data(), partials.size() * 4}, {counter.data(), 4}, {out.data(), 128}}, 1);
  ASSERT_TRUE(finds(r, FindingKind::GlobalConflict));
  EXPECT_EQ(r.findings[0].origin.place.line + r.findings[0].otherOrigin.place.line, 3);
}

/// Workgroup i waits for i - 1: a chain, as in decoupled look-back.
Program chain() {
  Builder b({.waveSize = 32, .waves = 1});
  uint32_t flags = b.buffer("flags");
  Value group = b.id(IdKind::Workgroup0), four = b.constant(DType::i32, 4);
  b.beginIf(b.cmp(CmpOp::Ne, group, b.constant(DType::i32, 0)));
  b.at({"k.cpp", 1, 1}, "poll");
  pollByAtomic(b, {.region = flags, .uniform = b.mul(group, four), .immediate = -4});
  b.endIf();
  b.at({"k.cpp", 2, 1}, "raise");
  b.atomic(AtomicOp::Exchange, b.constant(DType::i32, 1), {.region = flags, .uniform = b.mul(group, four)},
           {.mask = firstLaneOnly(b)});
  return b.finish();
}

TEST(Workgroups, AChainOfResidentWorkgroupsRuns) {
  for (uint64_t seed : kSeeds) {
    std::vector<uint32_t> flags(12);
    EXPECT_TRUE(launch(chain(), 12, {{flags.data(), 48}}, seed, 12, true).ok());
    EXPECT_EQ(std::accumulate(flags.begin(), flags.end(), 0u), 12u);
  }
}

TEST(Workgroups, WaitingForOneThatCannotStartIsADeadlock) {
  // Workgroups 0 and 1 wait for workgroup 2.
  Builder b({.waveSize = 32, .waves = 2});
  uint32_t flags = b.buffer("flags");
  b.beginIf(isWorkgroup(b, 2));
  b.at({"k.cpp", 1, 1}, "raise");
  b.atomic(AtomicOp::Exchange, b.constant(DType::i32, 1), {.region = flags}, {.mask = firstLaneOnly(b)});
  b.beginElse();
  b.beginIf(isWave(b, 0));
  b.at({"k.cpp", 2, 1}, "poll");
  pollByAtomic(b, {.region = flags});
  b.endIf();
  b.at({"k.cpp", 3, 1}, "meet");
  b.barrier();
  b.endIf();
  Program program = b.finish();
  for (uint64_t seed : kSeeds) {
    std::vector<uint32_t> flags3(1), flags2(1);
    EXPECT_TRUE(launch(program, 3, {{flags3.data(), 4}}, seed, 3).ok());
    Result r = launch(program, 3, {{flags2.data(), 4}}, seed, 2);
    ASSERT_TRUE(finds(r, FindingKind::Deadlock));
    EXPECT_EQ(r.findings[0].origin.place.line, 2);
    EXPECT_EQ(r.findings[0].otherOrigin.place.line, 1);
    EXPECT_NE(
        r.findings[0].message.find("wave 0 polls byte 0 of `flags` by `poll`, wave 1 waits at `meet`; 1 more are "
                                   "resident and wait as well; 1 of 3 have not started, because 2 fill the device"),
        std::string::npos)
        << r.findings[0].message;
  }
}

TEST(Workgroups, OrderOfStartingIsNotPromised) {
  // With two resident, a chain of twelve runs only in the order of its numbers.
  std::vector<uint32_t> flags(12);
  EXPECT_TRUE(launch(chain(), 12, {{flags.data(), 48}}, 5, 2).ok());
  bool found = false;
  for (uint64_t seed : kSeeds) {
    std::fill(flags.begin(), flags.end(), 0);
    Result r = launch(chain(), 12, {{flags.data(), 48}}, seed, 2, true);
    found |= !r.ok();
    if (!r.ok())
      EXPECT_TRUE(finds(r, FindingKind::Deadlock));
  }
  EXPECT_TRUE(found);
}

TEST(Workgroups, ADeadlockOfOneDoesNotHideTheOthers) {
  // Workgroup 1 meets itself at a barrier that only one of its waves reaches; the others end.
  Builder b({.waveSize = 32, .waves = 2});
  uint32_t counter = b.buffer("counter");
  b.atomic(AtomicOp::Add, b.constant(DType::i32, 1), {.region = counter}, {.mask = firstLaneOnly(b)});
  b.beginIf(isWorkgroup(b, 1));
  b.beginIf(isWave(b, 0));
  b.barrier();
  b.endIf();
  b.endIf();
  std::vector<uint32_t> count(1);
  Result r = launch(b.finish(), 5, {{count.data(), 4}}, 0, 2);
  ASSERT_TRUE(finds(r, FindingKind::Deadlock));
  EXPECT_EQ(r.findings[0].workgroup, 1u);
  EXPECT_EQ(count[0], 10u);
}

TEST(Workgroups, WavesPollSharedMemory) {
  // Wave 0 runs first and has to give way.
  auto program = [](bool raise) {
    Builder b({.waveSize = 32, .waves = 2, .sharedBytes = 128});
    uint32_t flag = b.shared("flag", 0, 4);
    Value zero = b.constant(DType::i32, 0);
    b.beginIf(isWave(b, 1));
    b.store(zero, {.region = flag}, {.mask = firstLaneOnly(b), .order = Order::Relaxed});
    b.wait(CounterKind::shared, 0);
    b.endIf();
    b.barrier();
    b.beginIf(isWave(b, 0));
    b.at({"k.cpp", 1, 1}, "poll");
    pollByAtomic(b, {.region = flag});
    b.beginElse();
    b.at({"k.cpp", 2, 1}, "raise");
    if (raise)
      b.atomic(AtomicOp::Add, b.constant(DType::i32, 1), {.region = flag}, {.mask = firstLaneOnly(b)});
    b.endIf();
    return b.finish();
  };
  for (uint64_t seed : kSeeds) {
    EXPECT_TRUE(launch(program(true), 2, {}, seed, 0, true).ok());
    Result r = launch(program(false), 1, {}, seed);
    ASSERT_TRUE(finds(r, FindingKind::Deadlock));
    EXPECT_EQ(r.findings[0].message, "no wave can go on: wave 0 polls byte 0 of `flag` by `poll`, wave 1 has ended");
  }
}

TEST(Workgroups, WavesHandOverThroughAFlagInSharedMemory) {
  // Wave 1 writes data and raises the flag; wave 0 polls it by atomic loads and reads the data.
  auto program = [](Order store, Order load) {
    Builder b({.waveSize = 32, .waves = 2, .sharedBytes = 256});
    uint32_t data = b.shared("data", 0, 128), flag = b.shared("flag", 128, 4);
    Value at = b.mul(b.id(IdKind::Lane), b.constant(DType::i32, 4)), zero = b.constant(DType::i32, 0);
    b.beginIf(isWave(b, 0));
    b.store(zero, {.region = flag}, {.mask = firstLaneOnly(b)});
    b.wait(CounterKind::shared, 0);
    b.endIf();
    b.barrier();
    b.beginIf(isWave(b, 1));
    b.at({"k.cpp", 1, 1}, "write");
    b.store(b.id(IdKind::Lane), {.region = data, .lane = at});
    b.store(b.constant(DType::i32, 1), {.region = flag}, {.mask = firstLaneOnly(b), .order = store});
    b.beginElse();
    b.beginLoop();
    Value seen = b.load(DType::i32, 1, {.region = flag}, {.order = load});
    b.breakUnless(b.cmp(CmpOp::Eq, b.firstLane(seen), zero));
    b.endLoop();
    b.at({"k.cpp", 2, 1}, "read");
    b.load(DType::i32, 1, {.region = data, .lane = at});
    b.endIf();
    return b.finish();
  };
  for (uint64_t seed : kSeeds) {
    Result right = launch(program(Order::Release, Order::Acquire), 1, {}, seed, 0, true);
    EXPECT_TRUE(right.ok()) << format(right);
    for (auto [store, load] : {std::pair{Order::Relaxed, Order::Acquire}, {Order::Release, Order::Relaxed}}) {
      Result wrong = launch(program(store, load), 1, {}, seed);
      ASSERT_EQ(wrong.findings.size(), 1u) << format(wrong);
      EXPECT_EQ(wrong.findings[0].origin.place.line, 2);
      EXPECT_EQ(wrong.findings[0].otherOrigin.place.line, 1);
    }
    // A plain flag is a race of its own, on either side.
    EXPECT_FALSE(launch(program(Order::Plain, Order::Acquire), 1, {}, seed).ok());
    EXPECT_FALSE(launch(program(Order::Release, Order::Plain), 1, {}, seed).ok());
  }
}

TEST(Workgroups, InterleavingFollowsTheSeed) {
  // Each workgroup takes ten tickets.
  Builder b({.waveSize = 32, .waves = 1});
  uint32_t counter = b.buffer("counter"), out = b.buffer("out");
  Loop loop = b.beginFor(b.constant(DType::i32, 0), b.constant(DType::i32, 10), b.constant(DType::i32, 1));
  Value ticket =
      b.atomic(AtomicOp::Add, b.constant(DType::i32, 1), {.region = counter}, {.mask = firstLaneOnly(b)}, true);
  b.store(b.id(IdKind::Workgroup0), {.region = out, .uniform = b.mul(b.firstLane(ticket), b.constant(DType::i32, 4))},
          {.mask = firstLaneOnly(b)});
  b.endFor(loop);
  Program program = b.finish();
  auto tickets = [&](uint64_t seed) {
    std::vector<uint32_t> count(1), owner(80);
    EXPECT_TRUE(launch(program, 8, {{count.data(), 4}, {owner.data(), 320}}, seed).ok());
    return owner;
  };
  std::set<std::vector<uint32_t>> distinct;
  for (uint64_t seed : kSeeds) {
    EXPECT_EQ(tickets(seed), tickets(seed));
    distinct.insert(tickets(seed));
  }
  EXPECT_EQ(distinct.size(), kSeeds.size());
}

TEST(Workgroups, AWindowOfResidentsBoundsMemory) {
  // 3,000 workgroups with 60 KB of shared memory; room for five.
  Builder b({.waveSize = 32, .waves = 1, .sharedBytes = 60000, .occupancy = {.computeUnits = 300}});
  uint32_t counter = b.buffer("counter");
  b.atomic(AtomicOp::Add, b.constant(DType::i32, 1), {.region = counter}, {.mask = firstLaneOnly(b)});
  std::vector<uint32_t> count(1);
  Result r =
      run(b.finish(),
          {.grid = {3000, 1, 1}, .buffers = {{count.data(), 4}}, .seed = 1, .checks = true, .residentBytes = 4 << 20});
  EXPECT_TRUE(r.ok()) << format(r);
  EXPECT_EQ(count[0], 3000u);
  EXPECT_EQ(r.statistics.residents, 5u);
}

TEST(Workgroups, ResidentByWavesAndSharedMemory) {
  auto resident = [](uint32_t waves, uint32_t sharedBytes) {
    Builder b({.waves = waves,
               .sharedBytes = sharedBytes,
               .occupancy = {.computeUnits = 10, .waves = 32, .sharedBytes = 65536}});
    return residentWorkgroups(b.finish());
  };
  EXPECT_EQ(resident(4, 0), 80u);
  EXPECT_EQ(resident(4, 20000), 30u);
  EXPECT_EQ(resident(16, 65536), 10u);
}

TEST(Workgroups, LoopsThatOnlyCountAreNoDeadlock) {
  // A wave that polls with a limit of its own gives up.
  Builder b({.waveSize = 32, .waves = 1});
  uint32_t flags = b.buffer("flags");
  Value tries = b.variable(DType::i32, 1, true);
  b.assign(tries, b.constant(DType::i32, 0));
  b.beginLoop();
  b.atomic(AtomicOp::Add, b.constant(DType::i32, 0), {.region = flags}, {.mask = firstLaneOnly(b)});
  b.assign(tries, b.add(tries, b.constant(DType::i32, 1)));
  b.breakUnless(b.cmp(CmpOp::Slt, tries, b.constant(DType::i32, 5000)));
  b.endLoop();
  std::vector<uint32_t> flag(1);
  EXPECT_TRUE(launch(b.finish(), 3, {{flag.data(), 4}}, 1).ok());
}

/// Damaged programs of communicating workgroups never crash: they are refused, or run to an end within the step limit.
TEST(Workgroups, DamagedProgramsNeverCrash) {
  std::mt19937 random(7);
  std::vector<Program> seeds{handOver({}), lastOneAdds(3, true, 2), chain()};
  int ran = 0;
  for (int round = 0; round < 1500; ++round) {
    Program program = seeds[size_t(round) % seeds.size()];
    for (int i = 0; i < 1 + round % 3; ++i) {
      Instr &instr = program.code[random() % program.code.size()];
      switch (random() % 6) {
      case 0:
        instr.order = static_cast<Order>(random() % 6);
        break;
      case 1:
        instr.scope = static_cast<Scope>(random() % 3);
        break;
      case 2:
        instr.index = uint32_t(random() % (program.addresses.size() + program.code.size()));
        break;
      case 3:
        instr.op = static_cast<Op>(random() % kNumOps);
        break;
      case 4:
        program.addresses[random() % program.addresses.size()].immediate = int64_t(random() % 2000) - 1000;
        break;
      default:
        instr.src[random() % 4] = Slot(random() % (program.slots.size() + 1));
      }
    }
    Program read = deserialize(serialize(program));
    EXPECT_EQ(read, program);
    if (!validate(read).empty())
      continue;
    std::vector<std::vector<uint8_t>> memory(read.numBuffers, std::vector<uint8_t>(1000));
    LaunchConfig config{.grid = {3, 1, 1},
                        .seed = random() % 3,
                        .checks = random() % 4 != 0,
                        .adversarial = random() % 2 == 0,
                        .stepLimit = 3000,
                        .resident = 1 + uint32_t(random() % 3)};
    for (std::vector<uint8_t> &buffer : memory)
      config.buffers.push_back({buffer.data(), buffer.size()});
    config.scalars.resize(read.scalars.size(), 1);
    format(run(read, config));
    ++ran;
  }
  EXPECT_GT(ran, 200);
}

} // namespace
