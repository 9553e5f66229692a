"""Arrays of others as a launch takes them: NumPy, torch, whatever speaks DLPack, and Python's own buffers.

    (address, "f16", (64, 32), (32, 1), "host", 0, read_only)

Nothing is copied but inputs that do not lie densely; an output that does not is refused.
"""

from __future__ import annotations

import contextlib
import sys

from . import _native
from ._errors import CompileError, error

# Types of NumPy and torch by the names that both give them.
_NAMES = {
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "i8",
    "uint16": "i16",
    "uint32": "i32",
    "uint64": "i64",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e4m3fnuz": "f8e4m3fnuz",
    "float8_e5m2": "f8e5m2",
    "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e8m0fnu": "f8e8m0fnu",
    "float4_e2m1fn_x2": "f4e2m1fn",
}
_PACKED = {"i4": 2, "f4e2m1fn": 2}


class Array:
    """An array of the caller's: where it lies and what is in it."""

    def __init__(self, owner, address, dtype, shape, strides, memory, device, read_only):
        self.owner = owner  # keeps it alive during the launch
        self.address, self.dtype = address, dtype
        self.shape, self.strides = tuple(shape), tuple(strides)
        self.memory, self.device, self.read_only = memory, device, read_only

    def is_dense(self) -> bool:
        if 0 in self.shape:
            return True
        expected = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}] on {self.memory}"


