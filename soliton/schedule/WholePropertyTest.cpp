// Random kernels: what is derived is proven, cannot be broken by any interleaving, and is not too much.
#include "WholeInterleavings.h"
#include "soliton/schedule/WholeSync.h"
#include "soliton/schedule/WholeVerify.h"

#include <gtest/gtest.h>

#include <ctime>

using namespace soliton;
using namespace soliton::sched::whole;
using namespace soliton::sched::whole::testing;

namespace {
Kernel randomKernel(uint32_t seed, TreeShape shape = {}) {
  shape.groupsOnly = seed % 3 == 0;
  return RandomKernel(seed, shape).make();
}

void drop(Sequence &sequence, int id) {
  std::erase_if(sequence, [&](const Node &node) { return node.id == id; });
  for (Node &node : sequence)
    for (Sequence &body : node.bodies)
      drop(body, id);
}
void weaken(Sequence &sequence, int id) {
  for (Node &node : sequence) {
    node.value += node.id == id;
    for (Sequence &body : node.bodies)
      weaken(body, id);
  }
}

void makeOfTeams(Sequence &sequence, int id) {
  for (Node &node : sequence) {
    node.team |= node.id == id;
    for (Sequence &body : node.bodies)
      makeOfTeams(body, id);
  }
}

std::vector<Node> derivedNodes(const Kernel &kernel) {
  std::vector<Node> nodes;
  forEachNode(kernel.body, [&](const Node &node) {
    if (node.source == Source::Derived)
      nodes.push_back(node);
  });
  return nodes;
}

int countBarriers(const Kernel &kernel) {
  int count = 0;
  forEachNode(kernel.body, [&](const Node &node) { count += node.kind == NodeKind::Barrier; });
  return count;
}

/// Can the kernel be made right with these gaps of `sequence` (bits) having barriers?
bool isEnough(Kernel kernel, uint32_t gaps, bool inLoop) {
  Sequence &sequence = inLoop ? kernel.body[0].bodies[0] : kernel.body;
  for (int i = static_cast<int>(sequence.size()); i >= 0; --i)
    if (gaps >> i & 1)
      sequence.insert(sequence.begin() + i, barrier());
  number(kernel);
  std::vector<Diagnostic> remarks;
  deriveWaits(kernel, {}, remarks);
  return verify(kernel).ok();
}
} // namespace

TEST(WholeProperty, WhatIsDerivedIsProven) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    TreeShape shape;
    shape.nodes = 5 + static_cast<int>(seed % 20);
    shape.depth = 1 + static_cast<int>(seed % 3);
    Derived derived = derive(randomKernel(seed, shape), {.counted = seed % 2 == 0});
    Verdict verdict = verify(derived.kernel);
    ASSERT_TRUE(verdict.ok()) << "seed " << seed << "\n" << toString(derived.kernel) << format(verdict.diagnostics);
    // Nothing is missing in what is complete.
    EXPECT_TRUE(derive(derived.kernel).insertions.size() == derived.insertions.size()) << "seed " << seed;
  }
}

TEST(WholeProperty, NoInterleavingBreaksWhatIsProven) {
  for (uint32_t seed = 0; seed < 120; ++seed) {
    Kernel kernel = derive(randomKernel(seed)).kernel;
    EXPECT_EQ(attack(kernel, seed, 3, 2), "") << "seed " << seed << "\n" << toString(kernel);
  }
}

// Every barrier, wait and commit is taken away, every wait weakened: the verifier refuses, or nothing can go wrong.
TEST(WholeProperty, MutantsAreRefusedOrHarmless) {
  int refused = 0, confirmed = 0, accepted = 0;
  for (uint32_t seed = 1000; seed < 1060; ++seed) {
    TreeShape shape;
    shape.nodes = 6;
    Kernel kernel = derive(randomKernel(seed, shape)).kernel;
    for (const Node &node : derivedNodes(kernel))
      for (bool weaker : {false, true}) {
        if (weaker && node.kind != NodeKind::Wait)
          continue;
        Kernel mutant = kernel;
        weaker ? weaken(mutant.body, node.id) : drop(mutant.body, node.id);
        bool proven = verify(mutant).ok();
        std::string failure = attack(mutant, seed, 4, 3);
        EXPECT_FALSE(proven && !failure.empty()) << "seed " << seed << "\n" << toString(mutant) << failure;
        refused += !proven;
        confirmed += !proven && !failure.empty();
        accepted += proven && !weaker;
      }
  }
  // Refusals are not made up, and nothing superfluous is derived.
  EXPECT_GT(refused, 150);
  EXPECT_GT(confirmed * 10, refused * 7);
  EXPECT_EQ(accepted, 0);
}

