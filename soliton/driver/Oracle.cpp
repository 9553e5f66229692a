#include "soliton/driver/Oracle.h"

#include "soliton/analysis/Access.h"
#include "soliton/analysis/Persistent.h"
#include "soliton/backend/emulator/Translate.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/runtime/Strided.h"
#include "soliton/support/Float.h"

#include <cmath>
#include <random>
#include <set>

namespace soliton {
using namespace wave;
using interp::Bytes;

//===-- What can be expected of a kernel ----------------------------------------------------------===//

static std::optional<DType> computedType(Operation *op) {
  auto tileOp = dyn_cast<TileOpInterface>(op);
  if (!tileOp || !llvm::is_contained({TileWork::pointwise, TileWork::contract, TileWork::reduce, TileWork::scan},
                                     tileOp.getWork()))
    return std::nullopt;
  std::optional<DType> type = dtypeOf(cast<TileType>(op->getResult(0).getType()).getElementType());
  return type && isFloat(*type) ? type : std::nullopt;
}

/// What the matrix instruction that the product names loses of a term: more than its type where its sums are short.
static double roundoffOf(MmaOp mma, const Geometry &geometry) {
  auto element = [](Value value) { return dtypeOf(cast<TileType>(value.getType()).getElementType()); };
  std::optional<DType> lhs = element(mma.getLhs()), rhs = element(mma.getRhs()), acc = element(mma.getAcc());
  if (!lhs || !rhs || !acc)
    return 0;
  std::optional<std::string> name = mma.getKind() ? std::optional(mma.getKind()->str()) : geometry.mmaName();
  MmaChoice choice = selectMma(geometry.target(), name ? std::optional<std::string_view>(*name) : std::nullopt,
                               {*lhs, *rhs, *acc, mma.isScaled()});
  return choice && choice.kind->sumBits ? std::ldexp(1.0, -static_cast<int>(choice.kind->sumBits)) : 0;
}

/// Whether integers stay integers: sums, products, comparisons and moves, no functions and no fractions.
static bool keepsIntegers(Operation *op) {
  if (auto tileOp = dyn_cast<TileOpInterface>(op); tileOp && tileOp.isTranscendental())
    return false;
  if (auto binary = dyn_cast<BinaryOp>(op))
    return !llvm::is_contained({BinaryKind::div, BinaryKind::pow, BinaryKind::atan2}, binary.getKind());
  // A product of a row of them is an integer, but too large for a float to hold.
  auto reduce = dyn_cast<ReduceOp>(op);
  auto scan = dyn_cast<ScanOp>(op);
  if ((reduce && reduce.getKind() == ReduceKind::prod) || (scan && scan.getKind() == ReduceKind::prod))
    return !computedType(op);
  if (auto fill = dyn_cast<FillOp>(op))
    if (auto number = dyn_cast<mlir::FloatAttr>(fill.getValue())) {
      double value = number.getValueAsDouble();
      return std::isinf(value) || value == std::trunc(value);
    }
  return true;
}

static int64_t evaluated(sym::Expr expr, const Geometry &geometry, const std::map<std::string, int64_t> &symbols) {
  sym::Environment environment;
  for (const auto &[name, value] : symbols)
    environment.set(sym::Expr::symbol(name), value);
  return sym::evaluate(geometry.bind(expr), environment);
}

//===-- Inputs --------------------------------------------------------------------------------------===//

/// Symbols that are strides of parameters and in no extent of one.
static std::set<std::string> strideSymbols(KernelOp kernel, const Geometry &geometry) {
  std::set<std::string> strides, extents;
  for (BlockArgument argument : kernel.block().getArguments()) {
    auto memory = dyn_cast<MemoryType>(argument.getType());
    if (!memory)
      continue;
    for (ExprAttr stride : memory.getStrides())
      if (sym::Expr bound = geometry.bind(stride.getValue()); bound.isSymbol())
        strides.insert(std::string(bound.symbolName()));
    for (ExprAttr extent : memory.getShape())
      for (sym::Expr symbol : sym::symbolsOf(geometry.bind(extent.getValue())))
        extents.insert(std::string(symbol.symbolName()));
  }
  for (const std::string &name : extents)
    strides.erase(name);
  return strides;
}

/// Symbols that are strides and nothing else get numbers for which every element has a place of its own, with gaps.
void Oracle::chooseStrides(KernelOp kernel, const Geometry &geometry) {
  std::set<std::string> strides = strideSymbols(kernel, geometry);
  auto arguments = kernel.block().getArguments();
  for (const auto &[name, value] : options.symbols)
    strides.erase(name);
  for (const std::string &name : strides)
    symbols[name] = 1;
  // What lies further out follows from what lies further in, and one symbol may be both: a round for each.
  constexpr int64_t kUnit = 16;
  for (size_t round = 0; round <= strides.size(); ++round)
    for (BlockArgument argument : arguments) {
      auto memory = dyn_cast<MemoryType>(argument.getType());
      if (!memory || !memory.isStrided())
        continue;
      int64_t reach = 0;
      SmallVector<std::pair<int64_t, std::string>> open;
      for (auto [extent, stride] : llvm::zip(memory.getShape(), memory.getStrides())) {
        sym::Expr bound = geometry.bind(stride.getValue());
        int64_t last = std::max<int64_t>(evaluated(extent.getValue(), geometry, symbols) - 1, 0);
        if (bound.isSymbol() && strides.contains(std::string(bound.symbolName())))
          open.emplace_back(last, std::string(bound.symbolName()));
        else
          reach += last * evaluated(bound, geometry, symbols);
      }
      for (auto &[last, name] : llvm::reverse(open)) {
        symbols[name] = std::max(symbols[name], (reach / kUnit + 2) * kUnit);
        reach += last * symbols[name];
      }
    }
}

LogicalResult Oracle::chooseSymbols(KernelOp kernel) {
  FailureOr<Geometry> geometry = Geometry::of(kernel);
  if (failed(geometry))
    return failure();
  for (int64_t base : {5, 37, 64, 129, 256, 512}) {
    symbols = options.symbols;
    for (auto [i, name] : llvm::enumerate(dynamic))
      symbols.try_emplace(name, base + (base % 2 ? 2 * static_cast<int64_t>(i) : 0));
    chooseStrides(kernel, *geometry);
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
    if (!writes(user, argument) || cast<AccessOpInterface>(user).getAtomicKind())
      return false;
    written = true;
  }
  return written;
}

/// The type that the bits of a memory are read as by all who read it: bytes of `f4`, or of scales. Inputs are numbers
/// of that type, since any bits may be numbers that nobody can add.
static Type bitsReadAs(BlockArgument argument) {
  Type found;
  for (Operation *user : argument.getUsers()) {
    if (isa<PrefetchOp>(user))
      continue;
    auto read = dyn_cast<ReadOp>(user);
    if (!read)
      return {};
    for (Operation *taker : read.getResult().getUsers()) {
      auto cast = dyn_cast<BitcastOp>(taker);
      Type type = cast ? cast.getResult().getType().getElementType() : Type();
      if (!type || (found && found != type))
        return {};
      found = type;
    }
  }
  return found;
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
  if (std::optional<int64_t> most = persistentWorkgroups(kernel))
    grid[0] = std::min(grid[0], static_cast<uint32_t>(*most));
  // The program was traced before workgroups of a cluster share its tiles.
  grid[0] *= static_cast<uint32_t>(kernel.getCluster().value_or(1));
  for (auto [argument, name] : llvm::zip(kernel.block().getArguments(), kernel.getArgNames())) {
    auto memory = dyn_cast<MemoryType>(argument.getType());
    std::optional<DType> type = dtypeOf(memory ? memory.getElementType() : argument.getType());
    if (!type)
      return report(kernel.getLoc(), DiagId::PassChangedMeaning)
             << "parameter " << name << " has a type that has no inputs";
    std::vector<int64_t> extents;
    if (memory)
      for (ExprAttr extent : memory.getShape())
        extents.push_back(evaluated(extent.getValue(), *geometry, symbols));
    std::optional<rt::Tensor> view;
    if (memory && memory.isStrided()) {
      std::vector<int64_t> strides;
      for (ExprAttr stride : memory.getStrides())
        strides.push_back(evaluated(stride.getValue(), *geometry, symbols));
      view = rt::Tensor::strided(nullptr, *type, extents, strides);
    }
    Type bitsAs = memory ? bitsReadAs(argument) : Type();
    if (std::optional<DType> readAs = bitsAs ? dtypeOf(bitsAs) : std::nullopt;
        readAs && isFloat(*readAs) && extents.back() * bits(*type) % bits(*readAs) == 0 &&
        bits(*readAs) <= bits(*type)) {
      extents.back() = extents.back() * bits(*type) / bits(*readAs);
      type = readAs;
    }
    bool isCounter = kernel.getTickets() && argument == kernel.block().getArguments().back();
    arguments.push_back({cast<StringAttr>(name).getValue().str(), *type, interp::Packing(*type, extents), !memory,
                         memory && isOnlyWritten(argument), isCounter, view});
  }
  exact = true;
  kernel.walk([&](Operation *op) {
    exact &= keepsIntegers(op);
    if (std::optional<DType> type = computedType(op))
      roundoff = std::max(roundoff, epsilon(*type) / 2);
    roundings += 8;
    if (auto mma = dyn_cast<MmaOp>(op)) {
      roundings += static_cast<double>(evaluated(sizeSymbol(mma.getContractedDim().getValue()), *geometry, symbols));
      roundoff = std::max(roundoff, roundoffOf(mma, *geometry));
    }
    if (auto reduce = dyn_cast<ReduceOp>(op))
      roundings += static_cast<double>(evaluated(sizeSymbol(reduce.getDim()), *geometry, symbols));
    if (auto scan = dyn_cast<ScanOp>(op))
      roundings += static_cast<double>(evaluated(sizeSymbol(scan.getDim()), *geometry, symbols));
  });
  return success();
}

double Oracle::Argument::get(const Bytes &bytes, size_t at) const {
  return decode(type, packing.load(bytes, at));
}

interp::Inputs Oracle::makeInputs(KernelOp kernel, bool integers) const {
  constexpr int64_t kSmall = 3, kLarge = 100;
  std::mt19937_64 random(options.seed * 2 + integers);
  auto draw = [&](DType type) -> double {
    int64_t most = integers ? kSmall : kLarge;
    if (type == DType::f8e8m0fnu) // has powers of two only
      return std::exp2(static_cast<double>(random() % (integers ? 2 : 41)) - (integers ? 0 : 20));
    if (integers || isInteger(type))
      return static_cast<double>(static_cast<int64_t>(random() % static_cast<uint64_t>(2 * most + 1)) - most);
    return static_cast<double>(static_cast<int64_t>(random()) >> 10) * 0x1p-53;
  };
  interp::Inputs inputs;
  inputs.symbols = symbols;
  for (const Argument &argument : arguments) {
    Bytes bytes(argument.packing.bytes(), argument.isCounter ? 0 : 0xff);
    bool isDrawn = !argument.isOutput && !argument.isCounter;
    for (size_t i = 0; i < argument.packing.elements() && isDrawn; ++i)
      argument.packing.store(bytes, i, encode(argument.type, draw(argument.type)));
    inputs.arguments.push_back(std::move(bytes));
  }
  return inputs;
}

interp::Inputs Oracle::absolute(const interp::Inputs &inputs) const {
  interp::Inputs result = inputs;
  for (auto [argument, bytes] : llvm::zip(arguments, result.arguments))
    for (size_t i = 0; i < argument.packing.elements() && !argument.isOutput; ++i)
      argument.packing.store(bytes, i, encode(argument.type, std::abs(argument.get(bytes, i))));
  return result;
}

static FailureOr<std::vector<Bytes>> runTraced(KernelOp kernel, const interp::Inputs &inputs) {
  interp::Result result = interp::run(kernel, inputs);
  if (result.ok())
    return result.arguments;
  return report(kernel.getLoc(), DiagId::PassChangedMeaning)
         << "the traced program has no meaning to compare with: " << format(result.diagnostics);
}

/// What elements are moved by in the mean, relative to the size of what they are sums of.
static double typicalMove(const std::vector<double> &moved, const std::vector<double> &sizes) {
  double squares = 0, count = 0;
  for (auto [by, size] : llvm::zip_equal(moved, sizes))
    if (std::isfinite(by) && size > 0 && std::isfinite(size)) {
      squares += by / size * (by / size);
      ++count;
    }
  return count ? std::sqrt(squares / count) : 0;
}

/// How far noise of this kind moves each element: the most of some runs. Since few runs say little of one element and
/// much of all, a float is moved by what is typical of its size at least. Infinite where noise leaves no number.
FailureOr<std::vector<std::vector<double>>> Oracle::effectOf(interp::NoiseKind noise, KernelOp kernel,
                                                             const Trial &trial, const Sizes &sizes) const {
  std::vector<std::vector<double>> moved;
  for (const std::vector<double> &each : sizes)
    moved.emplace_back(each.size());
  interp::Inputs inputs = trial.inputs;
  inputs.noise = noise;
  for (uint64_t seed : {2, 3}) { // opposite directions
    inputs.noiseSeed = seed;
    FailureOr<std::vector<Bytes>> noisy = runTraced(kernel, inputs);
    if (failed(noisy))
      return failure();
    for (auto [a, argument] : llvm::enumerate(arguments))
      for (auto [i, most] : llvm::enumerate(moved[a])) {
        double is = argument.get(trial.expected[a], i), by = std::abs(argument.get((*noisy)[a], i) - is);
        most = std::isnan(is) ? 0 : std::isnan(by) ? std::numeric_limits<double>::infinity() : std::max(most, by);
      }
  }
  for (auto [argument, each, size] : llvm::zip_equal(arguments, moved, sizes)) {
    double typical = isFloat(argument.type) ? typicalMove(each, size) : 0;
    for (auto [by, of] : llvm::zip_equal(each, size))
      by = std::max(by, typical * of);
  }
  return moved;
}

LogicalResult Oracle::addTolerance(KernelOp kernel, Trial &trial) const {
  FailureOr<std::vector<Bytes>> magnitude = runTraced(kernel, absolute(trial.inputs));
  if (failed(magnitude))
    return failure();
  Sizes sizes(arguments.size());
  for (auto [a, argument] : llvm::enumerate(arguments))
    for (size_t i = 0; i < argument.packing.elements(); ++i)
      sizes[a].push_back(
          std::max(std::abs(argument.get((*magnitude)[a], i)), std::abs(argument.get(trial.expected[a], i))));
  auto sums = effectOf(interp::NoiseKind::sums, kernel, trial, sizes);
  auto steps = effectOf(interp::NoiseKind::steps, kernel, trial, sizes);
  if (failed(sums) || failed(steps))
    return failure();
  for (auto [a, argument] : llvm::enumerate(arguments)) {
    std::vector<double> &tolerance = trial.tolerance.emplace_back();
    for (auto [i, size] : llvm::enumerate(sizes[a])) {
      double likely = (*sums)[a][i] + 3 * (*steps)[a][i];
      if (!isFloat(argument.type)) { // counts and places that depend on comparisons of floats
        tolerance.push_back(likely);
        continue;
      }
      likely += 32 * epsilon(DType::f32) * size;
      double bound = std::min(2 * roundings * roundoff * size, likely);
      double value = std::abs(argument.get(trial.expected[a], i)) + bound;
      tolerance.push_back(
          bound + std::max(decode(argument.type, 1), epsilon(argument.type) * std::exp2(std::floor(std::log2(value)))));
    }
  }
  return success();
}

/// What lies between the elements of an argument.
static constexpr std::byte kGap{0xa5};

/// An argument's elements where its memory has them; elements that share a place become one.
Bytes Oracle::placed(const Argument &argument, const Bytes &dense) const {
  if (!argument.view)
    return dense;
  std::vector<std::byte> bytes = rt::spread(*argument.view, std::as_bytes(std::span(dense)), kGap);
  Bytes result(bytes.size());
  llvm::transform(bytes, result.begin(), [](std::byte each) { return static_cast<uint8_t>(each); });
  return result;
}

/// The elements of an argument's memory, row by row.
static Bytes gathered(const rt::Tensor &view, const Bytes &placed) {
  std::vector<std::byte> bytes = rt::gather(view, std::as_bytes(std::span(placed)));
  Bytes result(bytes.size());
  llvm::transform(bytes, result.begin(), [](std::byte each) { return static_cast<uint8_t>(each); });
  return result;
}

LogicalResult Oracle::addTrial(KernelOp kernel, interp::Inputs inputs, bool mayDiffer) {
  Trial trial;
  for (auto [argument, bytes] : llvm::zip(arguments, inputs.arguments))
    if (argument.view && bytes.size() == argument.packing.bytes()) // otherwise the interpreter says so
      bytes = gathered(*argument.view, placed(argument, bytes));
  trial.inputs = std::move(inputs);
  FailureOr<std::vector<Bytes>> expected = runTraced(kernel, trial.inputs);
  if (failed(expected))
    return failure();
  trial.expected = *expected;
  if (mayDiffer && failed(addTolerance(kernel, trial)))
    return failure();
  trials.push_back(std::move(trial));
  return success();
}

FailureOr<Oracle> Oracle::of(KernelOp kernel, const OracleOptions &options) {
  Oracle oracle;
  oracle.options = options;
  try {
    if (failed(oracle.prepare(kernel)))
      return failure();
    bool isGiven = !options.arguments.empty();
    bool mayDiffer = options.mayDiffer && !(options.integers && oracle.exact);
    if (isGiven && failed(oracle.addTrial(kernel, {options.arguments, oracle.symbols}, mayDiffer)))
      return failure();
    for (bool integers : {true, false})
      if (!isGiven && failed(oracle.addTrial(kernel, oracle.makeInputs(kernel, integers), !integers || !oracle.exact)))
        return failure();
  } catch (const sym::ExprError &error) {
    return report(kernel.getLoc(), DiagId::ExpressionInvalid) << "a size of the kernel has no value: " << error.what();
  }
  return oracle;
}

//===-- Verdicts --------------------------------------------------------------------------------------===//

std::optional<std::string> Oracle::compare(const Trial &trial, const std::vector<Bytes> &found) const {
  for (auto [a, argument] : llvm::enumerate(arguments)) {
    if (argument.isCounter || found[a] == trial.expected[a])
      continue;
    for (size_t i = 0; i < argument.packing.elements(); ++i) {
      double is = argument.get(found[a], i), expected = argument.get(trial.expected[a], i);
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
  std::vector<Bytes> memory;
  for (auto [argument, bytes] : llvm::zip(arguments, trial.inputs.arguments))
    memory.push_back(placed(argument, bytes));
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
  for (auto [argument, bytes] : llvm::zip(arguments, memory)) {
    if (!argument.view)
      continue;
    if (!rt::isGapIntact(*argument.view, std::as_bytes(std::span(bytes)), kGap))
      return "it writes between the elements of `" + argument.name + "`";
    bytes = gathered(*argument.view, bytes);
  }
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
