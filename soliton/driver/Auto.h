//===- Auto.h - Instruction, tiles and schedule that nobody said --------------------===//
//
// `schedule = auto` picks what the author left open: by a result of the tuner, if one fits (Tuned.h), otherwise by the
// table in Auto.cpp: the matrix instruction, tiles and waves, copies, the order of workgroups and the schedule. What
// was said is kept. The best row comes first; one that cannot be compiled is passed over with a remark. Behind the
// table stands the algorithm that the model finds fastest, then the order of the program. It is the default of
// `compile`; what it did is among the warnings, as remarks.
//
//   CompileOptions{.target = "sm_90a", .subs = {{M, 4096}, {N, 4096}, {K, 4096}}, .schedule = {.name = "auto"}}
//
//   BLOCK_M = 128, BLOCK_N = 256, BLOCK_K = 64, WAVES_M = 8, WAVES_N = 1, mma F32_64x256x16_F16, direct copies,
//   staged writes, raster 8, schedule ring
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Compile.h"

namespace soliton {

/// One way to compile a kernel, and a sentence that says why.
struct AutoChoice {
  CompileOptions options;
  std::string why;
  /// Why it is not even tried; empty otherwise.
  std::string misfit = {};

  /// That it was taken, or was not since something is wrong.
  Diagnostic remark(bool taken, const Diagnostic *wrong) const;
};

/// What there is to say of the choices that were tried.
class AutoRemarks {
public:
  void add(const AutoChoice &choice, bool taken, const std::vector<Diagnostic> &said);
  /// Of one that is not even tried.
  void add(const AutoChoice &misfit);
  /// Without those of choices that were passed over for what is said anyway: that is about the program, not about them.
  std::vector<Diagnostic> beside(const std::vector<Diagnostic> &said) const;

private:
  std::vector<Diagnostic> remarks;
  std::vector<std::optional<std::pair<DiagId, std::string>>> reasons;
};

/// The ways, best first; at least one that is tried. `options.schedule.name` is `auto`.
std::vector<AutoChoice> chooseAutomatically(const Kernel &kernel, const CompileOptions &options);

/// Symbols that are still open take what the kernel comes with.
CompileOptions withDefaults(CompileOptions options);

/// What the first choice gives that can be compiled, or the last one. Remarks of all that were tried come first.
template <typename Outcome>
Outcome firstThatCompiles(const Kernel &kernel, const CompileOptions &options,
                          const std::function<Outcome(const CompileOptions &)> &compile) {
  AutoRemarks remarks;
  Outcome outcome;
  for (const AutoChoice &choice : chooseAutomatically(kernel, options)) {
    if (!choice.misfit.empty()) {
      remarks.add(choice);
      continue;
    }
    outcome = compile(choice.options);
    remarks.add(choice, static_cast<bool>(outcome), outcome.diagnostics);
    if (outcome)
      break;
  }
  std::vector<Diagnostic> worthSaying = remarks.beside(outcome ? std::vector<Diagnostic>() : outcome.diagnostics);
  outcome.diagnostics.insert(outcome.diagnostics.begin(), worthSaying.begin(), worthSaying.end());
  return outcome;
}

/// The same, with the remarks among the warnings of what was compiled.
CompileAttempt compileByChoice(const Kernel &kernel, const CompileOptions &options,
                               const std::function<CompileAttempt(const CompileOptions &)> &compile);

inline bool isAuto(const CompileOptions &options) {
  return options.schedule.name == "auto" && options.schedule.file.empty() && !options.schedule.written;
}

} // namespace soliton
