//===- DependentLaunchTest.cpp - Launches that begin before those ahead of them have ended -------------===//
//
// Products, attention, rows and streams that wait for launches ahead by themselves: right on the emulator, which finds
// what they touch too early, whatever the sizes, the copies and the roles of waves are; one wait on every path of the
// code; weights on their way before it; and what is refused.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "soliton/ir/Machine.h"
#include "test/e2e/Findings.h"
#include "test/e2e/Products.h"
#include "test/e2e/Support.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

namespace soliton::test {
namespace {
using emu::FindingKind;
using kernels::Sizes;

Product early(Product p, std::vector<std::string> stable = {"b"}) {
  p.dependent = true;
  p.stable = std::move(stable);
  return p;
}

/// Few rows, the weights on the instruction's rows; K by clusters of so many.
Product decode(int64_t m, int64_t n, int64_t k, int64_t cluster, const char *schedule = "ring") {
  Product p = fewRows(m, n, k);
  p.schedule = schedule;
  p.cluster = cluster;
  return p;
}

size_t count(const std::string &text, std::string_view word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

bool has(const std::vector<FindingKind> &kinds, FindingKind kind) {
  return std::ranges::count(kinds, kind) > 0;
}

std::string textOf(const Kernel &kernel, CompileOptions options, Artefact artefact) {
  options.keep = {artefact};
  CompileAttempt compiled =
      compileImage(kernel, options, artefact == Artefact::ptx ? rt::ImageKind::ptx : rt::ImageKind::emulator);
  EXPECT_TRUE(compiled) << format(compiled.diagnostics);
  return compiled ? compiled.result->artefacts.front().second : "";
}

std::string textOf(const Product &p, Artefact artefact) {
  return textOf(build(p), optionsOf(p), artefact);
}

//===-- Paths -------------------------------------------------------------------------------------------===//

/// Waits on every path through a block; nothing where paths differ, or where a loop waits.
std::optional<int> waitsIn(mlir::Block &block) {
  int waits = 0;
  for (mlir::Operation &op : block) {
    waits += llvm::isa<machine::GridWaitOp>(op) ? 1 : 0;
    std::optional<int> inside;
    for (mlir::Region &region : op.getRegions()) {
      std::optional<int> taken = region.empty() ? 0 : waitsIn(region.front());
      if (!taken || (inside && *inside != *taken))
        return std::nullopt;
      inside = taken;
    }
    bool mayNotRunOnce = !llvm::isa<mlir::scf::IfOp>(op) && inside.value_or(0) != 0;
    if (mayNotRunOnce)
      return std::nullopt;
    waits += inside.value_or(0);
  }
  return waits;
}

void expectOneWait(const std::string &machine) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(machine, &context);
  ASSERT_TRUE(module);
  machine::KernelOp kernel = *module->getOps<machine::KernelOp>().begin();
  EXPECT_TRUE(kernel.getDependent());
  EXPECT_EQ(waitsIn(kernel.block()), std::optional(1)) << machine;
  EXPECT_EQ(count(machine, "machine.grid_launch"), 1u);
}

void expectOneWait(const Product &p) {
  SCOPED_TRACE(testing::PrintToString(p));
  std::string machine = textOf(p, Artefact::machine), ptx = textOf(p, Artefact::ptx);
  expectOneWait(machine);
  EXPECT_EQ(count(ptx, "griddepcontrol.wait"), count(machine, "machine.grid_wait"));
  EXPECT_EQ(count(ptx, "griddepcontrol.launch_dependents"), 1u);
}

//===-- Products ----------------------------------------------------------------------------------------===//

TEST(DependentLaunch, FewRowsByAClustersShareOfK) {
  for (auto [m, n, k] : {std::tuple(16, 128, 1024), {1, 64, 64}, {16, 72, 264}, {20, 200, 1000}, {16, 64, 8}})
    for (int64_t cluster : {0, 2})
      for (const std::vector<std::string> &stable : {std::vector<std::string>{}, {"b"}, {"a", "b"}})
        check(early(decode(m, n, k, cluster), stable));
}

TEST(DependentLaunch, ProductsUnderEverySchedule) {
  for (const char *schedule : {"none", "ring", "prefetch", "modulo"})
    for (bool copies : {false, true})
      for (auto [m, n, k] : {std::tuple(128, 128, 256), {127, 131, 77}, {1, 1, 8}}) {
        Product p{.m = m, .n = n, .k = k, .directCopies = copies, .schedule = schedule};
        p.stagedWrites = copies;
        check(early(p));
      }
}

TEST(DependentLaunch, RolesAndWorkgroupsThatWalk) {
  for (int64_t serviceWaves : {0, 1, 4})
    for (int64_t workgroups : {0, 1, 2})
      for (auto [m, n, k] : {std::tuple(128, 192, 320), {130, 72, 200}}) {
        Product p{.m = m, .n = n, .k = k, .directCopies = true, .schedule = "ring"};
        p.persistent = workgroups;
        p.stagedWrites = true;
        p.serviceWaves = serviceWaves;
        check(early(p));
      }
}

/// A workgroup's share of stable tiles goes to its neighbours while they wait themselves.
TEST(DependentLaunch, ClustersThatShareTiles) {
  for (const std::vector<int64_t> &along : {std::vector<int64_t>{2}, {1, 2}})
    for (int64_t serviceWaves : {0, 4})
      for (auto [m, n, k] : {std::tuple(256, 256, 640), {130, 200, 72}}) {
        Product p{.m = m, .n = n, .k = k, .directCopies = true, .schedule = "ring", .serviceWaves = serviceWaves};
        p.perCluster = along;
        for (const std::vector<std::string> &stable : {std::vector<std::string>{}, {"b"}, {"a", "b"}}) {
          check(early(p, stable));
          expectOneWait(early(p, stable));
        }
      }
}

TEST(DependentLaunch, SizesThatALaunchSays) {
  for (int64_t cluster : {0, 2}) {
    Product p = early(decode(16, 128, 512, cluster));
    p.dynamic = {"M", "N", "K"};
    auto of = [&](int64_t m, int64_t n, int64_t k) { return early(decode(m, n, k, cluster)); };
    check(p, {of(1, 64, 8), of(16, 200, 64), of(7, 72, 1000), of(16, 64, 2048), of(0, 64, 64)});
  }
}

TEST(DependentLaunch, OneWaitOnEveryPath) {
  for (int64_t cluster : {0, 2})
    expectOneWait(early(decode(16, 4096, 4096, cluster)));
  for (int64_t serviceWaves : {0, 1, 4})
    for (int64_t workgroups : {0, 2}) {
      Product p{.m = 256, .n = 256, .k = 512, .directCopies = true, .schedule = "ring"};
      p.serviceWaves = serviceWaves;
      p.persistent = workgroups;
      expectOneWait(early(p));
      expectOneWait(early(p, {}));
    }
  Product dynamic = early(decode(16, 4096, 4096, 0));
  dynamic.dynamic = {"M", "N", "K"};
  expectOneWait(dynamic);
}

/// What fills the ring with weights is in front of the wait, with everything that it needs; what brings rows is not.
TEST(DependentLaunch, WeightsAreOnTheirWayBeforeTheWait) {
  for (int64_t cluster : {0, 2})
    for (bool isDynamic : {false, true}) {
      Product p = decode(16, 4096, 4096, cluster);
      if (isDynamic)
        p.dynamic = {"N"};
      auto copiesBefore = [&](const std::vector<std::string> &stable) {
        std::string ptx = textOf(early(p, stable), Artefact::ptx);
        return count(ptx.substr(0, ptx.find("griddepcontrol.wait")), "cp.async.bulk.tensor");
      };
      size_t all = copiesBefore({"a", "b"}), weights = copiesBefore({"b"});
      EXPECT_EQ(copiesBefore({}), 0u);
      EXPECT_GT(weights, 1u) << p;
      // Those of the loop too, which has nothing to wait for.
      EXPECT_GT(all, 2 * weights) << p;
    }
}

//===-- Kernels of the library --------------------------------------------------------------------------===//

struct Library {
  const char *kernel;
  Sizes sizes;
  std::vector<std::string> stable = {};
  std::vector<std::string> dynamic = {};
  const char *schedule = "auto";
};

void checkLibrary(const Library &l) {
  SCOPED_TRACE(std::string(l.kernel) + " " + testing::PrintToString(l.sizes));
  Case which{kernels::findKernel(l.kernel), nullptr, findTarget("sm_90a")};
  ASSERT_NE(which.entry, nullptr);
  which.variant = &which.entry->variants.front();
  which.schedule = l.schedule;
  Sizes sizes;
  for (const kernels::DefaultSize &size : which.entry->sizes)
    sizes[size.name] = size.value;
  for (const auto &[name, value] : l.sizes)
    sizes[name] = value;
  for (bool isEarly : {true, false}) {
    CompileOptions options = which.options(sizes, l.dynamic);
    options.dependentLaunch = isEarly;
    options.stable = l.stable;
    options.keep = {Artefact::machine};
    Kernel kernel = which.entry->build(*which.variant);
    CompileAttempt compiled = compileImage(kernel, options, rt::ImageKind::emulator);
    ASSERT_TRUE(compiled) << format(compiled.diagnostics);
    // Where rows may be copied first, those that copy are plain.
    EXPECT_EQ(rt::launchSteps(compiled.result->image).back().isDependent, isEarly);
    if (isEarly)
      expectOneWait(compiled.result->artefacts.front().second);
    else
      EXPECT_EQ(count(compiled.result->artefacts.front().second, "machine.grid_"), 0u);
    checkOnEmulator(which, *compiled.result, sizes);
    if (!isEarly || !backend::findPtxas())
      continue;
    CompileAttempt code = compileImage(kernel, options, rt::ImageKind::cubin);
    EXPECT_TRUE(code) << format(code.diagnostics);
  }
}

TEST(DependentLaunch, Attention) {
  for (auto [q, kv] : {std::pair(128, 256), {77, 131}, {1, 1}})
    checkLibrary({"attention", {{"B", 1}, {"H", 2}, {"Q", q}, {"KV", kv}, {"D", 64}}});
  checkLibrary({"attention_causal", {{"B", 1}, {"H", 2}, {"Q", 200}, {"KV", 330}, {"D", 64}}, {}, {"Q", "KV"}});
}

TEST(DependentLaunch, RowsAndStreams) {
  for (auto [m, n] : {std::pair(64, 1024), {3, 77}, {1, 1}}) {
    checkLibrary({"row_softmax", {{"M", m}, {"N", n}}});
    checkLibrary({"rms_norm", {{"M", m}, {"N", n}}, {"weight"}});
    checkLibrary({"gelu", {{"M", m}, {"N", n}}});
    checkLibrary({"transpose", {{"M", m}, {"N", n}}});
  }
  checkLibrary({"rms_norm", {{"M", 33}, {"N", 1024}}, {"weight"}, {"M"}});
}

TEST(DependentLaunch, ProductsThatAutoChooses) {
  for (auto [m, n, k] : {std::tuple(16, 256, 512), {128, 128, 256}, {127, 131, 77}})
    checkLibrary({"gemm", {{"M", m}, {"N", n}, {"K", k}}, {"b"}});
  checkLibrary({"gemm", {{"M", 16}, {"N", 256}, {"K", 512}}, {"b"}, {"M", "N", "K"}});
}

/// Rows that are not aligned are copied before the product, by launches that begin when those ahead have ended.
TEST(DependentLaunch, ALaunchThatCopiesRowsFirst) {
  Case which{kernels::findKernel("gemm"), nullptr, findTarget("sm_90a")};
  which.variant = &which.entry->variants.front();
  which.paddedRows = RowPadding::always;
  Sizes sizes{{"M", 65}, {"N", 67}, {"K", 77}};
  CompileOptions options = which.options(sizes);
  options.dependentLaunch = true;
  options.stable = {"b"};
  CompileAttempt compiled = compileImage(which.entry->build(*which.variant), options, rt::ImageKind::emulator);
  ASSERT_TRUE(compiled) << format(compiled.diagnostics);
  std::vector<rt::LaunchStep> steps = rt::launchSteps(compiled.result->image);
  ASSERT_GT(steps.size(), 1u);
  EXPECT_FALSE(steps.front().isDependent);
  EXPECT_TRUE(steps.back().isDependent);
  // Rows of `a` are copied before `c` is written, so that they may be one array; what is stable is none.
  EXPECT_EQ(compiled.result->image.mayAliasExactly, (std::vector<std::array<uint32_t, 2>>{{0, 2}}));
  checkOnEmulator(which, *compiled.result, sizes);
}

//===-- What must not be missing ------------------------------------------------------------------------===//

TEST(DependentLaunch, AMissingWaitIsFound) {
  for (int64_t serviceWaves : {0, 4}) {
    Product p = early({.m = 64, .n = 64, .k = 320, .directCopies = true, .schedule = "ring"});
    p.serviceWaves = serviceWaves;
    EXPECT_FALSE(has(findingsWith(p, "", ""), FindingKind::EarlyAccess));
    EXPECT_TRUE(has(findingsWith(p, "", "", "machine.grid_wait"), FindingKind::EarlyAccess));
  }
  for (int64_t cluster : {0, 2}) {
    Product p = early(decode(16, 64, 512, cluster));
    EXPECT_TRUE(findingsWith(p, "", "").empty());
    EXPECT_TRUE(has(findingsWith(p, "", "", "machine.grid_wait"), FindingKind::EarlyAccess));
  }
}

/// What came before the wait because its author called it stable.
TEST(DependentLaunch, WhatIsNotStableIsFound) {
  Product p = early(decode(16, 64, 512, 0));
  EXPECT_TRUE(has(findingsWith(p, "stable = [\"b\"]", "stable = []"), FindingKind::EarlyAccess));
  EXPECT_TRUE(has(findingsWith(p, "stable = [\"b\"]", "stable = [\"b\", \"c\"]"), FindingKind::StableWrite));
}

//===-- Launches ----------------------------------------------------------------------------------------===//

/// An array that a launch reads as stable and writes too is none.
TEST(DependentLaunch, AStableMemoryIsNoOutput) {
  auto [M, BM] = symbols<"M BM">();
  for (bool isStable : {false, true}) {
    Kernel scale{"scale", {WorkgroupConstraint(M, 64, 0), WaveConstraint(M, 64), HardwareConstraint{}}};
    auto x = scale.memory("x", {M}, global, f32, {.stable = isStable}), y = scale.memory("y", {M}, global, f32);
    write(read(x) * 2.0, y);
    CompileOptions options{.target = "sm_90a", .subs = {{M, 256}}};
    CompileAttempt compiled = compileImage(scale, options, rt::ImageKind::emulator);
    ASSERT_TRUE(compiled) << format(compiled.diagnostics);
    EXPECT_FALSE(compiled.result->image.isDependent);
    std::vector<float> values(256, 3);
    rt::Tensor tensor = rt::Tensor::of(values, {256});
    auto kernel = rt::makeEmulatorDevice({.checks = true})->load(compiled.result->image);
    std::string said;
    try {
      kernel->launch({tensor, tensor});
    } catch (const CompileError &error) {
      said = error.what();
    }
    EXPECT_EQ(said.find("[argument-overlap]") != std::string::npos, isStable) << said;
    EXPECT_EQ(values.front(), isStable ? 3 : 6);
  }
}

/// As the author of the kernel declares it, or whoever compiles it.
TEST(DependentLaunch, AKernelSaysItselfWhatIsStable) {
  auto [M] = symbols<"M">();
  Kernel add{"add", {WorkgroupConstraint(M, 64, 0), WaveConstraint(M, 64), HardwareConstraint{}}};
  auto w = add.memory("w", {M}, global, f32, {.stable = true}), x = add.memory("x", {M}, global, f32);
  auto y = add.memory("y", {M}, global, f32);
  write(read(w) + read(x), y);
  CompileOptions options{.target = "sm_90a", .subs = {{M, 256}}, .dependentLaunch = true};
  std::string ptx = textOf(add, options, Artefact::ptx);
  std::string before = ptx.substr(0, ptx.find("griddepcontrol.wait"));
  EXPECT_EQ(count(before, "ld.global"), 1u) << ptx;
  EXPECT_EQ(count(ptx, "ld.global"), 2u);
  // A launch that begins early reads what changes while it runs: nothing may come from a cache that does not see that.
  EXPECT_EQ(count(ptx, ".nc"), 0u);
  options.stable = {"x"};
  EXPECT_NE(textOf(add, options, Artefact::machine).find("stable = [\"w\", \"x\"]"), std::string::npos);
}

//===-- What is refused ---------------------------------------------------------------------------------===//

std::string refusal(const CompileOptions &options, bool writesStable = false) {
  auto [M] = symbols<"M">();
  Kernel copy{"copy", {WorkgroupConstraint(M, 64, 0), WaveConstraint(M, 64), HardwareConstraint{}}};
  auto weights = copy.memory("weights", {M}, global, f32);
  auto out = copy.memory("out", {M}, global, f32, {.stable = writesStable});
  write(read(weights), out);
  CompileOptions complete = options;
  complete.subs = {{M, 256}};
  CompileAttempt compiled = compileImage(copy, complete, rt::ImageKind::emulator);
  EXPECT_FALSE(compiled);
  return format(compiled.diagnostics);
}

void expectIn(const std::string &text, std::initializer_list<const char *> words) {
  for (const char *word : words)
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
}

TEST(DependentLaunch, RefusedWhereLaunchesDoNotOverlap) {
  for (const char *target : {"gfx942", "gfx950"})
    expectIn(refusal({.target = target, .dependentLaunch = true}),
             {"DependentLaunchTest.cpp:", "error: launches of `gfx9", "begin when those ahead of them have ended",
              "[not-supported-here]", "hint: leave dependent launches out for this target"});
}

TEST(DependentLaunch, RefusedWhereStableMemoryIsWritten) {
  for (const char *target : {"sm_90a", "gfx942"})
    expectIn(refusal({.target = target}, /*writesStable=*/true),
             {"error: `out` is stable, and the kernel writes it here [stable-memory]", "note: declared here",
              "hint: call those memories stable that no launch writes: weights"});
  expectIn(refusal({.target = "sm_90a", .stable = {"out"}}), {"`out` is stable, and the kernel writes it here"});
}

TEST(DependentLaunch, RefusedWhereThereIsNoSuchMemory) {
  expectIn(refusal({.target = "sm_90a", .stable = {"weight"}}),
           {"error: the kernel has no memory `weight` that could be stable; did you mean `weights`? [stable-memory]",
            "hint: its memories are"});
}

} // namespace
} // namespace soliton::test
