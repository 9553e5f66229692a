#include "soliton/driver/Auto.h"

#include "soliton/driver/Tuned.h"
#include "soliton/frontend/Program.h"
#include "soliton/target/Target.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace soliton {
using frontend::OpKind;
using frontend::OpRecord;
using frontend::Program;

namespace {
/// A tile of a product by matrix instructions of four waves, and how fast it is beside the fastest one where every
/// compute unit has work to the end: measured with f16 on an H200 (bench/results/h200-gemm.md).
struct ProductTile {
  int64_t rows, columns;
  double speed;
};
constexpr ProductTile kProductTiles[] = {
    {128, 256, 1.0}, {128, 192, 0.97}, {128, 128, 0.9}, {64, 128, 0.7}, {64, 64, 0.5}};
/// What an iteration takes of K: a row of 128 bytes, within which shared memory exchanges chunks. More of them, or
/// fewer columns, were no faster where there are few rows (docs/decisions/0038-boxes-rings-auto.md).
constexpr int64_t kRowBytes = 128;
/// Tiles of a band: their rows and columns stay in the second cache.
constexpr int64_t kRaster = 8;

/// The one product of a kernel, in a loop along its contracted dimension.
struct Product {
  Expr rows, columns, depth;
  DType type = DType::f16;
};

using Bindings = std::map<std::string, int64_t>;

Bindings bindingsOf(const CompileOptions &options) {
  Bindings known;
  for (const auto &[symbol, value] : options.subs)
    if (std::optional<int64_t> number = value.constantValue(); number && symbol.isSymbol())
      known[std::string(symbol.symbolName())] = *number;
  return known;
}

/// Nothing where a symbol has none, or a division would leave a rest.
std::optional<int64_t> valueOf(Expr expr, const Bindings &known) try {
  sym::Substitution numbers;
  for (sym::Expr symbol : sym::symbolsOf(expr))
    if (auto found = known.find(std::string(symbol.symbolName())); found != known.end())
      numbers.set(symbol, found->second);
  return sym::simplify(sym::substitute(expr, numbers)).constantValue();
} catch (const sym::ExprError &) {
  return std::nullopt;
}

/// Whether the factor is a tile of a tensor that passes through shared memory as it is.
bool isStaged(const Program &program, frontend::ValueId value) {
  std::optional<uint32_t> op = program.values[value].op;
  if (!op || program.ops[*op].kind != OpKind::read || program.ops[*op].firstDynamic < program.ops[*op].operands.size())
    return false;
  const frontend::Parameter &memory = program.parameters[program.ops[*op].memory];
  return !memory.isAllocated && memory.space == shared;
}

/// The one product that every iteration of a loop adds to; nothing where there are several, or one of another shape.
std::optional<Product> findProduct(const Program &program) {
  const OpRecord *found = nullptr;
  for (const frontend::Region &region : program.regions)
    for (uint32_t op : region.ops)
      if (program.ops[op].kind == OpKind::mma) {
        if (found || !region.axis)
          return std::nullopt;
        found = &program.ops[op];
      }
  if (!found || found->operands.size() != 3 || found->mma)
    return std::nullopt;
  const frontend::TileInfo &lhs = program.values[found->operands[0]].tile,
                           &rhs = program.values[found->operands[1]].tile;
  const std::vector<Expr> &acc = program.values[found->results[0]].tile.dims;
  if (acc.size() < 2 || lhs.type != rhs.type || !isStaged(program, found->operands[0]) ||
      !isStaged(program, found->operands[1]))
    return std::nullopt;
  Product product{acc[acc.size() - 2], acc.back(), {}, lhs.type.resolve()};
  for (Expr dim : lhs.dims)
    if (std::find(acc.begin(), acc.end(), dim) == acc.end())
      product.depth = dim;
  return product;
}

/// Values of open symbols for which constraints say what is wanted.
class Solver {
public:
  Solver(const CompileOptions &options) : known(bindingsOf(options)) {
    for (Expr symbol : options.dynamic)
      dynamic.insert(std::string(symbol.symbolName()));
  }

