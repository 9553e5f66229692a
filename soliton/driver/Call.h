//===- Call.h - What a call of a kernel takes ---------------------------------------===//
//
// A tensor says its extents, and so the sizes that the kernel leaves to the launch. A bare pointer says none, a vector
// only how many elements it has: their extents follow from the kernel's parameter, once its sizes are known from other
// arguments or by name.
//
//   copy(a: f32[M, N], b: f32[M, N]) with M dynamic, N = 64
//   run(a, b)                        tensors
//   run(pointer, b)                  M from b, so pointer is f32[M, 64] in the memory of the kernel's device
//   run(vector, other, {M, 300})     vectors of the host, of 300 · 64 elements each
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/Device.h"
#include "soliton/symbolic/Expr.h"

#include <optional>
#include <ranges>

namespace soliton {

/// An argument of a call, or a size by its name.
class CallArgument {
public:
  /// Nothing.
  CallArgument() = default;

  template <typename T>
    requires std::constructible_from<rt::Argument, T &&>
  CallArgument(T &&argument) : argument(std::forward<T>(argument)) {}

  /// Memory of the device that the kernel is loaded on, as large as its parameter.
  template <typename T>
    requires(!std::constructible_from<rt::Argument, T *>)
  CallArgument(T *pointer) : array(arrayOf(pointer)) {}

  /// Memory of the host.
  template <std::ranges::contiguous_range R>
    requires(!std::constructible_from<rt::Argument, R &&>)
  CallArgument(R &&range) : array(arrayOf(std::ranges::data(range))) {
    array->elements = std::ranges::size(range);
  }

  /// `{M, 300}`
  CallArgument(const sym::Expr &symbol, int64_t value) : size(Size{symbol, value}) {}

  /// Elements without extents.
  struct Array {
    void *data = nullptr;
    /// Nothing for `void *`: what the parameter has.
    std::optional<DType> dtype = {};
    bool readOnly = false;
    /// Nothing for a bare pointer.
    std::optional<size_t> elements = {};
  };
  struct Size {
    sym::Expr symbol;
    int64_t value = 0;
  };

  /// At most one of them is there.
  std::optional<rt::Argument> argument;
  std::optional<Array> array;
  std::optional<Size> size;

private:
  template <typename T>
  static Array arrayOf(T *pointer) {
    using Element = std::remove_const_t<T>;
    Array made;
    made.data = const_cast<Element *>(pointer);
    made.readOnly = std::is_const_v<T>;
    if constexpr (!std::is_void_v<Element>)
      made.dtype = rt::dtypeOf<Element>();
    return made;
  }
};

/// Launches a kernel. Throws CompileError with what is wrong: `symbol-unknown`, `symbol-conflict`, `argument-count` for
/// sizes, and whatever the launch finds.
void call(rt::LoadedKernel &kernel, const rt::DeviceInfo &device, std::span<const CallArgument> given,
          const rt::LaunchOptions &options);

} // namespace soliton
