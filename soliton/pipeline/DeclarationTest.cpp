// What declarations get wrong, each with its id, place and fix; and a pipeline that is written in a page.
#include "TestPipelines.h"

#include <functional>

using namespace soliton;
using namespace soliton::pipe;
using namespace soliton::pipe::testing;

namespace {
/// Pipeline4Wave with a declaration that a test changes.
class Changed : public Pipeline4Wave {
public:
  using Change = std::function<void(std::vector<OpDesc> &)>;
  explicit Changed(Change change) : Pipeline4Wave(four(2, 64, 64, 64)), change(std::move(change)) {}
  std::vector<OpDesc> declareOps() const override {
    std::vector<OpDesc> ops = Pipeline4Wave::declareOps();
    change(ops);
    return ops;
  }

private:
  Change change;
};

/// The one error that both modes report for a changed declaration.
Diagnostic onlyError(const PipelineSchedule &pipeline) {
  CompiledPipeline exact = compilePipeline(pipeline), shipped = faithful(pipeline);
  EXPECT_EQ(exact.diagnostics.size(), 1u) << format(exact.diagnostics);
  EXPECT_EQ(shipped.diagnostics.size(), 1u) << format(shipped.diagnostics);
  EXPECT_TRUE(exact.kernel.empty());
  if (exact.diagnostics.empty())
    return {Severity::remark, DiagId::PipelineBudget, {}, "nothing", "", {}};
  EXPECT_TRUE(exact.diagnostics[0].place.known());
  EXPECT_FALSE(exact.diagnostics[0].hint.empty());
  return exact.diagnostics[0];
}
} // namespace

TEST(Declaration, MissingOperandNamesReaderAndStorage) {
  // Both fragments of B's second quadrant become another read of the first.
  Diagnostic error = onlyError(Changed([](std::vector<OpDesc> &ops) {
    for (int i : {1, 13})
      ops[i].subtile = 0;
  }));
  EXPECT_EQ(error.id, DiagId::PipelineOperandMissing);
  EXPECT_EQ(error.message, "`MMA[0,1]` reads `fragB1`, which no op writes");
}

TEST(Declaration, TileThatNobodyLoadsIsAMissingOperand) {
  CompiledPipeline made = compilePipeline(Changed([](std::vector<OpDesc> &ops) {
    ops.erase(ops.begin() + 12);
    ops.erase(ops.begin());
  }));
  ASSERT_EQ(made.diagnostics.size(), 2u);
  EXPECT_EQ(made.diagnostics[0].message, "`MMA_LOAD_A[s1,0]` reads `A10`, which no op writes");
  EXPECT_EQ(made.diagnostics[1].message, "`MMA_LOAD_A[s0,0]` reads `A00`, which no op writes");
}

TEST(Declaration, NothingDeclared) {
  CompiledPipeline made = compilePipeline(Changed([](std::vector<OpDesc> &ops) { ops.clear(); }));
  ASSERT_EQ(made.diagnostics.size(), 1u);
  EXPECT_EQ(made.diagnostics[0].id, DiagId::PipelineOperandMissing);
}

TEST(Declaration, NoLoadOfALaterTile) {
  CompiledPipeline made = faithful(Changed([](std::vector<OpDesc> &ops) {
    for (OpDesc &op : ops)
      op.k = KOffset::None;
  }));
  EXPECT_FALSE(made.ok());
  EXPECT_TRUE(std::any_of(made.diagnostics.begin(), made.diagnostics.end(), [](const Diagnostic &diagnostic) {
    return diagnostic.id == DiagId::PipelineOperandMissing || diagnostic.id == DiagId::PipelineStage;
  })) << format(made.diagnostics);
}

