// The single-buffer pipeline in faithful mode: the reference's section 5.2, and section 7's tests of it.
#include "TestPipelines.h"

#include "soliton/pipeline/Reorder.h"

using namespace soliton;
using namespace soliton::pipe;
using namespace soliton::pipe::testing;

namespace {
const HintShape kShape{.m = 4, .n = 4, .k = 2, .mmaM = 16, .mmaN = 16, .aLoads = 2, .bLoads = 2};
}

TEST(SingleBufferFaithful, BodiesAfterTheReorder) {
  EXPECT_EQ(singles(SingleBuffer(2).declareOps()), "LD ST BAR F0 F1 C0 C1");
  EXPECT_EQ(singles(SingleBuffer(1).buildBody()), "C0 BAR ST LD BAR F0");
  EXPECT_EQ(singles(SingleBuffer(2).buildBody()), "F1 C0 BAR ST LD C1 BAR F0");
  EXPECT_EQ(singles(SingleBuffer(4).buildBody()), "F1 F2 F3 C0 BAR ST LD C1 C2 C3 BAR F0");
}

TEST(SingleBufferFaithful, Edges) {
  CompiledPipeline made = faithful(SingleBuffer(2));
  EXPECT_EQ(edgeText(made.edges, 0, 8), "0>5 2>3 3>6 6>7 0>2 7>1@1 4>3@1 7>3@1");
  for (size_t i = 0; i < 8; ++i)
    EXPECT_EQ(made.edges[i].kind, i == 4 || i == 7 ? DepKind::Anti : DepKind::Flow);
  for (auto [tiles, count] : {std::pair(1, 6), std::pair(2, 8), std::pair(4, 12)})
    EXPECT_EQ(faithful(SingleBuffer(tiles)).edges.size(), static_cast<size_t>(count));
}

TEST(SingleBufferFaithful, RecipesOfPrologueAndEpilogue) {
  CompiledPipeline made = faithful(SingleBuffer(2));
  EXPECT_EQ(singles(made.prologue), "LD ST BAR LD F0 SB");
  EXPECT_EQ(singles(made.epilogue), "SB F1 BAR ST C0 C1 SB BAR F1 F0 C0 C1 SB");
  EXPECT_EQ(singleBufferPrologueRecipe().size(), 6u);
  EXPECT_EQ(singleBufferEpilogueRecipe().size(), 10u);
  for (int t : {1, 2, 4}) {
    EXPECT_EQ(faithful(SingleBuffer(t)).prologue.size(), 6u);
    EXPECT_EQ(faithful(SingleBuffer(t)).epilogue.size(), static_cast<size_t>(4 * t + 5));
    EXPECT_EQ(faithful(SingleBuffer(t)).body.size(), static_cast<size_t>(2 * t + 4));
  }
  EXPECT_GT(made.staggerIndex, static_cast<int>(made.prologue.size()));
}

TEST(SingleBufferFaithful, HintsSpreadMemoryAmongMatrixInstructions) {
  CompiledPipeline made = faithful(SingleBuffer(2, kShape));
  ASSERT_EQ(made.kernel.size(), 56u);
  EXPECT_EQ(countTag(made.kernel, kSchedGroupBarrier), 48);
  auto hint = [&](size_t i) { return made.text(made.kernel[8 + i].op); };
  EXPECT_EQ(hint(0), "GROUP DS_READ(1)");
  EXPECT_EQ(hint(1), "GROUP MFMA(2)");
  EXPECT_EQ(hint(16), "GROUP DS_WRITE(1)");
  EXPECT_EQ(hint(17), "GROUP MFMA(0)");
  EXPECT_EQ(hint(18), "GROUP VMEM_READ(1)");
  EXPECT_EQ(hint(19), "GROUP MFMA(0)");
  EXPECT_EQ(hint(32), "GROUP DS_READ(1)");
  EXPECT_EQ(hint(47), "GROUP MFMA(2)");
}

TEST(SingleBufferFaithful, HintsShareWhatIsLeftOverStores) {
  // 32x32: one matrix instruction a read, 32 - 16 are left for four stores.
  HintShape shape = kShape;
  shape.mmaM = shape.mmaN = 32;
  CompiledPipeline made = faithful(SingleBuffer(2, shape));
  EXPECT_EQ(made.text(made.kernel[8 + 1].op), "GROUP MFMA(1)");
  EXPECT_EQ(made.text(made.kernel[8 + 17].op), "GROUP MFMA(2)");
  EXPECT_EQ(made.text(made.kernel[8 + 19].op), "GROUP MFMA(2)");
}

TEST(SingleBufferFaithful, SegmentsKeepTheirOrder) {
  std::vector<OpDesc> plain = annotate(SingleBuffer(4).declareOps(), mi355xSingleBufferTarget().costs);
  PipelineConfig config = mi355xSingleBufferTarget().pipeline;
  std::vector<OpDesc> body = singleBufferReorder(plain, config), best = optimizeWithinBarriers(body, config);
  EXPECT_EQ(body.size(), plain.size() + 1);
  EXPECT_EQ(best, body) << "the first order of each segment meets its bound";
  for (const DepEdge &edge : deriveDefaultEdges(best, config))
    if (edge.distance == 0)
      EXPECT_LT(edge.producer, edge.consumer);
}
