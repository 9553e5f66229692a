#include "soliton/frontend/Bind.h"

#include "soliton/frontend/Simt.h"
#include "soliton/frontend/Tracer.h"

#include <algorithm>
#include <array>
#include <set>

using namespace soliton;
using namespace soliton::frontend;

namespace {

/// An expression of the kernel's text and where it stands.
struct Use {
  Expr expr;
  Place place;
  /// Says what it is: "the workgroup tile of `M`".
  std::string what;
  /// `function` is one of something that has no place: `$x`. `hint` and `stride` may be 0.
  enum Role { size, stride, tile, other, function, hint } role = other;
};

/// Every expression of a program, in the author's order.
std::vector<Use> collectUses(const Program &program) {
  std::vector<Use> uses;
  for (const Parameter &parameter : program.parameters)
    for (Expr extent : parameter.shape)
      if (extent.isDefined()) // what is not was reported where it was written
        uses.push_back({extent, parameter.place, "the shape of " + quoted(parameter.name), Use::size});
  for (const Parameter &parameter : program.parameters)
    for (Expr stride : parameter.strides)
      if (stride.isDefined())
        uses.push_back({stride, parameter.place, "the strides of " + quoted(parameter.name), Use::stride});
  auto add = [&](const std::optional<Expr> &expr, const Place &place, std::string what, Use::Role role = Use::other) {
    if (expr && expr->isDefined())
      uses.push_back({*expr, place, std::move(what), role});
  };
  Expr x = Expr::symbol("$x");
  for (const AnyConstraint &constraint : program.constraints) {
    if (auto *each = std::get_if<WorkgroupConstraint>(&constraint)) {
      add(each->tile, each->place, "the workgroup tile of " + quoted(each->dim), Use::tile);
      add(each->options.iters, each->place, "the workgroups of " + quoted(each->dim));
      if (each->options.primary && !each->options.iters) // no tensor needs to have it
        add(each->dim, each->place, "the workgroups of " + quoted(each->dim), Use::size);
      if (each->options.apply_fn)
        add(applied(each->options.apply_fn, Expr::symbol("$WG")), each->place, "`apply_fn` of " + quoted(each->dim));
    } else if (auto *each = std::get_if<TilingConstraint>(&constraint)) {
      add(each->tile, each->place, "the loop tile of " + quoted(each->dim), Use::tile);
      // Those that `set_symbol` decides are the loops' own.
      if (!program.speaksOfEverSet(each->options.iters))
        add(each->options.iters, each->place, "the iterations of " + quoted(each->dim));
      if (!program.speaksOfEverSet(each->options.start))
        add(each->options.start, each->place, "the loop's start along " + quoted(each->dim));
    } else if (auto *each = std::get_if<WaveConstraint>(&constraint)) {
      add(each->tile, each->place, "the wave tile of " + quoted(each->dim), Use::tile);
    } else if (auto *each = std::get_if<HardwareConstraint>(&constraint)) {
      for (const auto &[dim, shape] : each->vector_shapes)
        add(shape, each->place, "the vector shape of " + quoted(dim), Use::hint);
    } else if (auto *each = std::get_if<GridConstraint>(&constraint)) {
      add(each->size, each->place, "the grid");
    } else if (auto *each = std::get_if<ReorderingConstraint>(&constraint)) {
      add(each->equation, each->place, "the reordering of workgroups");
    } else if (auto *each = std::get_if<SymbolicAlias>(&constraint)) {
      add(applied(each->source_to_target, x), each->place, "the alias of " + quoted(each->source), Use::function);
    } else if (auto *each = std::get_if<Assumption>(&constraint)) {
      add(each->predicate, each->place, "the assumption");
    }
  }
  for (const OpRecord &op : program.ops) {
    add(op.elementsPerThread, op.place, "`elements_per_thread`", Use::tile);
    if (op.kind == OpKind::applyExpr)
      add(op.expr, op.place, "the expression of `apply_expr`", Use::function);
    if (op.kind == OpKind::conditional || op.kind == OpKind::exit)
      add(op.expr, op.place, "the condition");
    add(op.count, op.place, "the number of iterations");
    // A loop whose constraint counts its iterations needs no size.
    if (op.kind == OpKind::iterate && !op.count) {
      auto *tiling = program.findFor<TilingConstraint>(op.expr);
      if (!tiling || !tiling->options.iters)
        add(op.expr, op.place, "the loop's axis", Use::size);
      else if (program.speaksOfEverSet(tiling->options.iters)) // but not here
        add(tiling->options.iters, op.place, "the iterations of " + quoted(tiling->dim));
    }
    for (Expr index : op.indices.value_or(std::vector<Expr>()))
      add(index, op.place, "the mapping");
    if (op.bounds)
      for (const std::optional<Expr> &bound : *op.bounds)
        add(bound, op.place, "`bounds`");
  }
  for (const ValueInfo &value : program.values)
    for (Expr dim : value.tile.dims)
      if (!value.poisoned)
        uses.push_back({dim, value.place, "a dimension of a tile", Use::size});
  return uses;
}

class Binder {
public:
  Binder(const Program &program, const BindOptions &options, std::vector<Diagnostic> &diagnostics)
      : program(program), options(options), diagnostics(diagnostics), uses(collectUses(program)) {}

