#include "test/e2e/Support.h"

#include "kernels/Schedules.h"
#include "soliton/backend/Backend.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/ir/Machine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <fcntl.h>
#include <set>
#include <unistd.h>

namespace soliton::test {
namespace {

constexpr size_t kGuardBytes = 256;
constexpr std::byte kGuard{0xa5}, kUnwritten{0xff};

/// An argument in the device's memory between guard zones.
class Placed {
public:
  Placed(rt::Device &device, const kernels::Array &array, bool isOutput)
      : array(array), isOutput(isOutput), device(device) {
    size_t elements = 1;
    for (int64_t extent : array.shape)
      elements *= static_cast<size_t>(extent);
    bytes = (elements * static_cast<size_t>(rt::storageBits(array.type)) + 7) / 8;
    before.assign(bytes + 2 * kGuardBytes, kGuard);
    if (array.values.empty())
      std::fill_n(before.begin() + kGuardBytes, bytes, kUnwritten);
    else
      std::ranges::copy(kernels::encodeArray(array), before.begin() + kGuardBytes);
    memory = std::make_unique<rt::DeviceBuffer>(device, before.size());
    device.copyToDevice(memory->data(), before.data(), before.size());
  }

  rt::Argument argument() const {
    return rt::Tensor::dense(static_cast<std::byte *>(memory->data()) + kGuardBytes, array.type, array.shape,
                             device.info().memory(), device.info().index);
  }

  /// What may not change is as it was: the guard zones, and all of an input.
  bool fetchIntact() {
    after.resize(before.size());
    device.copyToHost(after.data(), memory->data(), after.size());
    if (!isOutput)
      return after == before;
    return std::equal(before.begin(), before.begin() + kGuardBytes, after.begin()) &&
           std::equal(before.end() - kGuardBytes, before.end(), after.end() - kGuardBytes);
  }
  std::vector<double> values() const {
    return kernels::decodeArray(array.type, std::span(after).subspan(kGuardBytes, bytes), array.shape);
  }

