#include "Launch.h"

#include "Exchange.h"

#include <array>
#include <cstring>

namespace soliton::python {

namespace {

constexpr Py_ssize_t kMostDims = static_cast<Py_ssize_t>(rt::kMaxRank);

/// Elements as somebody else names them. Unsigned integers carry the bits of any type of their width, as those do who
/// have no such type.
struct Elements {
  DType type;
  bool isCarrier = false;
};

/// The type of a buffer's elements by its letter (module `struct`).
std::optional<Elements> elementsOf(const Py_buffer &buffer) {
  const char *format = buffer.format ? buffer.format : "B";
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  if (format[0] == '\0' || format[1] != '\0')
    return std::nullopt;
  static constexpr DType integers[] = {DType::i8, DType::i16, DType::i32, DType::i64};
  int width = buffer.itemsize == 1 ? 0 : buffer.itemsize == 2 ? 1 : buffer.itemsize == 4 ? 2 : 3;
  if (std::strchr("bhilq", format[0]))
    return Elements{integers[width]};
  if (std::strchr("BHILQ", format[0]))
    return Elements{integers[width], true};
  switch (format[0]) {
  case 'e':
    return Elements{DType::f16};
  case 'f':
    return Elements{DType::f32};
  case 'd':
    return Elements{DType::f64};
  case '?':
    return Elements{DType::i1};
  default:
    return std::nullopt;
  }
}

/// A buffer that is held as long as a launch needs it.
class HeldBuffer {
public:
  HeldBuffer() = default;
  HeldBuffer(const HeldBuffer &) = delete;
  ~HeldBuffer() {
    if (isHeld)
      PyBuffer_Release(&buffer);
  }
  bool take(PyObject *object) {
    isHeld = PyObject_GetBuffer(object, &buffer, PyBUF_FORMAT | PyBUF_STRIDES) == 0;
    if (!isHeld)
      PyErr_Clear();
    return isHeld;
  }
  const Py_buffer &operator*() const { return buffer; }
  const Py_buffer *operator->() const { return &buffer; }

private:
  Py_buffer buffer = {};
  bool isHeld = false;
};

//===- torch ---------------------------------------------------------------------------===//

/// What is asked of torch; soliton/_tensors.py hands it over when it first meets a tensor. Kept for the life of the
/// process.
struct Torch {
  PyObject *tensor = nullptr, *parameter = nullptr;
  PyObject *currentStream = nullptr;
  /// Of torch from 2.10 on: an array costs one call instead of seven.
  ExchangeTable exchange;
  rt::MemoryKind gpu = rt::MemoryKind::cuda;
  std::vector<std::pair<PyObject *, Elements>> types;
  PyObject *dtype = nullptr, *shape = nullptr, *pointer = nullptr, *isContiguous = nullptr, *isCpu = nullptr,
           *isCuda = nullptr, *device = nullptr;
} torch;

/// An attribute, or what a method without arguments returns; null and no error where there is none.
nb::object asked(PyObject *object, PyObject *name) {
  PyObject *made = PyObject_GetAttr(object, name);
  if (!made)
    PyErr_Clear();
  return nb::steal(made);
}
nb::object called(PyObject *object, PyObject *name) {
  PyObject *made = PyObject_CallMethodObjArgs(object, name, nullptr);
  if (!made)
    PyErr_Clear();
  return nb::steal(made);
}

std::optional<Elements> torchElements(PyObject *tensor) {
  nb::object type = asked(tensor, torch.dtype);
  for (const auto &[known, elements] : torch.types)
    if (type.ptr() == known)
      return elements;
  return std::nullopt;
}

/// Subclasses may say something else than their type does, so only torch's own types go by its table.
bool isExchanged(PyObject *tensor) {
  auto *type = reinterpret_cast<PyObject *>(Py_TYPE(tensor));
  return torch.exchange && (type == torch.tensor || type == torch.parameter);
}

/// Where a tensor lies; nothing where no kernel runs.
bool placeTensor(rt::Tensor &view, PyObject *tensor) {
  if (asked(tensor, torch.isCpu).ptr() == Py_True) {
    view.memory = rt::MemoryKind::host;
    return true;
  }
  if (asked(tensor, torch.isCuda).ptr() != Py_True)
    return false;
  nb::object index = called(tensor, torch.device);
  if (!index.is_valid())
    return false;
  view.memory = torch.gpu;
  view.device = static_cast<int>(PyLong_AsLong(index.ptr()));
  return !PyErr_Occurred();
}

bool fillShape(rt::Tensor &view, const nb::object &shape) {
  if (!shape.is_valid() || !PyTuple_Check(shape.ptr()) || PyTuple_Size(shape.ptr()) > kMostDims)
    return false;
  view.rank = static_cast<int>(PyTuple_Size(shape.ptr()));
  for (int d = 0; d < view.rank; ++d)
    view.shape[static_cast<size_t>(d)] = PyLong_AsLongLong(PyTuple_GetItem(shape.ptr(), d));
  return !PyErr_Occurred();
}

void fillDenseStrides(rt::Tensor &view) {
  int64_t step = 1;
  for (int d = view.rank; d-- > 0;) {
    view.strides[static_cast<size_t>(d)] = step;
    step *= view.shape[static_cast<size_t>(d)];
  }
}

//===- One argument ----------------------------------------------------------------------===//

class PlainArguments {
public:
  static constexpr size_t kMost = 16;

