#include "soliton/driver/Oracle.h"

#include "soliton/analysis/Geometry.h"
#include "soliton/backend/emulator/Translate.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/support/Float.h"

#include <cmath>
#include <random>

namespace soliton {
using namespace wave;
using interp::Bytes;

//===-- What can be expected of a kernel ----------------------------------------------------------===//

/// Whether integers stay integers: sums, products, comparisons and moves, no functions and no fractions.
static bool keepsIntegers(Operation *op) {
  if (auto unary = dyn_cast<UnaryOp>(op))
    return llvm::is_contained({UnaryKind::abs, UnaryKind::neg, UnaryKind::logical_not, UnaryKind::floor,
                               UnaryKind::ceil, UnaryKind::round, UnaryKind::roundeven},
                              unary.getKind());
  if (auto binary = dyn_cast<BinaryOp>(op))
    return !llvm::is_contained({BinaryKind::div, BinaryKind::pow, BinaryKind::atan2}, binary.getKind());
  if (auto fill = dyn_cast<FillOp>(op))
    if (auto number = dyn_cast<mlir::FloatAttr>(fill.getValue())) {
      double value = number.getValueAsDouble();
      return std::isinf(value) || value == std::trunc(value);
    }
  return true;
}

static std::optional<DType> computedType(Operation *op) {
  if (!isa<UnaryOp, BinaryOp, MmaOp, ReduceOp>(op))
    return std::nullopt;
  std::optional<DType> type = dtypeOf(cast<TileType>(op->getResult(0).getType()).getElementType());
  return type && isFloat(*type) ? type : std::nullopt;
}

static int64_t evaluated(sym::Expr expr, const Geometry &geometry, const std::map<std::string, int64_t> &symbols) {
  sym::Environment environment;
  for (const auto &[name, value] : symbols)
    environment.set(sym::Expr::symbol(name), value);
  return sym::evaluate(geometry.bind(expr), environment);
}

//===-- Inputs --------------------------------------------------------------------------------------===//

LogicalResult Oracle::chooseSymbols(KernelOp kernel) {
  FailureOr<Geometry> geometry = Geometry::of(kernel);
  if (failed(geometry))
    return failure();
  for (int64_t base : {5, 37, 64, 129, 256, 512}) {
    symbols = options.symbols;
    for (auto [i, name] : llvm::enumerate(dynamic))
      symbols.try_emplace(name, base + (base % 2 ? 2 * static_cast<int64_t>(i) : 0));
    bool holds = true;
    for (Attribute attribute : kernel.getConstraints())
      if (auto assumption = dyn_cast<AssumptionAttr>(attribute))
        holds &= evaluated(assumption.getPredicate().getValue(), *geometry, symbols) != 0;
    if (holds)
      return success();
  }
  return report(kernel.getLoc(), DiagId::PassChangedMeaning).hint("give values to its dynamic symbols")
         << "found no small sizes for which the assumptions of the kernel hold, so it cannot be executed";
}

static bool isOnlyWritten(BlockArgument argument) {
  bool written = false;
  for (Operation *user : argument.getUsers()) {
    if (isa<ReadOp>(user))
      return false;
    written |= isa<WriteOp>(user);
  }
  return written;
}

LogicalResult Oracle::prepare(KernelOp kernel) {
  for (Attribute name : kernel.getDynamic())
    dynamic.push_back(cast<StringAttr>(name).getValue().str());
  if (failed(chooseSymbols(kernel)))
    return failure();
  FailureOr<Geometry> geometry = Geometry::of(kernel);
  if (failed(geometry))
    return failure();
  target = &geometry->target();
  for (auto [to, size] : llvm::zip(grid, geometry->launchGrid()))
    to = static_cast<uint32_t>(evaluated(size, *geometry, symbols));
  for (auto [argument, name] : llvm::zip(kernel.block().getArguments(), kernel.getArgNames())) {
    auto memory = dyn_cast<MemoryType>(argument.getType());
    std::optional<DType> type = dtypeOf(memory ? memory.getElementType() : argument.getType());
    if (!type)
      return report(kernel.getLoc(), DiagId::PassChangedMeaning)
             << "parameter " << name << " has a type that has no inputs";
    Argument entry{cast<StringAttr>(name).getValue().str(), *type, 1, !memory, memory && isOnlyWritten(argument)};
    if (memory)
      for (ExprAttr extent : memory.getShape())
        entry.elements *= static_cast<size_t>(evaluated(extent.getValue(), *geometry, symbols));
    arguments.push_back(entry);
  }
  exact = true;
  kernel.walk([&](Operation *op) {
    exact &= keepsIntegers(op);
    if (std::optional<DType> type = computedType(op))
      roundoff = std::max(roundoff, epsilon(*type) / 2);
    roundings += 8;
    if (auto mma = dyn_cast<MmaOp>(op))
      roundings +=
          static_cast<double>(evaluated(sym::Expr::symbol(mma.getContractedDim().getValue()), *geometry, symbols));
    if (auto reduce = dyn_cast<ReduceOp>(op))
      roundings += static_cast<double>(evaluated(sym::Expr::symbol(reduce.getDim()), *geometry, symbols));
  });
  return success();
}

/// Appends the bits of one element; types below a byte have one of their own here and are packed by the caller's type.
static void put(Bytes &bytes, DType type, size_t at, uint64_t bits) {
  int width = soliton::bits(type);
  for (int bit = 0; bit < width; ++bit) {
    size_t place = at * static_cast<size_t>(width) + static_cast<size_t>(bit);
    auto mask = static_cast<uint8_t>(1u << (place % 8));
    bytes[place / 8] = static_cast<uint8_t>((bytes[place / 8] & ~mask) | (bits >> bit & 1 ? mask : 0));
  }
}

static double get(const Bytes &bytes, DType type, size_t at) {
  int width = soliton::bits(type);
  uint64_t value = 0;
  for (int bit = 0; bit < width; ++bit) {
    size_t place = at * static_cast<size_t>(width) + static_cast<size_t>(bit);
    value |= static_cast<uint64_t>(bytes[place / 8] >> (place % 8) & 1) << bit;
  }
  return decode(type, value);
}

static size_t byteCount(DType type, size_t elements) {
  return (elements * static_cast<size_t>(bits(type)) + 7) / 8;
}

interp::Inputs Oracle::makeInputs(KernelOp kernel, bool integers) const {
  constexpr int64_t kSmall = 3, kLarge = 100;
  std::mt19937_64 random(options.seed * 2 + integers);
  auto draw = [&](DType type) -> double {
    int64_t most = integers ? kSmall : kLarge;
    if (integers || isInteger(type))
      return static_cast<double>(static_cast<int64_t>(random() % static_cast<uint64_t>(2 * most + 1)) - most);
    return static_cast<double>(static_cast<int64_t>(random()) >> 10) * 0x1p-53;
  };
  interp::Inputs inputs;
  inputs.symbols = symbols;
  for (const Argument &argument : arguments) {
    Bytes bytes(byteCount(argument.type, argument.elements), 0xff);
    for (size_t i = 0; i < argument.elements && !argument.isOutput; ++i)
      put(bytes, argument.type, i, encode(argument.type, draw(argument.type)));
    inputs.arguments.push_back(std::move(bytes));
  }
  return inputs;
}

interp::Inputs Oracle::absolute(const interp::Inputs &inputs) const {
  interp::Inputs result = inputs;
  for (auto [argument, bytes] : llvm::zip(arguments, result.arguments))
    for (size_t i = 0; i < argument.elements && !argument.isOutput; ++i)
      put(bytes, argument.type, i, encode(argument.type, std::abs(get(bytes, argument.type, i))));
  return result;
}

LogicalResult Oracle::addTrial(KernelOp kernel, bool integers) {
  auto run = [&](const interp::Inputs &inputs) -> FailureOr<std::vector<Bytes>> {
    interp::Result result = interp::run(kernel, inputs);
    if (result.ok())
      return result.arguments;
    return report(kernel.getLoc(), DiagId::PassChangedMeaning)
           << "the traced program has no meaning to compare with: " << format(result.diagnostics);
  };
  Trial trial;
  trial.inputs = makeInputs(kernel, integers);
  FailureOr<std::vector<Bytes>> expected = run(trial.inputs);
  if (failed(expected))
    return failure();
  trial.expected = *expected;
  if (!integers || !exact) {
    FailureOr<std::vector<Bytes>> magnitude = run(absolute(trial.inputs));
    if (failed(magnitude))
      return failure();
    for (auto [a, argument] : llvm::enumerate(arguments)) {
      std::vector<double> &tolerance = trial.tolerance.emplace_back();
      for (size_t i = 0; i < argument.elements && isFloat(argument.type); ++i) {
        double value = get(trial.expected[a], argument.type, i),
               size = std::abs(get((*magnitude)[a], argument.type, i));
        double bound = 2 * roundings * roundoff * std::max(size, std::abs(value));
        double ulp = std::max(decode(argument.type, 1),
                              epsilon(argument.type) * std::exp2(std::floor(std::log2(std::abs(value) + bound))));
        tolerance.push_back(bound + ulp);
      }
    }
  }
  trials.push_back(std::move(trial));
  return success();
}

FailureOr<Oracle> Oracle::of(KernelOp kernel, const OracleOptions &options) {
  Oracle oracle;
  oracle.options = options;
  try {
    if (failed(oracle.prepare(kernel)) || failed(oracle.addTrial(kernel, true)) ||
        failed(oracle.addTrial(kernel, false)))
      return failure();
  } catch (const sym::ExprError &error) {
    return report(kernel.getLoc(), DiagId::ExpressionInvalid) << "a size of the kernel has no value: " << error.what();
  }
  return oracle;
}

//===-- Verdicts --------------------------------------------------------------------------------------===//

std::optional<std::string> Oracle::compare(const Trial &trial, const std::vector<Bytes> &found) const {
  for (auto [a, argument] : llvm::enumerate(arguments)) {
    if (found[a] == trial.expected[a])
      continue;
    for (size_t i = 0; i < argument.elements; ++i) {
      double is = get(found[a], argument.type, i), expected = get(trial.expected[a], argument.type, i);
      bool mayDiffer = !trial.tolerance.empty() && !trial.tolerance[a].empty();
      bool same = is == expected || (std::isnan(is) && std::isnan(expected));
      // Written so that NaN is wrong.
      if (same || (mayDiffer && std::abs(is - expected) <= trial.tolerance[a][i]))
        continue;
      std::string text = "element " + std::to_string(i) + " of `" + argument.name + "` is " + std::to_string(is) +
                         ", the traced program gives " + std::to_string(expected);
      return mayDiffer ? text + " and allows " + std::to_string(trial.tolerance[a][i]) : text;
    }
  }
  return std::nullopt;
}

std::optional<std::string> Oracle::disagreement(KernelOp kernel) const {
  for (const Trial &trial : trials) {
    interp::Result result = interp::run(kernel, trial.inputs);
    if (!result.ok())
      return "it cannot be executed: " + format(result.diagnostics);
    if (std::optional<std::string> wrong = compare(trial, result.arguments))
      return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> Oracle::emulate(const emu::Program &program, const Trial &trial,
                                           uint64_t interleaving) const {
  emu::LaunchConfig config{.grid = grid, .seed = interleaving, .checks = true, .adversarial = true};
  std::vector<Bytes> memory = trial.inputs.arguments;
  for (auto [argument, bytes] : llvm::zip(arguments, memory))
    if (!argument.isScalar)
      config.buffers.push_back({bytes.data(), bytes.size()});
  for (auto [argument, bytes] : llvm::zip(arguments, memory))
    if (argument.isScalar) {
      uint64_t bits = 0;
      std::memcpy(&bits, bytes.data(), std::min(bytes.size(), sizeof bits));
      config.scalars.push_back(bits);
    }
  for (const std::string &name : dynamic)
    config.scalars.push_back(static_cast<uint32_t>(symbols.at(name)));
  emu::Result result = emu::run(program, config);
  if (!result.ok())
    return "the emulator objects: " + format(result);
  return compare(trial, memory);
}

std::optional<std::string> Oracle::disagreement(machine::KernelOp kernel) const {
  FailureOr<emu::Program> program = translateToEmulator(kernel, *target);
  if (failed(program))
    return "the emulator cannot execute it";
  for (const Trial &trial : trials)
    for (uint64_t interleaving : options.interleavings)
      if (std::optional<std::string> wrong = emulate(*program, trial, interleaving))
        return wrong;
  return std::nullopt;
}

} // namespace soliton