  const kernels::Array &array;
  const bool isOutput;

private:
  rt::Device &device;
  size_t bytes = 0;
  std::vector<std::byte> before, after;
  std::unique_ptr<rt::DeviceBuffer> memory;
};

} // namespace

std::string Case::name() const {
  std::string text = entry->name + "_" + variant->name + "_" + target->name + (directCopies ? "_direct" : "") +
                     (schedule == "none" ? "" : "_" + schedule);
  std::ranges::replace(text, '-', '_');
  return text;
}

CompileOptions Case::options(const kernels::Sizes &sizes, const std::vector<std::string> &dynamic) const {
  CompileOptions options;
  options.target = target->name;
  options.directCopies = directCopies;
  options.paddedRows = paddedRows;
  options.schedule.name = schedule;
  if (const kernels::ScheduleEntry *shipped = kernels::findSchedule(schedule))
    options.schedule.written = std::make_shared<WaveSchedule>(shipped->schedule);
  for (const auto &[name, value] : sizes) {
    if (std::ranges::find(dynamic, name) == dynamic.end())
      options.subs.emplace_back(sym::Expr::symbol(name), value);
    else
      options.dynamic.push_back(sym::Expr::symbol(name));
  }
  for (const auto &derived : entry->derivedSubs())
    options.subs.push_back(derived);
  for (const kernels::DefaultSize &tile : entry->tilesFor(*variant, *target)) {
    auto said = tiles.find(tile.name);
    options.subs.emplace_back(sym::Expr::symbol(tile.name), said == tiles.end() ? tile.value : said->second);
  }
  return options;
}

/// Whether this machine form is met for the first time: in this process and, where a folder is named for that, in all
/// that run parts of the tests beside it. Whoever comes first compiles it, and fails if it does not compile.
static bool isNew(const std::string &machine) {
  static std::set<std::string> seen;
  if (!seen.insert(machine).second)
    return false;
  const char *folder = std::getenv("SOLITON_TEST_FOLDER");
  if (!folder)
    return true;
  std::string path = std::string(folder) + "/machine-" + std::to_string(std::hash<std::string>()(machine));
  int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (file < 0)
    return errno != EEXIST;
  ::close(file);
  return true;
}

/// Whether the machine form is code of the chip that neither spills nor is serialised. It is what all passes have left,
/// so that none of them has to run once more.
static bool isCode(const std::string &machine, const Target &target) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  DiagnosticCollector unheard(&context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(machine, &context, "machine.mlir");
  if (!module)
    return false;
  auto kernel = *module->getOps<machine::KernelOp>().begin();
  if (target.vendor == Vendor::amd)
    return mlir::succeeded(backend::compileToHsaco(kernel, target));
  mlir::FailureOr<backend::CodeObject> code = backend::compileToPtx(kernel, target);
  return mlir::succeeded(code) &&
         (!backend::findPtxas() || mlir::succeeded(backend::assembleCubin(*code, kernel, target)));
}

/// What the emulator is to execute must compile for the chip as well; each machine form once. A kernel that becomes
/// several, or whose machine form is not code as it stands, goes through the compiler's own door, which has the last
/// word.
static void compileForChip(const Case &which, const CompileOptions &options, const std::string &machine,
                           bool isOneKernel) {
  if (!isNew(machine) || (isOneKernel && isCode(machine, *which.target)))
    return;
  rt::ImageKind kind = which.target->vendor == Vendor::amd ? rt::ImageKind::hsaco
                       : backend::findPtxas()              ? rt::ImageKind::cubin
                                                           : rt::ImageKind::ptx;
  CompileAttempt attempt = compileImage(which.entry->build(*which.variant), options, kind);
  EXPECT_TRUE(attempt) << which.name() << "\n" << format(attempt.diagnostics);
}

std::optional<CompileResult> Case::compile(const kernels::Sizes &sizes, const std::vector<std::string> &dynamic,
                                           const std::vector<Artefact> &keep) const {
  CompileOptions all = options(sizes, dynamic);
  all.keep = {Artefact::machine};
  all.keep.insert(all.keep.end(), keep.begin(), keep.end());
  CompileAttempt attempt = compileImage(entry->build(*variant), all, rt::ImageKind::emulator);
  EXPECT_TRUE(attempt) << name() << "\n" << format(attempt.diagnostics);
  if (!attempt)
    return std::nullopt;
  auto &artefacts = attempt.result->artefacts;
  auto machine = std::find_if(artefacts.begin(), artefacts.end(),
                              [](const auto &entry) { return entry.first == Artefact::machine; });
  compileForChip(*this, options(sizes, dynamic), machine->second, attempt.result->image.further.empty());
  if (std::find(keep.begin(), keep.end(), Artefact::machine) == keep.end())
    artefacts.erase(machine);
  return std::move(attempt.result);
}

kernels::Problem Case::problem(const kernels::Sizes &sizes, bool integers, uint64_t seed) const {
  return kernels::makeProblem(*entry, *variant, sizes,
                              kernels::ProblemOptions{.seed = seed, .integers = integers}.on(target));
}

testing::AssertionResult Case::launch(rt::Device &device, rt::LoadedKernel &kernel, const kernels::Sizes &sizes,
                                      bool integers) const {
  kernels::Problem given = problem(sizes, integers);
  std::vector<std::unique_ptr<Placed>> placed;
  std::vector<rt::Argument> arguments;
  for (size_t i = 0; i < given.arguments.size(); ++i) {
    const kernels::Array &array = given.arrays[i];
    if (given.arguments[i].dims.empty()) {
      arguments.push_back(isFloat(array.type) ? rt::Argument(array.values.at(0))
                                              : rt::Argument(static_cast<int64_t>(array.values.at(0))));
      continue;
    }
    placed.push_back(std::make_unique<Placed>(device, array, given.arguments[i].isOutput));
    arguments.push_back(placed.back()->argument());
  }
  try {
    kernel.launch(arguments);
  } catch (const CompileError &error) {
    return testing::AssertionFailure() << name() << "\n" << error.what();
  }
  kernels::Expected all = entry->reference(given);
  size_t output = 0;
  for (auto &argument : placed) {
    if (!argument->fetchIntact())
      return testing::AssertionFailure() << name() << ": " << (argument->isOutput ? "a guard zone" : "an input")
                                         << " was overwritten";
    if (!argument->isOutput)
      continue;
    std::vector<double> found = argument->values();
    const kernels::Expected &expected = all.of(output++);
    kernels::Comparison comparison = kernels::compare(expected, found);
    if (!comparison.ok)
      return testing::AssertionFailure() << name() << (integers ? " (integers)" : " (random)") << ": element "
                                         << *comparison.firstWrong << " of output " << output << " is "
                                         << found.at(*comparison.firstWrong) << ", expected "
                                         << expected.values[*comparison.firstWrong] << " within "
                                         << expected.bounds[*comparison.firstWrong];
  }
  return testing::AssertionSuccess();
}

void checkOnEmulator(const Case &which, const CompileResult &compiled, const kernels::Sizes &sizes) {
  int64_t work = 1;
  for (const auto &[name, size] : sizes)
    work *= size;
  for (uint64_t seed : {1, 7}) {
    if (seed != 1 && work > 8192)
      continue;
    std::shared_ptr<rt::Device> device = rt::makeEmulatorDevice({.checks = true, .adversarial = true, .seed = seed});
    std::unique_ptr<rt::LoadedKernel> kernel = device->load(compiled.image);
    for (bool integers : {true, false})
      EXPECT_TRUE(which.launch(*device, *kernel, sizes, integers)) << testing::PrintToString(sizes) << " seed " << seed;
  }
}

std::vector<Case> directCases() {
  std::vector<Case> cases = allCases();
  // Of the kernel whose right operand cannot be copied one choice of types will do.
  std::erase_if(cases, [](const Case &which) {
    return which.entry->name != "gemm" && (which.entry->name != "gemm_nn" || which.variant->name != "f16");
  });
  for (Case &which : cases)
    which.directCopies = true;
  return cases;
}

std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (const kernels::KernelEntry *entry : kernels::allKernels())
    for (const kernels::Variant &variant : entry->variants)
      for (const Target *target : allTargets())
        cases.push_back({entry, &variant, target});
  return cases;
}

