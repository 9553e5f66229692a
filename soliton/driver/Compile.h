//===- Compile.h - From a kernel to something that runs --------------------------------===//
//
// The door of the compiler; no MLIR type is seen here.
//
//   CompiledKernel run = compile(gemm, {.target = "gfx942", .subs = {{M, 1024}, {BM, 128}, …}});
//   run(a, b, c);                                     // tensors on the host or on a device
//
// `compile` throws CompileError with everything that was found; `tryCompile` returns it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/Request.h"
#include "soliton/driver/BankConflicts.h"
#include "soliton/driver/Call.h"
#include "soliton/frontend/Kernel.h"
#include "soliton/runtime/Device.h"
#include "soliton/support/RowPadding.h"

#include <functional>
#include <memory>
#include <optional>

namespace soliton {

/// Which results of `soliton tune` the schedule `auto` may take (driver/Tuned.h).
enum class TunedUse : uint8_t { off, measured, modelled };

/// What a compilation should leave behind.
enum class Artefact : uint8_t { wave, machine, llvm, assembly, ptx, hsaco, cubin };

struct CompileOptions {
  /// Empty: that of the device it is compiled for.
  std::string target = {};
  lang::Substitutions subs = {};
  /// What symbols are that neither `subs` bind nor `schedule = auto` chooses (driver/Auto.h).
  lang::Substitutions defaults = {};
  /// Symbols that are known only at launch.
  std::vector<sym::Expr> dynamic = {};
  /// What loads it: `emulator`, `cuda`, `hip`, `cuda:1`; empty means the first GPU that can, otherwise the emulator.
  std::string device = {};
  /// When the instructions of loops happen; `auto` also chooses what else was left open (driver/Auto.h).
  sched::ScheduleRequest schedule = {.name = "auto"};
  /// `auto` takes a tuned result first: of those that are measured on `tunedOn`, or those of the model too.
  TunedUse tuned = TunedUse::measured;
  /// The device and its driver, as `tunedDevice` says them; empty: none, so that no measured result fits.
  std::string tunedOn = {};
  /// Texts and binaries to keep beside the image.
  std::vector<Artefact> keep = {};
  /// Tiles go from global to shared memory past the registers where the target can; a remark says where it cannot.
  bool directCopies = false;
  /// Tiles whose lanes hold too little of a row, as those of matrix instructions do, go to global memory through shared
  /// memory.
  bool stagedWrites = false;
  /// And leave that in boxes of their tensor, which one lane asks for, where the target can and the tensor allows it.
  bool boxedWrites = true;
  /// Workgroups take the tiles of the first two dimensions of the grid in bands of so many along the first; 0: row by
  /// row.
  int64_t raster = 0;
  /// A launch has no more workgroups than this; each of them takes several tiles, one after the other. 0: one each.
  int64_t persistent = 0;
  /// Waves beside those that compute, which have boxes copied for them; 0: a wave that computes does it. Unset: what
  /// the kernel says.
  std::optional<int64_t> serviceWaves = {};
  /// Waves of workgroups that walk tiles do not wait for each other between two of them, so that results of one leave
  /// under products of the next (`soliton/transforms/OverlapTiles.h`); for kernels that are persistent and have service
  /// waves. Unset: `auto` may choose it.
  std::optional<bool> overlapTiles = {};
  /// Teams of waves, those that issue matrix instructions together, take turns at it in loops, so that one's other work
  /// is done under another's products (`soliton/transforms/Turns.h`); for kernels with several. Unset: `auto` may
  /// choose it.
  std::optional<bool> turns = {};
  /// A launch may begin before those ahead of it in its stream have ended, and waits for them before it touches what
  /// they write or read (`soliton/transforms/WaitForLaunches.cpp`); those behind it may do the same. Unset: as the text
  /// of a module says, otherwise not.
  std::optional<bool> dependentLaunch = {};
  /// Memories that no launch writes which may still run when a dependent one begins, beside those that the kernel
  /// itself declares so: weights. They are read before the wait.
  std::vector<std::string> stable = {};
  /// So many workgroups, resident together, sum a product's tile: for products that have few. 0: each has its own.
  int64_t cluster = 0;
  /// So many neighbours along each dimension of the grid form a cluster and have tiles that they have in common copied
  /// to each other; one may be larger than 1. Empty: what the kernel says; ones: none.
  std::vector<int64_t> workgroupsPerCluster = {};
  /// So many workgroups must have room in a compute unit's registers and shared memory at once, so that some compute
  /// while others wait for memory; 0: as many as happen to.
  int64_t workgroupsPerUnit = 0;
  /// The matrix instruction of every `mma` that names none, in place of the hardware constraint's; empty: as that says.
  std::string mma = {};
  /// Sums of 8-bit floats stay in the accumulator of matrix instructions that keep few bits of them: faster, and far
  /// off where many terms have one sign. Without it they go on in f32 after every tile of K.
  bool shortSums = false;
  /// Tensors whose rows are not aligned are copied before each launch, where that pays, so that tiles are read wide.
  RowPadding paddedRows = RowPadding::automatic;
  /// Sizes that are known at launch may place what a workgroup touches of a tensor more than 2 GiB apart. Without it
  /// offsets that only such sizes make large have 32 bits, and a launch that needs more is refused.
  bool wideOffsets = false;
  /// Registers that do not fit and are spilled, and asynchronous matrix instructions that the assembler had to run one
  /// after another, are errors on NVIDIA unless these say otherwise.
  bool allowSpills = false, allowSerialization = false;
  /// The assembler's verdict is asked for too, where there is one, when the image is text that a driver will assemble.
  bool askAssembler = false;
  /// Judge every shared access by the bank model.
  bool countBankConflicts = false;
  /// Remarks among the warnings say which layouts were chosen, what they cost, and what came second.
  bool explainLayouts = false;
  /// Prints the program after this pass, or after `all`, to standard error.
  std::string printAfter = {};
  /// `compile` looks for what was compiled before, in this process or by another one, and keeps what it compiles
  /// (runtime/Cache.h says where). Schedules that are C++ functions are compiled each time.
  bool cache = true;
  /// Where what is said of no op in particular points to; empty: the line of the call that compiles.
  Place place = {};
};

/// How long one step of a compilation took. Steps of LLVM start with `llvm`; the assembler's is `ptxas`.
struct CompilePhase {
  std::string name;
  double ms = 0;
};

/// A kernel for one target, and what is known about it.
struct CompileResult {
  rt::KernelImage image;
  /// It was compiled before; of phases there are those of looking it up, and of artefacts and loops none.
  bool isFromCache = false;
  std::vector<CompilePhase> phases;
  std::vector<Diagnostic> warnings;
  /// In the order of `CompileOptions::keep`.
  std::vector<std::pair<Artefact, std::string>> artefacts;
  std::vector<BankConflicts> bankConflicts;
  uint32_t vgprs = 0, agprs = 0, sgprs = 0, spillBytes = 0;
  /// Ops of the machine form, and matrix instructions among them.
  int64_t machineOps = 0, matrixOps = 0;

