#include "test/e2e/Products.h"

#include "soliton/backend/Backend.h"
#include "soliton/backend/emulator/Translate.h"
#include "soliton/ir/Machine.h"
#include "soliton/support/Float.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

#include <cstring>
#include <random>

namespace soliton::test {

std::ostream &operator<<(std::ostream &out, const Product &p) {
  out << p.m << "x" << p.n << "x" << p.k << " in " << p.blockM << "x" << p.blockN << "x" << p.blockK << " by "
      << p.instruction() << " of " << name(p.type) << ", " << p.schedule;
  auto with = [&](const char *what, int64_t value) {
    if (value != 0)
      out << what << value;
  };
  out << (p.leftByK ? " leftByK" : "") << (p.rightByK ? " rightByK" : "") << (p.directCopies ? " copies" : "")
      << (p.exchanged ? " exchanged" : "") << (p.stagedWrites ? " staged" : "")
      << (p.overlapTiles ? " overlapping" : "") << (p.turns ? " in turns" : "");
  with(" in clusters of ", p.cluster);
  with(" by so many workgroups: ", p.persistent);
  with(" service waves: ", p.serviceWaves);
  with(" raster: ", p.raster);
  if (!p.perCluster.empty())
    out << " sharing tiles: " << testing::PrintToString(p.perCluster);
  out << (p.dependent ? " launched early" : "");
  for (const std::string &memory : p.stable)
    out << ", " << memory << " is stable";
  return out;
}

Kernel build(const Product &p, HardwareConstraint hardware) {
  auto [M, N, K] = symbols<"M N K">();
  if (p.named)
    hardware.mma = MmaType(p.instruction());
  Kernel kernel{"product",
                {WorkgroupConstraint(M, p.blockM, 0), WorkgroupConstraint(N, p.blockN, 1),
                 TilingConstraint(K, p.blockK), WaveConstraint(M, p.exchanged ? p.blockM : 16),
                 WaveConstraint(N, p.exchanged ? 16 : p.blockN / p.wavesN), hardware}};
  auto memory = [&](const char *name, Expr outer, bool byK) {
    return kernel.memory(name, byK ? std::vector<Expr>{K, outer} : std::vector<Expr>{outer, K}, shared, p.element());
  };
  auto a = memory("a", M, p.leftByK), b = memory("b", N, p.rightByK);
  auto sums = p.type == DType::i8 ? i32 : f32;
  auto c = kernel.memory("c", {M, N}, global, sums);
  auto factor = [&](const MemoryRef &from, Expr outer, bool byK) {
    auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
    if (!byK)
      return read(from);
    return read(from, {.mapping = IndexMapping{
                           .num_iterators = 2, .inputs = {{K, j}, {outer, i}}, .outputs = {{outer, i}, {K, j}}}});
  };
  write(kernel.iterate(K, kernel.fill({M, N}, sums, 0),
                       [&](lang::Value acc) { return mma(factor(a, M, p.leftByK), factor(b, N, p.rightByK), acc); }),
        c);
  return kernel;
}

CompileOptions optionsOf(const Product &p) {
  CompileOptions options;
  options.target = "sm_90a";
  options.device = "emulator";
  options.directCopies = p.directCopies;
  options.cluster = p.cluster;
  options.persistent = p.persistent;
  options.workgroupsPerCluster = p.perCluster;
  options.stagedWrites = p.stagedWrites;
  options.overlapTiles = p.overlapTiles;
  options.turns = p.turns;
  options.raster = p.raster;
  options.stable = p.stable;
  if (p.dependent)
    options.dependentLaunch = true;
  if (p.serviceWaves > 0)
    options.serviceWaves = p.serviceWaves;
  options.paddedRows = RowPadding::never;
  options.schedule.name = p.schedule;
  options.cache = false;
  for (auto [name, size] : {std::pair("M", p.m), {"N", p.n}, {"K", p.k}})
    if (std::ranges::count(p.dynamic, name) == 0)
      options.subs.push_back({symbol(name), size});
    else
      options.dynamic.push_back(symbol(name));
  return options;
}

Data::Data(DType type, std::vector<int64_t> shape, unsigned seed) : type(type), shape(std::move(shape)) {
  std::mt19937 engine(seed);
  size_t width = static_cast<size_t>(bits(type)) / 8, count = static_cast<size_t>(this->shape[0] * this->shape[1]);
  bytes.resize(count * width);
  for (size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<int>(engine() % 9) - 4);
    uint64_t number = encode(type, values.back());
    std::memcpy(&bytes[i * width], &number, width);
  }
}

