//===- Types.h - Element types, address spaces and matrix instructions by name -===//
//
// The words of the kernel language that name a type or a place: `f16`, `shared`, `F32_16x16x16_F16`.
//
//   auto a = gemm.memory("a", {M, K}, shared, f16);
//   HardwareConstraint{.mma = F32_16x16x16_F16};
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/DType.h"
#include "soliton/symbolic/Expr.h"

#include <string>
#include <string_view>

namespace soliton {
inline namespace lang {

using sym::Expr;

/// An element type as an author names it: a `DType`, or one of the target's own 8-bit floats: `f8`, its e4m3, and
/// `bf8`, its e5m2.
class ElementType {
public:
  constexpr ElementType() = default;
  constexpr ElementType(DType type) : code(static_cast<uint8_t>(type)) {}
  /// The target's own 8-bit float with 4 exponent bits.
  static constexpr ElementType nativeF8() {
    ElementType type;
    type.code = kNativeF8;
    return type;
  }

  /// The same with 5 exponent bits.
  static constexpr ElementType nativeBf8() {
    ElementType type;
    type.code = kNativeBf8;
    return type;
  }

  constexpr bool isNativeF8() const { return code == kNativeF8; }
  constexpr bool isNativeBf8() const { return code == kNativeBf8; }
  /// The type on a target whose own e4m3 is `native`; its e5m2 has, or lacks, infinities and -0 as that does.
  constexpr DType resolve(DType native = DType::f8e4m3fn) const {
    if (isNativeBf8())
      return native == DType::f8e4m3fnuz ? DType::f8e5m2fnuz : DType::f8e5m2;
    return isNativeF8() ? native : static_cast<DType>(code);
  }
  constexpr bool operator==(const ElementType &) const = default;

private:
  static constexpr uint8_t kNativeF8 = 0xff, kNativeBf8 = 0xfe;
  uint8_t code = static_cast<uint8_t>(DType::f32);
};

/// `f16`, `f8`, as the author writes it.
std::string toString(ElementType type);
bool isFloat(ElementType type);
inline bool isInteger(ElementType type) {
  return !isFloat(type);
}
/// The type of that name, `f8` and `bf8` included; nothing if there is none.
std::optional<ElementType> parseElementType(std::string_view text);

inline constexpr ElementType i1 = DType::i1, i4 = DType::i4, i8 = DType::i8, i16 = DType::i16, i32 = DType::i32,
                             i64 = DType::i64;
inline constexpr ElementType f4e2m1fn = DType::f4e2m1fn, f6e2m3fn = DType::f6e2m3fn, f6e3m2fn = DType::f6e3m2fn,
                             f8e4m3fn = DType::f8e4m3fn, f8e4m3fnuz = DType::f8e4m3fnuz, f8e5m2 = DType::f8e5m2,
                             f8e5m2fnuz = DType::f8e5m2fnuz, f8e8m0fnu = DType::f8e8m0fnu;
inline constexpr ElementType f16 = DType::f16, bf16 = DType::bf16, f32 = DType::f32, f64 = DType::f64;
inline constexpr ElementType f8 = ElementType::nativeF8(), bf8 = ElementType::nativeBf8();

/// Where a memory lives. A kernel's parameter lies in global memory; `shared` asks that reads of it go through the
/// workgroup's shared memory. Any symbol may stand in its place if `subs` binds it to one of these.
struct AddressSpace {
  enum Kind : uint8_t { Global, Shared } kind;
  /// The symbol that stands for it in expressions and `subs`.
  operator Expr() const;
};
inline constexpr AddressSpace global{AddressSpace::Global};
inline constexpr AddressSpace shared{AddressSpace::Shared};

/// A matrix instruction by its name. Which of them exist, and for which element types, is the target's business.
struct MmaType {
  std::string name;
  MmaType(std::string_view name) : name(name) {}
  MmaType(const char *name) : name(name) {}
  bool operator==(const MmaType &) const = default;
};

#define SOLITON_MMA_TYPE(NAME) inline constexpr std::string_view NAME = #NAME;
SOLITON_MMA_TYPE(F32_16x16x16_F16)
SOLITON_MMA_TYPE(F32_16x16x32_BF16)
SOLITON_MMA_TYPE(F32_16x16x32_F16)
SOLITON_MMA_TYPE(F32_16x16x32_F8)
SOLITON_MMA_TYPE(F32_16x16x32_K4_F8)
SOLITON_MMA_TYPE(F32_16x16x32_K8_F16)
SOLITON_MMA_TYPE(F32_16x16x128_F8F6F4)
SOLITON_MMA_TYPE(F32_32x32x8_F16)
SOLITON_MMA_TYPE(F32_32x32x16_BF16)
SOLITON_MMA_TYPE(F32_32x32x16_F16)
SOLITON_MMA_TYPE(F32_32x32x16_F8)
SOLITON_MMA_TYPE(F32_32x32x16_K4_F8)
SOLITON_MMA_TYPE(F32_32x32x16_K8_F16)
SOLITON_MMA_TYPE(F32_32x32x64_F8F6F4)
SOLITON_MMA_TYPE(I32_16x16x16_I8)
SOLITON_MMA_TYPE(I32_16x16x32_I8)
SOLITON_MMA_TYPE(I32_32x32x8_I8)
SOLITON_MMA_TYPE(I32_32x32x16_I8)
#undef SOLITON_MMA_TYPE

} // namespace lang
} // namespace soliton
