//===- Constraints.cpp - Whether a kernel's constraints fit each other ----------===//
//
// Decides what can be decided from the constraints alone, before any symbol is bound: repetitions, gaps, waves without
// workgroups, and what this version does not implement.
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/Tracer.h"

#include <algorithm>
#include <map>

using namespace soliton;
using namespace soliton::frontend;

namespace {

constexpr int kMaxWorkgroupDims = 5;

class ConstraintCheck {
public:
  explicit ConstraintCheck(Program &program) : program(program) {}

  void run() {
    for (size_t i = 0; i != program.constraints.size(); ++i)
      std::visit(
          [&](const auto &each) {
            if (checkExpressions(each))
              check(each, i);
          },
          program.constraints[i]);
    checkWorkgroupDims();
  }

private:
  /// Whether the expressions of a constraint are any.
  template <typename C>
  bool checkExpressions(const C &constraint) {
    auto isDefined = [&](const char *what, std::optional<Expr> expr) {
      return !expr || checkDefined(program, what, *expr, constraint.place);
    };
    bool good = true;
    if constexpr (requires { constraint.dim; })
      good = isDefined("the dimension of a constraint", constraint.dim) && good;
    if constexpr (requires { constraint.tile; })
      good = isDefined("the tile of a constraint", constraint.tile) && good;
    if constexpr (requires { constraint.options.iters; })
      good = isDefined("`iters` of a constraint", constraint.options.iters) && good;
    if constexpr (requires { constraint.options.start; })
      good = isDefined("`start` of a constraint", constraint.options.start) && good;
    if constexpr (requires { constraint.size; })
      good = isDefined("the grid", constraint.size) && good;
    if constexpr (requires { constraint.equation; })
      good = isDefined("the reordering of workgroups", constraint.equation) && good;
    if constexpr (requires { constraint.predicate; })
      good = isDefined("the assumption", constraint.predicate) && good;
    if constexpr (requires { constraint.vector_shapes; })
      for (const auto &[dim, shape] : constraint.vector_shapes)
        good = isDefined("an entry in `vector_shapes`", dim) && isDefined("an entry in `vector_shapes`", shape) && good;
    if constexpr (requires { constraint.bindings; })
      for (const auto &[iterator, dim] : constraint.bindings)
        good = isDefined("an iterator binding", iterator) && isDefined("an iterator binding", dim) && good;
    return good;
  }

  template <typename C>
  void checkDistribution(const C &constraint, size_t index, const char *word) {
    if (!constraint.dim.isSymbol())
      error(DiagId::ConstraintDim, constraint.place,
            std::string("a ") + word + " constraint on " + quoted(constraint.dim) + ", which is no symbol",
            "constrain the dimension itself");
    for (size_t i = 0; i != index; ++i)
      if (auto *other = std::get_if<C>(&program.constraints[i]); other && other->dim == constraint.dim) {
        error(DiagId::ConstraintRepeated, constraint.place,
              "a second " + std::string(word) + " constraint for " + quoted(constraint.dim), "remove one of them",
              {{other->place, "the first one"}});
        return;
      }
  }

  template <typename C>
  void checkOnlyOne(const C &constraint, size_t index, DiagId id, const char *word) {
    for (size_t i = 0; i != index; ++i)
      if (auto *other = std::get_if<C>(&program.constraints[i])) {
        error(id, constraint.place, std::string("a second ") + word, "put everything into one of them",
              {{other->place, "the first one"}});
        return;
      }
  }

  void check(const WorkgroupConstraint &constraint, size_t index) {
    checkDistribution(constraint, index, "workgroup");
    if (constraint.workgroup_dim < 0 || constraint.workgroup_dim >= kMaxWorkgroupDims)
      error(DiagId::WorkgroupDims, constraint.place,
            quoted(constraint.dim) + " takes workgroup dimension " + std::to_string(constraint.workgroup_dim) +
                ", expected 0 to " + std::to_string(kMaxWorkgroupDims - 1));
    if (constraint.options.apply_fn && !applied(constraint.options.apply_fn, Expr::symbol("$WG")))
      error(DiagId::ExpressionInvalid, constraint.place,
            "`apply_fn` of " + quoted(constraint.dim) + " makes no expression of a workgroup's number");
  }

  void check(const TilingConstraint &constraint, size_t index) { checkDistribution(constraint, index, "tiling"); }

