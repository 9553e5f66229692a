//===- TestLoops.h - Loops of real kernels ---------------------------------===//
//
//   Loop loop = loopOf({.kernel = "attention", .target = "gfx942", .schedule = "modulo"});
//   loop.report.problem, loop.report.schedule
//
//===----------------------------------------------------------------------===//
#pragma once

#include "kernels/Kernels.h"
#include "soliton/driver/Compile.h"
#include "soliton/schedule/LoopCost.h"

namespace soliton::tune::testing {

struct LoopChoice {
  std::string kernel, target, schedule;
  std::map<std::string, int64_t> sizes = {}, tiles = {};
  bool directCopies = false;
};

/// Compiled for the emulator; the first loop.
inline sched::LoopReport loopOf(const LoopChoice &choice) {
  const kernels::KernelEntry &entry = *kernels::findKernel(choice.kernel);
  const kernels::Variant &variant = entry.variants.front();
  CompileOptions options;
  options.target = choice.target;
  options.schedule.name = choice.schedule;
  options.schedule.reportsNone = true;
  options.directCopies = choice.directCopies;
  options.cache = false;
  auto bind = [&](const std::vector<kernels::DefaultSize> &list, const std::map<std::string, int64_t> &said) {
    for (const kernels::DefaultSize &size : list) {
      auto found = said.find(size.name);
      options.subs.emplace_back(sym::Expr::symbol(size.name), found == said.end() ? size.value : found->second);
    }
  };
  bind(entry.sizes, choice.sizes);
  bind(entry.tilesFor(variant, *findTarget(choice.target)), choice.tiles);
  for (const auto &derived : entry.derivedSubs())
    options.subs.push_back(derived);
  CompileAttempt attempt = compileImage(entry.build(variant), options, rt::ImageKind::emulator);
  if (!attempt || attempt.result->loops.empty())
    throw CompileError(attempt.diagnostics);
  return attempt.result->loops.front();
}

} // namespace soliton::tune::testing