// Half of the waves are one barrier ahead: whatever the verifier accepts of what an author might write holds.
TEST(WholeProperty, NoInterleavingBreaksAStaggeredKernelThatIsAccepted) {
  int accepted = 0, refused = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    TreeShape shape;
    shape.nodes = shape.length = 8;
    shape.depth = seed % 2;
    shape.branches = shape.pipelines = false;
    shape.saidShare = 40;
    Kernel kernel = randomKernel(seed, shape);
    kernel.groups = 2;
    kernel.body.insert(kernel.body.begin(), barrier(2));
    kernel.body.push_back(barrier(1));
    number(kernel);
    bool touches = false;
    forEachNode(kernel.body, [&](const Node &node) { touches |= !node.accesses.empty(); });
    if (!touches || !verify(kernel).ok()) {
      ++refused;
      continue;
    }
    ++accepted;
    EXPECT_EQ(attack(kernel, seed, 2, 3), "") << "seed " << seed << "\n" << toString(kernel);
  }
  EXPECT_GT(accepted, 200);
  EXPECT_GT(refused, 1000);
}

TEST(WholeProperty, BarriersAreAsFewAsAnyInStraightCodeAndInOneLoop) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    TreeShape shape;
    shape.nodes = shape.length = 9;
    shape.depth = 0;
    shape.said = false;
    bool inLoop = seed % 2;
    Kernel kernel = randomKernel(seed, shape);
    if (inLoop)
      kernel.body = {loop(std::move(kernel.body))};
    number(kernel);
    size_t gaps = (inLoop ? kernel.body[0].bodies[0] : kernel.body).size() + (inLoop ? 0 : 1);
    int found = countBarriers(derive(kernel).kernel);
    for (uint32_t choice = 0; choice < (1u << gaps); ++choice)
      if (std::popcount(choice) < found)
        ASSERT_FALSE(isEnough(kernel, choice, inLoop))
            << "seed " << seed << ": " << std::popcount(choice) << " would do\n"
            << toString(derive(kernel).kernel);
  }
}

/// With boxes, releases and awaits.
TreeShape releasing(uint32_t seed) {
  TreeShape shape;
  shape.nodes = 6 + static_cast<int>(seed % 12);
  shape.depth = static_cast<int>(seed % 3);
  shape.releases = 30;
  return shape;
}

TEST(WholeProperty, WhatIsDerivedBesideReleasesIsProven) {
  int heard = 0;
  for (uint32_t seed = 0; seed < 6000; ++seed) {
    Kernel kernel = randomKernel(seed, releasing(seed));
    Derived derived = derive(kernel, {.counted = seed % 2 == 0});
    Verdict verdict = verify(derived.kernel);
    ASSERT_TRUE(verdict.ok()) << "seed " << seed << "\n" << toString(derived.kernel) << format(verdict.diagnostics);
    EXPECT_TRUE(derive(derived.kernel).insertions.size() == derived.insertions.size()) << "seed " << seed;
    // Awaits save barriers now and then.
    Kernel deaf = kernel;
    forEachNode(kernel.body, [&](const Node &node) {
      if (node.kind == NodeKind::Await)
        drop(deaf.body, node.id);
    });
    heard += countBarriers(derive(deaf).kernel) > countBarriers(derive(kernel).kernel);
  }
  EXPECT_GT(heard, 50);
}

TEST(WholeProperty, NoInterleavingBreaksWhatReleasesProve) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Kernel kernel = derive(randomKernel(seed, releasing(seed % 2))).kernel;
    EXPECT_EQ(attack(kernel, seed, 3, 2), "") << "seed " << seed << "\n" << toString(kernel);
  }
}

/// Each release, await and derived node is taken away, each await weakened.
TEST(WholeProperty, MutantsOfReleasesAreRefusedOrHarmless) {
  int refused = 0, confirmed = 0;
  for (uint32_t seed = 2000; seed < 2100; ++seed) {
    TreeShape shape = releasing(seed);
    shape.nodes = 7;
    Kernel kernel = derive(randomKernel(seed, shape)).kernel;
    forEachNode(kernel.body, [&](const Node &node) {
      bool isHalf = node.kind == NodeKind::Release || node.kind == NodeKind::Await;
      if (!isHalf && node.source != Source::Derived)
        return;
      for (bool weaker : {false, true}) {
        if (weaker && node.kind != NodeKind::Wait && node.kind != NodeKind::Await)
          continue;
        Kernel mutant = kernel;
        weaker ? weaken(mutant.body, node.id) : drop(mutant.body, node.id);
        bool proven = verify(mutant).ok();
        std::string failure = attack(mutant, seed, 4, 3);
        EXPECT_FALSE(proven && !failure.empty()) << "seed " << seed << "\n" << toString(mutant) << failure;
        refused += !proven;
        confirmed += !proven && !failure.empty();
      }
    });
  }
  EXPECT_GT(refused, 150);
  EXPECT_GT(confirmed * 10, refused * 6);
}

