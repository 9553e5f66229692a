#include "soliton/runtime/LaunchPlan.h"

#include "soliton/runtime/Errors.h"
#include "soliton/runtime/Overlap.h"
#include "soliton/runtime/TensorMaps.h"
#include "soliton/support/Float.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace soliton::rt {
namespace {

/// No device has more; a formula beyond it is a mistake.
constexpr int64_t kMaxWorkspace = int64_t(1) << 46;

size_t storedBytes(DType type) {
  return static_cast<size_t>(storageBits(type) + 7) / 8;
}

std::string typeName(DType type) {
  return "`" + std::string(soliton::name(type)) + "`";
}

/// One launch's checks: collects what is wrong, so that the user sees all of it.
class Checker {
public:
  Checker(const KernelImage &image, std::span<const Argument> arguments, const DeviceInfo &device)
      : image(image), arguments(arguments), device(device) {}

  using Symbols = std::span<const int64_t>;

  bool countsAndTypes();
  bool bindSymbols(std::span<const int64_t> given, std::array<int64_t, kMaxSymbols> &values);
  void buffers(std::span<const int64_t> symbols, bool &needsStaging);
  void overlaps(const std::vector<bool> &mayAlias);
  void assumptions(std::span<const int64_t> symbols);
  void grids(Symbols symbols, const std::vector<LaunchStep> &steps, PreparedLaunch &launch);
  void workspace(Symbols symbols, const Workspace &given, PreparedLaunch &launch);
  void tensors(Symbols symbols, const std::vector<LaunchStep> &steps, PreparedLaunch &launch);
  void throwIfWrong() {
    if (!wrong.empty())
      throw CompileError(std::move(wrong));
  }
  void report(Diagnostic diagnostic) {
    if (!diagnostic.place.known())
      diagnostic.place = image.place;
    wrong.push_back(std::move(diagnostic));
  }

private:
  void report(DiagId id, size_t argument, const std::string &message, std::string hint = "") {
    Diagnostic diagnostic = diagnose(id, argumentName(image, argument) + ": " + message, std::move(hint));
    diagnostic.place = image.arguments[argument].place;
    report(std::move(diagnostic));
  }
  bool oneType(size_t index);
  void shape(size_t index, const Tensor &tensor, std::span<const int64_t> symbols);
  void strides(size_t index, const Tensor &tensor, std::span<const int64_t> symbols);
  void extentOfMemory(size_t index, const Tensor &tensor);
  void place(size_t index, const Tensor &tensor, bool &needsStaging);
  void overlap(size_t first, size_t second, bool exactAllowed);
  void grid(Symbols symbols, const LaunchStep &step, std::array<uint32_t, 3> &grid);
  void reportGrid(const LaunchStep &step, size_t axis, const std::string &found, const std::string &expected);
  std::string formula(const LaunchExpr &expr) const { return formulaOf(image, expr); }