TEST(Declaration, HalvesThatDiffer) {
  Diagnostic error = onlyError(Changed([](std::vector<OpDesc> &ops) { std::swap(ops[15], ops[16]); }));
  EXPECT_EQ(error.id, DiagId::PipelineHalvesDiffer);
  EXPECT_EQ(error.message, "op 3 of the second half is `MMA_LOAD_A[s1,1]`, expected `LOAD_B[s1,0]@K1`");
  ASSERT_EQ(error.notes.size(), 1u);
  EXPECT_EQ(error.notes[0].message, "op 3 of the first half is `LOAD_B[s0,0]@K0`");
  Diagnostic odd = onlyError(Changed([](std::vector<OpDesc> &ops) { ops.erase(ops.begin() + 22); }));
  EXPECT_EQ(odd.id, DiagId::PipelineHalvesDiffer);
}

TEST(Declaration, StageThatIsNotTheTiles) {
  // Loads of K0 into stage 1 and of K1 into stage 0.
  CompiledPipeline made = compilePipeline(Changed([](std::vector<OpDesc> &ops) {
    ops[0].stage = 1;
    ops[12].stage = 0;
  }));
  ASSERT_EQ(made.diagnostics.size(), 2u) << format(made.diagnostics);
  EXPECT_EQ(made.diagnostics[0].id, DiagId::PipelineStage);
  EXPECT_EQ(made.diagnostics[0].message, "`LOAD_A[s1,0]@K0` is staged in 1, its K tile lies in stage 0");
}

TEST(Declaration, FragmentOfAnotherTile) {
  // The second fragment of A behind the mma that needs it: it would find that of the tile before.
  CompiledPipeline made = compilePipeline(Changed([](std::vector<OpDesc> &ops) {
    for (int half : {0, 12})
      std::rotate(ops.begin() + half + 4, ops.begin() + half + 5, ops.begin() + half + 9);
  }));
  ASSERT_EQ(made.diagnostics.size(), 2u) << format(made.diagnostics);
  EXPECT_EQ(made.diagnostics[0].id, DiagId::PipelineTile);
  EXPECT_EQ(made.diagnostics[0].message, "`MMA[1,0]` finds in `fragA1` a K tile 1 earlier than its own");
  EXPECT_EQ(made.diagnostics[0].hint, "put `MMA_LOAD_A[s0,1]` in front of it");
}

TEST(Declaration, TagOfTwoOperands) {
  Diagnostic error = onlyError(Changed([](std::vector<OpDesc> &ops) {
    for (int i : {4, 16})
      ops[i].tag = kMmaLoadB;
  }));
  EXPECT_EQ(error.id, DiagId::PipelineConfig);
  EXPECT_EQ(error.message, "`MMA_LOAD_B` is declared for channel 1 and for channel 0");
}

TEST(Declaration, QuadrantThatIsComputedTwice) {
  Diagnostic error = onlyError(Changed([](std::vector<OpDesc> &ops) {
    for (int i : {2, 14})
      ops[i].subtile = 1;
  }));
  EXPECT_EQ(error.id, DiagId::PipelineConfig);
  EXPECT_EQ(error.message, "`MMA[0,1]` is the second compute op of row 0, column 1 for one K tile");
}

TEST(Declaration, FragmentOfTheOtherHalfWithoutRotation) {
  // A ping-pong body that rotates: the framework's blocks do not know what to wait for.
  struct Rotating : PingPong {
    Rotating() : PingPong(pingFp8()) { knobs.scheduling = Strategy::Identity; }
    std::vector<OpDesc> declareOps() const override {
      std::vector<OpDesc> ops = PingPong::declareOps();
      std::swap(ops[4].stage, ops[16].stage);
      return ops;
    }
  };
  CompiledPipeline made = faithful(Rotating{});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.diagnostics[0].id, DiagId::PipelineStage) << format(made.diagnostics);
}

TEST(Declaration, TagWithoutACost) {
  Diagnostic error = onlyError(Changed([](std::vector<OpDesc> &ops) { ops[2].tag = 77; }));
  EXPECT_EQ(error.id, DiagId::PipelineOpUnknown);
  EXPECT_EQ(error.message, "the target has no cost for `OP77[s0,0]` (tag 77)");
}

