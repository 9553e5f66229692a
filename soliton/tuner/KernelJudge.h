//===- KernelJudge.h - What compiling a candidate comes to -----------------===//
//
// The filters in front of the emulator and the device, for whoever can compile a kernel: by name, from a file, or from
// Python.
//
//   Result result = judgeByModel({.compile = [&](rt::ImageKind kind) { return compileImage(kernel, options, kind); },
//                                 .launch = [&](const CompileResult &made, const sched::LoopReport &loop) { … }});
//   result.modelledMicroseconds, result.bound, result.registers        or refusedBy, why
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Compile.h"
#include "soliton/schedule/LoopCost.h"
#include "soliton/tuner/Result.h"

#include <functional>

namespace soliton::tune {

struct Compilation {
  /// To an image of this kind; asked for the emulator's, then for the machine's own where an assembler is found.
  std::function<CompileAttempt(rt::ImageKind)> compile;
  /// How a loop of it would be launched.
  std::function<sched::Launch(const CompileResult &, const sched::LoopReport &)> launch;
};

/// Verifier, resources, modelled time, registers and spills.
Result judgeByModel(const Compilation &compilation);

/// Which build of the compiler results are true of: 64 hexadecimal digits, or `unknown`.
std::string compilerBuild();

/// The refusal that errors of the compiler come to.
Result refusedBy(const std::vector<Diagnostic> &diagnostics);

} // namespace soliton::tune