  Bindings run() {
    sym::ThrowMistakes scope;
    selectTheTarget();
    resolveSubs();
    bindSpaces();
    bindUses();
    if (!failed) {
      checkSizes();
      checkDivisions();
      checkWaves();
      checkDistributed();
      checkStarts();
    }
    if (bindings.target)
      checkTarget();
    return std::move(bindings);
  }

private:
  void selectTheTarget() {
    if (options.target.empty())
      return;
    TargetChoice choice = selectTarget(options.target, options.place);
    bindings.target = choice.target;
    if (choice.error) {
      diagnostics.push_back(*choice.error);
      failed = true;
    }
  }

  //===- Symbols ------------------------------------------------------------------===//

  /// Numbers for everything in `subs`; values may refer to other entries in any order.
  void resolveSubs() {
    sym::Substitution chain;
    for (const auto &[symbol, value] : options.subs) {
      if (!symbol.isSymbol()) {
        error(DiagId::SubstitutionInvalid, options.place, "`subs` binds " + quoted(symbol) + ", which is no symbol");
        continue;
      }
      if (const Expr *earlier = chain.find(symbol); earlier && *earlier != value)
        error(DiagId::SubstitutionInvalid, options.place,
              "`subs` binds " + quoted(symbol) + " to " + quoted(*earlier) + " and to " + quoted(value),
              "remove one of them");
      chain.set(symbol, value);
    }
    addOwnSizes(chain);
    for (const auto &[symbol, value] : chain.pairs())
      resolveOne(symbol, value, chain);
    checkThreads(chain);
  }

  /// What the program itself names: lanes and waves, vectors, arrays.
  void addOwnSizes(sym::Substitution &chain) {
    DimMap own = program.ownSizes;
    if (auto *simt = program.findAny<Simt>()) {
      own.emplace_back(lanes(), laneCount());
      own.emplace_back(waves(), sym::floordiv(simt->threads, laneCount()));
    }
    for (const auto &[symbol, value] : own) {
      if (chain.find(symbol))
        error(DiagId::SubstitutionInvalid, options.place,
              "`subs` binds " + quoted(symbol) + ", which the kernel itself says", "leave it out");
      chain.set(symbol, value);
    }
  }

  int64_t laneCount() const { return bindings.target ? bindings.target->waveSize : 64; }

  /// Threads are whole waves.
  void checkThreads(const sym::Substitution &chain) {
    auto *simt = program.findAny<Simt>();
    if (!simt || !simt->threads.isDefined())
      return;
    Expr threads = simt->threads;
    for (size_t i = 0; i <= chain.pairs().size() && !threads.isConstant(); ++i)
      threads = sym::simplify(sym::substitute(threads, chain));
    std::optional<int64_t> count = threads.constantValue();
    if (count && *count >= laneCount() && *count % laneCount() == 0)
      return;
    error(DiagId::SimtThreads, simt->place,
          "a workgroup has " + (count ? std::to_string(*count) : quoted(simt->threads)) +
              " threads, expected a multiple of the " + std::to_string(laneCount()) + " lanes of a wave" +
              (bindings.target ? " of " + quoted(bindings.target->name) : ""),
          count ? "choose a multiple, and leave threads that have no work out by their places"
                : "bind its symbols in `subs`");
  }

