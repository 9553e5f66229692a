//===- Tuned.h - Results of the tuner that `auto` takes -----------------------------===//
//
// `soliton tune` leaves its winner in a file of its own, `tuned/KEY` in the cache's folder, and `auto` looks there
// before its table. The key is what a result is true of: kernel with its types and sizes, target, device, driver and
// build of the compiler; so that it is never used for another one. A file is read, no database opened:
//
//   soliton-tuned 1
//   program = 5f0c…           the traced program with these choices, which must be the very same
//   origin = run 3 of 2026-11-18 08:30:00, 181.20 us measured on NVIDIA H200, 1.34 times as fast as its start
//   microseconds = 181.2      by which a later run knows whether it found something better
//   choice BLOCK_M = 128
//   choice schedule = modulo
//   --- schedule              a schedule file, where moves found one
//
// What was said is kept: a result that contradicts it, or whose program is not this one, is passed over with a remark,
// and so is one that cannot be compiled any more.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Auto.h"

#include <map>
#include <variant>

namespace soliton {

struct TunedResult {
  /// Of the traced program under these choices: what was proven and timed.
  std::string program;
  /// Where it is from, how fast it is and by whom that was found, in words.
  std::string origin;
  double microseconds = 0;
  /// Symbols and options by name.
  std::map<std::string, std::string> choices;
  /// The text of a schedule file; empty: as the choices say.
  std::string schedule;
};

/// A device with its driver, for `CompileOptions::tunedOn`: `NVIDIA H200, driver 550.54.15`.
std::string tunedDevice(const rt::Device &device);
/// The device's driver, as far as the system tells.
std::string driverOf(const rt::Device &device);
/// In place of a device: results of the model for a target.
std::string modelledOn(const std::string &target);

/// Workgroups of a cluster along each dimension of the grid: `2`, or `1x2`. Nothing where the text has no such numbers.
std::optional<std::vector<int64_t>> perClusterFrom(const std::string &text);
std::string textOfPerCluster(const std::vector<int64_t> &along);

/// The options with what a result says of them; a sentence where that contradicts what they say already.
std::variant<CompileOptions, std::string> withTuned(CompileOptions options, const TunedResult &result);
/// Of the program that these options make of a kernel, without its places; nothing where it can't be traced.
std::optional<std::string> programHash(const Kernel &kernel, const CompileOptions &options);

/// Leaves a result for `auto`, in the place of an older one. False where there is no folder for it.
bool publishTuned(const Kernel &kernel, const CompileOptions &options, const std::string &device,
                  const TunedResult &result);
/// What was left there; nothing where nothing was, or what can't be read.
std::optional<TunedResult> findTuned(const Kernel &kernel, const CompileOptions &options, const std::string &device);
/// What there is for this kernel: at most one that fits, and before it those that do not, with the reason.
std::vector<AutoChoice> tunedChoices(const Kernel &kernel, const CompileOptions &options);

} // namespace soliton