TEST(WholeProperty, BarriersBesideReleasesAreAsFewAsAny) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    TreeShape shape = releasing(seed);
    shape.nodes = shape.length = 9;
    shape.depth = 0;
    shape.said = false;
    bool inLoop = seed % 2;
    Kernel kernel = randomKernel(seed, shape);
    if (inLoop)
      kernel.body = {loop(std::move(kernel.body))};
    number(kernel);
    size_t gaps = (inLoop ? kernel.body[0].bodies[0] : kernel.body).size() + (inLoop ? 0 : 1);
    int found = countBarriers(derive(kernel).kernel);
    for (uint32_t choice = 0; choice < (1u << gaps); ++choice)
      if (std::popcount(choice) < found)
        ASSERT_FALSE(isEnough(kernel, choice, inLoop))
            << "seed " << seed << ": " << std::popcount(choice) << " would do\n"
            << toString(derive(kernel).kernel);
  }
}

/// With accesses that concern one team for each element.
TreeShape withTeams(uint32_t seed) {
  TreeShape shape;
  shape.nodes = 6 + static_cast<int>(seed % 12);
  shape.depth = static_cast<int>(seed % 3);
  shape.releases = seed % 4 == 0 ? 30 : 0;
  shape.teams = 60;
  return shape;
}

TEST(WholeProperty, WhatIsDerivedForTeamsIsProven) {
  int saved = 0;
  for (uint32_t seed = 0; seed < 6000; ++seed) {
    Kernel kernel = randomKernel(seed, withTeams(seed));
    Derived derived = derive(kernel, {.counted = seed % 2 == 0});
    Verdict verdict = verify(derived.kernel);
    ASSERT_TRUE(verdict.ok()) << "seed " << seed << "\n" << toString(derived.kernel) << format(verdict.diagnostics);
    EXPECT_TRUE(derive(derived.kernel).insertions.size() == derived.insertions.size()) << "seed " << seed;
    // A barrier of teams takes the place of one of all waves now and then.
    saved += std::any_of(derived.insertions.begin(), derived.insertions.end(), [](auto &each) { return each.team; });
  }
  EXPECT_GT(saved, 500);
}

TEST(WholeProperty, NoInterleavingBreaksWhatTeamsProve) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    Kernel kernel = derive(randomKernel(seed, withTeams(seed % 2))).kernel;
    EXPECT_EQ(attack(kernel, seed, 3, 4), "") << "seed " << seed << "\n" << toString(kernel);
  }
}

/// Each derived node is taken away, each wait weakened, each barrier of all made one of teams.
TEST(WholeProperty, MutantsOfTeamsAreRefusedOrHarmless) {
  int refused = 0, confirmed = 0;
  for (uint32_t seed = 3000; seed < 3100; ++seed) {
    TreeShape shape = withTeams(seed);
    shape.nodes = 7;
    Kernel kernel = derive(randomKernel(seed, shape)).kernel;
    for (const Node &node : derivedNodes(kernel))
      for (bool weaker : {false, true}) {
        if (weaker && (node.kind == NodeKind::Commit || node.team))
          continue;
        Kernel mutant = kernel;
        if (!weaker)
          drop(mutant.body, node.id);
        else if (node.kind == NodeKind::Barrier)
          makeOfTeams(mutant.body, node.id);
        else
          weaken(mutant.body, node.id);
        bool proven = verify(mutant).ok();
        std::string failure = attack(mutant, seed, 4, 4);
        EXPECT_FALSE(proven && !failure.empty()) << "seed " << seed << "\n" << toString(mutant) << failure;
        refused += !proven;
        confirmed += !proven && !failure.empty();
      }
  }
  EXPECT_GT(refused, 150);
  EXPECT_GT(confirmed * 10, refused * 5);
}

TEST(WholeProperty, DerivationIsDeterministic) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Kernel kernel = randomKernel(seed);
    EXPECT_EQ(toString(derive(kernel).kernel), toString(derive(kernel).kernel));
  }
}

// Four times the kernel may take little more than four times the time, and not sixteen times.
TEST(WholeProperty, TimeGrowsWithTheKernel) {
  auto clocks = [](int loads) {
    Kernel kernel;
    kernel.counters = machineCounters();
    kernel.regions.resize(1);
    kernel.regions[0].name = "tile";
    Sequence body;
    for (bool write : {true, false})
      for (int i = 0; i < loads; ++i) {
        Access access;
        access.write = write;
        access.begin = i % 64;
        access.end = access.begin + 1;
        access.counter = kShared;
        body.push_back(instruction(write ? "store" : "load", {access}, {{kShared, 1}}));
      }
    kernel.body = {loop(std::move(body))};
    number(kernel);
    double best = 1e9;
    for (int run = 0; run < 3; ++run) {
      std::clock_t start = std::clock(); // of this process, however busy the machine is
      EXPECT_TRUE(verify(derive(kernel).kernel).ok());
      best = std::min(best, static_cast<double>(std::clock() - start));
    }
    return best;
  };
  EXPECT_LT(clocks(2400), 10 * clocks(600));
}