  void resolveOne(Expr symbol, Expr value, const sym::Substitution &chain) {
    std::string name(symbol.symbolName());
    try {
      // A chain is no longer than the number of entries; what remains after that refers to itself.
      for (size_t i = 0; i <= chain.pairs().size() && !value.isConstant() && !isSpace(value); ++i)
        value = sym::substitute(value, chain);
      // What still has symbols may be exact by what a launch says of them.
      if (sym::symbolsOf(value).empty())
        value = sym::simplify(value);
      if (auto number = value.constantValue())
        resolved[name] = *number;
      else if (isSpace(value))
        spaces[name] = value == Expr(shared) ? AddressSpace::Shared : AddressSpace::Global;
      else
        unresolved[name] = value;
    } catch (const sym::ExprError &problem) {
      error(problem.kind() == sym::ErrorKind::inexactDivision ? DiagId::DivisionInexact : DiagId::ExpressionInvalid,
            options.place, "`subs` binds " + quoted(symbol) + " to " + quoted(value) + ": " + problem.what());
    }
  }

  static bool isSpace(Expr value) { return value == Expr(shared) || value == Expr(global); }

  void bindSpaces() {
    for (const Parameter &parameter : program.parameters) {
      if (parameter.isScalar || !parameter.space.isSymbol() || isSpace(parameter.space))
        continue;
      std::string name(parameter.space.symbolName());
      if (auto found = spaces.find(name); found != spaces.end()) {
        bindings.spaces[name] = found->second;
        continue;
      }
      error(DiagId::AddressSpaceUnknown, parameter.place,
            "the address space of " + quoted(parameter.name) + " is the symbol " + quoted(name) +
                ", which `subs` does not bind to an address space",
            "add `{" + name + ", shared}` or `{" + name + ", global}` to `subs`");
    }
  }

  void bindUses() {
    for (const Use &use : uses)
      for (Expr symbol : sym::symbolsOf(use.expr)) {
        std::string name(symbol.symbolName());
        if (!isIdentifier(name)) {
          if (!name.starts_with("$") || use.role == Use::size || use.role == Use::stride || use.role == Use::tile)
            reportName(name, use);
          continue;
        }
        bool dynamic = isDynamic(symbol);
        if ((dynamic || formulaOf(name)) && use.role == Use::tile && tileReported.insert(name).second)
          error(DiagId::TileDynamic, use.place, use.what + " depends on " + quoted(name) + ", which is dynamic",
                "bind tiles in `subs`; only sizes may be dynamic");
        if (seen.insert(name).second)
          bindSymbol(name, dynamic, use);
      }
    std::sort(bindings.dynamic.begin(), bindings.dynamic.end());
  }

  bool isDynamic(Expr symbol) const {
    return std::find(options.dynamic.begin(), options.dynamic.end(), symbol) != options.dynamic.end();
  }

  /// What `subs` says that the symbol is, if that speaks of dynamic symbols only: a launch knows its value.
  std::optional<Expr> formulaOf(const std::string &name) const {
    auto open = unresolved.find(name);
    if (open == unresolved.end())
      return std::nullopt;
    std::vector<Expr> symbols = sym::symbolsOf(open->second);
    bool known = std::all_of(symbols.begin(), symbols.end(), [&](Expr each) { return isDynamic(each); });
    return known ? std::optional(open->second) : std::nullopt;
  }

  void bindFormula(const std::string &name, Expr formula, const Use &use) {
    bindings.formulas[name] = withoutExactDivision(formula);
    for (Expr symbol : sym::symbolsOf(formula))
      if (seen.insert(std::string(symbol.symbolName())).second)
        bindSymbol(std::string(symbol.symbolName()), /*dynamic=*/true, use);
  }

