//===- KernelImage.h - A compiled kernel as a value ------------------------===//
//
// Everything that a launch must know about a compiled kernel, and the code itself. The compiler makes it, a file or the
// cache holds it, a device loads it; nothing here needs the compiler.
//
//   KernelImage image{.kernel = "gemm", .kind = ImageKind::ptx, .entry = "gemm", ...};
//   std::vector<std::byte> file = serialize(image);          image == deserialize(file)
//
// A compiled kernel is a plan of one or more launches that run one after the other, and a workspace that they share.
// All of them take these parameters, in this order: one 64-bit pointer per buffer argument, that of the workspace if
// there is one, the scalars at their width, the symbols as i32. Each is aligned to its size. Behind them stand the
// tensor maps of the kernel itself, 128 bytes each at a multiple of 64.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/LaunchExpr.h"
#include "soliton/support/DType.h"
#include "soliton/support/Diagnostics.h"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace soliton::rt {

enum class ImageKind : uint8_t { ptx, cubin, hsaco, emulator };

std::string_view name(ImageKind kind);
std::optional<ImageKind> parseImageKind(std::string_view text);

enum class ArgumentKind : uint8_t { buffer, scalar };

/// What the kernel expects of one argument.
struct ArgumentSpec {
  std::string name;
  ArgumentKind kind = ArgumentKind::buffer;
  DType dtype = DType::f32;
  /// One extent per dimension, outermost first; empty for scalars.
  std::vector<LaunchExpr> shape;
  /// Elements from one index to the next, one per dimension; empty means row-major and dense.
  std::vector<LaunchExpr> strides;
  /// The kernel writes it.
  bool isOutput = false;
  /// The kernel reads what was there.
  bool isRead = true;
  /// The address must be a multiple of this many bytes.
  int64_t alignment = 1;
  /// The most bytes a buffer may span, because the kernel computes its offsets in 32 bits; 0 means any.
  int64_t byteLimit = 0x7fffffff;
  /// Where its author declared it; errors of launches point there.
  Place place = {};

  bool operator==(const ArgumentSpec &) const = default;
};

/// A size known only at launch: extent or stride `dim` of buffer argument `argument`, or, without an argument, a number
/// that the caller gives (`LaunchOptions::symbols`, in order of those).
struct SymbolSpec {
  std::string name;
  std::optional<uint32_t> argument;
  uint32_t dim = 0;
  /// The extent less this is its value: 1 where the argument has `B + 1` elements.
  int64_t less = 0;
  /// The extent times this is its value: 32 where the argument has `K/32` elements.
  uint32_t factor = 1;
  /// It is the distance of neighbours along `dim`, in elements, instead of the extent.
  bool isStride = false;

  /// Its value, where the extent is that.
  int64_t valueOf(int64_t extent) const {
    return extent > INT32_MAX ? extent : extent * factor - less; // what is beyond is refused as it is
  }
  bool operator==(const SymbolSpec &) const = default;
};

/// What the compiler assumed and the launch has to check.
struct LaunchCheck {
  /// Must be non-zero.
  LaunchExpr predicate;
  /// What is violated, for the user: "`K` must be a multiple of 64".
  std::string message;

  bool operator==(const LaunchCheck &) const = default;
};

/// A descriptor that the tile-copy engine needs; encoded by the device at launch and passed by value. Innermost
/// dimension first, as the engine counts.
struct TensorMapSpec {
  /// The buffer argument that the tensor lies in; absent: the workspace.
  std::optional<uint32_t> argument = 0;
  /// Its first byte there, a multiple of 16.
  LaunchExpr offset = 0;
  DType dtype = DType::f16;
  /// Extents in elements.
  std::vector<LaunchExpr> sizes;
  /// Bytes from one index to the next, for each dimension but the innermost; multiples of 16.
  std::vector<LaunchExpr> strides;
  /// Elements of one copy.
  std::vector<uint32_t> box;
  /// Width of the shared-memory swizzle in bytes: 0, 32, 64 or 128.
  uint32_t swizzle = 0;
  /// Of a tensor of images (channels, the places of a pixel, images): where pixels begin and, counted from the last
  /// place, end along the dimensions of places, and how far apart they are. The box is then so many channels of so many
  /// pixels that follow each other, from row to row and from image to image. Empty for any other tensor.
  std::vector<int32_t> lower = {}, upper = {};
  std::vector<uint32_t> steps = {};

  bool operator==(const TensorMapSpec &) const = default;
};