  void check(const WaveConstraint &constraint, size_t index) {
    checkDistribution(constraint, index, "wave");
    if (program.findFor<WorkgroupConstraint>(constraint.dim) || program.findFor<TilingConstraint>(constraint.dim))
      return;
    std::vector<std::string> distributed;
    auto add = [&](Expr dim) {
      if (std::string name = sym::toString(dim); std::ranges::find(distributed, name) == distributed.end())
        distributed.push_back(name);
    };
    for (const AnyConstraint &other : program.constraints)
      if (auto *workgroup = std::get_if<WorkgroupConstraint>(&other))
        add(workgroup->dim);
      else if (auto *tiling = std::get_if<TilingConstraint>(&other))
        add(tiling->dim);
    std::string message =
        "a wave constraint for " + quoted(constraint.dim) + ", which has neither a workgroup nor a tiling constraint";
    if (!distributed.empty())
      message += "; those with one are " + listOf(distributed);
    error(DiagId::WaveWithoutWorkgroup, constraint.place, message, "give the dimension a tile that waves can share");
  }

  void checkCluster(const HardwareConstraint &constraint) {
    const std::vector<int64_t> &along = constraint.workgroups_per_cluster;
    if (along.size() > 3)
      error(DiagId::HardwareValue, constraint.place,
            "`workgroups_per_cluster` has " + std::to_string(along.size()) + " entries, expected at most 3");
    for (int64_t workgroups : along)
      if (workgroups < 1)
        error(DiagId::HardwareValue, constraint.place,
              "`workgroups_per_cluster` contains " + std::to_string(workgroups) + ", expected at least 1");
    if (std::ranges::count_if(along, [](int64_t workgroups) { return workgroups > 1; }) > 1)
      error(DiagId::NotSupportedHere, constraint.place,
            "`workgroups_per_cluster` has neighbours along several dimensions of the grid, expected one",
            "let all entries but one be 1");
  }

  void check(const HardwareConstraint &constraint, size_t index) {
    checkOnlyOne(constraint, index, DiagId::HardwareRepeated, "hardware constraint");
    checkCluster(constraint);
    if (constraint.n_service_waves < 0)
      error(DiagId::HardwareValue, constraint.place,
            "`n_service_waves` is " + std::to_string(constraint.n_service_waves) + ", expected 0 or more");
    if (constraint.waves_per_block.size() > 3)
      error(DiagId::HardwareValue, constraint.place,
            "`waves_per_block` has " + std::to_string(constraint.waves_per_block.size()) +
                " entries, expected at most 3");
    for (int64_t waves : constraint.waves_per_block)
      if (waves < 1)
        error(DiagId::HardwareValue, constraint.place,
              "`waves_per_block` contains " + std::to_string(waves) + ", expected at least 1");
    if (int64_t width = constraint.max_bits_per_load; width < 8 || width > 128 || (width & (width - 1)) != 0)
      error(DiagId::HardwareValue, constraint.place,
            "`max_bits_per_load` is " + std::to_string(width) + ", expected 8, 16, 32, 64 or 128");
    for (const auto &[dim, shape] : constraint.vector_shapes)
      if (!dim.isSymbol())
        error(DiagId::ConstraintDim, constraint.place,
              "`vector_shapes` has an entry for " + quoted(dim) + ", which is no symbol");
  }

  void check(const GridConstraint &constraint, size_t index) {
    checkOnlyOne(constraint, index, DiagId::ConstraintRepeated, "grid constraint");
  }

  void check(const ReorderingConstraint &constraint, size_t index) {
    if (constraint.workgroup_dim < 0 || constraint.workgroup_dim > 2)
      error(DiagId::WorkgroupDims, constraint.place,
            "a reordering of workgroup dimension " + std::to_string(constraint.workgroup_dim) + ", expected 0 to 2");
    for (size_t i = 0; i != index; ++i)
      if (auto *other = std::get_if<ReorderingConstraint>(&program.constraints[i]);
          other && other->workgroup_dim == constraint.workgroup_dim)
        error(DiagId::ConstraintRepeated, constraint.place,
              "a second reordering of workgroup dimension " + std::to_string(constraint.workgroup_dim),
              "remove one of them", {{other->place, "the first one"}});
  }

