//===- MulticastTest.cpp - Tiles that the workgroups of a cluster copy to each other -----------------===//
//
// Products whose neighbours along M or N share what they have in common: right on the emulator, with all checks and
// waves in an adversarial order, whatever sizes, roles and numbers of workgroups are, taken by ptxas; after every pass;
// what the emulator finds where a barrier, a release, a bit of a mask or some bytes are missing; and what is refused.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/Products.h"
#include "test/e2e/Support.h"

#include "soliton/driver/CheckPasses.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"

namespace soliton::test {
namespace {

using Along = std::vector<int64_t>;

Product sharing(Along along, int64_t m, int64_t n, int64_t k, int64_t serviceWaves = 4) {
  return {.m = m,
          .n = n,
          .k = k,
          .directCopies = true,
          .schedule = "ring",
          .serviceWaves = serviceWaves,
          .perCluster = std::move(along)};
}

const Along kAlongM2 = {2}, kAlongN2 = {1, 2}, kAlongM4 = {4}, kAlongN4 = {1, 4};

std::string textOf(const CompileAttempt &code) {
  EXPECT_TRUE(code) << format(code.diagnostics);
  return code ? code.result->artefacts.front().second : "";
}

std::string machineOf(const Product &p) {
  CompileOptions options = optionsOf(p);
  options.keep = {Artefact::machine};
  return textOf(compileImage(build(p), options, rt::ImageKind::emulator));
}

int64_t times(const std::string &text, const std::string &word) {
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size())
    ++count;
  return count;
}

//===-- Right ---------------------------------------------------------------------------------------------===//

TEST(Multicast, WholeTiles) {
  for (const Along &along : {kAlongM2, kAlongN2})
    for (int64_t service : {0, 4})
      check(sharing(along, 128, 128, 512, service));
}

TEST(Multicast, FourTogether) {
  for (const Along &along : {kAlongM4, kAlongN4})
    check(sharing(along, 256, 256, 320));
}

TEST(Multicast, SizesThatFillNoTileOrNoCluster) {
  for (const Along &along : {kAlongM2, kAlongN2}) {
    // One tile for two workgroups, three, and tiles that are not whole.
    check(sharing(along, 64, 64, 192));
    check(sharing(along, 192, 192, 256));
    check(sharing(along, 131, 67, 328));
    check(sharing(along, 1, 8, 8));
    check(sharing(along, 65, 64, 72, 0));
  }
  check(sharing(kAlongM4, 5 * 64 + 3, 64, 136));
}

TEST(Multicast, SizesThatALaunchSays) {
  for (const Along &along : {kAlongM2, kAlongN2}) {
    Product p = sharing(along, 192, 128, 512);
    p.dynamic = {"M", "N", "K"};
    auto at = [&](int64_t m, int64_t n, int64_t k) {
      Product other = p;
      other.m = m, other.n = n, other.k = k;
      return other;
    };
    check(p, {at(1, 1, 8), at(64, 192, 0), at(200, 131, 72), at(300, 64, 640)});
  }
}

TEST(Multicast, TypesAndOrders) {
  for (DType type : {DType::bf16, DType::f8e4m3fn, DType::i8}) {
    Product p = sharing(kAlongM2, 128, 128, 512);
    p.type = type;
    p.blockK = bits(type) == 8 ? 128 : 64;
    check(p);
  }
  for (bool left : {false, true})
    for (bool right : {false, true})
      for (const Along &along : {kAlongM2, kAlongN2}) {
        Product p = sharing(along, 136, 200, 264);
        p.leftByK = left;
        p.rightByK = right;
        check(p);
      }
}

TEST(Multicast, WorkgroupsThatWalk) {
  for (const Along &along : {kAlongM2, kAlongN2})
    for (int64_t workgroups : {2, 5})
      for (int64_t service : {0, 4})
        for (int64_t raster : {0, 2, -2}) {
          Product p = sharing(along, 320, 256, 320, service);
          p.stagedWrites = true;
          p.persistent = workgroups;
          p.raster = raster;
          check(p);
        }
}

TEST(Multicast, WorkgroupsThatWalkTilesThatAreNotWhole) {
  Product p = sharing(kAlongM2, 200, 136, 136);
  p.stagedWrites = true;
  p.persistent = 2;
  check(p);
  p.dynamic = {"M", "N", "K"};
  Product other = p;
  other.m = 70, other.n = 330, other.k = 8;
  check(p, {other});
}

/// Without a ring each copy waits at a barrier, which is one of the cluster.
TEST(Multicast, OtherSchedules) {
  for (const char *schedule : {"none", "prefetch"}) {
    Product p = sharing(kAlongM2, 128, 128, 320, 0);
    p.schedule = schedule;
    check(p);
  }
}

/// Exact sums of bytes: begun anew with every tile of K, by one instruction or by pieces that take turns.
TEST(Multicast, SumsThatBeginAnew) {
  for (int64_t columns : {64, 128}) {
    Product p = sharing(kAlongM2, 256, 256, 1024);
    p.type = DType::f8e4m3fn;
    p.blockM = 128;
    p.blockN = 128;
    p.blockK = 128;
    p.columns = columns;
    check(p);
  }
}

TEST(Multicast, LargeTiles) {
  for (const Along &along : {kAlongM2, kAlongN2})
    for (int64_t workgroups : {0, 132}) {
      Product p = sharing(along, 8192, 8192, 8192);
      p.blockM = 128;
      p.blockN = p.columns = 256;
      p.stagedWrites = true;
      p.persistent = workgroups;
      rt::ImageKind kind = backend::findPtxas() ? rt::ImageKind::cubin : rt::ImageKind::ptx;
      CompileAttempt compiled = compileImage(build(p), optionsOf(p), kind);
      ASSERT_TRUE(compiled) << testing::PrintToString(p) << format(compiled.diagnostics);
      EXPECT_EQ(compiled.result->spillBytes, 0U);
      EXPECT_EQ(compiled.result->image.cluster, (std::array<uint32_t, 3>{2, 1, 1}));
    }
}

TEST(Multicast, EveryPassIsRight) {
  Product p = sharing(kAlongM2, 136, 72, 200);
  CompileOptions options = optionsOf(p);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  EmittedKernel emitted = emitKernel(build(p, {.workgroups_per_cluster = p.perCluster, .n_service_waves = 4}), context,
                                     {options.subs, options.dynamic, options.target, {}});
  ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
  wave::KernelOp kernel = *emitted.module->getOps<wave::KernelOp>().begin();
  kernel.setDirectCopies(true);
  EXPECT_TRUE(kernel.getWorkgroupsPerCluster());
  DiagnosticCollector collector(&context);
  EXPECT_TRUE(mlir::succeeded(checkPasses(*emitted.module, {.schedule = options.schedule})))
      << format(collector.diagnostics());
}

//===-- What the machine is asked for -----------------------------------------------------------------------===//

/// B's tile is in common along M: its box has half of the rows, each workgroup hears of all bytes.
TEST(Multicast, AsTheMachineSaysIt) {
  std::string alongM = machineOf(sharing(kAlongM2, 128, 128, 512));
  EXPECT_NE(alongM.find("argument = 0, element = f16, sizes = [512, 128], strides = [1024], box = [64, 64]"),
            std::string::npos)
      << alongM;
  EXPECT_NE(alongM.find("argument = 1, element = f16, sizes = [512, 128], strides = [1024], box = [64, 32]"),
            std::string::npos);
  EXPECT_NE(alongM.find("expect = 16384"), std::string::npos);
  EXPECT_NE(alongM.find("cluster = array<i64: 2, 1, 1>"), std::string::npos);
  std::string alongN = machineOf(sharing(kAlongN2, 128, 128, 512));
  EXPECT_NE(alongN.find("argument = 0, element = f16, sizes = [512, 128], strides = [1024], box = [64, 32]"),
            std::string::npos);
  // Each release is an arrival at both.
  EXPECT_EQ(times(alongM, "machine.mbarrier_arrive %") - times(alongM, "{expect"), times(alongM, " on %"));
}

/// All of a role meet the others in front of the first copy and behind the last arrival, and nowhere else.
TEST(Multicast, ClustersMeetWhereTheyMust) {
  // Three roles at the beginning, two at the end.
  EXPECT_EQ(times(machineOf(sharing(kAlongM2, 128, 128, 512)), "machine.cluster_wait"), 5);
  EXPECT_EQ(times(machineOf(sharing(kAlongM2, 128, 128, 512, 0)), "machine.cluster_wait"), 2);
  Product p = sharing(kAlongM2, 128, 128, 512);
  p.stagedWrites = true;
  EXPECT_EQ(times(machineOf(p), "machine.cluster_wait"), 5);
}

TEST(Multicast, SaysWhatIsShared) {
  Product p = sharing(kAlongM2, 128, 128, 512);
  CompileAttempt code = compileImage(build(p), optionsOf(p), rt::ImageKind::emulator);
  ASSERT_TRUE(code) << format(code.diagnostics);
  std::string said = format(code.result->warnings);
  EXPECT_NE(said.find("each of the 2 workgroups of a cluster copies its share of this tile to all of them"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("copies this tile for itself: each of them has another one"), std::string::npos) << said;
}

TEST(Multicast, TheKernelSaysSo) {
  Product p = sharing(kAlongM2, 128, 128, 256);
  auto machine = [&](Along said, Along asked) {
    CompileOptions options = optionsOf(p);
    options.workgroupsPerCluster = std::move(asked);
    options.keep = {Artefact::machine};
    return textOf(
        compileImage(build(p, {.workgroups_per_cluster = std::move(said)}), options, rt::ImageKind::emulator));
  };
  EXPECT_EQ(machine({2, 1, 1}, {}), machine({}, {2}));
  EXPECT_EQ(machine({2, 1, 1}, {1}), machine({}, {}));
  EXPECT_EQ(machine({1, 1, 1}, {}), machine({}, {}));
  EXPECT_EQ(machine({2, 1, 1}, {1, 2}), machine({}, {1, 2}));
}

//===-- What must not be missing ------------------------------------------------------------------------------===//

/// One cluster, one tile for each of its workgroups, more iterations than buffers.
Product oneCluster(int64_t service) {
  Product p = sharing(kAlongM2, 128, 64, 640, service);
  return p;
}

TEST(Multicast, TheEmulatorFindsNothingWrong) {
  for (int64_t service : {0, 4})
    EXPECT_TRUE(findingsWith(oneCluster(service), "", "").empty());
}

TEST(Multicast, TheEmulatorMissesTheClustersBarriers) {
  for (int64_t service : {0, 4}) {
    Product p = oneCluster(service);
    EXPECT_FALSE(findingsWith(p, "", "", "machine.cluster_wait").empty());
    // What another workgroup has, this one's own barrier does not say.
    EXPECT_FALSE(findingsWith(p, "machine.cluster_wait\n", "machine.sched_barrier {mask = 0 : i64}\n").empty());
  }
}

TEST(Multicast, TheEmulatorMissesRemoteReleases) {
  for (int64_t service : {0, 4})
    EXPECT_FALSE(findingsWith(oneCluster(service), " on %c1_i32", " on %c0_i32").empty());
}

/// Releases of this workgroup's waves alone let copies of the other one come too early.
TEST(Multicast, TheEmulatorMissesArrivalsThatNobodyCounts) {
  std::string machine = machineOf(oneCluster(4));
  ASSERT_NE(machine.find("{count = 8 : i64}"), std::string::npos);
  EXPECT_FALSE(findingsWith(oneCluster(4), "{count = 8 : i64}", "{count = 4 : i64}").empty());
}

TEST(Multicast, TheEmulatorMissesABitOfTheMask) {
  for (int64_t service : {0, 4}) {
    EXPECT_FALSE(findingsWith(oneCluster(service), " multicast %c3_i32", " multicast %c1_i32").empty());
    EXPECT_FALSE(findingsWith(oneCluster(service), " multicast %c3_i32", "").empty());
  }
}

TEST(Multicast, TheEmulatorMissesBytes) {
  for (const char *bytes : {"{expect = 12288 : i64}", "{expect = 24576 : i64}"})
    EXPECT_FALSE(findingsWith(oneCluster(4), "{expect = 16384 : i64}", bytes).empty());
}

//===-- What is refused ---------------------------------------------------------------------------------------===//

/// The first error of the product.
std::string refusal(const Product &p, HardwareConstraint hardware = {}) {
  rt::ImageKind kind = rt::ImageKind::ptx;
  for (const Diagnostic &diagnostic : compileImage(build(p, std::move(hardware)), optionsOf(p), kind).diagnostics)
    if (diagnostic.severity == Severity::error) {
      EXPECT_FALSE(diagnostic.hint.empty());
      EXPECT_TRUE(diagnostic.place.known());
      return std::string(idText(diagnostic.id)) + ": " + diagnostic.message;
    }
  return "";
}

void expectRefusal(const Product &p, const std::string &said, HardwareConstraint hardware = {}) {
  std::string found = refusal(p, std::move(hardware));
  EXPECT_NE(found.find("not-supported-here: "), std::string::npos) << found;
  EXPECT_NE(found.find(said), std::string::npos) << found;
}

TEST(Multicast, RefusesWhatCannotBeShared) {
  Product p = sharing(kAlongM2, 128, 128, 256, 0);
  EXPECT_EQ(refusal(p), "");
  Product lanes = p;
  lanes.directCopies = false;
  lanes.schedule = "none";
  expectRefusal(lanes, "cannot share tiles here: no tile of this kernel is copied in boxes");
  // Rows that do not begin on 16 bytes are copied by lanes.
  Product odd = p;
  odd.k = 77;
  expectRefusal(odd, "no tile of this kernel is copied in boxes");
  Product sum = p;
  sum.cluster = 2;
  expectRefusal(sum, "workgroups of a cluster that share a sum, and tiles too");
  // Shares of four rows of a tile that 16 lanes' columns make.
  Product small = p;
  small.blockN = small.columns = 8;
  expectRefusal(small, "no tile is the same for all of them (its boxes of 8 rows are no shares of whole 8 rows for 2 "
                       "workgroups)");
  for (const Along &along : {Along{2, 2}, Along{0}, Along{1, -1}})
    expectRefusal(
        [&] {
          Product wrong = p;
          wrong.perCluster = along;
          return wrong;
        }(),
        "`workgroupsPerCluster` is `");
}

TEST(Multicast, RefusesGridsThatHaveNoSuchNeighbours) {
  Product p = sharing({1, 1, 2}, 128, 128, 256);
  expectRefusal(p, "`workgroups_per_cluster` asks for 2 workgroups along dimension 2 of the grid, along which there is "
                   "one");
  p.perCluster = {32};
  expectRefusal(p, "`sm_90a` has clusters of 16 at most");
}

} // namespace
} // namespace soliton::test