  const KernelImage &image;
  std::span<const Argument> arguments;
  const DeviceInfo &device;
  std::vector<Diagnostic> wrong;
};

bool Checker::countsAndTypes() {
  if (arguments.size() != image.arguments.size()) {
    std::vector<std::string> names;
    for (const ArgumentSpec &spec : image.arguments)
      names.push_back(spec.name);
    std::string hint;
    for (const std::string &name : names)
      hint += (hint.empty() ? "its arguments are `" : ", `") + name + "`";
    report(diagnose(DiagId::ArgumentCount,
                    "`" + image.kernel + "`: found " + std::to_string(arguments.size()) + " arguments, expected " +
                        std::to_string(image.arguments.size()),
                    hint));
    return false;
  }
  bool fine = true;
  for (size_t i = 0; i < arguments.size(); ++i)
    fine &= oneType(i);
  return fine;
}

bool Checker::oneType(size_t index) {
  const ArgumentSpec &spec = image.arguments[index];
  const Tensor *tensor = arguments[index].tensor();
  if ((spec.kind == ArgumentKind::buffer) != (tensor != nullptr)) {
    report(DiagId::ArgumentKind, index,
           tensor ? "found a tensor, expected a number" : "found a number, expected a tensor");
    return false;
  }
  if (!tensor)
    return true;
  if (tensor->dtype != spec.dtype)
    report(DiagId::ArgumentDtype, index,
           "found " + typeName(tensor->dtype) + " elements, expected " + typeName(spec.dtype));
  if (static_cast<size_t>(tensor->rank) == spec.shape.size())
    return true;
  report(DiagId::ArgumentRank, index,
         "found " + tensor->toString() + ", expected " + std::to_string(spec.shape.size()) + " dimensions");
  return false;
}

bool Checker::bindSymbols(std::span<const int64_t> given, std::array<int64_t, kMaxSymbols> &values) {
  size_t taken = 0;
  bool fine = true;
  for (size_t i = 0; i < image.symbols.size(); ++i) {
    const SymbolSpec &symbol = image.symbols[i];
    if (symbol.argument)
      values[i] = valueIn(symbol, *arguments[*symbol.argument].tensor());
    else
      values[i] = taken < given.size() ? given[taken] : 0, ++taken;
    bool isSize = symbol.argument.has_value();
    if (values[i] >= (isSize ? 0 : INT32_MIN) && values[i] <= INT32_MAX)
      continue;
    fine = false;
    report(diagnose(DiagId::SymbolRange, "`" + image.kernel + "`: symbol `" + symbol.name + "` is " +
                                             std::to_string(values[i]) + ", expected a " +
                                             (symbol.isStride ? "stride of 0 to 2147483647 elements"
                                              : isSize        ? "size of at most 31 bits"
                                                              : "number of 32 bits")));
  }
  if (taken == given.size())
    return fine;
  report(diagnose(DiagId::ArgumentCount, "`" + image.kernel + "`: found " + std::to_string(given.size()) +
                                             " symbol values, expected " + std::to_string(taken)));
  return false;
}

void Checker::shape(size_t index, const Tensor &tensor, std::span<const int64_t> symbols) {
  const ArgumentSpec &spec = image.arguments[index];
  for (size_t d = 0; d < spec.shape.size(); ++d) {
    LaunchValue expected = spec.shape[d].evaluate(symbols);
    if (expected.ok() && expected.value == tensor.shape[d])
      continue;
    std::string which = "dimension " + std::to_string(d) + " of " + tensor.toString();
    if (!expected.ok()) {
      report(DiagId::ArgumentShape, index,
             which + " has no expected extent: `" + formula(spec.shape[d]) + "` fails, " +
                 std::string(describe(expected.fault)));
      continue;
    }
    bool constant = spec.shape[d].constantValue().has_value();
    report(constant ? DiagId::ArgumentShape : DiagId::SymbolConflict, index,
           which + " is " + std::to_string(tensor.shape[d]) + ", expected " + std::to_string(expected.value) +
               (constant ? "" : " = `" + formula(spec.shape[d]) + "` as bound by the other arguments"));
  }
}

void Checker::strides(size_t index, const Tensor &tensor, std::span<const int64_t> symbols) {
  const ArgumentSpec &spec = image.arguments[index];
  if (spec.strides.empty()) {
    if (!tensor.isDense())
      report(DiagId::ArgumentStride, index,
             "found " + tensor.toString() + " with gaps or in another order, expected a dense row-major array",
             "make it contiguous");
    return;
  }
  if (tensor.elements() == 0)
    return;
  for (size_t d = 0; d < spec.strides.size(); ++d) {
    LaunchValue expected = spec.strides[d].evaluate(symbols);
    if (tensor.shape[d] > 1 && (!expected.ok() || expected.value != tensor.strides[d]))
      report(DiagId::ArgumentStride, index,
             "dimension " + std::to_string(d) + " has stride " + std::to_string(tensor.strides[d]) + ", expected `" +
                 formula(spec.strides[d]) + "`" + (expected.ok() ? " = " + std::to_string(expected.value) : ""));
  }
  if (std::optional<int> dim = spec.isOutput ? dimThatOverlaps(tensor) : std::nullopt)
    report(DiagId::ArgumentSelfOverlap, index,
           "the kernel writes it, and its elements may share memory: neighbours along dimension " +
               std::to_string(*dim) + " of " + tensor.toString() + " lie " +
               std::to_string(tensor.strides[static_cast<size_t>(*dim)]) + " elements apart",
           "pass an array in which every element has a place of its own");
}

void Checker::extentOfMemory(size_t index, const Tensor &tensor) {
  const ArgumentSpec &spec = image.arguments[index];
  std::optional<int64_t> bytes = tensor.bytes();
  // Strides below 0 were found where strides are checked.
  bool runsBackwards = std::ranges::any_of(tensor.steps(), [](int64_t stride) { return stride < 0; });
  if (!bytes && !runsBackwards)
    report(DiagId::ArgumentSize, index, "the size of " + tensor.toString() + " has no meaning in 64 bits");
  else if (bytes && spec.byteLimit != 0 && *bytes > spec.byteLimit)
    report(DiagId::ArgumentSize, index,
           tensor.toString() + " spans " + std::to_string(*bytes) + " bytes, the kernel's offsets reach " +
               std::to_string(spec.byteLimit),
           "split the array, or compile the kernel with `wideOffsets`");
  if (!tensor.data && bytes != 0)
    report(DiagId::ArgumentNull, index, "found a null pointer, expected " + tensor.toString());
  if (tensor.readOnly && spec.isOutput)
    report(DiagId::ArgumentReadOnly, index, "the kernel writes it, but " + tensor.toString() + " is read-only");
}

void Checker::place(size_t index, const Tensor &tensor, bool &needsStaging) {
  bool inPlace =
      tensor.memory == device.memory() && (tensor.memory == MemoryKind::host || tensor.device == device.index);
  if (inPlace)
    return;
  if (tensor.memory == MemoryKind::host) {
    needsStaging = true;
    return;
  }
  report(DiagId::ArgumentDevice, index,
         "found " + tensor.toString() + ", expected memory of " + std::string(name(device.kind)) +
             (device.kind == DeviceKind::emulator ? " (host)" : ":" + std::to_string(device.index)),
         "copy it there first");
}

void Checker::buffers(std::span<const int64_t> symbols, bool &needsStaging) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor *tensor = arguments[i].tensor();
    if (!tensor)
      continue;
    shape(i, *tensor, symbols);
    strides(i, *tensor, symbols);
    extentOfMemory(i, *tensor);
    place(i, *tensor, needsStaging);
  }
}

