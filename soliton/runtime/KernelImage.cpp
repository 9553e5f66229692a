#include "soliton/runtime/KernelImage.h"

#include "soliton/runtime/LaunchPlan.h"

#include <algorithm>
#include <bit>

namespace soliton::rt {
namespace {

constexpr std::array<std::string_view, 4> kKinds = {"ptx", "cubin", "hsaco", "emulator"};
constexpr uint64_t kMaxThreads = 1024;
constexpr size_t kMaxTensorMapRank = 5;

using Flaw = std::optional<std::string>;

std::string quoted(const std::string &name) {
  return "`" + name + "`";
}

bool allWellFormed(std::span<const LaunchExpr> exprs, size_t numSymbols) {
  return std::all_of(exprs.begin(), exprs.end(), [&](const LaunchExpr &e) { return e.wellFormed(numSymbols); });
}

Flaw findFlaw(const ArgumentSpec &argument, size_t numSymbols) {
  if (argument.shape.size() > kMaxRank)
    return "argument " + quoted(argument.name) + " has " + std::to_string(argument.shape.size()) +
           " dimensions, at most " + std::to_string(kMaxRank) + " are possible";
  if (argument.kind == ArgumentKind::scalar && !argument.shape.empty())
    return "scalar argument " + quoted(argument.name) + " has a shape";
  if (!argument.strides.empty() && argument.strides.size() != argument.shape.size())
    return "argument " + quoted(argument.name) + " has " + std::to_string(argument.strides.size()) + " strides for " +
           std::to_string(argument.shape.size()) + " dimensions";
  if (argument.alignment <= 0 || !std::has_single_bit(static_cast<uint64_t>(argument.alignment)))
    return "argument " + quoted(argument.name) + " asks for an alignment of " + std::to_string(argument.alignment) +
           ", which is no power of two";
  if (argument.byteLimit < 0)
    return "argument " + quoted(argument.name) + " has a negative byte limit";
  if (!allWellFormed(argument.shape, numSymbols) || !allWellFormed(argument.strides, numSymbols))
    return "a shape or stride formula of argument " + quoted(argument.name) + " is malformed";
  return std::nullopt;
}

bool isBuffer(const KernelImage &image, uint32_t argument) {
  return argument < image.arguments.size() && image.arguments[argument].kind == ArgumentKind::buffer;
}

Flaw findFlaw(const SymbolSpec &symbol, const KernelImage &image) {
  if (!symbol.argument)
    return std::nullopt;
  if (!isBuffer(image, *symbol.argument) || symbol.dim >= image.arguments[*symbol.argument].shape.size())
    return "symbol " + quoted(symbol.name) + " is bound to dimension " + std::to_string(symbol.dim) + " of argument " +
           std::to_string(*symbol.argument) + ", which does not exist";
  return std::nullopt;
}

/// What is wrong with a map's box, behind its name.
Flaw findFlawInBox(const TensorMapSpec &map) {
  int width = storageBits(map.dtype);
  uint64_t row = uint64_t(map.box[0]) * static_cast<uint64_t>(width) / 8;
  bool knownSwizzle = map.swizzle == 0 || map.swizzle == 32 || map.swizzle == 64 || map.swizzle == 128;
  bool boxFits = map.box[0] > 0 && map.box[0] <= 256;
  for (size_t d = 1; d < map.box.size(); ++d)
    boxFits &= map.box[d] > 0 && map.box[d] <= (map.lower.empty() ? 256u : 1024u);
  if (!knownSwizzle || !boxFits)
    return " has a box extent outside 1 to 256 (pixels: 1024) or a swizzle other than 0, 32, 64 or 128";
  if (width < 8 || row % 16 != 0 || (map.swizzle != 0 && row > map.swizzle))
    return " has a box whose rows of " + std::to_string(row) +
           " bytes are no multiple of 16, or longer than its swizzle";
  return std::nullopt;
}

/// What is wrong with the corners of a map of images, behind its name.
Flaw findFlawInCorners(const TensorMapSpec &map) {
  size_t corners = map.lower.size();
  if (map.upper.size() != corners || map.steps.size() != corners ||
      (corners > 0 && (corners > 3 || corners + 2 != map.sizes.size())))
    return " needs a lower and an upper corner and a step for all of its dimensions but two, or none";
  int32_t most = corners == 1 ? 1 << 15 : corners == 2 ? 1 << 7 : 1 << 4;
  auto isFar = [&](int32_t corner) { return corner < -most || corner >= most; };
  auto isStep = [](uint32_t step) { return step >= 1 && step <= 8; };
  if (std::ranges::any_of(map.lower, isFar) || std::ranges::any_of(map.upper, isFar) ||
      !std::ranges::all_of(map.steps, isStep))
    return " has a corner outside " + std::to_string(-most) + " to " + std::to_string(most - 1) +
           " or a step outside 1 to 8";
  return std::nullopt;
}

Flaw findFlaw(const TensorMapSpec &map, const KernelImage &image) {
  if (map.argument && !isBuffer(image, *map.argument))
    return "a tensor map describes argument " + std::to_string(*map.argument) + ", which is no buffer";
  if (!map.argument && !image.workspace.exists())
    return "a tensor map describes the workspace, but there is none";
  std::string which = map.argument ? "the tensor map of argument " + quoted(image.arguments[*map.argument].name)
                                   : "a tensor map of the workspace";
  if (map.argument && image.arguments[*map.argument].alignment % kTensorMapAlignment != 0)
    return which + " needs an address that is a multiple of 16, and the argument does not ask for it";
  size_t rank = map.sizes.size();
  if (rank == 0 || rank > kMaxTensorMapRank || map.strides.size() + 1 != rank ||
      map.box.size() != (map.lower.empty() ? rank : 2))
    return which + " needs 1 to 5 sizes, one stride less and as many box extents, two with corners";
  if (Flaw flaw = findFlawInBox(map))
    return which + *flaw;
  if (Flaw flaw = findFlawInCorners(map))
    return which + *flaw;
  size_t symbols = image.symbols.size();
  if (!allWellFormed(map.sizes, symbols) || !allWellFormed(map.strides, symbols) || !map.offset.wellFormed(symbols))
    return "a formula of " + which + " is malformed";
  return std::nullopt;
}

size_t countTensorMaps(const KernelImage &image) {
  size_t count = image.tensorMaps.size();
  for (const LaunchStep &step : image.further)
    count += step.tensorMaps.size();
  return count;
}

Flaw findFlawInCounts(const KernelImage &image) {
  auto tooMany = [](size_t found, size_t most, const char *what) -> Flaw {
    if (found <= most)
      return std::nullopt;
    return std::to_string(found) + " " + what + ", at most " + std::to_string(most) + " are possible";
  };
  if (Flaw flaw = tooMany(image.arguments.size(), kMaxArguments, "arguments"))
    return flaw;
  if (Flaw flaw = tooMany(image.symbols.size(), kMaxSymbols, "symbols"))
    return flaw;
  if (Flaw flaw = tooMany(image.further.size() + 1, kMaxLaunches, "kernels in one plan"))
    return flaw;
  if (Flaw flaw = tooMany(image.workspace.zeroed.size(), kMaxZeroedRanges, "ranges of the workspace that are zeroed"))
    return flaw;
  if (Flaw flaw = tooMany(image.mayAliasExactly.size(), kMaxArguments * kMaxArguments, "pairs that may alias"))
    return flaw;
  return tooMany(countTensorMaps(image), kMaxTensorMaps, "tensor maps");
}

/// A kernel of the plan.
Flaw findFlaw(const LaunchStep &step, size_t numSymbols) {
  if (step.entry.empty())
    return "a kernel of the plan has no entry symbol";
  uint64_t threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (step.threads[axis] == 0 || step.threads[axis] > kMaxThreads || step.cluster[axis] == 0)
      return "a workgroup of " + std::to_string(step.threads[axis]) + " threads or a cluster of " +
             std::to_string(step.cluster[axis]) + " workgroups along axis " + std::to_string(axis);
    threads *= step.threads[axis];
  }
  if (threads > kMaxThreads)
    return "a workgroup of " + std::to_string(threads) + " threads, at most " + std::to_string(kMaxThreads) +
           " are possible";
  if (!allWellFormed(step.grid, numSymbols))
    return "a grid formula is malformed";
  return std::nullopt;
}

Flaw findFlaw(const WorkspaceSpec::Range &range, const WorkspaceSpec &workspace, size_t numSymbols) {
  if (!workspace.exists())
    return "a range of a workspace is zeroed, but there is none";
  if (!range.offset.wellFormed(numSymbols) || !range.bytes.wellFormed(numSymbols))
    return "the formula of a zeroed range is malformed";
  return std::nullopt;
}

Flaw findFlaw(const std::array<uint32_t, 2> &pair, const KernelImage &image) {
  if (!isBuffer(image, pair[0]) || !isBuffer(image, pair[1]) || pair[0] == pair[1])
    return "arguments " + std::to_string(pair[0]) + " and " + std::to_string(pair[1]) +
           " may alias, which are not two buffers";
  return std::nullopt;
}

template <typename Range, typename... Context>
Flaw findFlawInAll(const Range &range, const Context &...context) {
  for (const auto &each : range)
    if (Flaw flaw = findFlaw(each, context...))
      return flaw;
  return std::nullopt;
}

/// Kernels and workspace.
Flaw findFlawInPlan(const KernelImage &image) {
  size_t numSymbols = image.symbols.size();
  if (Flaw flaw = findFlawInAll(launchSteps(image), numSymbols))
    return flaw;
  for (const LaunchStep &step : image.further)
    if (step.code.empty() && image.kind == ImageKind::emulator)
      return "an emulator program is one kernel: " + quoted(step.entry) + " needs code of its own";
  if (!image.workspace.bytes.wellFormed(numSymbols))
    return "the formula of the workspace's size is malformed";
  return findFlawInAll(image.workspace.zeroed, image.workspace, numSymbols);
}

} // namespace

