// Programs of both modes, run tile by tile by a simulator that knows nothing of the core: every accumulator must get
// every K tile once, in order, from operands of that very tile. Then mutants: a wrong declaration that is accepted must
// still compute the right thing, and what breaks a proven program must be reported.
#include "TestPipelines.h"
#include "TestTileRun.h"

#include "soliton/schedule/Verify.h"

#include <functional>
#include <random>

using namespace soliton;
using namespace soliton::pipe;
using namespace soliton::pipe::testing;

namespace {
/// A pipeline with a declaration that a test changes.
template <typename Base>
class Mutant : public Base {
public:
  Mutant(const KernelGeometry &geometry, std::vector<OpDesc> ops) : Base(geometry), ops(std::move(ops)) {}
  std::vector<OpDesc> declareOps() const override { return ops; }

private:
  std::vector<OpDesc> ops;
};

/// Every change of one op: left out, twice, another stage, subtile, tile, operand, or another place.
std::vector<std::vector<OpDesc>> mutate(const std::vector<OpDesc> &ops) {
  std::vector<std::vector<OpDesc>> all;
  size_t length = ops.size() / 2;
  for (bool both : {false, true})
    for (size_t i = 0; i < (both ? length : ops.size()); ++i) {
      auto change = [&](const std::function<void(OpDesc &)> &how) {
        all.push_back(ops);
        how(all.back()[i]);
        if (both)
          how(all.back()[i + length]);
      };
      auto edit = [&](bool insert) {
        all.push_back(ops);
        // The second half first: its place is not moved yet.
        for (size_t at : both ? std::vector{i + length, i} : std::vector{i})
          insert ? all.back().insert(all.back().begin() + at, ops[at]) : all.back().erase(all.back().begin() + at);
      };
      edit(false);
      edit(true);
      change([](OpDesc &op) { op.stage ^= 1; });
      change([](OpDesc &op) { op.subtile ^= 1; });
      for (KOffset k : {KOffset::K0, KOffset::K1, KOffset::KPrev, KOffset::KNext})
        if (ops[i].k != KOffset::None && ops[i].k != k)
          change([&](OpDesc &op) { op.k = k; });
      if (ops[i].tag != kMma)
        change([](OpDesc &op) {
          op.channel ^= 1;
          op.tag += op.tag == kLoadA || op.tag == kMmaLoadA ? 1 : -1;
        });
    }
  // The same move in both halves, so that they stay alike.
  for (size_t from = 0; from < length; ++from)
    for (size_t to = 0; to < length; ++to) {
      if (from == to)
        continue;
      all.push_back(ops);
      for (size_t half : {size_t{0}, length}) {
        OpDesc moved = all.back()[half + from];
        all.back().erase(all.back().begin() + half + from);
        all.back().insert(all.back().begin() + half + to, moved);
      }
    }
  return all;
}

/// Mutants that were reported, and of the others those that compute the right thing and those that do not.
struct Tally {
  int reported = 0, right = 0, wrong = 0;
};

template <typename Base>
Tally judgeMutants(const KernelGeometry &geometry, Mode mode) {
  Tally tally;
  // Hazards that the shipped programs leave to latency are waived: a mutant must add something worse.
  PipelineOptions options{mode, {}};
  if (mode == Mode::Faithful)
    options.waivers = {{"", "", "", "as shipped"}};
  for (const std::vector<OpDesc> &ops : mutate(Base(geometry).declareOps())) {
    CompiledPipeline made = compilePipeline(Mutant<Base>(geometry, ops), options);
    if (!made.ok())
      ++tally.reported;
    else
      ++(computesRight(made) ? tally.right : tally.wrong);
  }
  return tally;
}

/// Drops or weakens each wait and each barrier of a proven program; all must be reported.
void expectEveryWeakeningReported(const CompiledPipeline &made, int &mutants) {
  ASSERT_TRUE(made.ok());
  const Proof &proof = made.proof;
  auto reported = [&](const sched::Program &program) {
    ++mutants;
    return !sched::verify(proof.problem, proof.schedule, program).ok();
  };
  for (sched::Phase phase : {sched::Phase::Prologue, sched::Phase::Kernel, sched::Phase::Epilogue})
    for (size_t i = 0; i < proof.program.list(phase).size(); ++i) {
      const sched::Entry &entry = proof.program.list(phase)[i];
      if (entry.kind == sched::EntryKind::Op || entry.op >= 0)
        continue;
      sched::Program dropped = proof.program;
      dropped.list(phase).erase(dropped.list(phase).begin() + i);
      EXPECT_TRUE(reported(dropped)) << made.name << ", entry " << i << " of the " << nameOf(phase);
      if (entry.kind != sched::EntryKind::Wait)
        continue;
      sched::Program weaker = proof.program;
      ++weaker.list(phase)[i].value;
      EXPECT_TRUE(reported(weaker)) << made.name << ", wait " << i << " of the " << nameOf(phase);
    }
}
} // namespace