void expectRight(const CompiledKernel &run, const Product &p) {
  Data a(p.type, p.leftByK ? std::vector{p.k, p.m} : std::vector{p.m, p.k}, 1);
  Data b(p.type, p.rightByK ? std::vector{p.k, p.n} : std::vector{p.n, p.k}, 2);
  Data c(p.sum(), {p.m, p.n}, 3);
  std::memset(c.bytes.data(), 0xff, c.bytes.size());
  run(a.tensor(), b.tensor(), c.tensor());
  // By pointers: tests are not optimised, and these are millions of products.
  const int64_t stepA = p.leftByK ? p.m : 1, stepB = p.rightByK ? p.n : 1;
  for (int64_t m = 0; m < p.m; ++m)
    for (int64_t n = 0; n < p.n; ++n) {
      const int *x = a.values.data() + (p.leftByK ? m : m * p.k), *y = b.values.data() + (p.rightByK ? n : n * p.k);
      int64_t want = 0;
      for (int64_t k = 0; k < p.k; ++k, x += stepA, y += stepB)
        want += *x * *y;
      uint32_t word = 0;
      std::memcpy(&word, &c.bytes[static_cast<size_t>(m * p.n + n) * 4], 4);
      ASSERT_EQ(decode(p.sum(), word), static_cast<double>(want)) << "row " << m << " column " << n;
    }
}

/// A serialised group of instructions, or a spill, is an error of the assembler's.
static rt::ImageKind binary() {
  return backend::findPtxas() ? rt::ImageKind::cubin : rt::ImageKind::ptx;
}

void check(const Product &p, const std::vector<Product> &further) {
  SCOPED_TRACE(testing::PrintToString(p));
  Kernel kernel = build(p);
  CompileAttempt code = compileImage(kernel, optionsOf(p), binary());
  ASSERT_TRUE(code) << format(code.diagnostics);
  EXPECT_GT(code.result->matrixOps, 0);
  // Remarks may say why a tile is not copied directly; what ptxas has to say would be warnings.
  EXPECT_TRUE(std::ranges::all_of(code.result->warnings, [](const Diagnostic &said) {
    return said.severity == Severity::remark;
  })) << format(code.result->warnings);
  CompiledKernel run = compile(kernel, optionsOf(p));
  expectRight(run, p);
  for (const Product &other : further) {
    SCOPED_TRACE(testing::PrintToString(other));
    expectRight(run, other);
  }
}

Product fewRows(int64_t m, int64_t n, int64_t k, int64_t columns) {
  return {.m = m, .n = n, .k = k, .blockM = columns, .columns = columns, .directCopies = true, .exchanged = true};
}

std::vector<emu::FindingKind> findingsOf(const std::string &machine, const emu::LaunchConfig &launch,
                                         llvm::function_ref<int(machine::KernelOp)> change) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(machine, &context);
  if (!module)
    return {};
  machine::KernelOp kernel = *module->getOps<machine::KernelOp>().begin();
  EXPECT_GT(change(kernel), 0);
  mlir::FailureOr<emu::Program> program = translateToEmulator(kernel, *findTarget("sm_90a"));
  EXPECT_TRUE(mlir::succeeded(program));
  emu::Result result = emu::run(*program, launch);
  EXPECT_EQ(result.error, "");
  std::vector<emu::FindingKind> kinds;
  for (const emu::Finding &finding : result.findings)
    kinds.push_back(finding.kind);
  return kinds;
}

static std::vector<emu::FindingKind> findingsIn(const Product &p, const std::string &text,
                                                llvm::function_ref<int(machine::KernelOp)> change, uint64_t seed) {
  Data a(p.type, {p.m, p.k}, 1), b(p.type, {p.n, p.k}, 2), c(p.sum(), {p.m, p.n}, 3);
  int64_t together = std::max<int64_t>(p.cluster, 1);
  for (int64_t along : p.perCluster)
    together *= along;
  return findingsOf(text,
                    {.grid = {static_cast<uint32_t>(together), 1, 1},
                     .buffers = {{a.bytes.data(), a.bytes.size()},
                                 {b.bytes.data(), b.bytes.size()},
                                 {c.bytes.data(), c.bytes.size()}},
                     .seed = seed,
                     .checks = true,
                     .adversarial = true},
                    change);
}

static std::string machineTextOf(const Product &p) {
  CompileOptions options = optionsOf(p);
  options.keep = {Artefact::machine};
  CompileAttempt code = compileImage(build(p), options, rt::ImageKind::emulator);
  EXPECT_TRUE(code) << format(code.diagnostics);
  return code ? code.result->artefacts.front().second : "";
}

std::vector<emu::FindingKind> findingsAfter(const Product &p, llvm::function_ref<int(machine::KernelOp)> change,
                                            uint64_t seed) {
  return findingsIn(p, machineTextOf(p), change, seed);
}

std::vector<emu::FindingKind> findingsWith(const Product &p, const std::string &from, const std::string &to,
                                           const std::string &erased) {
  std::string text = machineTextOf(p);
  int changed = 0;
  for (size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos; at += to.size(), ++changed)
    text.replace(at, from.size(), to);
  EXPECT_EQ(changed > 0, !from.empty());
  auto erase = [&](machine::KernelOp kernel) {
    int gone = erased.empty() ? 1 : 0;
    kernel.walk([&](mlir::Operation *op) {
      if (op->getName().getStringRef() == erased) {
        op->erase();
        ++gone;
      }
    });
    return gone;
  };
  return findingsIn(p, text, erase, /*seed=*/0);
}

} // namespace soliton::test