  explicit PlainArguments(bool byWidth) : byWidth(byWidth) {}

  bool add(PyObject *given, const rt::ArgumentSpec &spec) {
    if (arguments.size() == kMost)
      return false;
    if (spec.kind != rt::ArgumentKind::buffer)
      return addNumber(given, spec);
    if (torch.tensor && PyObject_TypeCheck(given, reinterpret_cast<PyTypeObject *>(torch.tensor)))
      return addTensor(given, spec);
    return PyObject_CheckBuffer(given) && addBuffer(given, spec);
  }

  std::vector<rt::Argument> arguments;
  /// The GPU that the first tensor of one lies on.
  std::optional<int> gpu;
  /// Some array lies in the host's memory: a GPU's launch copies it and waits.
  bool usesHost = false;

private:
  bool addNumber(PyObject *given, const rt::ArgumentSpec &spec) {
    bool isReal = isFloat(spec.dtype);
    if (PyFloat_CheckExact(given) && isReal)
      arguments.emplace_back(PyFloat_AsDouble(given));
    else if (PyLong_CheckExact(given) && isReal)
      arguments.emplace_back(PyLong_AsDouble(given));
    else if (PyLong_CheckExact(given))
      arguments.emplace_back(static_cast<int64_t>(PyLong_AsLongLong(given)));
    else
      return false;
    bool fits = !PyErr_Occurred();
    PyErr_Clear();
    return fits;
  }

  bool addExchanged(PyObject *given, const rt::ArgumentSpec &spec) {
    std::optional<ForeignArray> found = torch.exchange.describe(given);
    if (!found || !mayStandFor({found->view.dtype, found->isUnsigned}, spec.dtype) || !found->view.isDense())
      return false;
    push(found->view, spec);
    return true;
  }

  bool addTensor(PyObject *given, const rt::ArgumentSpec &spec) {
    if (isExchanged(given))
      return addExchanged(given, spec);
    rt::Tensor view;
    std::optional<Elements> elements = torchElements(given);
    if (!elements || !mayStandFor(*elements, spec.dtype) || called(given, torch.isContiguous).ptr() != Py_True ||
        !placeTensor(view, given) || !fillShape(view, asked(given, torch.shape))) {
      PyErr_Clear();
      return false;
    }
    nb::object pointer = called(given, torch.pointer);
    if (!pointer.is_valid())
      return false;
    view.data = PyLong_AsVoidPtr(pointer.ptr());
    push(view, spec);
    return true;
  }

  bool addBuffer(PyObject *given, const rt::ArgumentSpec &spec) {
    HeldBuffer &held = buffers[arguments.size()];
    if (!held.take(given) || held->ndim > kMostDims)
      return false;
    std::optional<Elements> elements = elementsOf(*held);
    if (!elements || !mayStandFor(*elements, spec.dtype) || !PyBuffer_IsContiguous(&*held, 'C'))
      return false;
    rt::Tensor view;
    view.data = held->buf;
    view.rank = held->ndim;
    view.readOnly = held->readonly != 0;
    for (int d = 0; d < view.rank; ++d)
      view.shape[static_cast<size_t>(d)] = held->shape[d];
    push(view, spec);
    return true;
  }

  void push(rt::Tensor &view, const rt::ArgumentSpec &spec) {
    view.dtype = spec.dtype;
    if (view.memory == rt::MemoryKind::host)
      usesHost = true;
    else if (!gpu)
      gpu = view.device;
    fillDenseStrides(view); // what has one element along a dimension may say any stride
    arguments.emplace_back(view);
  }

