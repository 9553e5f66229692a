#include "Exchange.h"

namespace soliton::python {

namespace {

/// DLPack's table, as its ABI states (1.3). What lies behind is not ours to call.
struct TableHeader {
  DLPackVersion version;
  const TableHeader *previous;
};
struct Table {
  TableHeader header;
  void *allocate, *share, *wrap;
  int (*describe)(void *object, DLTensor *made);
  int (*currentStream)(int32_t deviceType, int32_t device, void **stream);
};
constexpr uint32_t kMajorVersion = 1;

/// Who could not answer has set an error of Python's.
bool hasFailed(int answer) {
  if (answer == 0)
    return false;
  PyErr_Clear();
  return true;
}

/// (address, "f16", is it unsigned, shape, strides in elements, "host", number of the GPU, is it read-only) of a
/// capsule that `__dlpack__` made and that nobody consumed: the array lives as long as the capsule.
nb::tuple describeCapsule(nb::handle capsule) {
  rt::Tensor view;
  bool isUnsigned = false;
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto *managed = static_cast<DLManagedTensorVersioned *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    view = rt::Tensor::fromDlpack(*managed);
    isUnsigned = managed->dl_tensor.dtype.code == kDLUInt;
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    auto *managed = static_cast<DLManagedTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    view = rt::Tensor::fromDlpack(*managed);
    isUnsigned = managed->dl_tensor.dtype.code == kDLUInt;
  } else {
    throw nb::type_error("no capsule of DLPack");
  }
  nb::list shape, strides;
  for (int d = 0; d < view.rank; ++d) {
    shape.append(view.shape[static_cast<size_t>(d)]);
    strides.append(view.strides[static_cast<size_t>(d)]);
  }
  return nb::make_tuple(reinterpret_cast<uint64_t>(view.data), toString(ElementType(view.dtype)), isUnsigned, shape,
                        strides, std::string(rt::name(view.memory)), view.device, view.readOnly);
}

} // namespace

bool ExchangeTable::meet(PyObject *type) {
  nb::object capsule = nb::steal(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  if (!capsule.is_valid() || !PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
    PyErr_Clear();
    return false;
  }
  auto *newest = static_cast<const TableHeader *>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (newest && newest->version.major != kMajorVersion)
    newest = newest->previous;
  table = newest;
  return table != nullptr;
}

std::optional<ForeignArray> ExchangeTable::describe(PyObject *array) const {
  DLTensor found = {};
  if (hasFailed(static_cast<const Table *>(table)->describe(array, &found)))
    return std::nullopt;
  try {
    return ForeignArray{rt::Tensor::fromDlpack(found), found.dtype.code == kDLUInt};
  } catch (const CompileError &) {
    return std::nullopt; // _tensors.py says what is wrong with it, by the name of its parameter
  }
}

std::optional<rt::Stream> ExchangeTable::currentStream(rt::MemoryKind memory, int device) const {
  void *stream = nullptr;
  int32_t type = memory == rt::MemoryKind::hip ? kDLROCM : kDLCUDA;
  if (hasFailed(static_cast<const Table *>(table)->currentStream(type, device, &stream)))
    return std::nullopt;
  return rt::Stream{stream};
}

void bindExchange(nb::module_ &module) {
  module.def("describe_dlpack", describeCapsule, nb::arg("capsule"));
}

} // namespace soliton::python
