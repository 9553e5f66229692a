//===- LayoutsTest.cpp - Conversions and reductions of layouts, through the compiler ----------===//
//
// A kernel that reads a tile in one layout, hands it on through others and writes it back from each of them; what every
// layout writes must be what was read. Likewise a reduction of each dimension. The kernels are written down in the form
// `Indexed`, with their layouts, and take the compiler's road from there on to the emulator.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/emulator/Translate.h"
#include "soliton/driver/Pipelines.h"
#include "soliton/emulator/Machine.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/layout/Blocked.h"
#include "soliton/layout/RandomLayouts.h"
#include "soliton/support/Float.h"
#include "soliton/transforms/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "gtest/gtest.h"

#include <set>

namespace soliton::test {
namespace {

/// The road from `Indexed` on, where layouts are given.
void buildFromIndexed(mlir::OpPassManager &pm) {
  mlir::OpPassManager &kernel = pm.nest<wave::KernelOp>();
  kernel.addPass(createPlanMovementPass());
  kernel.addPass(mlir::createCSEPass());
  kernel.addPass(createPlaceSharedPass());
  kernel.addPass(createExpandTilesPass());
  kernel.addPass(createSynchronizePass());
  buildMachinePipeline(pm);
}

/// One kernel: a chain of layouts of one tile.
struct Chain {
  const Target *target;
  DType type;
  std::vector<DimExtent> tile; // fastest last
  std::vector<Layout> layouts;
  int64_t waves = 1;

  int64_t elements() const {
    int64_t count = 1;
    for (const DimExtent &dim : tile)
      count *= dim.extent;
    return count;
  }
  std::string str() const;
  std::string text() const;
};

/// Which dimension each extra output reduces, and from which layout of the chain: the first and the last.
struct Reduction {
  size_t layout, dim;
};
std::vector<Reduction> reductionsOf(const Chain &chain) {
  std::vector<Reduction> list;
  if (bits(chain.type) == 16) // Sums would not be exact.
    return list;
  for (size_t dim = 0; chain.tile.size() > 1 && dim < chain.tile.size(); ++dim)
    for (size_t layout : {size_t(0), chain.layouts.size() - 1})
      list.push_back({layout, dim});
  return list;
}

std::string Chain::str() const {
  std::string text = target->name + " " + std::string(soliton::name(type));
  for (const DimExtent &dim : tile)
    text += " " + dim.dim.name() + "=" + std::to_string(dim.extent);
  for (const Layout &layout : layouts)
    text += "\n  " + layout.str();
  return text;
}

/// `["M", "N"]` as a memory lists its dimensions, or `[M, N]` as a tile does; without the dimension `skip`.
std::string dimList(const Chain &chain, bool quoted, std::optional<size_t> skip = std::nullopt) {
  std::string text = "[";
  for (size_t i = 0; i < chain.tile.size(); ++i)
    if (i != skip)
      text +=
          (text.size() > 1 ? ", " : "") + (quoted ? "\"" + chain.tile[i].dim.name() + "\"" : chain.tile[i].dim.name());
  return text + "]";
}

std::string Chain::text() const {
  std::string element(soliton::name(type));
  auto memory = [&](std::optional<size_t> skip) {
    return "!wave.memory<" + dimList(*this, true, skip) + ", " + element + ", global>";
  };
  auto tileOf = [&](const Layout &layout, std::optional<size_t> skip) {
    return "!wave.tile<" + dimList(*this, false, skip) + ", " + element + ", \"" + layout.str() + "\">";
  };
  auto starts = [&](std::optional<size_t> skip) {
    std::string list;
    for (size_t i = 0; i < tile.size(); ++i)
      if (i != skip)
        list += (list.empty() ? "" : ", ") + std::string("#wave.expr<\"0\">");
    return " {starts = [" + list + "]} : ";
  };
  std::vector<Reduction> reductions = reductionsOf(*this);
  std::string names = "\"a\"", parameters = "%a: " + memory({}), subs, body;
  for (size_t i = 1; i < layouts.size(); ++i) {
    names += ", \"b" + std::to_string(i) + "\"";
    parameters += ", %b" + std::to_string(i) + ": " + memory({});
  }
  for (size_t i = 0; i < reductions.size(); ++i) {
    names += ", \"r" + std::to_string(i) + "\"";
    parameters += ", %r" + std::to_string(i) + ": " + memory(reductions[i].dim);
  }
  for (const DimExtent &dim : tile)
    subs += (subs.empty() ? "" : ", ") + dim.dim.name() + " = " + std::to_string(dim.extent) + " : i64";
  body = "  %t0 = wave.read %a" + starts({}) + memory({}) + " -> " + tileOf(layouts[0], {}) + "\n";
  for (size_t i = 1; i < layouts.size(); ++i) {
    std::string now = std::to_string(i), before = std::to_string(i - 1);
    body += "  %t" + now + " = wave.convert %t" + before + " : " + tileOf(layouts[i - 1], {}) + " -> " +
            tileOf(layouts[i], {}) + "\n";
    body += "  wave.write %t" + now + ", %b" + now + starts({}) + tileOf(layouts[i], {}) + ", " + memory({}) + "\n";
  }
  for (size_t i = 0; i < reductions.size(); ++i) {
    auto [layout, dim] = reductions[i];
    std::string number = std::to_string(i), source = tileOf(layouts[layout], {}),
                result = tileOf(layouts[layout].withoutDim(tile[dim].dim), dim);
    body += "  %s" + number + " = wave.reduce sum %t" + std::to_string(layout) + " along \"" + tile[dim].dim.name() +
            "\" {start = #wave.expr<\"0\">} : (" + source + ") -> " + result + "\n";
    body += "  wave.write %s" + number + ", %r" + number + starts(dim) + result + ", " + memory(dim) + "\n";
  }
  return "wave.kernel @chain attributes {arg_names = [" + names + "], constraints = [#wave.hardware<wavesPerBlock = [" +
         std::to_string(waves) + ", 1, 1]>], subs = {" + subs + "}, dynamic = [], form = 1 : i32, target = \"" +
         target->name + "\"} {\n^bb0(" + parameters + "):\n" + body + "}\n";
}

//===-- Running one -------------------------------------------------------------------------------------===//

size_t bytesOf(DType type) {
  return static_cast<size_t>(bits(type)) / 8;
}

std::vector<uint8_t> encoded(DType type, const std::vector<double> &values) {
  std::vector<uint8_t> result;
  for (double value : values) {
    uint64_t code = encode(type, value);
    for (size_t b = 0; b < bytesOf(type); ++b)
      result.push_back(static_cast<uint8_t>(code >> (8 * b)));
  }
  return result;
}

/// Distinct numbers as far as the type has that many; small enough that sums are exact (those of i8 wrap).
std::vector<double> numbered(const Chain &chain) {
  int64_t period = bits(chain.type) == 8 || chain.type == DType::bf16 ? 251 : bits(chain.type) == 16 ? 2039 : 32749;
  std::vector<double> values;
  for (int64_t i = 0; i < chain.elements(); ++i)
    values.push_back(static_cast<double>(i * 7 % period - (bits(chain.type) == 8 ? 125 : 0)));
  return values;
}

/// What the reduction of dimension `dim` must give.
std::vector<double> reduced(const Chain &chain, const std::vector<double> &values, size_t dim) {
  int64_t inner = 1, extent = chain.tile[dim].extent;
  for (size_t i = dim + 1; i < chain.tile.size(); ++i)
    inner *= chain.tile[i].extent;
  std::vector<double> sums(values.size() / static_cast<size_t>(extent));
  for (size_t i = 0; i < values.size(); ++i) {
    size_t outer = i / static_cast<size_t>(inner * extent), rest = i % static_cast<size_t>(inner);
    sums[outer * static_cast<size_t>(inner) + rest] += values[i];
  }
  return sums;
}

class Layouts : public testing::Test {
protected:
  Layouts() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<wave::WaveDialect, machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                        mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  }