/// "; found M = 20": the sizes that an expression speaks of.
static std::string foundSymbols(const KernelImage &image, const LaunchExpr &expr, std::span<const int64_t> symbols) {
  std::string text;
  for (size_t k = 0; k < symbols.size(); ++k) {
    auto names = [&](const LaunchExpr::Step &step) {
      return step.op == LaunchOp::symbol && step.value == static_cast<int64_t>(k);
    };
    if (std::ranges::any_of(expr.steps(), names))
      text += (text.empty() ? "; found " : ", ") + image.symbols[k].name + " = " + std::to_string(symbols[k]);
  }
  return text;
}

void Checker::assumptions(std::span<const int64_t> symbols) {
  for (const LaunchCheck &check : image.checks) {
    LaunchValue holds = check.predicate.evaluate(symbols);
    if (holds.ok() && holds.value != 0)
      continue;
    std::string why = holds.ok() ? foundSymbols(image, check.predicate, symbols)
                                 : " (its check fails: " + std::string(describe(holds.fault)) + ")";
    report(diagnose(DiagId::LaunchAssumption, "`" + image.kernel + "`: " + check.message + why));
  }
}

void Checker::overlap(size_t first, size_t second, bool exactAllowed) {
  const Tensor &a = *arguments[first].tensor(), &b = *arguments[second].tensor();
  std::optional<Overlap> found = findOverlap(a, b);
  if (!found || (exactAllowed && found->exact))
    return;
  if (!image.arguments[first].isOutput) {
    std::swap(first, second);
    std::swap(found->first, found->second);
  }
  auto text = [](const std::array<uint64_t, 2> &bytes) {
    return "bytes [" + std::to_string(bytes[0]) + ", " + std::to_string(bytes[1]) + ")";
  };
  report(DiagId::ArgumentOverlap, first,
         "the kernel writes it at " + text(found->first) + ", and " + argumentName(image, second) + " is at " +
             text(found->second) + " of the same memory",
         exactAllowed ? "pass the same array for both, or arrays that do not overlap"
                      : "pass arrays that do not overlap");
}

void Checker::overlaps(const std::vector<bool> &mayAlias) {
  for (size_t i = 0; i < arguments.size(); ++i)
    for (size_t j = i + 1; j < arguments.size(); ++j)
      if (arguments[i].tensor() && arguments[j].tensor() &&
          (image.arguments[i].isOutput || image.arguments[j].isOutput))
        overlap(i, j, mayAlias[i * arguments.size() + j]);
}

