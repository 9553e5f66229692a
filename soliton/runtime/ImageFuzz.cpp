// Fuzz target: no bytes may make the reader of kernel images, or what is evaluated from it, crash.
//
//   cmake -DSOLITON_FUZZ=ON … && SolitonImageFuzz -max_total_time=60

#include "soliton/runtime/LaunchPlan.h"
#include "soliton/support/Diagnostics.h"

using namespace soliton;
using namespace soliton::rt;

static void evaluateAll(const KernelImage &image) {
  std::array<int64_t, kMaxSymbols> values = {};
  values.fill(INT32_MAX);
  for (const LaunchStep &step : launchSteps(image))
    for (const LaunchExpr &extent : step.grid)
      extent.evaluate(values);
  image.workspace.bytes.evaluate(values);
  for (const WorkspaceSpec::Range &range : image.workspace.zeroed) {
    range.offset.evaluate(values);
    range.bytes.evaluate(values);
  }
  for (const LaunchCheck &check : image.checks)
    check.predicate.evaluate(values);
}

/// Prepares a launch with arrays of one element, which all lie at one place: whatever it says, it says as a diagnostic.
static void prepareLaunch(const KernelImage &image) {
  alignas(256) static std::byte memory[16];
  std::vector<Argument> arguments;
  for (const ArgumentSpec &spec : image.arguments) {
    std::vector<int64_t> ones(spec.shape.size(), 1);
    if (spec.kind == ArgumentKind::buffer)
      arguments.push_back(Tensor::dense(memory, spec.dtype, ones));
    else
      arguments.push_back(1);
  }
  PreparedLaunch launch;
  LaunchPlan(image).prepare(arguments, {}, {}, launch);
}

/// A file of an image that has everything: two kernels, a workspace, aliasing, a tensor map, symbols and checks.
static std::vector<std::byte> sampleFile() {
  LaunchExpr m = LaunchExpr::symbol(0);
  KernelImage image;
  image.kernel = image.entry = "first";
  image.target = "sm_90a";
  image.code.resize(8);
  image.grid = {LaunchExpr::apply(LaunchOp::ceildiv, {m, 16}), 1, 1};
  ArgumentSpec in;
  in.name = "in";
  in.shape = {m, 64};
  in.strides = {64, 1};
  in.alignment = 16;
  ArgumentSpec out = in;
  out.isOutput = true;
  ArgumentSpec factor;
  factor.kind = ArgumentKind::scalar;
  image.arguments = {in, out, factor};
  image.symbols = {{"M", 0, 0}, {"K", std::nullopt, 0}};
  image.mayAliasExactly = {{0, 1}};
  image.further = {{"second", std::vector<std::byte>(4), {64, 1, 1}, {1, 1, 1}, {m, 1, 1}}};
  image.workspace.bytes = LaunchExpr::apply(LaunchOp::mul, {m, 256});
  image.workspace.zeroed = {{0, 64}, {m, 4}};
  image.tensorMaps = {{0, 0, DType::f16, {64, m}, {256}, {64, 16}, 128}};
  image.further[0].tensorMaps = {
      {std::nullopt, m, DType::f32, {m}, {}, {32}, 0},
      {0, 0, DType::f16, {64, 8, 8, m}, {128, 1024, 8192}, {64, 16}, 128, {-1, -1}, {-1, -1}, {1, 2}}};
  image.checks = {{LaunchExpr::apply(LaunchOp::eq, {m, 8}), "M is 8"}};
  return serialize(image);
}

/// The sample with some bytes replaced: the input is a list of places (two bytes) and values.
static std::vector<std::byte> damagedSample(const uint8_t *data, size_t size) {
  static const std::vector<std::byte> sample = sampleFile();
  std::vector<std::byte> file = sample;
  for (size_t i = 0; i + 2 < size; i += 3)
    file[(data[i] | data[i + 1] << 8) % file.size()] = static_cast<std::byte>(data[i + 2]);
  return file;
}

/// Makes the checksum right, or mutation would never reach the manifest.
static void seal(std::vector<std::byte> &file) {
  if (file.size() <= 40)
    return;
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 40; i < file.size(); ++i)
    hash = (hash ^ static_cast<uint64_t>(file[i])) * 0x100000001b3;
  for (size_t i = 0; i < 8; ++i)
    file[32 + i] = static_cast<std::byte>(hash >> (8 * i));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto *bytes = reinterpret_cast<const std::byte *>(data);
  // A third is read as it is, a third with its checksum made right, a third is damage to a right file.
  std::vector<std::byte> file = size % 3 == 2 ? damagedSample(data, size) : std::vector<std::byte>(bytes, bytes + size);
  if (size % 3 != 0)
    seal(file);
  try {
    KernelImage image = deserialize(file);
    evaluateAll(image);
    if (image != deserialize(serialize(image)))
      __builtin_trap();
    prepareLaunch(image);
  } catch (const CompileError &) {
    // Refused with a diagnostic: what is asked for.
  }
  return 0;
}
