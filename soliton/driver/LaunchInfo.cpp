#include "soliton/driver/LaunchInfo.h"

#include "soliton/analysis/Persistent.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/runtime/Overlap.h"
#include "soliton/schedule/WholeFacts.h"
#include "soliton/transforms/Tickets.h"

namespace soliton {
using namespace wave;
using rt::LaunchExpr;
using rt::LaunchOp;

namespace {
/// Turns expressions into the small programs that a launch evaluates.
class LaunchExprs {
public:
  explicit LaunchExprs(std::vector<std::string> symbols, bool forWorkgroups = false)
      : names(std::move(symbols)), forWorkgroups(forWorkgroups) {}

  const std::vector<std::string> &symbols() const { return names; }

  LaunchExpr convert(sym::Expr expr) const {
    if (std::optional<int64_t> value = expr.constantValue())
      return *value;
    if (expr.isSymbol())
      return LaunchExpr::symbol(
          static_cast<uint32_t>(std::distance(names.begin(), llvm::find(names, std::string(expr.symbolName())))));
    std::vector<LaunchExpr> operands;
    for (sym::Expr operand : expr.operands())
      operands.push_back(convert(operand));
    LaunchOp op = operation(expr.kind());
    if (forWorkgroups && (op == LaunchOp::floordiv || op == LaunchOp::ceildiv || op == LaunchOp::mod))
      operands.back() = LaunchExpr::apply(LaunchOp::max, {operands.back(), 1});
    if (rt::arity(op) != 2)
      return LaunchExpr::apply(op, operands);
    LaunchExpr result = operands.front();
    for (const LaunchExpr &operand : ArrayRef(operands).drop_front())
      result = LaunchExpr::apply(op, {result, operand});
    return result;
  }

private:
  static LaunchOp operation(sym::Kind kind) {
    switch (kind) {
    case sym::Kind::add:
      return LaunchOp::add;
    case sym::Kind::mul:
      return LaunchOp::mul;
    case sym::Kind::exactDiv:
    case sym::Kind::floordiv:
      return LaunchOp::floordiv;
    case sym::Kind::ceildiv:
      return LaunchOp::ceildiv;
    case sym::Kind::mod:
      return LaunchOp::mod;
    case sym::Kind::min:
      return LaunchOp::min;
    case sym::Kind::max:
      return LaunchOp::max;
    case sym::Kind::select:
      return LaunchOp::select;
    case sym::Kind::lt:
      return LaunchOp::lt;
    case sym::Kind::le:
      return LaunchOp::le;
    case sym::Kind::eq:
      return LaunchOp::eq;
    case sym::Kind::ne:
      return LaunchOp::ne;
    case sym::Kind::logicalAnd:
      return LaunchOp::logicalAnd;
    case sym::Kind::logicalOr:
      return LaunchOp::logicalOr;
    case sym::Kind::logicalNot:
      return LaunchOp::logicalNot;
    case sym::Kind::bitXor:
      return LaunchOp::bitXor;
    case sym::Kind::shl:
      return LaunchOp::shl;
    case sym::Kind::shr:
      return LaunchOp::shr;
    case sym::Kind::constant:
    case sym::Kind::symbol:
      break;
    }
    return LaunchOp::constant;
  }