  /// `M*N/2` has a value where nothing remains, which the launch checks.
  Expr withoutExactDivision(Expr formula) {
    if (formula.kind() != sym::Kind::exactDiv && formula.operands().empty())
      return formula;
    std::vector<Expr> operands;
    for (Expr operand : formula.operands())
      operands.push_back(withoutExactDivision(operand));
    if (formula.kind() != sym::Kind::exactDiv)
      return sym::build(formula.kind(), operands);
    bindings.assumptions.push_back(sym::eq(sym::mod(operands[0], operands[1]), 0));
    return sym::floordiv(operands[0], operands[1]);
  }

  /// The machine's own symbols stand in index expressions only; other names must be readable in printed programs.
  void reportName(const std::string &name, const Use &use) {
    if (nameReported.insert(name).second)
      error(DiagId::NameInvalid, use.place, quoted(name) + " in " + use.what + " is no name of a size",
            "use letters, digits and `_`, starting with a letter");
  }

  void bindSymbol(const std::string &name, bool dynamic, const Use &use) {
    auto value = resolved.find(name);
    if (dynamic && (value != resolved.end() || unresolved.contains(name))) {
      error(DiagId::SymbolBoundAndDynamic, use.place, quoted(name) + " is both bound in `subs` and dynamic",
            "remove it from one of them");
    } else if (dynamic) {
      bindings.dynamic.push_back(name);
    } else if (value != resolved.end()) {
      bindings.values[name] = value->second;
    } else if (std::optional<Expr> formula = formulaOf(name)) {
      bindFormula(name, *formula, use);
    } else if (auto open = unresolved.find(name); open != unresolved.end()) {
      error(DiagId::SubstitutionInvalid, use.place,
            "`subs` binds " + quoted(name) + " to " + quoted(open->second) + ", which is no number",
            "bind the symbols in it, and let none refer to itself");
    } else if (spaces.contains(name)) {
      error(DiagId::SubstitutionInvalid, use.place, "`subs` binds the size " + quoted(name) + " to an address space");
    } else {
      reportUnbound(name, use);
    }
  }

  void reportUnbound(const std::string &name, const Use &use) {
    std::vector<std::string> unused; // bound by `subs` but not used: probably a misspelling
    for (const auto &[bound, value] : resolved)
      if (std::none_of(uses.begin(), uses.end(),
                       [&, key = Expr::symbol(bound)](const Use &each) { return sym::contains(each.expr, key); }))
        unused.push_back(bound);
    std::string hint = "add `{" + name + ", …}` to `subs`";
    hint += use.role == Use::tile ? "" : ", or " + name + " to `dynamic`";
    if (auto guess = nearest(name, unused))
      hint = "`subs` binds " + quoted(*guess) + ", which the kernel does not use; did you mean " + quoted(name) + "?";
    error(DiagId::SymbolUnbound, use.place,
          quoted(name) + " in " + use.what + " is neither bound in `subs` nor dynamic", hint);
  }

  //===- Numbers ------------------------------------------------------------------===//

  /// The value of an expression without dynamic symbols; reports an inexact division or an overflow.
  std::optional<int64_t> evaluate(const Use &use) {
    sym::Environment environment;
    for (Expr symbol : sym::symbolsOf(use.expr)) {
      auto value = bindings.values.find(std::string(symbol.symbolName()));
      if (value == bindings.values.end())
        return std::nullopt;
      environment.set(symbol, value->second);
    }
    try {
      return sym::evaluate(use.expr, environment);
    } catch (const sym::ExprError &problem) {
      bool inexact = problem.kind() == sym::ErrorKind::inexactDivision;
      error(inexact ? DiagId::DivisionInexact : DiagId::ExpressionInvalid, use.place,
            use.what + " is " + quoted(use.expr) + withValues(use.expr) + ": " + problem.what(),
            inexact ? "choose a multiple, or write `floordiv` or `ceildiv`" : "");
      return std::nullopt;
    }
  }

