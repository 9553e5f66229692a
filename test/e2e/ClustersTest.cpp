//===- ClustersTest.cpp - Workgroups of a cluster that sum a product together ----------------------===//
//
// K shared by the workgroups of a cluster: right on the emulator at all kinds of sizes and after every pass, assembled
// by ptxas; a barrier of the cluster that is missing is found by the proof and by the emulator; what cannot be shared
// is refused.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/Products.h"

#include "soliton/driver/CheckPasses.h"
#include "soliton/driver/FormVerifier.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/frontend/Emit.h"
#include "soliton/ir/Diagnose.h"

#include "mlir/Pass/PassManager.h"

#include <cstring>

namespace soliton::test {
namespace {

Product shared2(Product p) {
  p.cluster = 2;
  p.directCopies = true;
  return p;
}

TEST(Clusters, WholeTiles) {
  for (const char *schedule : {"none", "prefetch", "ring"}) {
    Product tall = shared2({.m = 128, .n = 128, .k = 512, .blockM = 128, .schedule = schedule});
    check(tall);
    Product few = shared2(fewRows(16, 128, 1024));
    few.schedule = schedule;
    check(few);
    few.blockK = 128;
    check(few);
  }
}

TEST(Clusters, SizesThatFillNoTile) {
  check(shared2(fewRows(1, 1, 1)));
  check(shared2(fewRows(1, 8, 8)));
  // An odd number of iterations, the last of them not whole, and a K that only one of them has a part of.
  check(shared2(fewRows(13, 72, 328)));
  check(shared2(fewRows(7, 70, 77)));
  check(shared2({.m = 127, .n = 131, .k = 200, .schedule = "ring"}));
}

TEST(Clusters, TypesAndSizesThatALaunchSays) {
  for (DType type : {DType::bf16, DType::i8}) {
    Product p = shared2(fewRows(13, 72, 400));
    p.type = type;
    check(p);
  }
  Product p = shared2(fewRows(16, 128, 1024));
  p.dynamic = {"M", "N", "K"};
  p.schedule = "ring";
  check(p, {fewRows(1, 1, 1), fewRows(40, 131, 77), fewRows(16, 64, 0), fewRows(7, 200, 2048)});
}

TEST(Clusters, MoreThanTwo) {
  Product p = shared2(fewRows(16, 64, 1024));
  p.cluster = 4;
  check(p);
  // Rows that are no multiple of the workgroups: the last one finishes fewer, or none.
  p = shared2(fewRows(8, 64, 512, 8));
  p.cluster = 3;
  check(p);
}

/// Rows are read by the workgroup that writes them: sums are added to what is there.
TEST(Clusters, AddsToWhatIsThere) {
  auto [M, N, K] = symbols<"M N K">();
  Kernel kernel{"adds",
                {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), TilingConstraint(K, 64),
                 WaveConstraint(M, 16), HardwareConstraint{.mma = MmaType("F32_64x64x16_F16")}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto c = kernel.memory("c", {M, N}, global, f32);
  lang::Value sum =
      kernel.iterate(K, kernel.fill({M, N}, f32, 0), [&](lang::Value acc) { return mma(read(a), read(b), acc); });
  write(sum + read(c), c);
  Product p = shared2({.m = 70, .n = 64, .k = 200});
  CompiledKernel run = compile(kernel, optionsOf(p));
  Data left(DType::f16, {p.m, p.k}, 1), right(DType::f16, {p.n, p.k}, 2), sums(DType::f32, {p.m, p.n}, 3);
  std::vector<int> before = sums.values;
  run(left.tensor(), right.tensor(), sums.tensor());
  for (int64_t m = 0; m < p.m; ++m)
    for (int64_t n = 0; n < p.n; ++n) {
      int want = before[static_cast<size_t>(m * p.n + n)];
      for (int64_t k = 0; k < p.k; ++k)
        want += left.values[static_cast<size_t>(m * p.k + k)] * right.values[static_cast<size_t>(n * p.k + k)];
      float found = 0;
      std::memcpy(&found, &sums.bytes[static_cast<size_t>(m * p.n + n) * 4], 4);
      ASSERT_EQ(found, static_cast<float>(want)) << "row " << m << " column " << n;
    }
}

TEST(Clusters, AsTheMachineSaysIt) {
  CompileOptions options = optionsOf(shared2(fewRows(16, 128, 512)));
  options.keep = {Artefact::ptx};
  CompileAttempt code = compileImage(build(fewRows(16, 128, 512)), options, rt::ImageKind::ptx);
  ASSERT_TRUE(code) << format(code.diagnostics);
  const std::string &ptx = code.result->artefacts.front().second;
  for (const char *word : {".reqnctapercluster 2, 1, 1", "%clusterid.x", "%cluster_ctarank", "mapa.shared::cluster.u32",
                           "ld.shared::cluster.v4", "barrier.cluster.arrive.aligned", "barrier.cluster.wait.aligned"})
    EXPECT_NE(ptx.find(word), std::string::npos) << word;
  // The ring's barriers are shown to the copy engine once, all of them.
  EXPECT_EQ(ptx.find("fence.mbarrier_init"), ptx.rfind("fence.mbarrier_init"));
  EXPECT_EQ(code.result->image.cluster, (std::array<uint32_t, 3>{2, 1, 1}));
}

/// The kernel in its form `Traced`, with its cluster.
EmittedKernel emitted(const Product &p, mlir::MLIRContext &context) {
  CompileOptions options = optionsOf(p);
  EmittedKernel result = emitKernel(build(p), context, {options.subs, options.dynamic, options.target, {}});
  EXPECT_TRUE(result.module) << format(result.diagnostics);
  wave::KernelOp kernel = *result.module->getOps<wave::KernelOp>().begin();
  kernel.setDirectCopies(p.directCopies);
  kernel.setCluster(p.cluster);
  return result;
}

TEST(Clusters, EveryPassIsRight) {
  for (const Product &p : {fewRows(13, 70, 200), Product{.m = 70, .n = 64, .k = 200}}) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    EmittedKernel kernel = emitted(shared2(p), context);
    DiagnosticCollector collector(&context);
    EXPECT_TRUE(mlir::succeeded(checkPasses(*kernel.module, {}))) << format(collector.diagnostics());
  }
}

//===-- Barriers that are missing ----------------------------------------------------------------------===//

TEST(Clusters, TheProofMissesEachBarrier) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  EmittedKernel emittedKernel = emitted(shared2(fewRows(16, 64, 512)), context);
  mlir::PassManager manager(&context);
  buildScheduledPipeline(manager, {});
  DiagnosticCollector collector(&context);
  ASSERT_TRUE(mlir::succeeded(manager.run(*emittedKernel.module))) << format(collector.diagnostics());
  wave::KernelOp kernel = *emittedKernel.module->getOps<wave::KernelOp>().begin();
  mlir::FailureOr<Geometry> geometry = Geometry::of(kernel);
  ASSERT_TRUE(mlir::succeeded(geometry));
  auto proven = [&] {
    return mlir::succeeded(proveAgain(kernel, makeWholeKernel(kernel, *geometry), geometry->target()));
  };
  EXPECT_TRUE(proven());
  int barriers = 0;
  kernel.walk([&](wave::BarrierOp barrier) {
    if (!barrier.getCluster())
      return;
    ++barriers;
    // One of the workgroup alone is not enough.
    barrier.setCluster(false);
    EXPECT_FALSE(proven());
    barrier.setCluster(true);
  });
  EXPECT_EQ(barriers, 2);
}

TEST(Clusters, TheEmulatorMissesTheirBarriers) {
  Product p = shared2(fewRows(16, 64, 512));
  EXPECT_TRUE(findingsWith(p, "", "").empty());
  EXPECT_FALSE(findingsWith(p, "", "", "machine.cluster_wait").empty());
  // What another workgroup has, this one's own barrier does not say.
  EXPECT_FALSE(findingsWith(p, "machine.cluster_wait\n", "machine.barrier\n").empty());
}

//===-- What cannot be shared --------------------------------------------------------------------------===//

/// What the first error says of the kernel, compiled in clusters of that many.
std::string refusal(const Kernel &kernel, int64_t cluster, const std::string &target = "sm_90a") {
  auto [M, N, K] = symbols<"M N K">();
  CompileOptions options;
  options.target = target;
  options.subs = {{M, 64}, {N, 64}, {K, 256}};
  options.cluster = cluster;
  options.schedule.name = "none";
  options.cache = false;
  rt::ImageKind kind = target == "sm_90a" ? rt::ImageKind::ptx : rt::ImageKind::hsaco;
  for (const Diagnostic &diagnostic : compileImage(kernel, options, kind).diagnostics)
    if (diagnostic.severity == Severity::error)
      return std::string(idText(diagnostic.id)) + ": " + diagnostic.message;
  return "";
}

TEST(Clusters, RefusesWhatCannotBeShared) {
  Kernel plain = build({.m = 64, .n = 64, .k = 256});
  EXPECT_EQ(refusal(plain, 2), "");
  EXPECT_NE(refusal(plain, 17).find("not-supported-here: a cluster of 17 workgroups cannot share this kernel: `sm_90a` "
                                    "has clusters of 16 at most"),
            std::string::npos)
      << refusal(plain, 17);
  auto [M, N, K] = symbols<"M N K">();
  auto with = [&](const std::function<lang::Value(Kernel &, lang::Value)> &epilogue, double first) {
    Kernel kernel{"product",
                  {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), TilingConstraint(K, 64),
                   WaveConstraint(M, 32), WaveConstraint(N, 32), HardwareConstraint{}}};
    auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
    lang::Value sum =
        kernel.iterate(K, kernel.fill({M, N}, f32, first), [&](lang::Value acc) { return mma(read(a), read(b), acc); });
    write(epilogue(kernel, sum), kernel.memory("c", {M, N}, global, f32));
    return kernel;
  };
  EXPECT_EQ(refusal(with([](Kernel &, lang::Value sum) { return sum * 2.0; }, 0), 2), "");
  EXPECT_NE(refusal(with([](Kernel &, lang::Value sum) { return sum; }, 1), 2).find("sums a product, from 0 on"),
            std::string::npos);
  EXPECT_NE(
      refusal(with([&](Kernel &, lang::Value sum) { return sum - max(sum, M); }, 0), 2).find("may need rows of others"),
      std::string::npos);
  EXPECT_NE(
      refusal(with([](Kernel &, lang::Value sum) { return sum; }, 0), 2, "gfx942").find("has clusters of 1 at most"),
      std::string::npos);
}

} // namespace
} // namespace soliton::test