  std::vector<std::string> names;
  /// What is only asked where there is a workgroup: a count of them that divides is at least 1, whatever it is without.
  bool forWorkgroups;
};
} // namespace

static rt::ArgumentSpec describeArgument(BlockArgument argument, StringRef name, const Geometry &geometry,
                                         const LaunchExprs &exprs) {
  rt::ArgumentSpec spec;
  spec.name = name.str();
  spec.place = placeOf(argument.getLoc());
  auto memory = dyn_cast<MemoryType>(argument.getType());
  if (!memory) {
    spec.kind = rt::ArgumentKind::scalar;
    // A number is passed as registers hold it: an index has 64 bits.
    spec.dtype = argument.getType().isIndex() ? DType::i64 : dtypeOf(argument.getType()).value_or(DType::i32);
    return spec;
  }
  spec.dtype = dtypeOf(memory.getElementType()).value_or(DType::f32);
  spec.byteLimit = 0; // what offsets rely on is among the checks
  for (ExprAttr extent : memory.getShape())
    spec.shape.push_back(exprs.convert(sym::simplify(geometry.bind(extent.getValue()), geometry.factsAtLaunch())));
  for (ExprAttr stride : memory.getStrides())
    spec.strides.push_back(exprs.convert(sym::simplify(geometry.bind(stride.getValue()), geometry.factsAtLaunch())));
  return spec;
}

/// Which arguments are read and written, and which pairs may be one array. Two that are written never may: the order of
/// their writes is nobody's promise.
static void describeAccesses(KernelOp kernel, const WholeKernel &whole, rt::KernelImage &image) {
  for (rt::ArgumentSpec &argument : image.arguments)
    argument.isRead = argument.kind == rt::ArgumentKind::scalar;
  auto argumentOf = [&](int region) { return cast<BlockArgument>(whole.memories[region]).getArgNumber(); };
  // What lies in the workspace is nobody's argument.
  auto isGiven = [&](int region) { return argumentOf(region) < image.arguments.size(); };
  sched::whole::forEachNode(whole.kernel.body, [&](const sched::whole::Node &node) {
    for (const sched::whole::Access &access : node.accesses)
      if (whole.kernel.regions[access.region].space == sched::Space::Global && isGiven(access.region)) {
        rt::ArgumentSpec &argument = image.arguments[argumentOf(access.region)];
        (access.write ? argument.isOutput : argument.isRead) = true;
      }
  });
  for (const sched::whole::Aliasing &pair : sched::whole::findAliasing(whole.kernel))
    // A stable memory is written by no launch, so it is no array that this one writes.
    if (isGiven(pair.read) && isGiven(pair.written) && pair.inPlace &&
        !image.arguments[argumentOf(pair.read)].isOutput &&
        !kernel.isStable(cast<BlockArgument>(whole.memories[pair.read])))
      image.mayAliasExactly.push_back({argumentOf(pair.read), argumentOf(pair.written)});
}

/// How often the extent `K/32` goes into `K`: 32; nothing for one that is no such part of the symbol. Facts may have
/// given the extent another form.
static std::optional<uint32_t> factorOf(sym::Expr extent, sym::Expr symbol, const sym::Facts &facts) {
  constexpr int64_t kSample = 1 << 20;
  if (sym::symbolsOf(extent) != std::vector<sym::Expr>{symbol})
    return std::nullopt;
  sym::Environment sample;
  sample.set(symbol, kSample);
  try {
    int64_t part = sym::evaluate(extent, sample);
    int64_t factor = part > 0 && kSample % part == 0 ? kSample / part : 0;
    bool fits = factor > 0 && sym::prove(sym::eq(extent * factor, symbol), facts) == std::optional(true);
    return fits ? std::optional(static_cast<uint32_t>(factor)) : std::nullopt;
  } catch (const sym::ExprError &) {
    return std::nullopt;
  }
}

/// The first argument that has the symbol as a stride.
static std::optional<rt::SymbolSpec> findStride(const std::string &name, mlir::Block::BlockArgListType given,
                                                const Geometry &geometry) {
  for (auto [i, argument] : llvm::enumerate(given))
    if (auto memory = dyn_cast<MemoryType>(argument.getType()))
      for (auto [d, stride] : llvm::enumerate(memory.getStrides()))
        if (geometry.bind(stride.getValue()) == sym::Expr::symbol(name))
          return rt::SymbolSpec{name, static_cast<uint32_t>(i), static_cast<uint32_t>(d), 0, 1, /*isStride=*/true};
  return std::nullopt;
}

/// Where a dynamic symbol's value comes from: the first argument that has it as an extent, or has a number more, or has
/// a part of it, the largest there is, or has it as a stride.
static rt::SymbolSpec describeSymbol(const std::string &name, KernelOp kernel, const Geometry &geometry) {
  rt::SymbolSpec spec{name, std::nullopt, 0}, part = spec;
  sym::Expr symbol = sym::Expr::symbol(name);
  auto given = kernel.block().getArguments().take_front(kernel.numGivenParameters());
  for (bool exactly : {true, false})
    for (auto [i, argument] : llvm::enumerate(given))
      if (auto memory = dyn_cast<MemoryType>(argument.getType()))
        for (auto [d, attribute] : llvm::enumerate(memory.getShape())) {
          sym::Expr extent = geometry.bind(attribute.getValue());
          std::optional<int64_t> more = (extent - symbol).constantValue();
          if (!spec.argument && more && (*more == 0 || !exactly))
            spec = {name, static_cast<uint32_t>(i), static_cast<uint32_t>(d), *more};
          if (auto factor = factorOf(extent, symbol, geometry.factsAtLaunch());
              factor && (!part.argument || *factor < part.factor))
            part = {name, static_cast<uint32_t>(i), static_cast<uint32_t>(d), 0, *factor};
        }
  if (spec.argument || part.argument)
    return spec.argument ? spec : part;
  return findStride(name, given, geometry).value_or(spec);
}

rt::KernelImage describeLaunch(KernelOp kernel, const Geometry &geometry, const WholeKernel &whole) {
  std::vector<std::string> dynamic;
  for (Attribute name : kernel.getDynamic())
    dynamic.push_back(cast<StringAttr>(name).getValue().str());
  LaunchExprs exprs(std::move(dynamic));
  rt::KernelImage image;
  image.kernel = image.entry = kernel.getSymName().str();
  image.place = placeOf(kernel.getLoc());
  image.target = geometry.target().name;
  image.threads = {static_cast<uint32_t>(geometry.allWaves() * geometry.waveSize()), 1, 1};
  for (auto [to, size] : llvm::zip(image.grid, geometry.launchGrid()))
    to = exprs.convert(sym::simplify(size, geometry.factsAtLaunch()));
  if (std::optional<int64_t> most = persistentWorkgroups(kernel))
    image.grid[0] = exprs.convert(sym::simplify(sym::min(geometry.launchGrid()[0], *most), geometry.factsAtLaunch()));
  if (kernel.getTickets())
    image.workspace = {kTicketBytes, {{0, kTicketBytes}}};
  auto given = kernel.block().getArguments().take_front(kernel.numGivenParameters());
  for (auto [argument, name] : llvm::zip(given, kernel.getArgNames()))
    image.arguments.push_back(describeArgument(argument, cast<StringAttr>(name).getValue(), geometry, exprs));
  describeAccesses(kernel, whole, image);
  for (const std::string &name : exprs.symbols())
    image.symbols.push_back(describeSymbol(name, kernel, geometry));
  for (ExprAttr assumption : kernel.getGeometryAttr().getAssumptions().getAsRange<ExprAttr>()) {
    sym::Expr predicate = assumption.getValue();
    image.checks.push_back({exprs.convert(predicate), "the kernel assumes `" + sym::toString(predicate) + "`"});
  }
  return image;
}

/// All of them as numbers; nothing where one is not.
static std::optional<std::vector<int64_t>> numbersOf(const std::vector<LaunchExpr> &exprs) {
  std::vector<int64_t> numbers;
  for (const LaunchExpr &expr : exprs) {
    std::optional<int64_t> number = expr.constantValue();
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

LogicalResult checkCounts(KernelOp kernel, const rt::KernelImage &image) {
  for (auto [argument, spec] : llvm::zip(kernel.block().getArguments(), image.arguments))
    if (spec.shape.size() > rt::kMaxRank)
      return report(argument.getLoc(), DiagId::LaunchLimit).hint("make one dimension of several")
             << "`" << spec.name << "` has " << spec.shape.size() << " dimensions, a launch can pass " << rt::kMaxRank;
  for (auto [count, most, what] : {std::tuple(image.arguments.size(), rt::kMaxArguments, "arguments"),
                                   std::tuple(image.symbols.size(), rt::kMaxSymbols, "sizes known at launch")})
    if (count > most)
      return report(kernel.getLoc(), DiagId::LaunchLimit).hint("put several into one memory, or bind sizes to numbers")
             << "the kernel has " << count << " " << what << ", a launch can pass " << most;
  return success();
}

LogicalResult checkPlaces(KernelOp kernel, const rt::KernelImage &image) {
  for (auto [argument, spec] : llvm::zip(kernel.block().getArguments(), image.arguments)) {
    std::optional<std::vector<int64_t>> shape = numbersOf(spec.shape), strides = numbersOf(spec.strides);
    if (!spec.isOutput || spec.strides.empty() || !shape || !strides)
      continue;
    if (std::optional<int> dim = rt::dimThatOverlaps(rt::Tensor::strided(nullptr, spec.dtype, *shape, *strides)))
      return report(argument.getLoc(), DiagId::ArgumentSelfOverlap).hint("give every element a place of its own")
             << "the kernel writes `" << spec.name
             << "`, and its elements may share memory: neighbours along dimension " << *dim << " lie "
             << (*strides)[static_cast<size_t>(*dim)] << " elements apart";
  }
  return success();
}

static std::vector<std::string> namesOf(const std::vector<rt::SymbolSpec> &symbols) {
  std::vector<std::string> names;
  for (const rt::SymbolSpec &symbol : symbols)
    names.push_back(symbol.name);
  return names;
}

rt::LaunchExpr launchExpr(sym::Expr expr, const std::vector<rt::SymbolSpec> &symbols) {
  return LaunchExprs(namesOf(symbols)).convert(expr);
}

void addLimits(rt::KernelImage &image, machine::KernelOp kernel) {
  auto limits = kernel->getAttrOfType<ArrayAttr>(machine::kLimits);
  if (!limits)
    return;
  LaunchExprs launch(namesOf(image.symbols), /*forWorkgroups=*/true);
  for (StringRef limit : limits.getAsValueRange<StringAttr>())
    image.checks.push_back(
        {launch.convert(sym::parse(limit)),
         "it was compiled for tensors of which one workgroup touches parts less than 2 GiB apart, `" + limit.str() +
             "`; `wideOffsets` compiles it for any"});
}

/// The argument that the kernel's parameter of that number is; nothing for the workspace, which follows the buffers.
static std::optional<uint32_t> bufferOf(const rt::KernelImage &image, int64_t parameter) {
  for (auto [i, argument] : llvm::enumerate(image.arguments))
    if (argument.kind == rt::ArgumentKind::buffer && parameter-- == 0)
      return static_cast<uint32_t>(i);
  return std::nullopt;
}

void addNeeds(rt::KernelImage &image, machine::KernelOp kernel) {
  for (auto [to, from] : llvm::zip(image.cluster, kernel.getCluster().value_or(ArrayRef<int64_t>())))
    to = static_cast<uint32_t>(from);
  image.isDependent = kernel.getDependent();
  if (!kernel.getMaps())
    return;
  LaunchExprs launch(namesOf(image.symbols), /*forWorkgroups=*/true);
  for (auto map : kernel.getMapsAttr().getAsRange<machine::TensorMapAttr>()) {
    rt::TensorMapSpec spec;
    spec.argument = bufferOf(image, map.getArgument());
    spec.offset = launch.convert(map.getOffset());
    spec.dtype = dtypeOf(map.getElement()).value_or(DType::f32);
    for (sym::Expr size : map.getSizes())
      spec.sizes.push_back(launch.convert(size));
    for (sym::Expr stride : map.getStrides())
      spec.strides.push_back(launch.convert(stride));
    spec.box.assign(map.getBox().begin(), map.getBox().end());
    spec.swizzle = static_cast<uint32_t>(map.getSwizzle());
    spec.lower.assign(map.getLower().begin(), map.getLower().end());
    spec.upper.assign(map.getUpper().begin(), map.getUpper().end());
    spec.steps.assign(map.getSteps().begin(), map.getSteps().end());
    if (spec.argument)
      image.arguments[*spec.argument].alignment =
          std::max(image.arguments[*spec.argument].alignment, rt::kTensorMapAlignment);
    image.tensorMaps.push_back(std::move(spec));
  }
}

} // namespace soliton