/// One kernel of a plan.
struct LaunchStep {
  /// Symbol of the entry point.
  std::string entry;
  /// Where it is; empty: in the image's own code, as far as that kind of code holds several.
  std::vector<std::byte> code = {};
  std::array<uint32_t, 3> threads = {1, 1, 1};
  /// Workgroups that are scheduled together; {1, 1, 1} is none.
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  std::array<LaunchExpr, 3> grid = {1, 1, 1};
  uint32_t staticSharedBytes = 0;
  uint32_t dynamicSharedBytes = 0;
  std::vector<TensorMapSpec> tensorMaps = {};
  /// It waits by itself for what is ahead in its stream, and may begin before that has ended.
  bool isDependent = false;

  bool operator==(const LaunchStep &) const = default;
};

/// Memory that the kernels of a plan share during one launch: partial results, counters, padded copies. Its contents
/// are undefined at first, except for what is `zeroed`.
struct WorkspaceSpec {
  struct Range {
    LaunchExpr offset, bytes;
    bool operator==(const Range &) const = default;
  };
  /// 0: there is none.
  LaunchExpr bytes = 0;
  /// Set to zero before the first kernel of each launch.
  std::vector<Range> zeroed;

  bool exists() const { return bytes != LaunchExpr(0); }
  bool operator==(const WorkspaceSpec &) const = default;
};

struct KernelImage {
  /// The author's name of the kernel; also names it in errors.
  std::string kernel;
  /// Where its text begins.
  Place place = {};
  /// Target for which it was compiled.
  std::string target;
  ImageKind kind = ImageKind::emulator;
  /// Symbol of the entry point in `code`.
  std::string entry;
  std::vector<std::byte> code;

  std::array<uint32_t, 3> threads = {1, 1, 1};
  /// Workgroups that are scheduled together; {1, 1, 1} is none.
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  std::array<LaunchExpr, 3> grid = {1, 1, 1};
  uint32_t staticSharedBytes = 0;
  uint32_t dynamicSharedBytes = 0;
  std::vector<TensorMapSpec> tensorMaps;
  /// It waits by itself for what is ahead in its stream, and may begin before that has ended.
  bool isDependent = false;
  /// Kernels that run after the one above.
  std::vector<LaunchStep> further;
  WorkspaceSpec workspace;

  std::vector<ArgumentSpec> arguments;
  /// Pairs of arguments that may be the very same array: the kernel reads each element of one before it writes that of
  /// the other. No other array that the kernel writes may share memory with another.
  std::vector<std::array<uint32_t, 2>> mayAliasExactly;
  std::vector<SymbolSpec> symbols;
  std::vector<LaunchCheck> checks;
  /// What the compiler wants to tell (options, schedule name, …), kept as it is.
  std::vector<std::pair<std::string, std::string>> metadata;

  bool operator==(const KernelImage &) const = default;
};

/// Limits that `deserialize` and `load` enforce.
inline constexpr size_t kMaxArguments = 64;
inline constexpr size_t kMaxSymbols = 64;
/// Of all kernels of a plan together.
inline constexpr size_t kMaxTensorMaps = 16;
inline constexpr size_t kTensorMapBytes = 128;
/// What a tensor's address, strides and offset are multiples of, where tile copies move it.
inline constexpr int64_t kTensorMapAlignment = 16;
inline constexpr size_t kMaxRank = 8;
inline constexpr size_t kMaxParameterBytes = 4096;
inline constexpr size_t kMaxLaunches = 8;
inline constexpr size_t kMaxZeroedRanges = 8;
/// What the address of a workspace is a multiple of.
inline constexpr size_t kWorkspaceAlignment = 256;

/// The image's own kernel as a step of a plan, with its code.
LaunchStep firstStep(const KernelImage &image);

/// All kernels of the plan in order; the code of the first is the image's.
std::vector<LaunchStep> launchSteps(const KernelImage &image);

/// What is wrong with an image, in one sentence; nothing where it can be loaded.
std::optional<std::string> findFlaw(const KernelImage &image);

/// Of the file form; a reader takes no other.
inline constexpr uint32_t kImageVersion = 4;

/// The manifest as JSON (everything but `code`), readable by any tool.
std::string manifest(const KernelImage &image);

/// One file: magic, version, sizes, checksum, manifest, code.
std::vector<std::byte> serialize(const KernelImage &image);

/// The image in `file`; throws CompileError `image-invalid` for anything that `serialize` did not write.
KernelImage deserialize(std::span<const std::byte> file);

/// Writes by rename, so that a reader never sees half a file.
void writeImage(const std::string &path, const KernelImage &image);
KernelImage readImage(const std::string &path);

} // namespace soliton::rt
