//===- MulticastTest.cpp - Tiles that the workgroups of a cluster copy to each other -----------------===//
//
// Products whose neighbours along M or N share what they have in common: right on the emulator, with all checks and
// waves in an adversarial order, whatever sizes, roles and numbers of workgroups are, taken by ptxas; after every pass;
// what the emulator finds where a barrier, a release, a bit of a mask or some bytes are missing; and what is refused.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/Products.h"
#include "test/e2e/Support.h"

#include "soliton/backend/Backend.h"
#include "soliton/driver/CheckPasses.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Machine.h"
#include "soliton/pipeline/Drive.h"
#include "soliton/pipeline/PingPong.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"

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
      check(sharing(along, 128, 128, 1600, service));
}

TEST(Multicast, FourTogether) {
  for (const Along &along : {kAlongM4, kAlongN4})
    check(sharing(along, 256, 256, 1600));
}

TEST(Multicast, SizesThatFillNoTileOrNoCluster) {
  for (const Along &along : {kAlongM2, kAlongN2}) {
    // One tile for two workgroups, three, and tiles that are not whole.
    check(sharing(along, 64, 64, 192));
    check(sharing(along, 192, 192, 256));
    check(sharing(along, 131, 67, 1608));
    check(sharing(along, 1, 8, 8));
    check(sharing(along, 65, 64, 72, 0));
  }
  check(sharing(kAlongM4, 5 * 64 + 3, 64, 136));
}

TEST(Multicast, SizesThatALaunchSays) {
  for (const Along &along : {kAlongM2, kAlongN2}) {
    Product p = sharing(along, 192, 128, 512);
    p.dynamic = {"M", "N"};
    auto at = [&](int64_t m, int64_t n, int64_t k) {
      Product other = p;
      other.m = m, other.n = n, other.k = k;
      return other;
    };
    check(p, {at(1, 1, 512), at(64, 192, 512), at(200, 131, 512), at(300, 64, 512)});
    // Rows of the factors lie along M and N, so that K may be any.
    p.leftByK = p.rightByK = true;
    p.dynamic = {"K"};
    check(p, {at(192, 128, 0), at(192, 128, 1), at(192, 128, 77), at(192, 128, 1600)});
  }
}

TEST(Multicast, TypesAndOrders) {
  for (DType type : {DType::bf16, DType::f8e4m3fn, DType::i8}) {
    Product p = sharing(kAlongM2, 128, 128, 512);
    p.type = type;
    p.blockK = bits(type) == 8 ? 128 : 64;
    p.k = 24 * p.blockK;
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
        for (int64_t raster : {workgroups == 2 ? 0 : 2, -2}) {
          Product p = sharing(along, 320, 256, 1088, service);
          p.stagedWrites = true;
          p.persistent = workgroups;
          p.raster = raster;
          check(p);
        }
}

TEST(Multicast, WorkgroupsThatWalkTilesThatAreNotWhole) {
  Product p = sharing(kAlongM2, 200, 136, 1096);
  p.stagedWrites = true;
  p.persistent = 2;
  check(p);
  p.dynamic = {"M", "N"};
  Product other = p;
  other.m = 70, other.n = 330;
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
    Product p = sharing(kAlongM2, 256, 256, 2048);
    p.type = DType::f8e4m3fn;
    p.blockM = 128;
    p.blockN = 128;
    p.blockK = 128;
    p.columns = columns;
    check(p);
  }
}

/// Rows of queries that are neighbours read the same keys and values.
CompileOptions attentionOptions(const Case &which, const kernels::Sizes &sizes, int64_t service) {
  CompileOptions options = which.options(sizes);
  options.mma = "F32_64xNx16_F16";
  options.stagedWrites = true;
  options.serviceWaves = service;
  options.workgroupsPerCluster = kAlongM2;
  return options;
}