  std::optional<emu::Program> compile(const Chain &chain) {
    DiagnosticCollector collector(&context);
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceString<mlir::ModuleOp>(chain.text(), &context, "chain.mlir");
    std::optional<emu::Program> program;
    if (module) {
      mlir::PassManager manager(&context);
      buildFromIndexed(manager);
      if (succeeded(manager.run(*module)))
        if (mlir::FailureOr<emu::Program> translated =
                translateToEmulator(*module->getOps<machine::KernelOp>().begin(), *chain.target);
            succeeded(translated))
          program = std::move(*translated);
    }
    EXPECT_TRUE(program) << chain.str() << "\n" << format(collector.diagnostics()) << chain.text();
    return program;
  }

  /// Whether every layout of the chain wrote what was read and every reduction is right.
  void check(const Chain &chain, uint64_t seed) {
    std::optional<emu::Program> program = compile(chain);
    if (!program)
      return;
    std::vector<double> values = numbered(chain);
    std::vector<std::vector<uint8_t>> expected(chain.layouts.size(), encoded(chain.type, values));
    for (const Reduction &reduction : reductionsOf(chain))
      expected.push_back(encoded(chain.type, reduced(chain, values, reduction.dim)));
    std::vector<std::vector<uint8_t>> found = expected;
    emu::LaunchConfig config{.seed = seed, .checks = true, .adversarial = true, .threads = 1};
    for (size_t i = 0; i < found.size(); ++i) {
      if (i > 0)
        std::ranges::fill(found[i], 0xff);
      config.buffers.push_back({found[i].data(), found[i].size()});
    }
    emu::Result result = emu::run(*program, config);
    EXPECT_TRUE(result.ok()) << chain.str() << "\n" << emu::format(result);
    for (size_t i = 0; i < found.size() && result.ok(); ++i)
      EXPECT_EQ(found[i], expected[i]) << "output " << i << " of\n" << chain.str();
    conversions += static_cast<int>(chain.layouts.size()) - 1;
    reductions += static_cast<int>(reductionsOf(chain).size());
  }

