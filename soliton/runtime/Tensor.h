//===- Tensor.h - A view of somebody's array --------------------------------===//
//
// What a launch takes: a pointer with shape, strides, element type and the memory it lies in. A view owns nothing and
// allocates nothing; the array must outlive every launch that uses it.
//
//   std::vector<float> a(64 * 32);
//   Tensor view = Tensor::of(a, {64, 32});
//   Tensor same = Tensor::fromDlpack(managed->dl_tensor);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/runtime/Dlpack.h"
#include "soliton/runtime/KernelImage.h"
#include "soliton/support/DType.h"

#include <array>
#include <concepts>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>

namespace soliton::rt {

enum class MemoryKind : uint8_t { host, cuda, hip };

std::string_view name(MemoryKind kind);

/// The element type of a C++ number type, or of a type that says it: `static constexpr DType dtype`.
template <typename T>
constexpr DType dtypeOf() {
  if constexpr (requires { T::dtype; })
    return T::dtype;
  else if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else {
    static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>, "give the element type explicitly");
    return sizeof(T) == 1 ? DType::i8 : sizeof(T) == 2 ? DType::i16 : sizeof(T) == 4 ? DType::i32 : DType::i64;
  }
}

/// Bits of one element in a buffer: `bits(type)`, but a whole byte for `i1`, as every framework stores it. Narrower
/// floats are packed, first element in the low bits.
int storageBits(DType type);

struct Tensor {
  void *data = nullptr;
  DType dtype = DType::f32;
  int rank = 0;
  std::array<int64_t, kMaxRank> shape = {};
  /// In elements.
  std::array<int64_t, kMaxRank> strides = {};
  MemoryKind memory = MemoryKind::host;
  int device = 0;
  /// Must not be passed as an output.
  bool readOnly = false;

  /// A dense row-major view. Throws CompileError `argument-rank` beyond `kMaxRank` dimensions.
  static Tensor dense(void *data, DType dtype, std::span<const int64_t> shape, MemoryKind memory = MemoryKind::host,
                      int device = 0);
  static Tensor dense(void *data, DType dtype, std::initializer_list<int64_t> shape,
                      MemoryKind memory = MemoryKind::host, int device = 0) {
    return dense(data, dtype, std::span(shape.begin(), shape.size()), memory, device);
  }

  /// A view whose neighbours along each dimension lie that many elements apart: rows of a wider matrix, columns of a
  /// transposed one. Throws CompileError `argument-rank` for more or fewer strides than extents.
  static Tensor strided(void *data, DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides,
                        MemoryKind memory = MemoryKind::host, int device = 0);
  static Tensor strided(void *data, DType dtype, std::initializer_list<int64_t> shape,
                        std::initializer_list<int64_t> strides, MemoryKind memory = MemoryKind::host, int device = 0) {
    return strided(data, dtype, std::span(shape.begin(), shape.size()), std::span(strides.begin(), strides.size()),
                   memory, device);
  }

  /// A dense view of a contiguous range in host memory, which must have exactly as many elements as `shape` says.
  template <std::ranges::contiguous_range R>
  static Tensor of(R &&range, std::initializer_list<int64_t> shape) {
    using T = std::remove_reference_t<std::ranges::range_reference_t<R>>;
    Tensor view =
        dense(const_cast<std::remove_const_t<T> *>(std::ranges::data(range)), dtypeOf<std::remove_const_t<T>>(), shape);
    view.readOnly = std::is_const_v<T>;
    view.requireElements(std::ranges::size(range));
    return view;
  }

  /// A view of a DLPack tensor, which stays the owner's. Throws CompileError `argument-dtype`, `argument-rank` or
  /// `argument-device` for what this runtime cannot hold.
  static Tensor fromDlpack(const DLTensor &tensor);
  static Tensor fromDlpack(const DLManagedTensor &managed) { return fromDlpack(managed.dl_tensor); }
  static Tensor fromDlpack(const DLManagedTensorVersioned &managed);

  /// The same memory read as another element type of the same width; throws CompileError `argument-dtype` otherwise.
  Tensor as(DType other) const;

  std::span<const int64_t> extents() const { return {shape.data(), size_t(rank)}; }
  std::span<const int64_t> steps() const { return {strides.data(), size_t(rank)}; }

  /// Number of elements; nothing on overflow.
  std::optional<int64_t> elements() const;
  /// Elements from `data` to the end of the last one, with what lies between, 0 for an empty tensor; nothing on
  /// overflow or for a stride below zero.
  std::optional<int64_t> span() const;
  /// Bytes from `data` to the end of the last element, 0 for an empty tensor; nothing on overflow or for a stride
  /// below zero.
  std::optional<int64_t> bytes() const;
  bool isDense() const;

  /// `f16[64, 32] on cuda:0`, for messages.
  std::string toString() const;

private:
  void requireElements(size_t count) const;
};

/// What an array says about a symbol that is one of its extents or strides. Where an extent is 1 nothing lies apart,
/// and any stride is as good as another.
int64_t valueIn(const SymbolSpec &symbol, const Tensor &tensor);

/// Structs of DLPack, by whichever header they are declared: their layout is the standard's.
template <typename T>
concept DlpackTensor = requires(const T &tensor) {
  tensor.byte_offset;
  tensor.ndim;
  tensor.dtype.lanes;
};
template <typename T>
concept DlpackManaged = requires(const T &managed) {
  managed.manager_ctx;
  managed.dl_tensor.byte_offset;
};

/// What is passed for one parameter of the kernel: an array or a number.
class Argument {
public:
  Argument(const Tensor &tensor) : view(tensor), kind(Kind::tensor) {}
  Argument(const DlpackTensor auto &tensor)
      : Argument(Tensor::fromDlpack(reinterpret_cast<const DLTensor &>(tensor))) {}
  template <DlpackManaged T>
  Argument(const T &managed) : Argument(viewOf(managed)) {}
  template <DlpackManaged T>
  Argument(const T *managed) : Argument(viewOf(*managed)) {}
  Argument(std::floating_point auto number) : real(number), kind(Kind::real) {}
  Argument(std::integral auto number) : integer(static_cast<int64_t>(number)), kind(Kind::integer) {}

  const Tensor *tensor() const { return kind == Kind::tensor ? &view : nullptr; }
  bool isInteger() const { return kind == Kind::integer; }
  /// The number, where it is one.
  int64_t integerValue() const { return integer; }
  double realValue() const { return kind == Kind::integer ? static_cast<double>(integer) : real; }

private:
  template <DlpackManaged T>
  static Tensor viewOf(const T &managed) {
    if constexpr (requires { managed.version; })
      return Tensor::fromDlpack(reinterpret_cast<const DLManagedTensorVersioned &>(managed));
    else
      return Tensor::fromDlpack(reinterpret_cast<const DLManagedTensor &>(managed));
  }

  enum class Kind : uint8_t { tensor, real, integer };
  Tensor view;
  double real = 0;
  int64_t integer = 0;
  Kind kind;
};

} // namespace soliton::rt