  /// Makes `expr` that number: by what is bound, or by binding the one symbol of it that is open.
  bool require(Expr expr, int64_t wanted) {
    if (std::optional<int64_t> value = valueOf(expr, known))
      return *value == wanted;
    std::optional<std::string> open;
    for (sym::Expr symbol : sym::symbolsOf(expr)) {
      std::string name(symbol.symbolName());
      if (known.contains(name))
        continue;
      if (open || dynamic.contains(name))
        return false;
      open = name;
    }
    for (int64_t value = 1; open && value <= 1024; ++value) {
      known[*open] = value;
      if (valueOf(expr, known) == wanted) {
        bound[*open] = value;
        return true;
      }
    }
    return false;
  }

  const Bindings &found() const { return bound; }
  std::optional<int64_t> sizeOf(Expr dim) const { return valueOf(dim, known); }

private:
  Bindings known, bound;
  std::set<std::string> dynamic;
};

std::string instructionOf(int64_t columns, DType type) {
  bool bytes = type == DType::i8;
  return (bytes ? "I32_64x" : "F32_64x") + std::to_string(columns) + (bytes ? "x32_I8" : "x16_F16");
}

/// How much of the machine the tiles keep busy: of whole rounds of all compute units, the part that has a tile.
double roundsFilled(const Product &product, const ProductTile &tile, const Solver &solver, const Target &target) {
  std::optional<int64_t> m = solver.sizeOf(product.rows), n = solver.sizeOf(product.columns);
  if (!m || !n || *m < 1 || *n < 1)
    return 1;
  int64_t tiles = ((*m + tile.rows - 1) / tile.rows) * ((*n + tile.columns - 1) / tile.columns);
  int64_t rounds = (tiles + target.computeUnits - 1) / target.computeUnits;
  // Rows and columns of tiles beyond the tensor are computed for nothing.
  double inside =
      static_cast<double>(*m) * static_cast<double>(*n) / static_cast<double>(tiles * tile.rows * tile.columns);
  return inside * static_cast<double>(tiles) / static_cast<double>(rounds * target.computeUnits);
}

/// The product by this tile, if the constraints leave it open or say it.
std::optional<std::pair<double, AutoChoice>> productBy(const ProductTile &tile, const Product &product,
                                                       const Program &program, const CompileOptions &options,
                                                       const Target &target) {
  auto *rows = program.findFor<WorkgroupConstraint>(product.rows),
       *columns = program.findFor<WorkgroupConstraint>(product.columns);
  auto *depth = program.findFor<TilingConstraint>(product.depth);
  auto *rowWaves = program.findFor<WaveConstraint>(product.rows),
       *columnWaves = program.findFor<WaveConstraint>(product.columns);
  if (!rows || !columns || !depth || !rowWaves)
    return std::nullopt;
  Solver solver(options);
  int64_t deep = kRowBytes * 8 / bits(product.type);
  constexpr int64_t rowsPerWave = 16;
  if (!solver.require(rows->tile, tile.rows) || !solver.require(columns->tile, tile.columns) ||
      !solver.require(depth->tile, deep) || !solver.require(rowWaves->tile, rowsPerWave) ||
      (columnWaves && !solver.require(columnWaves->tile, tile.columns)))
    return std::nullopt;
  double filled = roundsFilled(product, tile, solver, target);
  AutoChoice choice{options, ""};
  for (const auto &[name, value] : solver.found())
    choice.options.subs.emplace_back(symbol(name), value);
  choice.options.mma = instructionOf(tile.columns, product.type);
  choice.options.directCopies = true;
  choice.options.stagedWrites = true;
  if (choice.options.raster == 0)
    choice.options.raster = kRaster;
  choice.options.schedule.name = "ring";
  choice.why = "tiles of " + std::to_string(tile.rows) + " by " + std::to_string(tile.columns) + " by " +
               std::to_string(deep) + ", `" + choice.options.mma + "`, direct copies in a ring, bands of " +
               std::to_string(choice.options.raster) + " tiles: fills " + std::to_string(std::lround(100 * filled)) +
               " % of whole rounds, relative speed " + std::to_string(tile.speed).substr(0, 4);
  return std::pair(tile.speed * filled, std::move(choice));
}

/// Matrix instructions that several waves issue together, for elements of that type.
bool hasGroupInstructions(const Target &target, DType type) {
  return std::ranges::any_of(target.mmas, [&](const MmaKind &kind) {
    return kind.async && kind.lhs.type == type && kind.rhs.type == type && type != DType::f8e4m3fn &&
           type != DType::f8e5m2;
  });
}

bool hasLoopWithProduct(const Program &program) {
  return std::ranges::any_of(program.regions, [&](const frontend::Region &region) {
    return region.axis &&
           std::ranges::any_of(region.ops, [&](uint32_t op) { return program.ops[op].kind == OpKind::mma; });
  });
}
} // namespace

