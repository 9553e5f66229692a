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
  std::vector<uint32_t> tensorMaps;
  size_t bytes = 0;
};

inline constexpr size_t kTensorMapBytes = 128;

/// A checked launch. Lives on the stack of `launch`.
struct PreparedLaunch {
  PreparedLaunch() {} // The block is large and mostly unused: leave it as it is.

  std::array<uint32_t, 3> grid;
  /// Some axis has no workgroup: there is nothing to do.
  bool empty = false;
  /// Some tensor lies in host memory and the device cannot reach it.
  bool needsStaging = false;
  std::array<int64_t, kMaxSymbols> symbols;
  alignas(64) std::array<std::byte, kMaxParameterBytes> block;
};

class LaunchPlan {
public:
  explicit LaunchPlan(const KernelImage &image) : image(image), layout(image) {}

  /// Throws CompileError with everything that is wrong. Tensors in host memory on a GPU get no address yet.
  void prepare(std::span<const Argument> arguments, const LaunchOptions &options, const DeviceInfo &device,
               PreparedLaunch &launch) const;

  size_t blockBytes() const { return layout.bytes; }
  const ParameterLayout &parameters() const { return layout; }
  void *pointer(const PreparedLaunch &launch, size_t argument) const;
  void setPointer(PreparedLaunch &launch, size_t argument, const void *pointer) const;
  /// Null where alignment holds, otherwise what is wrong with `address` for buffer `argument`.
  std::optional<Diagnostic> checkAlignment(size_t argument, const void *address) const;

private:
  /// Writes one argument into the block, or says why it cannot be.
  std::optional<Diagnostic> write(PreparedLaunch &launch, size_t index, const Argument &argument,
                                  const DeviceInfo &device) const;

  const KernelImage &image;
  ParameterLayout layout;
};

/// `argument 1 (`b`) of `gemm``, as every message about an argument starts.
std::string argumentName(const KernelImage &image, size_t argument);

} // namespace soliton::rt