LaunchStep firstStep(const KernelImage &image) {
  return {image.entry,
          image.code,
          image.threads,
          image.cluster,
          image.grid,
          image.staticSharedBytes,
          image.dynamicSharedBytes,
          image.tensorMaps,
          image.isDependent};
}

std::vector<LaunchStep> launchSteps(const KernelImage &image) {
  std::vector<LaunchStep> steps = {firstStep(image)};
  steps.front().code.clear();
  steps.insert(steps.end(), image.further.begin(), image.further.end());
  return steps;
}

std::string_view name(ImageKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

std::optional<ImageKind> parseImageKind(std::string_view text) {
  for (size_t i = 0; i < kKinds.size(); ++i)
    if (kKinds[i] == text)
      return static_cast<ImageKind>(i);
  return std::nullopt;
}

std::optional<std::string> findFlaw(const KernelImage &image) {
  if (image.kernel.empty() || image.entry.empty() || image.code.empty())
    return "it has no kernel name, no entry symbol or no code";
  if (Flaw flaw = findFlawInCounts(image))
    return flaw;
  if (Flaw flaw = findFlawInPlan(image))
    return flaw;
  if (Flaw flaw = findFlawInAll(image.arguments, image.symbols.size()))
    return flaw;
  if (Flaw flaw = findFlawInAll(image.symbols, image))
    return flaw;
  if (Flaw flaw = findFlawInAll(image.mayAliasExactly, image))
    return flaw;
  std::vector<LaunchStep> steps = launchSteps(image);
  for (const LaunchStep &step : steps)
    if (Flaw flaw = findFlawInAll(step.tensorMaps, image))
      return flaw;
  for (const LaunchCheck &check : image.checks)
    if (!check.predicate.wellFormed(image.symbols.size()))
      return "the formula of a launch check is malformed";
  ParameterLayout layout(image);
  for (const LaunchStep &step : steps)
    if (size_t bytes = layout.bytesWith(step.tensorMaps.size()); bytes > kMaxParameterBytes)
      return std::to_string(bytes) + " bytes of parameters, at most " + std::to_string(kMaxParameterBytes) +
             " are possible";
  return std::nullopt;
}

} // namespace soliton::rt