  /// " with BM = 48", for messages.
  std::string withValues(Expr expr) const {
    std::string text;
    for (Expr symbol : sym::symbolsOf(expr))
      if (auto value = bindings.values.find(std::string(symbol.symbolName())); value != bindings.values.end())
        text += (text.empty() ? " with " : ", ") + value->first + " = " + std::to_string(value->second);
    return text;
  }

  void checkSizes() {
    std::set<std::string> reported;
    for (const Use &use : uses) {
      if (use.role == Use::other || use.role == Use::function ||
          !reported.insert(sym::toString(use.expr) + (use.role == Use::tile ? use.what : "")).second)
        continue;
      auto value = evaluate(use);
      if (value && use.role == Use::stride && *value < 0)
        error(DiagId::MemoryStrides, use.place,
              quoted(use.expr) + " in " + use.what + " is " + std::to_string(*value) + ", expected 0 or more");
      int64_t least = use.role == Use::hint ? 0 : 1;
      if (value && use.role != Use::stride && *value < least)
        error(DiagId::SizeNotPositive, use.place,
              quoted(use.expr) + " in " + use.what + " is " + std::to_string(*value) + ", expected at least " +
                  std::to_string(least));
    }
    if (auto *hardware = program.findAny<HardwareConstraint>()) {
      checkVectorShapes(*hardware);
      checkServiceWaves(*hardware);
      checkCluster(*hardware);
    }
  }

  /// They have boxes copied, which not every target can.
  void checkServiceWaves(const HardwareConstraint &hardware) {
    const Target *target = bindings.target;
    if (hardware.n_service_waves > 0 && target && !target->hasTileCopy)
      error(DiagId::NotSupportedHere, hardware.place,
            "`n_service_waves` is " + std::to_string(hardware.n_service_waves) + ", but " + quoted(target->name) +
                " copies no boxes, which those waves ask for",
            "leave it out for this target");
  }

  /// Its workgroups copy boxes to each other.
  void checkCluster(const HardwareConstraint &hardware) {
    const std::vector<int64_t> &along = hardware.workgroups_per_cluster;
    const Target *target = bindings.target;
    int64_t most = along.empty() ? 1 : std::ranges::max(along), possible = target ? target->maxClusterSize : most;
    if (most > possible)
      error(DiagId::NotSupportedHere, hardware.place,
            "`workgroups_per_cluster` asks for " + std::to_string(most) + ", but " + quoted(target->name) +
                (possible > 1 ? " has clusters of " + std::to_string(possible) + " at most" : " has no clusters"),
            "leave it out for this target, or ask for fewer");
  }

  /// 0 says that a workgroup has one element.
  void checkVectorShapes(const HardwareConstraint &hardware) {
    for (const auto &[dim, shape] : hardware.vector_shapes) {
      auto *constraint = program.findFor<WorkgroupConstraint>(dim);
      if (!constraint || evaluate({shape, hardware.place, {}, Use::hint}) != 0)
        continue;
      std::optional<int64_t> tile = evaluate({constraint->tile, constraint->place, {}, Use::tile});
      if (tile && *tile > 1)
        error(DiagId::HardwareValue, hardware.place,
              "the vector shape of " + quoted(dim) + " is 0, so a workgroup has one element of it, but its tile has " +
                  std::to_string(*tile),
              "give " + quoted(dim) + " a tile of 1, or leave its vector shape out");
    }
  }

  static bool hasDivision(Expr expr) {
    if (expr.kind() == sym::Kind::exactDiv)
      return true;
    std::span<const Expr> operands = expr.operands();
    return std::any_of(operands.begin(), operands.end(), hasDivision);
  }

  /// What is known of every launch.
  sym::Facts launchFacts(const sym::Substitution &numbers) const {
    sym::Facts facts;
    for (const std::string &name : bindings.dynamic)
      facts.setRange(Expr::symbol(name), {1, std::nullopt});
    for (const AnyConstraint &constraint : program.constraints)
      if (auto *each = std::get_if<Assumption>(&constraint))
        facts.assume(sym::substitute(each->predicate, numbers));
    return facts;
  }

