//===- Commands.h - What each command takes and does ---------------------------------------===//
#pragma once

#include "kernels/Kernels.h"
#include "soliton/driver/Compile.h"
#include "soliton/driver/UserKernel.h"
#include "soliton/target/Target.h"

#include <nlohmann/json.hpp>

#include <iosfwd>

namespace soliton::cli {
using Json = nlohmann::ordered_json;

/// A mistake in the use of a command: printed as one message, exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the commands that compile have in common.
struct KernelChoice {
  /// A kernel of the library, `FILE.cpp`, `FILE.cpp:NAME`, or `FILE.mlir`.
  std::string kernel;
  std::string target = "gfx942";
  bool targetGiven = false;
  std::string dtype;
  /// `M=256,N=256` as given.
  std::vector<std::string> sizes;
  std::vector<std::string> settings;
  std::vector<std::string> dynamic;
  /// Empty: as the schedule needs it.
  std::string directCopies;
  std::string stagedWrites;
  std::string boxedWrites;
  std::string shortSums;
  int64_t raster = 0, cluster = 0, workgroupsPerUnit = 0, persistent = 0;
  std::optional<int64_t> serviceWaves;
  std::vector<int64_t> workgroupsPerCluster;
  /// Empty: off.
  std::string dependentLaunch;
  std::string overlapTiles;
  std::string turns;
  std::vector<std::string> stable;
  std::string mma;
  std::string paddedRows = "auto";
  std::string schedule = "auto";
  /// off, measured or modelled: what of `soliton tune` the schedule `auto` takes.
  std::string tuned = "measured";
  /// Of a declared pipeline: the framework's own program, and why what only latency protects there is accepted.
  bool faithful = false;
  std::string waive;
  std::string swizzle = "on";
  /// For launches of any size.
  bool wideOffsets = false;
  bool json = false;
};

struct CompileCommand {
  KernelChoice choice;
  std::string emit;
  std::string output;
  std::string printAfter;
  /// The folder for a kernel that is shipped.
  std::string aot;
  /// `layouts`, `auto` or empty.
  std::string explain;
  bool time = false;
};

struct RunCommand {
  KernelChoice choice;
  std::string device = "emulator";
  uint64_t seed = 1;
  std::string check = "on";
  /// `b=a`: the output `b` is the very array of the input `a`.
  std::string inPlace;
  /// `a=a.npy`: what an argument holds before, and where it goes afterwards.
  std::vector<std::string> inputs, outputs;
};

struct BenchCommand {
  KernelChoice choice;
  std::string device;
  int repetitions = 20;
};

struct ScheduleCommand {
  KernelChoice choice;
  std::string html;
  std::string svg;
  std::string trace;
  /// Where the schedule goes as text, to be edited and given to `--schedule`.
  std::string output;
  /// A schedule file to compare with.
  std::string diff;
  /// Where the proof of the interval goes, and a proof to check again.
  std::string certificate, check;
};

struct PipelineCommand {
  std::string name;
  /// `128x128x64`; empty: the pipeline's own.
  std::string geometry;
  std::string dtype = "bf16";
  /// Of the single-buffer pipeline, along K.
  int steps = 2;
  /// Empty: the target that the pipelines were declared for.
  std::string target;
  bool faithful = false;
  /// Why hazards that only latency protects are accepted; empty: they are not.
  std::string waive;
  bool edges = false, costs = false;
  std::string html, svg, trace;
  bool json = false;
};

struct LayoutCommand {
  /// A kernel, or `mma`.
  KernelChoice choice;
  /// Of `mma`: the name of a matrix instruction.
  std::string instruction;
  /// Of a kernel: the tag of an operation.
  std::string value;
  std::string svg;
};

struct CacheCommand {
  /// list, verify or clear.
  std::string action;
  bool json = false;
};

/// A kernel of a user's file, as the library would list it.
struct OwnKernel {
  UserKernel kernel;
  kernels::KernelEntry entry;
  /// Where it is registered.
  Place place;
};

/// A choice resolved: a kernel of the library or of a user's file, or the text of a module.
struct Resolved {
  /// None for a module.
  const kernels::KernelEntry *entry = nullptr;
  const kernels::Variant *variant = nullptr;
  kernels::Sizes sizes;
  CompileOptions options;
  /// Where it is of a user's file; `entry` points into it.
  std::shared_ptr<const OwnKernel> own = {};
  /// The module, and the file that it is from.
  std::string text = {}, fileName = {};

