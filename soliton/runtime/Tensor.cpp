#include "soliton/runtime/Tensor.h"

#include "soliton/runtime/Errors.h"

#include <algorithm>

namespace soliton::rt {
namespace {

struct DlpackRow {
  uint8_t code;
  uint8_t bits;
  DType dtype;
};

// Unsigned integers are taken as the signed type of their width: the kernel says how it reads them.
constexpr DlpackRow kDlpackTypes[] = {
    {kDLInt, 8, DType::i8},
    {kDLInt, 16, DType::i16},
    {kDLInt, 32, DType::i32},
    {kDLInt, 64, DType::i64},
    {kDLUInt, 8, DType::i8},
    {kDLUInt, 16, DType::i16},
    {kDLUInt, 32, DType::i32},
    {kDLUInt, 64, DType::i64},
    {kDLBool, 8, DType::i1},
    {kDLFloat, 16, DType::f16},
    {kDLFloat, 32, DType::f32},
    {kDLFloat, 64, DType::f64},
    {kDLBfloat, 16, DType::bf16},
    {kDLFloat8_e4m3fn, 8, DType::f8e4m3fn},
    {kDLFloat8_e4m3fnuz, 8, DType::f8e4m3fnuz},
    {kDLFloat8_e5m2, 8, DType::f8e5m2},
    {kDLFloat8_e5m2fnuz, 8, DType::f8e5m2fnuz},
    {kDLFloat8_e8m0fnu, 8, DType::f8e8m0fnu},
    {kDLFloat6_e2m3fn, 6, DType::f6e2m3fn},
    {kDLFloat6_e3m2fn, 6, DType::f6e3m2fn},
    {kDLFloat4_e2m1fn, 4, DType::f4e2m1fn},
};

DType dtypeOf(DLDataType type) {
  if (type.lanes == 1)
    for (const DlpackRow &row : kDlpackTypes)
      if (row.code == type.code && row.bits == type.bits)
        return row.dtype;
  fail(DiagId::ArgumentDtype, "a DLPack tensor of type code " + std::to_string(type.code) + ", " +
                                  std::to_string(type.bits) + " bits and " + std::to_string(type.lanes) +
                                  " lanes has no element type here");
}

MemoryKind memoryOf(DLDevice device) {
  switch (device.device_type) {
  case kDLCPU:
  case kDLCUDAHost:
  case kDLROCMHost:
    return MemoryKind::host;
  case kDLCUDA:
  case kDLCUDAManaged:
    return MemoryKind::cuda;
  case kDLROCM:
    return MemoryKind::hip;
  default:
    fail(DiagId::ArgumentDevice, "a DLPack tensor lies on a device of type " + std::to_string(device.device_type) +
                                     ", expected host, CUDA or ROCm memory");
  }
}

void checkRank(int64_t rank) {
  if (rank < 0 || rank > static_cast<int64_t>(kMaxRank))
    fail(DiagId::ArgumentRank,
         "found a tensor of " + std::to_string(rank) + " dimensions, expected at most " + std::to_string(kMaxRank));
}

/// Overflowing strides of absurd shapes wrap; `bytes()` refuses those before anything uses them.
void setDenseStrides(Tensor &tensor) {
  uint64_t stride = 1;
  for (int d = tensor.rank - 1; d >= 0; --d) {
    tensor.strides[static_cast<size_t>(d)] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(tensor.shape[static_cast<size_t>(d)]);
  }
}

} // namespace

std::string_view name(MemoryKind kind) {
  return kind == MemoryKind::host ? "host" : kind == MemoryKind::cuda ? "cuda" : "hip";
}

int storageBits(DType type) {
  return type == DType::i1 ? 8 : bits(type);
}

Tensor Tensor::dense(void *data, DType dtype, std::span<const int64_t> shape, MemoryKind memory, int device) {
  checkRank(static_cast<int64_t>(shape.size()));
  Tensor tensor;
  tensor.data = data;
  tensor.dtype = dtype;
  tensor.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.shape.begin());
  tensor.memory = memory;
  tensor.device = device;
  setDenseStrides(tensor);
  return tensor;
}

Tensor Tensor::strided(void *data, DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides,
                       MemoryKind memory, int device) {
  Tensor tensor = dense(data, dtype, shape, memory, device);
  if (strides.size() != shape.size())
    fail(DiagId::ArgumentRank, "found " + std::to_string(strides.size()) + " strides for a tensor of " +
                                   std::to_string(shape.size()) + " dimensions, expected one for each");
  std::copy(strides.begin(), strides.end(), tensor.strides.begin());
  return tensor;
}