def _of_numpy(array, name: str) -> Array:
    kind = array.dtype.name
    if kind not in _NAMES:
        raise error("argument-dtype", f"`{name}` is an array of `{kind}`, which no kernel takes")
    if not array.dtype.isnative:
        raise error("argument-dtype", f"`{name}` holds its bytes in the order of another machine (`{array.dtype.str}`)", "pass `array.astype(array.dtype.newbyteorder('='))`")
    size = array.dtype.itemsize
    if any(stride % size for stride in array.strides):
        raise error("argument-stride", f"`{name}` has strides of {array.strides} bytes for elements of {size}")
    strides = [stride // size for stride in array.strides]
    return Array(array, array.ctypes.data, _NAMES[kind], array.shape, strides, "host", 0, not array.flags.writeable)


def _of_torch(tensor, name: str) -> Array:
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind not in _NAMES:
        raise error("argument-dtype", f"`{name}` is a tensor of `{kind}`, which no kernel takes")
    _introduce_torch()
    where = tensor.device.type
    if where not in ("cpu", "cuda"):
        raise error("argument-device", f"`{name}` lies on `{where}`", "move it to the CPU or to the GPU that the kernel runs on")
    memory = "host" if where == "cpu" else "hip" if _is_rocm() else "cuda"
    tensor = tensor.detach()
    return Array(tensor, tensor.data_ptr(), _NAMES[kind], tensor.shape, tensor.stride(), memory, tensor.device.index or 0, False)


def _is_rocm() -> bool:
    return getattr(sys.modules["torch"].version, "hip", None) is not None


_is_introduced = False


def _introduce_torch() -> None:
    """Tells the C++ side once what torch's types are, so that later launches need not come here."""
    global _is_introduced
    if _is_introduced:
        return
    _is_introduced = True
    torch = sys.modules["torch"]
    names = [(name, kind) for name, kind in _NAMES.items() if hasattr(torch, name)]
    types = [(getattr(torch, name), kind, name in _UNSIGNED_CARRIERS) for name, kind in names]
    _native.meet_torch(torch.Tensor, torch.nn.Parameter, current_stream, _is_rocm(), types)


def current_stream(device: int) -> int:
    """The driver's handle of torch's current stream on a GPU. What torch calls CUDA is HIP where it was built for ROCm."""
    torch = sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # without an object for the stream
    return raw(device) if raw is not None else torch.cuda.current_stream(device).cuda_stream


# How DLPack numbers devices (its `DLDeviceType`), as far as kernels run there.
_DLPACK_GPUS = {2: "cuda", 10: "hip", 13: "cuda"}
_DEFAULT_STREAM = 1  # DLPack's name for the driver's own
# How libraries say that they cannot hand an array over.
_REFUSALS = (AttributeError, BufferError, RuntimeError, TypeError, ValueError)


class _Capsule:
    """Keeps an array of somebody else alive; its elements named as NumPy would name them."""

    def __init__(self, capsule, dtype: str):
        self.capsule, self.dtype = capsule, dtype


def _of_dlpack(value, name: str, stream: int | None) -> Array:
    """An array of whoever speaks DLPack, on the CPU or a GPU, without a copy. Who owns it sees to it that work on `stream`
    finds it ready; nobody waits."""
    try:
        kind, _ = value.__dlpack_device__()
        capsule = _capsule(value, {"stream": stream or _DEFAULT_STREAM} if int(kind) in _DLPACK_GPUS else {})
        address, dtype, is_unsigned, shape, strides, memory, device, read_only = _native.describe_dlpack(capsule)
    except CompileError as reason:  # which knows no parameter
        raise error(reason.id, f"`{name}`: {reason.diagnostics[0].message}") from None
    except _REFUSALS as reason:
        raise error("argument-device", f"`{name}` is no array that DLPack hands over: {reason}", "pass an array of NumPy, torch or CuPy") from None
    owner = _Capsule(capsule, dtype.replace("i", "uint") if is_unsigned else dtype)
    return Array(owner, address, dtype, shape, strides, memory, device, read_only)


def _capsule(value, options: dict):
    try:
        return value.__dlpack__(max_version=(1, 1), **options)
    except TypeError:  # of those who speak DLPack 0
        return value.__dlpack__(**options)


def launch_stream(given) -> int | None:
    """On which stream a launch with these arguments goes: torch's current one where a tensor of torch lies on a GPU, otherwise that
    of the first other array there, CuPy's current one for its own. Nothing where no argument lies on a GPU."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    found: tuple[int, bool] | None = None
    for value in given:
        if torch is not None and isinstance(value, torch.Tensor):
            if value.device.type == "cuda":
                return current_stream(value.device.index or 0)
        elif found is None and hasattr(value, "__dlpack_device__"):
            with contextlib.suppress(*_REFUSALS):  # whoever cannot say is asked again, by name, when it is described
                kind, device = map(int, value.__dlpack_device__())
                if kind in _DLPACK_GPUS:
                    found = device, cupy is not None and isinstance(value, cupy.ndarray)
    if found is None:
        return None
    device, is_of_cupy = found
    if cupy is not None and is_of_cupy:
        with cupy.cuda.Device(device):
            return int(cupy.cuda.get_current_stream().ptr)
    return current_stream(device) if torch is not None else 0


# Elements of a buffer by the letters of the module `struct`, of which some have other widths elsewhere.
_LETTERS = {"e": "float", "f": "float", "d": "float", "?": "bool", **dict.fromkeys("bhilq", "int"), **dict.fromkeys("BHILQ", "uint")}


class _Buffer:
    """What holds a buffer's elements, named as NumPy would name them."""

    def __init__(self, view, dtype: str):
        self.view, self.dtype = view, dtype


def _of_buffer(value, name: str) -> Array | None:
    """An array of Python's own (`array`, `memoryview`, `ctypes`); nothing where it is none."""
    found = _native.describe_buffer(value)
    if found is None:
        return None
    address, letter, size, shape, strides, read_only = found
    kind = _LETTERS.get(letter.lstrip("@=<"), "")
    kind = kind if kind in ("", "bool") else f"{kind}{8 * size}"
    if kind not in _NAMES:
        raise error("argument-dtype", f"`{name}` is a buffer of `{letter}`, which no kernel takes")
    if any(stride % size for stride in strides):
        raise error("argument-stride", f"`{name}` has strides of {tuple(strides)} bytes for elements of {size}")
    owner = _Buffer(value, kind)
    return Array(owner, address, _NAMES[kind], shape, [stride // size for stride in strides], "host", 0, read_only)


def is_array(value) -> bool:
    return hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__") or hasattr(value, "data_ptr")


def describe(value, name: str, stream: int | None = None) -> Array:
    """Any array that we know how to read; the launch goes to `stream`."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(value, name)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _of_numpy(value, name)
    if hasattr(value, "__dlpack__"):
        return _of_dlpack(value, name, stream)
    if (array := _of_buffer(value, name)) is not None:
        return array
    raise error("argument-kind", f"`{name}` is a {type(value).__name__}, expected an array of NumPy, torch or DLPack, or a buffer")


def _dense_copy(array: Array):
    """A copy that lies densely."""
    owner = array.owner
    if hasattr(owner, "contiguous"):
        return owner.contiguous()
    if isinstance(owner, _Capsule):
        return _dense_copy_of_foreign(array)
    if isinstance(owner, _Buffer):
        view = memoryview(owner.view)
        return memoryview(bytearray(view.tobytes())).cast(view.format, list(view.shape))  # type: ignore[call-overload, arg-type]
    import numpy

    return numpy.ascontiguousarray(owner)


def _dense_copy_of_foreign(array: Array):
    """By NumPy, which reads what the CPU reads."""
    if array.memory != "host":
        raise error("argument-stride", f"an array on `{array.memory}` has the strides {list(array.strides)}, which are not dense", "pass a contiguous array")
    import numpy

    class Holder:
        def __dlpack__(self, **_):
            return array.owner.capsule

        def __dlpack_device__(self):
            return (1, 0)

    return numpy.ascontiguousarray(numpy.from_dlpack(Holder()))


_UNSIGNED_CARRIERS = ("uint8", "uint16", "uint32", "uint64")


def _may_stand_for(array: Array, wanted: str, by_width: bool) -> bool:
    """May the elements be read as `wanted`? Unsigned integers carry the bits of any type of their width, as those do who
    have no such type; programs of Wave go by width alone."""
    if array.dtype == wanted:
        return True
    carrier = str(getattr(array.owner, "dtype", "")).removeprefix("torch.")
    return _bits(array.dtype) == _bits(wanted) and (by_width or carrier in _UNSIGNED_CARRIERS)


def _bits(dtype: str) -> int:
    if dtype == "i1":
        return 8
    return 16 if dtype == "bf16" else 8 if dtype.startswith("f8") else int("".join(filter(str.isdigit, dtype[:3])))


def argument(value, spec, by_width: bool, is_strided: bool = False, stream: int | None = None):
    """What the launch on `stream` takes for a parameter (name, is it an array, element type, written, read, rank), and who owns
    it. `is_strided`: the kernel takes arrays as they lie."""
    name, is_buffer, dtype, is_output, _, rank = spec
    if not is_buffer:
        if is_array(value) and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
            value = value.item()
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            value = _number(value, name, dtype)
        return (float(value) if not dtype.startswith("i") else value), None
    array = describe(value, name, stream)
    if is_strided and dtype not in _PACKED:
        if not _may_stand_for(array, dtype, by_width):
            raise error("argument-dtype", f"`{name}` is {array}, expected elements of `{dtype}`", "convert it, or cast in the kernel")
        return (array.address, dtype, list(array.shape), list(array.strides), array.memory, array.device, array.read_only), array
    if not array.is_dense():
        if is_output:
            raise error(
                "argument-stride",
                f"`{name}` is written, and its strides {list(array.strides)} are not dense",
                "pass a contiguous array, or compile with `allow_noncontiguous_runtime_buffers=True`",
            )
        array = describe(_dense_copy(array), name)
    shape, strides = array.shape, _dense_strides(array.shape)
    if dtype in _PACKED and array.dtype in ("i8", dtype) and shape:
        # Two elements a byte, as everybody stores them: the last extent counts bytes.
        shape = (*shape[:-1], shape[-1] * _PACKED[dtype])
        strides = _dense_strides(shape)
    elif not _may_stand_for(array, dtype, by_width):
        raise error("argument-dtype", f"`{name}` is {array}, expected elements of `{dtype}`", "convert it, or cast in the kernel")
    return (array.address, dtype, list(shape), list(strides), array.memory, array.device, array.read_only), array


def _dense_strides(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _number(value, name: str, dtype: str):
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    if hasattr(value, "item") and getattr(value, "size", 1) in (1, ()):
        return value.item()
    try:
        return int(value) if dtype.startswith("i") else float(value)
    except (TypeError, ValueError):
        raise error("argument-kind", f"`{name}` is a {type(value).__name__}, expected a number of `{dtype}`") from None