TEST(DataFlow, EveryProgramOfTheReferenceComputesRight) {
  for (Mode mode : {Mode::Exact, Mode::Faithful}) {
    for (int elem : {1, 2})
      for (int bm : {64, 128})
        for (int bn : {64, 128, 256})
          for (int bk : {32, 64, 128})
            if (GeometryResult shape = fourWaveGeometry({.bm = bm, .bn = bn, .bk = bk, .elemBytes = elem}); shape.ok())
              EXPECT_TRUE(computesRight(compilePipeline(Pipeline4Wave(shape.geometry), {mode, {}})))
                  << elem << " " << bm << "x" << bn << "x" << bk;
    for (const KernelGeometry &geometry : {pingBf16(), pingFp8(), pingSkinny()})
      EXPECT_TRUE(computesRight(compilePipeline(PingPong(geometry), {mode, {}})));
  }
}

TEST(DataFlow, TheHistoricalOverwriteComputesWrong) {
  // The simulator sees what the verifier reports: the second quadrant reads the tile of the next pair.
  ScheduleConfig config = PingPong::defaultScheduleConfig(pingBf16());
  config.scheduling = Strategy::Identity;
  PingPong identity(pingBf16(), config, mi355xTarget(2, 2, 1));
  EXPECT_FALSE(computesRight(faithful(identity)));
  EXPECT_TRUE(computesRight(compilePipeline(identity)));
}

TEST(Mutants, NoWrongDeclarationIsAccepted) {
  int reported = 0;
  for (Mode mode : {Mode::Exact, Mode::Faithful}) {
    Tally four = judgeMutants<Pipeline4Wave>(pipe::testing::four(2, 64, 64, 64), mode);
    Tally ping = judgeMutants<PingPong>(pingFp8(), mode);
    EXPECT_EQ(four.wrong, 0) << nameOf(mode);
    EXPECT_EQ(ping.wrong, 0) << nameOf(mode);
    reported += four.reported + ping.reported;
  }
  EXPECT_GT(reported, 900);
}

namespace {
/// Up to four changes at once, of any field, to any value near the legal ones.
std::vector<OpDesc> scramble(std::vector<OpDesc> ops, std::mt19937 &random) {
  auto pick = [&](int below) { return static_cast<int>(random() % below); };
  size_t length = ops.size() / 2;
  bool both = pick(2);
  for (int changes = 1 + pick(4); changes > 0; --changes) {
    size_t i = random() % (both ? length : ops.size()), j = random() % (both ? length : ops.size());
    int what = pick(6), value = pick(4) - 1;
    for (size_t half : both ? std::vector<size_t>{0, length} : std::vector<size_t>{0}) {
      OpDesc &op = ops[half + i];
      if (what == 0)
        std::swap(op, ops[half + j]);
      else if (what == 1)
        op.stage = value;
      else if (what == 2)
        op.subtile = value;
      else if (what == 3)
        op.k = std::array{KOffset::K0, KOffset::K1, KOffset::KNext, KOffset::KPrev}[value + 1];
      else if (what == 4)
        op.channel = value;
      else
        op.tag = value + 3;
    }
  }
  return ops;
}

template <typename Base>
Tally judgeScrambled(const KernelGeometry &geometry, Mode mode, int count) {
  std::mt19937 random(11);
  std::vector<OpDesc> good = Base(geometry).declareOps();
  PipelineOptions options{mode, {{"", "", "", "as shipped"}}};
  Tally tally;
  for (int i = 0; i < count; ++i) {
    CompiledPipeline made = compilePipeline(Mutant<Base>(geometry, scramble(good, random)), options);
    if (!made.ok())
      ++tally.reported;
    else
      ++(computesRight(made) ? tally.right : tally.wrong);
  }
  return tally;
}
} // namespace

