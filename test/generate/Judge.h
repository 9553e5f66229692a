//===- Judge.h - Whether the compiler does what a kernel says --------------------------------===//
//
// One kernel through everything: parsed, run by the reference interpreter and (each tenth) by the plain-loop evaluator,
// compiled for each target to the emulator and run with all checks under adversarial interleavings, compiled to HSACO
// with its order check and to PTX; each tenth, and what failed, also after every pass. Where there is a GPU that runs
// the code it can be asked too.
//
//   Verdict verdict = judge(program, {.evaluate = true});
//   if (verdict.outcome == Outcome::failed) std::cerr << verdict.kind << ": " << verdict.message;
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Program.h"

#include <map>

namespace soliton::generate {

enum class Outcome : uint8_t { accepted, refused, failed };

struct Verdict {
  Outcome outcome = Outcome::accepted;
  /// The id of the refusal, or what is wrong: `wrong-result`, `race`, `crash`, `pass-changed-meaning`, …
  std::string kind = {};
  /// The target it is about, if one.
  std::string target = {};
  std::string message = {};
  /// Processor time that each stage took.
  std::map<std::string, double> seconds = {};
};

struct JudgeOptions {
  /// Whether the text is the dialect's, and nothing else.
  bool parseOnly = false;
  bool evaluate = true;
  bool binaries = true;
  bool everyPass = false;
  /// The device by name that runs code objects of its architecture too; empty: none.
  std::string gpu = {};
  /// Seeds of the emulator's interleavings.
  std::vector<uint64_t> interleavings = {0, 1, 7};
  /// If not empty, the only targets to try.
  std::vector<std::string> targets = {};
};

Verdict judge(const Program &program, const JudgeOptions &options = {});

/// From here on a crash of this process prints where it happened.
void reportCrashes();

/// A kernel of the library at sizes, tiles and waves that the seed chooses, on all targets.
Verdict judgeLibrary(uint64_t seed, const JudgeOptions &options, std::set<std::string> &features, std::string &what);

} // namespace soliton::generate