enum class Depth : uint8_t { everyTest, option, otherType };

static Depth depthOf(const Case &which) {
  static const std::set<std::string> kEveryType = {"copy",    "transpose",   "axpy", "gelu",
                                                   "row_sum", "row_softmax", "gemm", "gemm_nn"};
  static const std::set<std::string> kOwnText = {"row_cumsum",
                                                 "row_argmax",
                                                 "layer_norm",
                                                 "rope",
                                                 "gemm_tn",
                                                 "gemm_batched",
                                                 "gemm_w4",
                                                 "conv2d_nhwc",
                                                 "attention",
                                                 "gemm_stream_k",
                                                 "attention_backward_dkv",
                                                 "gemm_mxfp4"};
  if (kEveryType.contains(which.entry->name))
    return Depth::everyTest;
  if (which.variant != &which.entry->variants.front())
    return Depth::otherType;
  return kOwnText.contains(which.entry->name) ? Depth::everyTest : Depth::option;
}

static std::vector<Case> casesOf(Depth depth) {
  std::vector<Case> cases = allCases();
  std::erase_if(cases, [&](const Case &which) { return depthOf(which) != depth; });
  return cases;
}

std::vector<Case> mainCases() {
  return casesOf(Depth::everyTest);
}

std::vector<Case> optionCases() {
  return casesOf(Depth::option);
}

std::vector<Case> otherTypes() {
  return casesOf(Depth::otherType);
}

Case scheduled(const Target &target, const std::string &schedule, const char *variant) {
  Case which{kernels::findKernel("gemm"), nullptr, &target};
  which.variant = which.entry->findVariant(variant);
  which.schedule = schedule;
  which.tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}, {"BLOCK_K", 64}};
  // Rows whose length is known at launch come element by element, each with a register of its own. Where accumulators
  // share the registers with them, pipelines of a larger tile spill.
  if (target.accumulatorRegistersPerLane == 0)
    which.tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 32}, {"BLOCK_K", 32}};
  if (const kernels::ScheduleEntry *shipped = kernels::findSchedule(schedule)) {
    which.directCopies = shipped->directCopies;
    // Quadrants: two pieces of a wave along N.
    if (shipped->isDeclared)
      which.tiles["BLOCK_N"] = 64;
    if (shipped->waves == 8)
      which.tiles = {{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 64}, {"WAVES_M", 2}, {"WAVES_N", 4}};
    // Three buffers of two such tiles take 96 KiB.
    if (shipped->waves == 8 && target.sharedBytes < 96 << 10)
      which.tiles["BLOCK_K"] = 32;
  }
  return which;
}

std::vector<Case> scheduledCases() {
  std::vector<std::string> names = {"prefetch", "four_stage", "list", "modulo"};
  for (const kernels::ScheduleEntry &entry : kernels::allSchedules())
    names.push_back(entry.name());
  std::vector<Case> cases;
  for (const Target *target : allTargets())
    for (const std::string &name : names)
      cases.push_back(scheduled(*target, name));
  return cases;
}

} // namespace soliton::test