TEST(Mutants, SeveralChangesAtOnce) {
  for (Mode mode : {Mode::Exact, Mode::Faithful}) {
    Tally four = judgeScrambled<Pipeline4Wave>(pipe::testing::four(2, 64, 64, 64), mode, 1500);
    Tally ping = judgeScrambled<PingPong>(pingFp8(), mode, 1500);
    EXPECT_EQ(four.wrong, 0) << nameOf(mode);
    EXPECT_EQ(ping.wrong, 0) << nameOf(mode);
    EXPECT_GT(four.right, 0) << "some change nothing that matters";
    EXPECT_GT(four.reported, 500);
  }
}

TEST(Mutants, EveryWeakeningOfAProvenProgramIsReported) {
  int mutants = 0;
  for (const KernelGeometry &geometry : {four(2, 64, 64, 64), four(2, 128, 256, 64), four(1, 128, 128, 128)})
    expectEveryWeakeningReported(compilePipeline(Pipeline4Wave(geometry)), mutants);
  for (const KernelGeometry &geometry : {pingBf16(), pingFp8(), pingSkinny()})
    expectEveryWeakeningReported(compilePipeline(PingPong(geometry)), mutants);
  for (int steps : {1, 2, 4})
    expectEveryWeakeningReported(compilePipeline(SingleBuffer(steps)), mutants);
  EXPECT_GT(mutants, 100);
}

TEST(Mutants, GoodDeclarationsAreAccepted) {
  int good = 0;
  for (int elem : {1, 2})
    for (int bm = 64; bm <= 256; bm += 64)
      for (int bn = 64; bn <= 256; bn += 64)
        for (int bk : {32, 64, 128}) {
          GeometryResult shape = fourWaveGeometry({.bm = bm, .bn = bn, .bk = bk, .elemBytes = elem});
          if (!shape.ok())
            continue;
          CompiledPipeline made = compilePipeline(Pipeline4Wave(shape.geometry));
          EXPECT_TRUE(made.ok()) << bm << "x" << bn << "x" << bk << "\n" << format(made.diagnostics);
          ++good;
        }
  for (int elem : {1, 2})
    for (int bm : {128, 256})
      for (int bn : {256, 512})
        for (int bk : {32, 64, 128})
          for (Strategy strategy : {Strategy::Identity, Strategy::Greedy, Strategy::Csp}) {
            GeometryResult shape = pingPongGeometry({.bm = bm, .bn = bn, .bk = bk, .elemBytes = elem});
            if (!shape.ok())
              continue;
            const KernelGeometry &g = shape.geometry;
            ScheduleConfig config = PingPong::defaultScheduleConfig(g);
            config.scheduling = strategy;
            CompiledPipeline made =
                compilePipeline(PingPong(g, config, mi355xTarget(g.vmPerLoadA, g.vmPerLoadB, g.maxGlobals())));
            EXPECT_TRUE(made.ok()) << bm << "x" << bn << "x" << bk << "\n" << format(made.diagnostics);
            ++good;
          }
  for (int steps = 1; steps <= 20; ++steps) {
    EXPECT_TRUE(compilePipeline(SingleBuffer(steps)).ok());
    ++good;
  }
  EXPECT_GE(good, 100);
}