Case attentionBy(int64_t rows) {
  Case which{kernels::findKernel("attention"), nullptr, findTarget("sm_90a")};
  which.variant = which.entry->findVariant("f16");
  which.tiles = {{"BLOCK_Q", rows}, {"BLOCK_KV", 128}, {"WAVES", rows / 16}};
  which.directCopies = true;
  which.schedule = "ring";
  return which;
}

TEST(Multicast, Attention) {
  for (const kernels::Sizes &sizes : {kernels::Sizes{{"B", 1}, {"H", 2}, {"Q", 256}, {"KV", 1024}, {"D", 64}},
                                      {{"B", 1}, {"H", 2}, {"Q", 300}, {"KV", 1000}, {"D", 64}},
                                      {{"B", 1}, {"H", 1}, {"Q", 1}, {"KV", 7}, {"D", 64}}})
    for (int64_t service : {0, 4})
      for (int64_t workgroups : {0, 2}) {
        Case which = attentionBy(64);
        CompileOptions options = attentionOptions(which, sizes, service);
        options.persistent = workgroups;
        SCOPED_TRACE(testing::PrintToString(sizes) + testing::PrintToString(service) +
                     testing::PrintToString(workgroups));
        Kernel kernel = which.entry->build(*which.variant);
        CompileAttempt compiled = compileImage(kernel, options, rt::ImageKind::emulator);
        ASSERT_TRUE(compiled) << format(compiled.diagnostics);
        std::string said = format(compiled.result->warnings);
        EXPECT_EQ(times(said, "copies its share of this tile"), 2) << said;
        checkOnEmulator(which, *compiled.result, sizes);
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

/// The forms of large kernels that `auto` takes: walked tiles, waves that copy, boxes on the way out.
TEST(Multicast, BesideWhatAutoTakes) {
  rt::ImageKind kind = backend::findPtxas() ? rt::ImageKind::cubin : rt::ImageKind::ptx;
  const kernels::Sizes large = {{"M", 8192}, {"N", 8192}, {"K", 8192}};
  const kernels::Sizes long4 = {{"B", 4}, {"H", 16}, {"Q", 4096}, {"KV", 4096}, {"D", 128}};
  for (auto [name, variant, sizes] :
       {std::tuple("gemm", "f16-f16", large), {"gemm", "f8", large}, {"attention", "f16", long4}}) {
    const kernels::KernelEntry *entry = kernels::findKernel(name);
    CompileOptions options{.target = "sm_90a", .cache = false};
    options.workgroupsPerCluster = kAlongM2;
    options.tuned = TunedUse::off;
    for (const auto &[dim, size] : sizes)
      options.subs.push_back({symbol(dim), size});
    CompileAttempt compiled = compileImage(entry->build(*entry->findVariant(variant)), options, kind);
    ASSERT_TRUE(compiled) << name << format(compiled.diagnostics);
    EXPECT_EQ(compiled.result->spillBytes, 0U) << name;
    EXPECT_EQ(compiled.result->image.cluster, (std::array<uint32_t, 3>{2, 1, 1}));
    std::string said = format(compiled.result->warnings);
    EXPECT_NE(said.find("132 workgroups that walk them"), std::string::npos) << said;
    EXPECT_NE(said.find("copies its share of this tile"), std::string::npos) << said;
  }
}

TEST(Multicast, EveryPassIsRight) {
  for (const Along &along : {kAlongM2, kAlongN2})
    for (int64_t workgroups : {0, 2}) {
      Product p = sharing(along, 136, 72, 1096);
      CompileOptions options = optionsOf(p);
      mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
      EmittedKernel emitted = emitKernel(build(p, {.workgroups_per_cluster = along, .n_service_waves = 4}), context,
                                         {options.subs, options.dynamic, options.target, {}});
      ASSERT_TRUE(emitted.module) << format(emitted.diagnostics);
      wave::KernelOp kernel = *emitted.module->getOps<wave::KernelOp>().begin();
      kernel.setDirectCopies(true);
      kernel.setStagedWrites(true);
      EXPECT_EQ(kernel.getWorkgroupsPerCluster(), llvm::ArrayRef<int64_t>(along));
      if (workgroups > 0)
        kernel.setPersistent(workgroups);
      DiagnosticCollector collector(&context);
      PassCheckOptions passes;
      passes.build = [&](mlir::OpPassManager &pm) {
        buildScheduledPipeline(pm, options.schedule);
        buildMachinePipeline(pm);
      };
      EXPECT_TRUE(mlir::succeeded(checkPasses(*emitted.module, passes))) << format(collector.diagnostics());
    }
}

//===-- What the machine is asked for -----------------------------------------------------------------------===//

/// B's tile is in common along M: its box has half of the rows, each workgroup hears of all bytes.
TEST(Multicast, AsTheMachineSaysIt) {
  std::string alongM = machineOf(sharing(kAlongM2, 128, 128, 2048));
  EXPECT_NE(alongM.find("argument = 0, element = f16, sizes = [2048, 128], strides = [4096], box = [64, 64]"),
            std::string::npos)
      << alongM;
  EXPECT_NE(alongM.find("argument = 1, element = f16, sizes = [2048, 128], strides = [4096], box = [64, 32]"),
            std::string::npos);
  EXPECT_NE(alongM.find("expect = 16384"), std::string::npos);
  EXPECT_NE(alongM.find("cluster = array<i64: 2, 1, 1>"), std::string::npos);
  std::string alongN = machineOf(sharing(kAlongN2, 128, 128, 2048));
  EXPECT_NE(alongN.find("argument = 0, element = f16, sizes = [2048, 128], strides = [4096], box = [64, 32]"),
            std::string::npos);
  // Each release is an arrival at both.
  EXPECT_EQ(times(alongM, " on %"), 2);
  EXPECT_NE(alongM.find("{count = 8 : i64}"), std::string::npos);
}

/// All of a role meet the others in front of the first copy and behind the last arrival, and nowhere else.
TEST(Multicast, ClustersMeetWhereTheyMust) {
  // Three roles at the beginning, two at the end.
  EXPECT_EQ(times(machineOf(sharing(kAlongM2, 128, 128, 2048)), "machine.cluster_wait"), 5);
  EXPECT_EQ(times(machineOf(sharing(kAlongM2, 128, 128, 2048, 0)), "machine.cluster_wait"), 2);
  Product p = sharing(kAlongM2, 128, 128, 2048);
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
  EXPECT_NE(said.find("copies this tile for itself: each of them has another one [cluster-tiles]"), std::string::npos)
      << said;
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

/// One cluster, one tile for each of its workgroups, many more iterations than buffers.
Product oneCluster(const Along &along, int64_t service) {
  bool isAlongM = along.front() > 1;
  return sharing(along, isAlongM ? 64 * along.front() : 64, isAlongM ? 64 : 64 * along.back(), 2048, service);
}

using Change = llvm::function_ref<int(machine::KernelOp)>;

/// Whether something is found in all roles and along both dimensions, with waves in several orders.
bool isMissed(Change change) {
  bool isMissed = true;
  for (const Along &along : {kAlongM2, kAlongN2, kAlongM4})
    for (int64_t service : {0, 4}) {
      bool isFound = false;
      for (uint64_t seed : {0, 1, 7, 19})
        isFound = isFound || !findingsAfter(oneCluster(along, service), change, seed).empty();
      EXPECT_TRUE(isFound) << testing::PrintToString(oneCluster(along, service));
      isMissed &= isFound;
    }
  return isMissed;
}

template <typename OpTy>
std::vector<OpTy> all(machine::KernelOp kernel) {
  std::vector<OpTy> ops;
  kernel.walk([&](OpTy op) { ops.push_back(op); });
  return ops;
}

template <typename OpTy>
int erase(const std::vector<OpTy> &ops) {
  for (OpTy op : ops)
    op->erase();
  return static_cast<int>(ops.size());
}

mlir::Value numberIn(mlir::Operation *before, int32_t value) {
  mlir::OpBuilder builder(before);
  return mlir::arith::ConstantOp::create(builder, before->getLoc(), builder.getI32IntegerAttr(value));
}

TEST(Multicast, TheEmulatorFindsNothingWrong) {
  for (const Along &along : {kAlongM2, kAlongN2, kAlongM4})
    for (int64_t service : {0, 4})
      for (uint64_t seed : {0, 1, 7, 19})
        EXPECT_TRUE(findingsAfter(oneCluster(along, service), [](machine::KernelOp) { return 1; }, seed).empty());
}

/// The last ones stand in front of the end of a role.
bool isAtTheEnd(mlir::Operation *op) {
  do
    op = op->getNextNode();
  while (op && llvm::isa<machine::ClusterWaitOp>(op));
  return !op || op->hasTrait<mlir::OpTrait::IsTerminator>();
}

int eraseBarriers(machine::KernelOp kernel, bool first) {
  std::vector<mlir::Operation *> ops;
  kernel.walk([&](mlir::Operation *op) {
    // Waves that serve and copy nothing come to the first alone.
    bool ends = isAtTheEnd(op) && op->getBlock()->getOperations().size() > 3;
    if (llvm::isa<machine::ClusterArriveOp, machine::ClusterWaitOp>(op) && ends != first)
      ops.push_back(op);
  });
  return erase(ops);
}

TEST(Multicast, TheEmulatorMissesTheFirstBarrierOfTheCluster) {
  EXPECT_TRUE(isMissed([](machine::KernelOp kernel) { return eraseBarriers(kernel, /*first=*/true); }));
}

/// A product awaits all that it has released; attention releases tiles that nobody copies any more.
TEST(Multicast, TheEmulatorMissesTheLastBarrierOfTheCluster) {
  for (int64_t service : {0, 4}) {
    Case which = attentionBy(64);
    which.tiles["WAVES"] = 4;
    CompileOptions options =
        attentionOptions(which, {{"B", 1}, {"H", 1}, {"Q", 128}, {"KV", 1024}, {"D", 64}}, service);
    options.keep = {Artefact::machine};
    std::string machine = textOf(compileImage(which.entry->build(*which.variant), options, rt::ImageKind::emulator));
    std::vector<std::vector<uint16_t>> tensors(4, std::vector<uint16_t>(1024 * 64, 0x3c00));
    emu::LaunchConfig launch{.grid = {2, 1, 1}, .scalars = {0x3e000000}, .checks = true, .adversarial = true};
    for (std::vector<uint16_t> &tensor : tensors)
      launch.buffers.push_back({tensor.data(), tensor.size() * 2});
    bool isFound = false;
    for (uint64_t seed : {0, 1, 7, 19, 23, 42}) {
      launch.seed = seed;
      EXPECT_TRUE(findingsOf(machine, launch, [](machine::KernelOp) { return 1; }).empty());
      isFound |=
          !findingsOf(machine, launch, [](machine::KernelOp kernel) { return eraseBarriers(kernel, false); }).empty();
    }
    EXPECT_TRUE(isFound) << service;
  }
}

TEST(Multicast, TheEmulatorMissesRemoteReleases) {
  // To this workgroup alone, as often.
  EXPECT_TRUE(isMissed([](machine::KernelOp kernel) {
    int changed = 0;
    for (machine::MbarrierArriveOp arrive : all<machine::MbarrierArriveOp>(kernel))
      if (arrive.getRank()) {
        arrive.getRankMutable().clear();
        ++changed;
      }
    return changed;
  }));
  // None to the second workgroup.
  EXPECT_TRUE(isMissed([](machine::KernelOp kernel) {
    std::vector<machine::MbarrierArriveOp> arrivals = all<machine::MbarrierArriveOp>(kernel);
    std::erase_if(arrivals, [](machine::MbarrierArriveOp arrive) {
      return !arrive.getRank() || !mlir::matchPattern(arrive.getRank(), mlir::m_One());
    });
    return erase(arrivals);
  }));
}

/// Those of as many waves as one workgroup has are enough: copies of another one come too early.
TEST(Multicast, TheEmulatorMissesArrivalsThatNobodyCounts) {
  EXPECT_TRUE(isMissed([](machine::KernelOp kernel) {
    int changed = 0;
    for (machine::MbarrierInitOp init : all<machine::MbarrierInitOp>(kernel))
      if (init.getCount() > 1) {
        init.setCount(4);
        ++changed;
      }
    return changed;
  }));
}

TEST(Multicast, TheEmulatorMissesAwaits) {
  EXPECT_TRUE(isMissed([](machine::KernelOp kernel) {
    std::vector<machine::MbarrierWaitOp> waits = all<machine::MbarrierWaitOp>(kernel);
    // One lane alone awaits.
    std::erase_if(waits, [](machine::MbarrierWaitOp wait) {
      auto branch = llvm::dyn_cast<mlir::scf::IfOp>(wait->getParentOp());
      return !branch || branch.elseBlock();
    });
    return erase(waits);
  }));
}

TEST(Multicast, TheEmulatorMissesABitOfTheMask) {
  for (int32_t mask : {0, 1, 2})
    EXPECT_TRUE(isMissed([&](machine::KernelOp kernel) {
      int changed = 0;
      for (machine::CopyTileOp copy : all<machine::CopyTileOp>(kernel))
        if (copy.getMulticast()) {
          copy.getMulticastMutable().assign(numberIn(copy, mask));
          ++changed;
        }
      return changed;
    }));
  // To this workgroup alone.
  EXPECT_TRUE(isMissed([](machine::KernelOp kernel) {
    int changed = 0;
    for (machine::CopyTileOp copy : all<machine::CopyTileOp>(kernel))
      if (copy.getMulticast()) {
        copy.getMulticastMutable().clear();
        ++changed;
      }
    return changed;
  }));
}

TEST(Multicast, TheEmulatorMissesBytes) {
  for (int64_t bytes : {4096, -4096})
    EXPECT_TRUE(isMissed([&](machine::KernelOp kernel) {
      int changed = 0;
      for (machine::MbarrierArriveOp arrive : all<machine::MbarrierArriveOp>(kernel))
        if (arrive.getExpect() > 0) {
          arrive.setExpect(static_cast<uint64_t>(static_cast<int64_t>(arrive.getExpect()) + bytes));
          ++changed;
        }
      return changed;
    }));
}

/// A copy that all workgroups but the first leave out: nobody gets their shares.
TEST(Multicast, TheEmulatorMissesAShare) {
  EXPECT_TRUE(isMissed([](machine::KernelOp kernel) {
    std::vector<machine::CopyTileOp> copies = all<machine::CopyTileOp>(kernel);
    std::erase_if(copies, [](machine::CopyTileOp copy) { return !copy.getMulticast(); });
    machine::CopyTileOp last = copies.back();
    mlir::OpBuilder builder(last);
    mlir::Value rank = machine::IdOp::create(builder, last.getLoc(), builder.getI32Type(),
                                             machine::IdKind::cluster_rank, mlir::IntegerAttr());
    mlir::Value isFirst =
        mlir::arith::CmpIOp::create(builder, last.getLoc(), mlir::arith::CmpIPredicate::eq, rank, numberIn(last, 0));
    auto branch = mlir::scf::IfOp::create(builder, last.getLoc(), isFirst, /*withElseRegion=*/false);
    last->moveBefore(branch.thenBlock(), branch.thenBlock()->begin());
    return 1;
  }));
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
  expectRefusal(
      small,
      "of a tile that is the same for all of them, its boxes of 8 rows are no shares of whole 8 rows for 2 workgroups");
  for (const Along &along : {Along{2, 2}, Along{0}, Along{1, -1}})
    expectRefusal(
        [&] {
          Product wrong = p;
          wrong.perCluster = along;
          return wrong;
        }(),
        "`workgroupsPerCluster` is `");
}

/// The first error of a kernel with the options of a product.
std::string refusalOf(const Kernel &kernel, const CompileOptions &options) {
  CompileAttempt code = compileImage(kernel, options, rt::ImageKind::emulator);
  for (const Diagnostic &diagnostic : code.diagnostics)
    if (diagnostic.severity == Severity::error)
      return std::string(idText(diagnostic.id)) + ": " + diagnostic.message;
  return "";
}

/// A product, of whose K so many tiles are summed as the author says, by the workgroup's place or by data.
std::string refusalOfTrips(const std::function<Expr(const MemoryRef &)> &trips) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"counted",
                {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), TilingConstraint(K, 64),
                 WaveConstraint(M, 16), WaveConstraint(N, 64), HardwareConstraint{.mma = MmaType("F32_64x64x16_F16")}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto counts = kernel.memory("counts", {M}, global, i32);
  auto c = kernel.memory("c", {M, N}, global, f32);
  Expr count = trips(counts);
  write(kernel.iterate(K, kernel.fill({M, N}, f32, 0), [&](lang::Value acc) { return mma(read(a), read(b), acc); },
                       {.count = count}),
        c);
  Product p = sharing(kAlongM2, 128, 128, 320, 0);
  p.schedule = "none";
  return refusalOf(kernel, optionsOf(p));
}

TEST(Multicast, RefusesTripsThatDiffer) {
  const std::string differ = "not-supported-here: clusters of 2 workgroups cannot share tiles here: how often this is "
                             "executed may differ between them";
  EXPECT_EQ(refusalOfTrips([](const MemoryRef &) { return workgroup_id(0) + 1; }), differ);
  EXPECT_EQ(refusalOfTrips([](const MemoryRef &counts) { return index_of(read_at(counts, {0})); }), differ);
  EXPECT_EQ(refusalOfTrips([](const MemoryRef &) { return workgroup_id(1) + 1; }), "");
  EXPECT_EQ(refusalOfTrips([](const MemoryRef &) { return Expr(2); }), "");
}

TEST(Multicast, RefusesBarriersOfSomeWaves) {
  pipe::GeometryResult shape = pipe::pingPongGroupGeometry({.bm = 256, .bn = 128, .bk = 64});
  ASSERT_TRUE(shape.ok()) << format(shape.errors);
  Case which{kernels::findKernel("gemm"), nullptr, findTarget("sm_90a")};
  which.variant = which.entry->findVariant("f16");
  which.tiles = {{"BLOCK_M", 256}, {"BLOCK_N", 128}, {"BLOCK_K", 64}, {"WAVES_M", 8}, {"WAVES_N", 1}};
  which.directCopies = true;
  CompileOptions options = which.options({{"M", 512}, {"N", 128}, {"K", 640}});
  options.schedule = pipe::pipeline(pipe::PingPong(shape.geometry));
  options.mma = "F32_64x64x16_F16";
  options.workgroupsPerCluster = kAlongM2;
  EXPECT_EQ(refusalOf(which.entry->build(*which.variant), options),
            "not-supported-here: clusters of 2 workgroups cannot share tiles here: a barrier is for some waves only");
}

/// Workgroups that say themselves which tiles they take.
TEST(Multicast, RefusesGridsOfTheAuthor) {
  const kernels::KernelEntry *entry = kernels::findKernel("gemm_persistent");
  Case which{entry, entry->findVariant("f16"), findTarget("sm_90a")};
  CompileOptions options = which.options({{"M", 512}, {"N", 128}, {"K", 640}});
  options.workgroupsPerCluster = kAlongM2;
  EXPECT_EQ(refusalOf(entry->build(*which.variant), options),
            "not-supported-here: `workgroups_per_cluster` asks for 2 workgroups along dimension 0 of the grid, which a "
            "grid constraint takes from the constraints");
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