void Checker::reportGrid(const LaunchStep &step, size_t axis, const std::string &found, const std::string &expected) {
  std::string which = image.further.empty() ? "" : ", kernel `" + step.entry + "`";
  report(diagnose(DiagId::LaunchGrid,
                  "`" + image.kernel + "`" + which + ": grid axis " + std::to_string(axis) + " = `" +
                      formula(step.grid[axis]) + "`: " + found + ", expected " + expected,
                  "make its tiles larger, or let each workgroup work on several"));
}

void Checker::grid(Symbols symbols, const LaunchStep &step, std::array<uint32_t, 3> &grid) {
  const GridLimits &limits = device.limits;
  unsigned __int128 total = 1;
  bool fine = true;
  for (size_t axis = 0; axis < 3; ++axis) {
    LaunchValue extent = step.grid[axis].evaluate(symbols);
    // Text is made only where something is wrong: a launch allocates nothing.
    auto found = [&] {
      return extent.ok() ? "found " + std::to_string(extent.value) + " workgroups"
                         : "no value, " + std::string(describe(extent.fault));
    };
    bool clustered = extent.ok() && extent.value % step.cluster[axis] == 0;
    if (!clustered || extent.value < 0 || extent.value > limits.workgroups[axis]) {
      std::string multiple = step.cluster[axis] > 1 ? ", a multiple of " + std::to_string(step.cluster[axis]) : "";
      reportGrid(step, axis, found(), "0 to " + std::to_string(limits.workgroups[axis]) + multiple);
      fine = false;
      continue;
    }
    grid[axis] = static_cast<uint32_t>(extent.value);
    total *= grid[axis];
    if (limits.threads != 0 && uint64_t(grid[axis]) * step.threads[axis] > limits.threads)
      reportGrid(step, axis, found() + " of " + std::to_string(step.threads[axis]) + " threads",
                 "at most " + std::to_string(limits.threads) + " threads along an axis of this device");
  }
  if (fine && limits.total != 0 && total > limits.total)
    reportGrid(step, 0,
               "found " + std::to_string(grid[0]) + " x " + std::to_string(grid[1]) + " x " + std::to_string(grid[2]) +
                   " workgroups on all axes",
               "at most " + std::to_string(limits.total) + " on this device");
}

void Checker::grids(Symbols symbols, const std::vector<LaunchStep> &steps, PreparedLaunch &launch) {
  launch.empty = true;
  for (size_t i = 0; i < steps.size(); ++i) {
    launch.grids[i] = {0, 0, 0};
    grid(symbols, steps[i], launch.grids[i]);
    launch.empty &= launch.isEmpty(i);
  }
}

void Checker::workspace(Symbols symbols, const Workspace &given, PreparedLaunch &launch) {
  auto value = [&](const LaunchExpr &expr, int64_t most) -> uint64_t {
    LaunchValue result = expr.evaluate(symbols);
    if (result.ok() && result.value >= 0 && result.value <= most)
      return static_cast<uint64_t>(result.value);
    report(diagnose(DiagId::LaunchWorkspace,
                    "`" + image.kernel + "`: `" + formula(expr) + "` in its workspace " +
                        (result.ok() ? "is " + std::to_string(result.value) : std::string(describe(result.fault))) +
                        ", expected 0 to " + std::to_string(most)));
    return 0;
  };
  launch.workspaceBytes = value(image.workspace.bytes, kMaxWorkspace);
  auto size = static_cast<int64_t>(launch.workspaceBytes);
  for (size_t i = 0; i < image.workspace.zeroed.size(); ++i) {
    uint64_t offset = value(image.workspace.zeroed[i].offset, size);
    launch.zeroed[i] = {offset, value(image.workspace.zeroed[i].bytes, size - static_cast<int64_t>(offset))};
  }
  bool misplaced = reinterpret_cast<uintptr_t>(given.data) % kWorkspaceAlignment != 0;
  if (given.data && (given.bytes < launch.workspaceBytes || misplaced))
    report(diagnose(DiagId::LaunchWorkspace,
                    "`" + image.kernel + "`: the workspace that is given has " + std::to_string(given.bytes) +
                        " bytes" + (misplaced ? " and starts beside a multiple of " : ", expected at least ") +
                        std::to_string(misplaced ? kWorkspaceAlignment : launch.workspaceBytes)));
}

