#include "soliton/driver/Auto.h"

#include "soliton/driver/AutoMatrix.h"
#include "soliton/driver/AutoRows.h"
#include "soliton/driver/Tuned.h"
#include "soliton/frontend/Program.h"
#include "soliton/target/Target.h"

#include <algorithm>

namespace soliton {
using frontend::OpKind;
using frontend::Program;

namespace {
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
  std::vector<AutoRow> rows;
  const auto *hardware = program.findAny<HardwareConstraint>();
  bool isOpen = options.mma.empty() && !(hardware && hardware->mma);
  if (target && isOpen) {
    std::optional<std::vector<AutoRow>> products = chooseProducts(program, options, *target);
    rows = products ? std::move(*products) : chooseChains(program, options, *target);
  }
  std::ranges::stable_sort(rows, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<AutoChoice> choices;
  for (auto &[score, choice] : rows)
    choices.push_back(std::move(choice));
  if (std::vector<AutoChoice> streams = chooseRows(program, options); !streams.empty())
    choices.insert(choices.end(), streams.begin(), streams.end());
  if (hasLoopWithProduct(program)) {
    choices.push_back({options, "the algorithm that the model finds fastest"});
    choices.back().options.schedule.name = sched::kFastest;
  }
  choices.push_back({options, "the order of the program"});
  choices.back().options.schedule.name = "none";
  std::vector<AutoChoice> tuned = tunedChoices(kernel, options);
  choices.insert(choices.begin(), tuned.begin(), tuned.end());
  for (AutoChoice &choice : choices) {
    choice.options = withDefaults(std::move(choice.options));
    // Nothing chooses it: what lies ahead in a stream is not the kernel's to know.
    if (options.dependentLaunch.value_or(false))
      choice.why += "; launches of it begin before those ahead have ended, as asked";
  }
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