  bool mayStandFor(Elements elements, DType wanted) const {
    return elements.type == wanted ||
           (rt::storageBits(elements.type) == rt::storageBits(wanted) && (byWidth || elements.isCarrier));
  }

  std::array<HeldBuffer, kMost> buffers;
  bool byWidth;
};

/// torch's current stream on a GPU.
rt::Stream currentStream(int device) {
  if (torch.exchange)
    if (std::optional<rt::Stream> stream = torch.exchange.currentStream(torch.gpu, device))
      return *stream;
  nb::object made = nb::steal(PyObject_CallFunction(torch.currentStream, "i", device));
  if (!made.is_valid())
    throw nb::python_error();
  return {PyLong_AsVoidPtr(made.ptr())};
}

/// (address, letter of `struct`, bytes of an element, shape, strides in bytes, is it read-only) of a buffer.
std::optional<nb::tuple> describeBuffer(nb::handle object) {
  HeldBuffer held;
  if (!held.take(object.ptr()))
    return std::nullopt;
  nb::list shape, strides;
  for (int d = 0; d < held->ndim; ++d) {
    shape.append(static_cast<int64_t>(held->shape[d]));
    strides.append(static_cast<int64_t>(held->strides[d]));
  }
  const char *format = held->format ? held->format : "B";
  return nb::make_tuple(reinterpret_cast<uint64_t>(held->buf), format, static_cast<int64_t>(held->itemsize), shape,
                        strides, held->readonly != 0);
}

/// `types` is a list of (torch's type, "f16", is it unsigned).
void meetTorch(nb::object tensor, nb::object parameter, nb::object currentStream, bool isHip,
               const std::vector<std::tuple<nb::object, ElementType, bool>> &types) {
  if (torch.tensor)
    return;
  auto interned = [](const char *name) { return PyUnicode_InternFromString(name); };
  torch.dtype = interned("dtype");
  torch.shape = interned("shape");
  torch.pointer = interned("data_ptr");
  torch.isContiguous = interned("is_contiguous");
  torch.isCpu = interned("is_cpu");
  torch.isCuda = interned("is_cuda");
  torch.device = interned("get_device");
  torch.gpu = isHip ? rt::MemoryKind::hip : rt::MemoryKind::cuda;
  for (const auto &[type, elements, isCarrier] : types)
    torch.types.emplace_back(nb::object(type).release().ptr(), Elements{elements.resolve(), isCarrier});
  torch.currentStream = currentStream.release().ptr();
  torch.exchange.meet(tensor.ptr());
  torch.parameter = parameter.release().ptr();
  torch.tensor = tensor.release().ptr();
}

} // namespace

PlainLaunch::PlainLaunch(const CompiledKernel &kernel)
    : isEmulated(kernel.device().info().kind == rt::DeviceKind::emulator) {
  const rt::KernelImage &image = kernel.compiled().image;
  for (const rt::SymbolSpec &symbol : image.symbols)
    isPossible &= symbol.argument.has_value();
  for (const rt::ArgumentSpec &argument : image.arguments)
    isPossible &= argument.strides.empty() && rt::storageBits(argument.dtype) % 8 == 0;
}

bool PlainLaunch::operator()(const CompiledKernel &kernel, nb::handle given, bool byWidth) const {
  const std::vector<rt::ArgumentSpec> &specs = kernel.compiled().image.arguments;
  if (!isPossible || static_cast<size_t>(PyTuple_Size(given.ptr())) != specs.size())
    return false;
  PlainArguments plain(byWidth);
  plain.arguments.reserve(specs.size());
  for (size_t i = 0; i < specs.size(); ++i)
    if (!plain.add(PyTuple_GetItem(given.ptr(), static_cast<Py_ssize_t>(i)), specs[i]))
      return false;
  rt::LaunchOptions options;
  if (plain.gpu)
    options.stream = currentStream(*plain.gpu);
  if (isEmulated || plain.usesHost) {
    nb::gil_scoped_release others;
    kernel.loaded().launch(plain.arguments, options);
  } else {
    // A launch returns before the kernel has run: handing the interpreter over and back would cost more.
    kernel.loaded().launch(plain.arguments, options);
  }
  return true;
}

void bindLaunch(nb::module_ &module) {
  module.def("describe_buffer", describeBuffer, nb::arg("object"));
  module.def("meet_torch", meetTorch, nb::arg("tensor"), nb::arg("parameter"), nb::arg("current_stream"),
             nb::arg("is_hip"), nb::arg("types"));
}

} // namespace soliton::python