Tensor Tensor::fromDlpack(const DLTensor &source) {
  checkRank(source.ndim);
  Tensor tensor;
  tensor.dtype = dtypeOf(source.dtype);
  tensor.memory = memoryOf(source.device);
  tensor.device = tensor.memory == MemoryKind::host ? 0 : source.device.device_id;
  tensor.data = source.data ? static_cast<char *>(source.data) + source.byte_offset : nullptr;
  tensor.rank = source.ndim;
  std::copy_n(source.shape, source.ndim, tensor.shape.begin());
  if (source.strides)
    std::copy_n(source.strides, source.ndim, tensor.strides.begin());
  else
    setDenseStrides(tensor);
  return tensor;
}

Tensor Tensor::fromDlpack(const DLManagedTensorVersioned &managed) {
  if (managed.version.major != 1)
    fail(DiagId::ArgumentKind,
         "found a DLPack tensor of version " + std::to_string(managed.version.major) + ", expected version 1");
  Tensor tensor = fromDlpack(managed.dl_tensor);
  tensor.readOnly = managed.flags & DLPACK_FLAG_BITMASK_READ_ONLY;
  return tensor;
}

Tensor Tensor::as(DType other) const {
  if (storageBits(other) != storageBits(dtype))
    fail(DiagId::ArgumentDtype, "cannot read `" + std::string(soliton::name(dtype)) + "` as `" +
                                    std::string(soliton::name(other)) + "`: their widths differ");
  Tensor result = *this;
  result.dtype = other;
  return result;
}

std::optional<int64_t> Tensor::elements() const {
  // A zero anywhere makes the tensor empty, whatever the other extents would overflow to.
  bool overflowed = false;
  int64_t count = 1;
  for (int64_t extent : extents()) {
    if (extent == 0)
      return 0;
    overflowed |= extent < 0 || __builtin_mul_overflow(count, extent, &count);
  }
  return overflowed ? std::nullopt : std::optional(count);
}

std::optional<int64_t> Tensor::span() const {
  std::optional<int64_t> count = elements();
  if (!count || *count == 0)
    return count;
  int64_t last = 0;
  for (int d = 0; d < rank; ++d) {
    int64_t extent = shape[static_cast<size_t>(d)], stride = strides[static_cast<size_t>(d)], reach = 0;
    if (extent == 1)
      continue;
    if (stride < 0 || __builtin_mul_overflow(extent - 1, stride, &reach) || __builtin_add_overflow(last, reach, &last))
      return std::nullopt;
  }
  return __builtin_add_overflow(last, 1, &last) ? std::nullopt : std::optional(last);
}

std::optional<int64_t> Tensor::bytes() const {
  std::optional<int64_t> count = elements();
  if (!count || *count == 0)
    return count;
  int64_t width = storageBits(dtype);
  // Elements that share bytes do so within a row; each row starts on a byte.
  if (int64_t row = rank > 0 ? shape[static_cast<size_t>(rank) - 1] : 1, rowBits = 0; width % 8 != 0 && isDense()) {
    if (__builtin_mul_overflow(row, width, &rowBits) ||
        __builtin_mul_overflow(*count / row, rowBits / 8 + (rowBits % 8 != 0), &rowBits))
      return std::nullopt;
    return rowBits;
  }
  std::optional<int64_t> all = span();
  int64_t totalBits = 0;
  if (!all || __builtin_mul_overflow(*all, width, &totalBits))
    return std::nullopt;
  return totalBits / 8 + (totalBits % 8 != 0);
}

bool Tensor::isDense() const {
  int64_t expected = 1;
  bool empty = elements() == 0;
  for (int d = rank - 1; d >= 0 && !empty; --d) {
    int64_t extent = shape[static_cast<size_t>(d)];
    if (extent != 1 && strides[static_cast<size_t>(d)] != expected)
      return false;
    if (__builtin_mul_overflow(expected, extent, &expected))
      return false;
  }
  return true;
}

int64_t valueIn(const SymbolSpec &symbol, const Tensor &tensor) {
  if (!symbol.isStride)
    return symbol.valueOf(tensor.shape[symbol.dim]);
  int64_t stride = tensor.strides[symbol.dim];
  bool matters = tensor.shape[symbol.dim] > 1 && tensor.elements() != 0;
  return matters ? stride : std::clamp<int64_t>(stride, 0, INT32_MAX);
}

std::string Tensor::toString() const {
  std::string text = std::string(soliton::name(dtype)) + "[";
  for (int d = 0; d < rank; ++d)
    text += (d ? ", " : "") + std::to_string(shape[static_cast<size_t>(d)]);
  text += "] on " + std::string(name(memory));
  return memory == MemoryKind::host ? text : text + ":" + std::to_string(device);
}

void Tensor::requireElements(size_t count) const {
  std::optional<int64_t> wanted = elements();
  if (!wanted || static_cast<size_t>(*wanted) != count)
    fail(DiagId::ArgumentShape,
         "found a range of " + std::to_string(count) + " elements, expected those of " + toString());
}

} // namespace soliton::rt
