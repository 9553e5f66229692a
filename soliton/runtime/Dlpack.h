//===- Dlpack.h - The array exchange structures, as their ABI states -------===//
//
// Our own declarations of the DLPack C ABI (versions 0.x and 1.x), enough to take arrays from other frameworks without
// their headers. Skipped where the official header came first.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

#ifndef DLPACK_VERSION
#ifndef DLPACK_MAJOR_VERSION

extern "C" {

enum : int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLCUDAManaged = 13,
};

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

enum : uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLBool = 6,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14,
  kDLFloat6_e2m3fn = 15,
  kDLFloat6_e3m2fn = 16,
  kDLFloat4_e2m1fn = 17,
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; ///< in elements; null means dense row-major
  uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(DLManagedTensor *self);
};

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(DLManagedTensorVersioned *self);
  uint64_t flags; ///< bit 0: read only
  DLTensor dl_tensor;
};

} // extern "C"

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)

#endif
#endif
