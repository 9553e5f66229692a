//===- LaunchPlan.h - From arguments to a parameter block --------------------===//
//
// What every device does before it enqueues a kernel, decided once per image: where each parameter lies in the block.
// Per launch it checks the arguments, binds the symbols, evaluates the grid and writes the block, on the stack of the
// caller, with no allocation unless something is wrong.
//
//   gemm(a: f16[M, K], b, c) with M = 512:   block = a | b | c | i32 512 | ...      grid = {ceildiv(512, 128), ...}
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/Device.h"

namespace soliton::rt {

/// Byte offsets of the parameters, in the order that KernelImage.h states.
struct ParameterLayout {
  explicit ParameterLayout(const KernelImage &image);

  /// By argument index; buffers and scalars alike.
  std::vector<uint32_t> arguments;
  std::vector<uint32_t> symbols;
  /// Where a kernel that has tensor maps finds the first of them.
  uint32_t tensorMaps = 0;
  std::optional<uint32_t> workspace;
  /// All of these but the maps, as the kernel has them.
  std::vector<uint32_t> inOrder;
  /// Without tensor maps.
  size_t bytes = 0;

  /// What a kernel with that many tensor maps takes.
  size_t bytesWith(size_t maps) const { return maps == 0 ? bytes : tensorMaps + maps * kTensorMapBytes; }
};

/// The tensor of one map of a launch, every formula evaluated.
struct MappedTensor {
  uint64_t offset;
  std::array<uint64_t, 5> sizes, strides;
  /// It has no elements.
  bool isEmpty;
};

/// A checked launch. Lives on the stack of `launch`.
struct PreparedLaunch {
  PreparedLaunch() {} // The block is large and mostly unused: leave it as it is.

  struct Range {
    uint64_t offset = 0, bytes = 0;
  };

  bool isEmpty(size_t step) const { return grids[step][0] == 0 || grids[step][1] == 0 || grids[step][2] == 0; }

  /// By kernel of the plan; one with an axis that has no workgroup is left out.
  std::array<std::array<uint32_t, 3>, kMaxLaunches> grids;
  /// All of them are.
  bool empty = false;
  uint64_t workspaceBytes = 0;
  /// To be zeroed, as many as the image says.
  std::array<Range, kMaxZeroedRanges> zeroed;
  /// Some tensor lies in host memory and the device cannot reach it.
  bool needsStaging = false;
  std::array<int64_t, kMaxSymbols> symbols;
  /// Of all kernels that have a workgroup, in the order of the plan.
  std::array<MappedTensor, kMaxTensorMaps> tensors;
  alignas(64) std::array<std::byte, kMaxParameterBytes> block;
};

class LaunchPlan {
public:
  /// Of an image without a flaw.
  explicit LaunchPlan(const KernelImage &image);

  /// Throws CompileError with everything that is wrong. Tensors in host memory on a GPU get no address yet.
  void prepare(std::span<const Argument> arguments, const LaunchOptions &options, const DeviceInfo &device,
               PreparedLaunch &launch) const;

  const std::vector<LaunchStep> &steps() const { return launches; }
  uint64_t workspaceBytes(std::span<const Argument> arguments, const LaunchOptions &options,
                          const DeviceInfo &device) const;
  void setWorkspace(PreparedLaunch &launch, const void *pointer) const;

  size_t blockBytes(size_t step) const { return layout.bytesWith(launches[step].tensorMaps.size()); }
  /// Which of `PreparedLaunch::tensors` the first map of a kernel is of.
  size_t firstTensor(size_t step) const { return firstTensors[step]; }
  const ParameterLayout &parameters() const { return layout; }
  void *pointer(const PreparedLaunch &launch, size_t argument) const;
  void *workspace(const PreparedLaunch &launch) const;
  void setPointer(PreparedLaunch &launch, size_t argument, const void *pointer) const;
  /// Null where alignment holds, otherwise what is wrong with `address` for buffer `argument`.
  std::optional<Diagnostic> checkAlignment(size_t argument, const void *address) const;

private:
  /// Writes one argument into the block, or says why it cannot be.
  std::optional<Diagnostic> write(PreparedLaunch &launch, size_t index, const Argument &argument,
                                  const DeviceInfo &device) const;

  const KernelImage &image;
  ParameterLayout layout;
  std::vector<LaunchStep> launches;
  std::vector<size_t> firstTensors;
  /// By first * arguments + second: the two may be the same array.
  std::vector<bool> mayAlias;
};

/// `argument 1 (`b`) of `gemm``, as every message about an argument starts.
std::string argumentName(const KernelImage &image, size_t argument);

/// The formula with the names of the image's symbols.
std::string formulaOf(const KernelImage &image, const LaunchExpr &expr);

} // namespace soliton::rt