  /// The library says what the kernel must compute; otherwise the program itself does, or its author.
  bool isOfLibrary() const { return entry && !own; }
};

/// What the image holds for a target.
using ImageChoice = std::function<rt::ImageKind(const std::string &target)>;
/// `isKept`: what was compiled before may come back from the cache.
CompileAttempt compileResolved(const Resolved &resolved, const ImageChoice &kind, bool isKept);

/// What `--padded-rows` says: on, off or auto; throws UsageError for anything else.
RowPadding paddingOf(const std::string &value);
/// What `option` says, on or off; throws UsageError for anything else.
bool isOn(const std::string &option, const std::string &value);

/// Of the elements that a pipeline moves.
int elementBytes(const std::string &dtype);
/// Where `--faithful` asks for it: the declared pipeline of a resolved kernel as its framework ships it.
void useShipped(Resolved &resolved, const KernelChoice &choice);
/// What `--schedule` means; throws UsageError with the legal choices.
sched::ScheduleRequest resolveSchedule(const std::string &said, const std::vector<WaveSchedule> &own = {});

/// True for the name of a file with a module instead of a kernel of the library.
bool isFile(const std::string &kernel);
/// Throw UsageError if it cannot be done.
std::string readFile(const std::string &path);
void writeFile(const std::string &path, const std::string &bytes);
/// What `compileText` takes of a choice.
CompileOptions optionsForFile(const KernelChoice &choice);

/// What a device loads.
rt::ImageKind imageFor(const rt::Device &device);
/// The choice with the device's own target where the user named none.
KernelChoice choiceFor(const KernelChoice &choice, const rt::Device &device);

/// The kernel of a user's C++ file that a choice names; what the compiler warned of goes to `err`.
OwnKernel loadOwnKernel(const std::string &said, std::ostream &err);
/// "SENTENCE; did you mean `a`? The choices are `a` or `b`.", without the question where nothing is near `found`.
std::string withChoices(const std::string &sentence, const std::string &found, const std::vector<std::string> &choices);
/// `unknown WHAT`, the nearest guess, and all choices.
std::string unknown(const std::string &what, const std::string &found, const std::vector<std::string> &choices);
/// `NAME=NUMBER`; throws UsageError for anything else.
std::pair<std::string, int64_t> assignment(const std::string &text);

/// Extents that files give to arguments, by name: sizes that nobody said follow from them.
using GivenShapes = std::map<std::string, std::vector<int64_t>>;
/// Throws UsageError with the legal choices and the nearest guess.
Resolved resolve(const KernelChoice &choice, std::ostream &err, const GivenShapes &given = {});

int listTargets(bool json, std::ostream &out);
int listKernels(bool json, std::ostream &out);
int compileKernel(const CompileCommand &command, std::ostream &out, std::ostream &err);
int compileAot(const CompileCommand &command, std::ostream &out, std::ostream &err);
int showSchedule(const ScheduleCommand &command, std::ostream &out, std::ostream &err);
int showLayout(const LayoutCommand &command, std::ostream &out, std::ostream &err);
int showPipeline(const PipelineCommand &command, std::ostream &out, std::ostream &err);
int runKernel(const RunCommand &command, std::ostream &out, std::ostream &err);
int benchKernel(const BenchCommand &command, std::ostream &out, std::ostream &err);

int manageCache(const CacheCommand &command, std::ostream &out);

/// Text that was said by others, ready to be printed: empty, or whole lines.
std::string withLineEnd(const std::string &text);
/// One line; bytes that are no UTF-8 (of a file name, say) are replaced.
std::string line(const Json &json);
/// One entry per phase, and their sum as `total`.
Json phasesJson(const CompileResult &result);
Json diagnosticsJson(const std::vector<Diagnostic> &diagnostics);
/// Prints what went wrong, as text or as JSON, and returns 2.
int reportFailure(const std::vector<Diagnostic> &diagnostics, bool json, std::ostream &out, std::ostream &err);

} // namespace soliton::cli