TEST(Declaration, StructureThatIsNotTheBodys) {
  Diagnostic error = onlyError(Changed([](std::vector<OpDesc> &ops) { ops.pop_back(); }));
  EXPECT_EQ(error.id, DiagId::PipelineConfig);
  EXPECT_EQ(error.message, "the body has 7 compute ops, its structure says 8 (2 tiles of 2x2)");
  struct Empty : Pipeline4Wave {
    Empty() : Pipeline4Wave(four(2, 64, 64, 64)) { target.pipeline.numPartitions = target.pipeline.vmPerLoadA = 0; }
  };
  CompiledPipeline made = compilePipeline(Empty{});
  ASSERT_EQ(made.diagnostics.size(), 2u) << format(made.diagnostics);
  EXPECT_EQ(made.diagnostics[0].message, "`numPartitions` is 0, expected at least 1");
  EXPECT_EQ(made.diagnostics[1].id, DiagId::PipelineGeometry);
}

TEST(Declaration, ExplicitBlocksKeepEveryOp) {
  struct Lossy : Pipeline4Wave {
    Lossy(size_t lists, bool foreign) : Pipeline4Wave(four(2, 64, 64, 64)), lists(lists), foreign(foreign) {}
    std::vector<std::vector<OpDesc>> buildExplicitBlocks(std::span<const OpDesc> body,
                                                         const PipelineProgram &program) const override {
      auto all = Pipeline4Wave::buildExplicitBlocks(body, program);
      all.resize(lists);
      OpDesc &last = all.back().back();
      if (foreign)
        last.subtile = 5;
      else
        all.back().pop_back();
      return all;
    }
    size_t lists;
    bool foreign;
  };
  CompiledPipeline seven = faithful(Lossy(7, false)), lost = faithful(Lossy(8, false)),
                   other = faithful(Lossy(8, true));
  ASSERT_EQ(seven.diagnostics.size(), 1u);
  EXPECT_EQ(seven.diagnostics[0].message, "`buildExplicitBlocks` gives 7 lists for 8 blocks");
  ASSERT_EQ(lost.diagnostics.size(), 1u);
  EXPECT_EQ(lost.diagnostics[0].id, DiagId::PipelineBlockCapacity);
  EXPECT_EQ(lost.diagnostics[0].message, "`MMA[1,1]` stands in the kernel 1 times, in the body 2 times");
  ASSERT_EQ(other.diagnostics.size(), 1u);
}

TEST(Declaration, BootstrapOfAFragmentThatIsNotDeclared) {
  struct Foreign : Pipeline4Wave {
    Foreign() : Pipeline4Wave(four(2, 64, 64, 64)) {}
    std::vector<OpDesc> bootstrapFrags() const override {
      std::vector<OpDesc> frags = Pipeline4Wave::bootstrapFrags();
      frags[1].subtile = 3;
      return frags;
    }
  };
  CompiledPipeline made = faithful(Foreign{});
  ASSERT_EQ(made.diagnostics.size(), 1u) << format(made.diagnostics);
  EXPECT_EQ(made.diagnostics[0].id, DiagId::PipelineOpUnknown);
  EXPECT_EQ(made.diagnostics[0].message, "the prologue has `MMA_LOAD_B[s0,3]`, which the body does not have");
}

TEST(Declaration, CircleOfEdges) {
  struct Circular : Pipeline4Wave {
    Circular() : Pipeline4Wave(four(2, 64, 64, 64)) {}
    std::vector<DepEdge> deriveEdges(std::span<const OpDesc> body) const override { return {{2, 5}, {5, 8}, {8, 2}}; }
  };
  CompiledPipeline made = faithful(Circular{});
  ASSERT_EQ(made.diagnostics.size(), 1u);
  EXPECT_EQ(made.diagnostics[0].id, DiagId::PipelineCycle);
  EXPECT_EQ(made.diagnostics[0].message, "ops wait for each other inside one trip: 2 > 5 > 8 > 2");
  EXPECT_EQ(made.diagnostics[0].notes.size(), 3u);
  EXPECT_TRUE(made.diagnostics[0].place.known());
}