  /// Loops that were scheduled, innermost ones in program order.
  std::vector<sched::LoopReport> loops;

  double totalMs() const;
};

/// Compiles without a device: to an image of this kind.
struct CompileAttempt {
  std::optional<CompileResult> result;
  std::vector<Diagnostic> diagnostics;
  /// Without a result: the loops that were scheduled until then, the last one being that which the verifier refused.
  std::vector<sched::LoopReport> loops;
  explicit operator bool() const { return result.has_value(); }
};

/// `kind` is what the image holds. Errors are returned, never thrown.
CompileAttempt compileImage(const Kernel &kernel, const CompileOptions &options, rt::ImageKind kind,
                            Place place = std::source_location::current());
/// The same with `CompileOptions::cache`.
CompileAttempt compileOrFind(const Kernel &kernel, const CompileOptions &options, rt::ImageKind kind,
                             Place place = std::source_location::current());
/// As `compileImage`, for the text of a module in form `Traced` that binds its symbols. `options.target`, if there,
/// replaces the target that it names; `kind` says what the image holds for a target.
CompileAttempt compileText(std::string_view text, std::string_view fileName, const CompileOptions &options,
                           const std::function<rt::ImageKind(const std::string &target)> &kind);

/// A kernel that is loaded on a device and can be called.
class CompiledKernel {
public:
  CompiledKernel(CompileResult result, rt::Device &device);

  const CompileResult &compiled() const { return *result; }
  rt::Device &device() const { return *where; }
  rt::LoadedKernel &loaded() const { return *kernel; }

  /// `run(a, b, 0.5)`: tensors of the host or a device, DLPack tensors, numbers, in the order of the parameters.
  template <typename... Arguments>
    requires(std::constructible_from<rt::Argument, Arguments &&> && ...)
  void operator()(Arguments &&...arguments) const {
    const rt::Argument list[] = {rt::Argument(std::forward<Arguments>(arguments))...};
    kernel->launch(list);
  }
  /// The same where extents are missing: `run(pointer, vector, {M, 300})`. Sizes are given by name, after the
  /// arguments; Call.h says who needs them. More than twelve: `launch({…})`.
  using Given = const CallArgument &;
  void operator()(Given a, Given b = {}, Given c = {}, Given d = {}, Given e = {}, Given f = {}, Given g = {},
                  Given h = {}, Given i = {}, Given j = {}, Given k = {}, Given l = {}) const {
    launch({a, b, c, d, e, f, g, h, i, j, k, l});
  }
  void launch(std::initializer_list<CallArgument> arguments, const rt::LaunchOptions &options = {}) const {
    call(*kernel, where->info(), std::span(arguments.begin(), arguments.size()), options);
  }

private:
  std::shared_ptr<CompileResult> result;
  rt::Device *where;
  std::shared_ptr<rt::LoadedKernel> kernel;
};

/// The name of the target that a device runs; empty for the emulator, which runs all of them. Drivers do not tell the
/// architecture's feature letter: `sm_90` runs `sm_90a`.
std::string targetOf(const rt::Device &device);

struct CompileOutcome {
  std::optional<CompiledKernel> kernel;
  std::vector<Diagnostic> diagnostics;
  explicit operator bool() const { return kernel.has_value(); }
};

CompiledKernel compile(const Kernel &kernel, const CompileOptions &options,
                       Place place = std::source_location::current());
CompileOutcome tryCompile(const Kernel &kernel, const CompileOptions &options,
                          Place place = std::source_location::current());

} // namespace soliton