void Checker::tensors(Symbols symbols, const std::vector<LaunchStep> &steps, PreparedLaunch &launch) {
  size_t next = 0;
  for (size_t i = 0; i < steps.size(); ++i)
    for (const TensorMapSpec &map : steps[i].tensorMaps) {
      if (!launch.isEmpty(i))
        launch.tensors[next] = evaluateTensor(image, map, symbols, wrong);
      ++next;
    }
}

/// The bits of a number as the kernel's scalar type; nothing where it does not fit.
std::optional<uint64_t> scalarBits(const Argument &argument, DType type) {
  if (isFloat(type))
    return encode(type, argument.realValue());
  double real = argument.realValue();
  if (!argument.isInteger() && (std::trunc(real) != real || std::fabs(real) >= 0x1p63))
    return std::nullopt;
  int64_t value = argument.isInteger() ? argument.integerValue() : static_cast<int64_t>(real);
  int width = bits(type);
  // An unsigned value of that width is taken too: the bits are what the kernel sees.
  bool fits = width == 64 || (value >= -(int64_t(1) << (width - 1)) && value < int64_t(1) << width);
  return fits ? std::optional(static_cast<uint64_t>(value)) : std::nullopt;
}

} // namespace

LaunchPlan::LaunchPlan(const KernelImage &image)
    : image(image), layout(image), launches(launchSteps(image)),
      mayAlias(image.arguments.size() * image.arguments.size()) {
  for (auto [first, second] : image.mayAliasExactly)
    if (std::max(first, second) < image.arguments.size())
      mayAlias[std::min(first, second) * image.arguments.size() + std::max(first, second)] = true;
  size_t tensors = 0;
  for (const LaunchStep &step : launches) {
    firstTensors.push_back(tensors);
    tensors += step.tensorMaps.size();
  }
}

uint64_t LaunchPlan::workspaceBytes(std::span<const Argument> arguments, const LaunchOptions &options,
                                    const DeviceInfo &device) const {
  PreparedLaunch launch;
  LaunchOptions anyWorkspace = options;
  anyWorkspace.workspace = {};
  prepare(arguments, anyWorkspace, device, launch);
  return launch.empty ? 0 : launch.workspaceBytes;
}

std::optional<Diagnostic> LaunchPlan::write(PreparedLaunch &launch, size_t index, const Argument &argument,
                                            const DeviceInfo &device) const {
  if (const Tensor *tensor = argument.tensor()) {
    setPointer(launch, index, tensor->data);
    bool staged = tensor->memory == MemoryKind::host && device.memory() != MemoryKind::host;
    return staged ? std::nullopt : checkAlignment(index, tensor->data);
  }
  DType type = image.arguments[index].dtype;
  if (std::optional<uint64_t> bits = scalarBits(argument, type)) {
    std::memcpy(launch.block.data() + layout.arguments[index], &*bits, storedBytes(type));
    return std::nullopt;
  }
  std::string found =
      argument.isInteger() ? std::to_string(argument.integerValue()) : std::to_string(argument.realValue());
  Diagnostic wrong = diagnose(DiagId::ArgumentValue, argumentName(image, index) + ": found " + found +
                                                         ", expected a value of " + typeName(type));
  wrong.place = image.arguments[index].place;
  return wrong;
}

void LaunchPlan::prepare(std::span<const Argument> arguments, const LaunchOptions &options, const DeviceInfo &device,
                         PreparedLaunch &launch) const {
  Checker check(image, arguments, device);
  if (!check.countsAndTypes())
    check.throwIfWrong();
  if (!check.bindSymbols(options.symbols, launch.symbols))
    check.throwIfWrong();
  std::span<const int64_t> symbols(launch.symbols.data(), image.symbols.size());
  check.buffers(symbols, launch.needsStaging);
  check.overlaps(mayAlias);
  check.assumptions(symbols);
  check.grids(symbols, launches, launch);
  check.workspace(symbols, options.workspace, launch);
  check.tensors(symbols, launches, launch);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (std::optional<Diagnostic> wrong = write(launch, i, arguments[i], device))
      check.report(*wrong);
  check.throwIfWrong();
  for (size_t i = 0; i < symbols.size(); ++i) {
    auto value = static_cast<int32_t>(symbols[i]);
    std::memcpy(launch.block.data() + layout.symbols[i], &value, sizeof(value));
  }
}

} // namespace soliton::rt