TEST(Declaration, CircleOfStorage) {
  // Two ops that each read what the other writes, in the same tile.
  struct Circular : Pipeline4Wave {
    Circular() : Pipeline4Wave(four(2, 64, 64, 64)) {}
    int tilesAhead(const OpDesc &op, int half) const override {
      return op.role == OpRole::FragmentLoad ? 0 : Pipeline4Wave::tilesAhead(op, half);
    }
  };
  CompiledPipeline made = compilePipeline(Circular{});
  EXPECT_FALSE(made.ok());
}

TEST(Declaration, WaitAboveTheCounter) {
  // 256 copies of 16 rows each: 16 ticks a load, 7 loads and more in flight.
  CompiledPipeline made =
      faithful(Pipeline4Wave(four(2, 64, 64, 64), Pipeline4Wave::defaultScheduleConfig(), mi355xTarget(16, 16, 0)));
  ASSERT_EQ(made.diagnostics.size(), 2u) << format(made.diagnostics);
  EXPECT_EQ(made.diagnostics[0].id, DiagId::PipelineWaitWidth);
  EXPECT_EQ(made.diagnostics[0].message, "entry 8 of the prologue waits for vm 112, the counter holds 63");
  EXPECT_EQ(made.diagnostics[1].message, "entry 0 of the kernel waits for vm 64, the counter holds 63");
  EXPECT_TRUE(made.diagnostics[0].place.known());
  // Exact mode waits for what the counter can say.
  CompiledPipeline exact = compilePipeline(
      Pipeline4Wave(four(2, 64, 64, 64), Pipeline4Wave::defaultScheduleConfig(), mi355xTarget(16, 16, 0)));
  EXPECT_TRUE(exact.ok()) << format(exact.diagnostics);
  for (const auto *list : {&exact.prologue, &exact.kernel, &exact.epilogue})
    for (const ScheduleEntry &entry : *list)
      if (entry.op.tag == kWaitVm)
        EXPECT_LE(entry.op.waitValue, 63);
}

TEST(Declaration, InfeasibleSearch) {
  ScheduleConfig config = PingPong::defaultScheduleConfig(pingBf16());
  config.maxVgpr = 90;
  for (Mode mode : {Mode::Exact, Mode::Faithful}) {
    CompiledPipeline made = compilePipeline(PingPong(pingBf16(), config, mi355xTarget(2, 2, 1)), {mode, {}});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.diagnostics[0].id, DiagId::PipelineInfeasible);
    EXPECT_EQ(made.diagnostics[0].message, "no order lives in 90 registers; the best that was found takes 96");
  }
}

TEST(Declaration, MoreLoadsThanABlockHolds) {
  // All loads of a half in its first block.
  Changed bunched([](std::vector<OpDesc> &ops) {
    for (int half : {0, 12})
      for (int from : {3, 6, 9})
        std::rotate(ops.begin() + half, ops.begin() + half + from, ops.begin() + half + from + 1);
  });
  CompiledPipeline made = faithful(bunched);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.diagnostics[0].id, DiagId::PipelineBlockCapacity);
  EXPECT_EQ(made.diagnostics[0].message, "block 0 has 4 loads, a block of a faithful program holds 2");
}

TEST(Declaration, LoadForWhichNoBlockHasRoom) {
  struct Narrow : PingPong {
    Narrow() : PingPong(pingFp8()) { target.pipeline.blockSizing = {3, 2, 0}; }
  };
  CompiledPipeline made = compilePipeline(Narrow{});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.diagnostics[0].id, DiagId::PipelineBlockCapacity);
  EXPECT_EQ(made.diagnostics[0].message, "no block of the body has room for `LOAD_B[s0,0]@K0`");
}