  /// `/` of what is known only later, in a mapping or a condition, must be proven to leave nothing now.
  void checkDivisions() {
    sym::Substitution numbers;
    for (const auto &[name, value] : bindings.values)
      numbers.set(Expr::symbol(name), value);
    for (const auto &[name, formula] : bindings.formulas)
      numbers.set(Expr::symbol(name), formula);
    for (const Use &use : uses) {
      if (use.role != Use::other || !hasDivision(use.expr))
        continue;
      try {
        sym::simplify(sym::substitute(use.expr, numbers), launchFacts(numbers));
      } catch (const sym::ExprError &problem) {
        bool inexact = problem.kind() == sym::ErrorKind::inexactDivision;
        error(inexact ? DiagId::DivisionInexact : DiagId::ExpressionInvalid, use.place,
              inexact
                  ? quoted(use.expr) + " in " + use.what + " divides exactly, but nothing proves that nothing remains"
                  : quoted(use.expr) + " in " + use.what + ": " + problem.what(),
              inexact ? "write `floordiv` or `ceildiv`, or add an `Assumption`" : "");
      }
    }
  }

  std::optional<int64_t> number(Expr expr) const { return bindings.evaluate(expr); }

  /// A loop that begins where `set_symbol` says stands where it has said so.
  void checkStarts() {
    for (const OpRecord &op : program.ops) {
      auto *tiling = op.kind == OpKind::iterate ? program.findFor<TilingConstraint>(op.expr) : nullptr;
      if (tiling && program.speaksOfEverSet(tiling->options.start) && !program.regions[op.body].start)
        error(DiagId::SetSymbol, op.place,
              "the loop over " + quoted(tiling->dim) + " begins at " + quoted(*tiling->options.start) +
                  ", of which nothing is set here",
              "`set_symbol` in front of the loop", {{tiling->place, "the tiling constraint"}});
    }
  }

  /// Waves share what a workgroup has of a dimension at a time: the tile of a loop, or its own.
  void checkWaves() {
    std::array<int64_t, 3> waves = {1, 1, 1};
    std::array<const WaveConstraint *, 3> last = {};
    for (const AnyConstraint &constraint : program.constraints) {
      auto *wave = std::get_if<WaveConstraint>(&constraint);
      auto *workgroup = wave ? program.findFor<WorkgroupConstraint>(wave->dim) : nullptr;
      auto *loop = wave ? program.findFor<TilingConstraint>(wave->dim) : nullptr;
      if (!workgroup && !loop)
        continue;
      auto outer = number(loop ? loop->tile : workgroup->tile), inner = number(wave->tile);
      if (!outer || !inner || *inner < 1)
        continue;
      if (*outer % *inner != 0) {
        const char *shared = loop ? "loop" : "workgroup";
        error(DiagId::WaveTileIndivisible, wave->place,
              std::string("the ") + shared + " tile of " + quoted(wave->dim) + " is " + std::to_string(*outer) +
                  ", which is no multiple of the wave tile " + std::to_string(*inner),
              "choose tiles that divide",
              {{loop ? loop->place : workgroup->place, loop ? "the tiling constraint" : "the workgroup constraint"}});
        continue;
      }
      size_t at = workgroup ? static_cast<size_t>(std::min(workgroup->workgroup_dim, 2)) : 0; // further ones: the last
      waves[at] *= *outer / *inner;
      last[at] = wave;
    }
    for (size_t at = 0; at < waves.size(); ++at)
      if (last[at])
        checkWavesPerBlock(*last[at], at, waves[at]);
  }

  void checkWavesPerBlock(const WaveConstraint &wave, size_t at, int64_t waves) {
    auto *hardware = program.findAny<HardwareConstraint>();
    if (!hardware || hardware->waves_per_block.empty() ||
        (at >= hardware->waves_per_block.size() ? 1 : hardware->waves_per_block[at]) == waves)
      return;
    error(DiagId::WavesMismatch, hardware->place,
          "`waves_per_block` disagrees with the constraints of " + quoted(wave.dim) + ", which make " +
              std::to_string(waves) + " waves along workgroup dimension " + std::to_string(at),
          "leave `waves_per_block` out", {{wave.place, "the wave constraint"}});
  }