std::vector<AutoChoice> chooseAutomatically(const Kernel &kernel, const CompileOptions &options) {
  const Program &program = *kernel.program();
  const Target *target = findTarget(options.target);
  std::vector<std::pair<double, AutoChoice>> rows;
  std::optional<Product> product = findProduct(program);
  const auto *hardware = program.findAny<HardwareConstraint>();
  bool isOpen = options.mma.empty() && !(hardware && hardware->mma);
  if (target && product && isOpen && hasGroupInstructions(*target, product->type))
    for (const ProductTile &tile : kProductTiles)
      if (auto row = productBy(tile, *product, program, options, *target))
        rows.push_back(std::move(*row));
  std::ranges::stable_sort(rows, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<AutoChoice> choices;
  for (auto &[score, choice] : rows)
    choices.push_back(std::move(choice));
  if (hasLoopWithProduct(program)) {
    choices.push_back({options, "the algorithm that the model finds fastest"});
    choices.back().options.schedule.name = sched::kFastest;
  }
  choices.push_back({options, "the order of the program"});
  choices.back().options.schedule.name = "none";
  std::vector<AutoChoice> tuned = tunedChoices(kernel, options);
  choices.insert(choices.begin(), tuned.begin(), tuned.end());
  for (AutoChoice &choice : choices)
    choice.options = withDefaults(std::move(choice.options));
  return choices;
}

CompileOptions withDefaults(CompileOptions options) {
  auto isBound = [&](sym::Expr symbol) {
    return std::ranges::any_of(options.subs, [&](const auto &bound) { return bound.first == symbol; });
  };
  for (const auto &[symbol, value] : std::exchange(options.defaults, {}))
    if (!isBound(symbol))
      options.subs.emplace_back(symbol, value);
  return options;
}

static const Diagnostic *firstError(const std::vector<Diagnostic> &said) {
  auto wrong = std::ranges::find(said, Severity::error, &Diagnostic::severity);
  return wrong == said.end() ? nullptr : &*wrong;
}

void AutoRemarks::add(const AutoChoice &choice, bool taken, const std::vector<Diagnostic> &said) {
  const Diagnostic *wrong = taken ? nullptr : firstError(said);
  remarks.push_back(choice.remark(taken, wrong));
  reasons.push_back(wrong ? std::optional(std::pair(wrong->id, wrong->message)) : std::nullopt);
}

void AutoRemarks::add(const AutoChoice &misfit) {
  Diagnostic remark = misfit.remark(/*taken=*/false, nullptr);
  remark.message += ": " + misfit.misfit;
  remarks.push_back(std::move(remark));
  reasons.emplace_back();
}

std::vector<Diagnostic> AutoRemarks::beside(const std::vector<Diagnostic> &said) const {
  const Diagnostic *wrong = firstError(said);
  std::vector<Diagnostic> worthSaying;
  for (size_t i = 0; i < remarks.size(); ++i)
    if (!wrong || !reasons[i] || *reasons[i] != std::pair(wrong->id, wrong->message))
      worthSaying.push_back(remarks[i]);
  return worthSaying;
}

Diagnostic AutoChoice::remark(bool taken, const Diagnostic *wrong) const {
  std::string reason = wrong ? ": " + wrong->message + " [" + std::string(idText(wrong->id)) + "]" : "";
  return {Severity::remark,
          DiagId::AutoChoice,
          options.place,
          std::string(taken ? "`auto` took " : "`auto` passed over ") + why + reason,
          "",
          {}};
}

CompileAttempt compileByChoice(const Kernel &kernel, const CompileOptions &options,
                               const std::function<CompileAttempt(const CompileOptions &)> &compile) {
  CompileAttempt attempt = firstThatCompiles<CompileAttempt>(kernel, options, compile);
  if (attempt)
    for (Diagnostic &said : attempt.diagnostics)
      if (said.id == DiagId::AutoChoice)
        attempt.result->warnings.insert(attempt.result->warnings.begin(), said);
  return attempt;
}

} // namespace soliton