TEST(Declaration, GeometryThatRoundsToNothing) {
  // Eight waves copy 128 rows at once, a half-tile of A has 64: rounded down, no load at all.
  int line = __LINE__ + 1;
  GeometryResult made = pingPongGeometry({.bm = 128, .bn = 256, .bk = 32, .elemBytes = 2});
  ASSERT_EQ(made.errors.size(), 1u);
  EXPECT_EQ(made.errors[0].id, DiagId::PipelineGeometry);
  EXPECT_EQ(made.errors[0].message, "a load of A copies nothing: its half-tile has 64 rows, one copy of all waves 128");
  EXPECT_EQ(made.errors[0].place.line, line);
}

TEST(Declaration, GeometryThatDoesNotDivide) {
  EXPECT_EQ(fourWaveGeometry({.bm = 96, .bn = 64, .bk = 64}).errors.size(), 1u);
  EXPECT_EQ(fourWaveGeometry({.bm = 64, .bn = 64, .bk = 48}).errors.size(), 1u);
  EXPECT_EQ(fourWaveGeometry({.bm = 64, .bn = 64, .bk = 64, .elemBytes = 4}).errors.size(), 1u);
  EXPECT_EQ(fourWaveGeometry({.bm = 0, .bn = 0, .bk = 0}).errors.size(), 5u);
  GeometryResult big = fourWaveGeometry({.bm = 256, .bn = 256, .bk = 128});
  ASSERT_EQ(big.errors.size(), 1u);
  EXPECT_EQ(big.errors[0].message, "the stages take 262144 bytes of shared memory, there are 163840");
}

// ---- A pipeline in a page -----------------------------------------------------------------------------------------

namespace {
/// A row sum, two tiles a trip: nothing in the framework knows matrix products.
class RowSum : public PipelineSchedule {
  enum Tag { Load, Read, Add };

public:
  RowSum() {
    target.costs.set(Load, {ResourceKind::GlobalMem, 400, OpRole::GlobalLoad});
    target.costs.set(Read, {ResourceKind::Shared, 60, OpRole::FragmentLoad, 8});
    target.costs.set(Add, {ResourceKind::Valu, 32, OpRole::Compute, 0});
    target.pipeline.mMmas = target.pipeline.nMmas = 1;
    target.pipeline.waveStagger = WaveStagger::none();
    knobs.minimalBarriers = true;
  }
  std::vector<OpDesc> declareOps() const override {
    return PipelineBody()
        .halves([](PipelineBody &b, const Half &h) {
          b.frag({.tag = Read, .channel = 0, .stage = h.stage});
          b.compute({.tag = Add});
          b.load({.tag = Load, .channel = 0, .stage = h.stage, .k = h.k});
        })
        .done();
  }
  std::vector<Touch> touches(const OpDesc &op, int half) const override {
    if (op.role == OpRole::Compute)
      return {readsRegister(fragmentName(0, 0)), readsRegister("sum"), writesRegister("sum")};
    return PipelineSchedule::touches(op, half);
  }
  std::string tagName(int tag) const override { return std::array{"LOAD", "READ", "ADD"}.at(tag); }
};
} // namespace

TEST(Declaration, AReductionIsAPipelineToo) {
  CompiledPipeline made = compilePipeline(RowSum{});
  EXPECT_TRUE(made.ok()) << format(made.diagnostics);
  EXPECT_EQ(made.proof.hazards, 4);
  std::string kernel = joined(made.kernel, [&](const ScheduleEntry &entry) { return made.text(entry.op); });
  EXPECT_EQ(kernel, "READ[s0,0] ADD[0,0] VM(0) BARRIER LOAD[s0,0]@K0 READ[s1,0] ADD[0,0] VM(0) BARRIER LOAD[s1,0]@K1");
}