  mlir::MLIRContext context;
  int conversions = 0, reductions = 0;
};

//===-- Chains -----------------------------------------------------------------------------------------===//

/// The widest type, of those that are tried in turn, with which the tiles of the chain still fit shared memory.
DType typeFor(const Chain &chain, int64_t turn) {
  static constexpr DType kTypes[] = {DType::f32, DType::f16, DType::i8, DType::i32, DType::f64, DType::bf16};
  auto suits = [&](DType type) {
    return chain.elements() * bits(type) / 8 * static_cast<int64_t>(chain.layouts.size() + 2) <=
           chain.target->sharedBytes / 2;
  };
  for (int64_t i = 0; i < 6; ++i)
    if (suits(kTypes[(turn + i) % 6]))
      return kTypes[(turn + i) % 6];
  return DType::i8;
}

std::map<Dim, int64_t> extentsOf(const Chain &chain) {
  std::map<Dim, int64_t> extents;
  for (const DimExtent &dim : chain.tile)
    extents.emplace(dim.dim, dim.extent);
  return extents;
}

Layout anyLayout(Random &random, const Chain &chain) {
  int64_t lanes = chain.target->waveSize;
  if (pick(random, 0, 3) == 0)
    if (BlockedResult blocked = coalesced(chain.tile, lanes, chain.waves, int64_t(1) << pick(random, 0, 3)))
      return *blocked.layout;
  return randomLayout(random, {extentsOf(chain), lanes, chain.waves}, pick(random, 0, 3) != 0);
}

/// Every operand of every matrix instruction of the target, each layout once.
std::vector<Layout> fragmentsOf(const Target &target) {
  std::vector<Layout> list;
  std::set<std::string> seen;
  for (const MmaKind &kind : target.mmas)
    for (const MmaOperand *operand : {&kind.lhs, &kind.rhs, &kind.acc})
      if (operand->inRegisters && seen.insert(operand->layout.str()).second)
        list.push_back(operand->layout);
  return list;
}

class EachTarget : public Layouts, public testing::WithParamInterface<const Target *> {};

TEST_P(EachTarget, FragmentsOfEveryMatrixInstruction) {
  Random random(21);
  const Target &target = *GetParam();
  int64_t turn = 0;
  for (const Layout &fragment : fragmentsOf(target)) {
    Chain chain{&target, DType::f32, {}, {}, fragment.waves()};
    for (auto [dim, extent] : fragment.extents())
      chain.tile.push_back({dim, extent});
    ASSERT_EQ(fragment.lanes(), target.waveSize) << fragment.str();
    chain.layouts = {anyLayout(random, chain), fragment, anyLayout(random, chain), fragment, anyLayout(random, chain)};
    chain.type = typeFor(chain, turn++);
    check(chain, static_cast<uint64_t>(turn));
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(conversions, 4 * 10);
  RecordProperty("conversions", conversions);
}

TEST_P(EachTarget, RandomPairs) {
  Random random(22);
  const Target &target = *GetParam();
  for (int64_t trial = 0; conversions < 2000; ++trial) {
    Shape shape = randomShape(random);
    Chain chain{&target, DType::f32, {}, {}, shape.waves};
    for (auto [dim, extent] : shape.extents)
      chain.tile.push_back({dim, extent});
    if (chain.tile.empty())
      continue;
    if (pick(random, 0, 1))
      std::ranges::reverse(chain.tile);
    for (int i = 0; i < 6; ++i) {
      chain.layouts.push_back(anyLayout(random, chain));
      // Same waves, so that lanes exchange values often; sometimes the same lanes.
      if (i > 0 && pick(random, 0, 1)) {
        Layout twin = chain.layouts[static_cast<size_t>(i) - 1];
        std::ranges::shuffle(twin.reg, random);
        if (pick(random, 0, 1))
          std::ranges::shuffle(twin.lane, random);
        chain.layouts.back() = twin;
      }
    }
    chain.type = typeFor(chain, trial);
    check(chain, static_cast<uint64_t>(trial));
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(reductions, 500);
}

INSTANTIATE_TEST_SUITE_P(All, EachTarget, testing::ValuesIn(allTargets()),
                         [](const testing::TestParamInfo<const Target *> &info) { return info.param->name; });

} // namespace
} // namespace soliton::test
