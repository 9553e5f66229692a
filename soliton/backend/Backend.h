//===- Backend.h - From the machine form to a binary --------------------------===//
//
// Translates one `machine.kernel` to LLVM IR and from there to what a device loads:
//
//   FailureOr<CodeObject> hsaco = compileToHsaco(kernel, *findTarget("gfx942"));
//   FailureOr<CodeObject> ptx   = compileToPtx(kernel, *findTarget("sm_90a"));
//   if (succeeded(ptx)) (void)assembleCubin(*ptx, kernel, target);     // where there is a ptxas
//
// Errors go to the diagnostics of the kernel's context; a crash of LLVM is an error like any other. Different threads
// may compile at once, each with a context of its own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Machine.h"
#include "soliton/support/Diagnostics.h"
#include "soliton/target/Target.h"

namespace soliton::backend {

struct Options {
  /// Line tables, so that an instruction names the op it comes from.
  bool lineInfo = true;
  /// a * b + c may become one fused operation, as GPU compilers do unless told otherwise.
  bool fuseMultiplyAdd = true;
  /// Workgroups that the register allocator must leave room for in a compute unit; 0 lets it decide.
  int64_t workgroupsPerUnit = 0;
  /// Also keep the assembly text of an HSACO (PTX is always kept) and the LLVM IR before optimisation.
  bool keepAssembly = false;
  bool keepLlvmIr = false;
  /// Where ptxas is; empty means CUDA_HOME, then PATH, then the active Python environment, then /usr/local/cuda/bin.
  std::string ptxas;
  /// Messages of ptxas that say that asynchronous matrix instructions run one after another are errors unless this is
  /// set.
  bool allowSerialization = false;
  /// Registers that ptxas had to spill are an error unless this is set.
  bool allowSpills = false;
  /// Hold the code object of a kernel whose order is decided against its program (AMD).
  bool checkOrder = true;
  /// Tie matrix products and narrow loads to their places (AMD); set by the compiler where LLVM moved one without it.
  bool pin = false;
};

/// How long one step took.
struct Phase {
  std::string name;
  double ms = 0;
};

enum class ParameterKind : uint8_t { pointer, scalar, tensorMap };

/// One parameter of the kernel, where the launch has to put it.
struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::pointer;
  uint32_t offset = 0;
  uint32_t size = 0;

  bool operator==(const Parameter &) const = default;
};

struct CodeObject {
  /// HSACO or cubin; empty for PTX that was not assembled.
  std::string bytes;
  /// Assembly (on request) or PTX.
  std::string assembly;
  /// Before optimisation, on request.
  std::string llvmIr;

  std::string entry;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;
  uint32_t threads = 0;
  /// The workgroup's shared block: static in an HSACO, to be asked for at launch on NVIDIA.
  uint32_t sharedBytes = 0;
  bool sharedIsDynamic = false;

  /// Registers per lane (NVIDIA: `vgprs`), and what did not fit. Zero where nothing has assembled it yet.
  uint32_t vgprs = 0, agprs = 0, sgprs = 0;
  /// Registers that were spilled (AMD) and bytes a lane (both).
  uint32_t spilledRegisters = 0, spillBytes = 0;
  /// Private memory of a lane.
  uint32_t scratchBytes = 0;

  std::vector<Diagnostic> warnings;
  /// `translate`, `llvm_opt`, `llvm_codegen`, then `lld` or `ptxas`.
  std::vector<Phase> phases;

  double msOf(std::string_view phase) const;
};

/// Fails with `wrong-target` if the kernel was made for another target.
mlir::FailureOr<CodeObject> compileToHsaco(machine::KernelOp kernel, const Target &target, const Options &options = {});
mlir::FailureOr<CodeObject> compileToPtx(machine::KernelOp kernel, const Target &target, const Options &options = {});

/// The ptxas that `assembleCubin` would run, or nothing.
std::optional<std::string> findPtxas(const Options &options = {});

/// Adds the cubin, registers and spills to what `compileToPtx` returned; kernel and target as for the compilation. What
/// ptxas says against it is reported at the ops that it is about.
llvm::LogicalResult assembleCubin(CodeObject &code, machine::KernelOp kernel, const Target &target,
                                  const Options &options = {});

} // namespace soliton::backend