  void check(const SymbolicAlias &constraint, size_t index) {
    if (!constraint.source.isSymbol() || !constraint.target.isSymbol())
      error(DiagId::ConstraintDim, constraint.place,
            "an alias of " + quoted(constraint.source) + " to " + quoted(constraint.target) + ", expected two symbols");
    else if (!program.findFor<WorkgroupConstraint>(constraint.target) &&
             !program.findFor<TilingConstraint>(constraint.target))
      error(DiagId::ConstraintMissing, constraint.place,
            quoted(constraint.source) + " is an alias of " + quoted(constraint.target) +
                ", which has neither a workgroup nor a tiling constraint",
            "constrain " + quoted(constraint.target));
    if (!applied(constraint.source_to_target, Expr::symbol("$x")))
      error(DiagId::ExpressionInvalid, constraint.place,
            "the alias of " + quoted(constraint.source) + " makes no expression of a tile");
    for (size_t i = 0; i != index; ++i)
      if (auto *other = std::get_if<SymbolicAlias>(&program.constraints[i]);
          other && other->source == constraint.source)
        error(DiagId::ConstraintRepeated, constraint.place, "a second alias of " + quoted(constraint.source),
              "remove one of them", {{other->place, "the first one"}});
  }

  void check(const Assumption &constraint, size_t) {
    if (!constraint.predicate.isPredicate())
      error(DiagId::AssumptionInvalid, constraint.place,
            "the assumption " + quoted(constraint.predicate) + " is no comparison",
            "write e.g. `eq(M % 64, 0)` or `M > 0`");
    else if (constraint.predicate.isConstant(0))
      error(DiagId::AssumptionInvalid, constraint.place, "the assumption never holds");
  }

  void check(const IteratorBindings &constraint, size_t index) {
    checkOnlyOne(constraint, index, DiagId::ConstraintRepeated, "set of iterator bindings");
    for (const auto &[iterator, dim] : constraint.bindings)
      if (!iterator.isSymbol() || !dim.isSymbol())
        error(DiagId::ConstraintDim, constraint.place,
              "an iterator binding of " + quoted(iterator) + " to " + quoted(dim) + ", expected two symbols");
  }

  void check(const Simt &constraint, size_t index) {
    checkOnlyOne(constraint, index, DiagId::ConstraintRepeated, "`Simt`");
    if (constraint.grid.size() > 3)
      error(DiagId::WorkgroupDims, constraint.place,
            "`Simt` has a grid of " + std::to_string(constraint.grid.size()) + " dimensions, expected at most 3");
    checkDefined(program, "the threads of `Simt`", constraint.threads, constraint.place);
  }

  void check(const DeviceConstraint &constraint, size_t) { unsupported(constraint.place, "`DeviceConstraint`"); }

  /// Workgroup dimensions are 0, 1, …. Dimensions that count workgroups along the same one multiply them, and functions
  /// take the number apart; without any, both would have the same part.
  void checkWorkgroupDims() {
    std::map<int, const WorkgroupConstraint *> primary;
    std::map<int, const WorkgroupConstraint *> first;
    for (const AnyConstraint &constraint : program.constraints) {
      auto *workgroup = std::get_if<WorkgroupConstraint>(&constraint);
      if (!workgroup)
        continue;
      first.try_emplace(workgroup->workgroup_dim, workgroup);
      if (!workgroup->options.primary)
        continue;
      auto [slot, inserted] = primary.try_emplace(workgroup->workgroup_dim, workgroup);
      bool takesApart = workgroup->options.apply_fn || slot->second->options.apply_fn;
      if (!inserted && !takesApart)
        error(DiagId::WorkgroupDimShared, workgroup->place,
              quoted(slot->second->dim) + " and " + quoted(workgroup->dim) + " both take workgroup dimension " +
                  std::to_string(workgroup->workgroup_dim),
              "use another workgroup dimension, `{.primary = false}` for the one that does not count workgroups, or "
              "`apply_fn` to say which part a workgroup has",
              {{slot->second->place, "the first one"}});
    }
    int expected = 0;
    for (const auto &[number, workgroup] : first) {
      if (number != expected && number >= 0 && number < kMaxWorkgroupDims) {
        error(DiagId::WorkgroupDims, workgroup->place,
              quoted(workgroup->dim) + " takes workgroup dimension " + std::to_string(number) + ", but nothing takes " +
                  std::to_string(expected),
              "number workgroup dimensions 0, 1, 2 without gaps");
        return;
      }
      expected = number + 1;
    }
  }

  void unsupported(const Place &place, const std::string &what) {
    error(DiagId::NotSupportedHere, place, what + " is part of the language, but this version does not implement it");
  }

  void error(DiagId id, const Place &place, std::string message, std::string hint = {}, std::vector<Note> notes = {}) {
    report(program, id, place, std::move(message), std::move(hint), std::move(notes));
  }

  Program &program;
};

} // namespace

void frontend::checkConstraints(Program &program) {
  ConstraintCheck(program).run();
}