  /// A dimension without constraints is held whole, so its size must be known.
  void checkDistributed() {
    std::set<std::string> reported;
    for (const ValueInfo &value : program.values)
      for (Expr scaled : value.tile.dims) {
        Expr dim = baseOf(scaled);
        std::string name(dim.symbolName());
        bool dynamic = std::find(bindings.dynamic.begin(), bindings.dynamic.end(), name) != bindings.dynamic.end() ||
                       bindings.formulas.contains(name);
        bool constrained = program.findFor<WorkgroupConstraint>(dim) || program.findFor<TilingConstraint>(dim) ||
                           program.find<SymbolicAlias>([&](const SymbolicAlias &each) { return each.source == dim; });
        if (!dynamic || constrained || value.poisoned || !reported.insert(name).second)
          continue;
        error(DiagId::ConstraintMissing, value.place,
              quoted(name) + " is dynamic and has neither a workgroup nor a tiling constraint, so one workgroup would "
                             "hold all of it",
              "walk it by `TilingConstraint(" + name + ", BLOCK_" + name + ")` and `iterate`, share it out by " +
                  "`WorkgroupConstraint(" + name + ", BLOCK_" + name + ", 0)`, or bind " + name + " in `subs`");
      }
  }

  //===- Target -------------------------------------------------------------------===//

  void checkTarget() {
    auto *hardware = program.findAny<HardwareConstraint>();
    if (hardware && hardware->threads_per_wave && *hardware->threads_per_wave != bindings.target->waveSize)
      error(DiagId::WaveSizeMismatch, hardware->place,
            "`threads_per_wave` is " + std::to_string(*hardware->threads_per_wave) + ", but waves of " +
                quoted(bindings.target->name) + " have " + std::to_string(bindings.target->waveSize),
            "leave it out for the target's default");
    for (const OpRecord &op : program.ops)
      if (op.kind == OpKind::mma)
        checkMma(op, hardware);
  }

  void checkMma(const OpRecord &op, const HardwareConstraint *hardware) {
    std::optional<std::string_view> name;
    if (op.mma)
      name = *op.mma;
    else if (hardware && hardware->mma)
      name = hardware->mma->name;
    auto type = [&](size_t i) { return bindings.resolve(program.values[op.operands[i]].tile.type); };
    MmaChoice choice = selectMma(*bindings.target, name, {type(0), type(1), type(2), op.operands.size() > 3}, op.place);
    if (choice.error)
      diagnostics.push_back(*choice.error);
  }

  void error(DiagId id, const Place &place, std::string message, std::string hint = {}, std::vector<Note> notes = {}) {
    failed = true;
    if (options.place.known() && !(place == options.place))
      notes.push_back({options.place, "compiled here"});
    diagnostics.push_back({Severity::error, id, place, std::move(message), std::move(hint), std::move(notes)});
  }

  const Program &program;
  const BindOptions &options;
  std::vector<Diagnostic> &diagnostics;
  std::vector<Use> uses;
  Bindings bindings;
  std::map<std::string, int64_t> resolved;
  std::map<std::string, Expr> unresolved;
  std::map<std::string, AddressSpace::Kind> spaces;
  std::set<std::string> seen, tileReported, nameReported;
  bool failed = false;
};

} // namespace

std::optional<int64_t> Bindings::evaluate(Expr expr) const {
  sym::Environment environment;
  for (Expr symbol : sym::symbolsOf(expr)) {
    auto value = values.find(std::string(symbol.symbolName()));
    if (value == values.end())
      return std::nullopt;
    environment.set(symbol, value->second);
  }
  try {
    return sym::evaluate(expr, environment);
  } catch (const sym::ExprError &) {
    return std::nullopt;
  }
}

Bindings frontend::bindProgram(const Program &program, const BindOptions &options,
                               std::vector<Diagnostic> &diagnostics) {
  return Binder(program, options, diagnostics).run();
}
