"""Types, numbers and parameters that programs ask for."""

from soliton._symbols import is_sympy
from soliton._types import TYPES, DataType

from ...lang import global_symbols as symbols

DEFAULT_GPU_DEVICE = None

_BY_NAME = {
    "bfloat16": "bf16",
    "float8_e5m2": "f8e5m2",
    "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e4m3fnuz": "f8e4m3fnuz",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "bool": "bool",
}


def _table():
    try:
        import torch
    except ModuleNotFoundError:
        return {}
    return {getattr(torch, name): TYPES[kind] for name, kind in _BY_NAME.items()}


TORCH_DTYPE_TO_WAVE = _table()


def torch_dtype_to_wave(dtype):
    """`tkl.f16` of `torch.float16`; a type of Wave's is itself."""
    if isinstance(dtype, DataType):
        return dtype
    if dtype not in TORCH_DTYPE_TO_WAVE:
        raise ValueError(f"Unable to map torch dtype {dtype} to Wave")
    return TORCH_DTYPE_TO_WAVE[dtype]


def wave_dtype_to_torch(dtype):
    """`torch.float16` of `tkl.f16`."""
    for theirs, ours in TORCH_DTYPE_TO_WAVE.items():
        if ours == dtype:
            return theirs
    raise ValueError(f"Unable to map Wave dtype {dtype} to torch")


_LARGEST = {"f8e4m3fnuz": 240.0, "f8e4m3fn": 448.0, "f8e5m2": 57344.0, "f8e5m2fnuz": 57344.0, "f16": 65504.0}


def torch_dtype_range(dtype):
    """The lowest and the highest finite number."""
    if isinstance(dtype, DataType) and dtype.name in _LARGEST:
        return [-_LARGEST[dtype.name], _LARGEST[dtype.name]]
    import torch

    if isinstance(dtype, DataType):
        dtype = wave_dtype_to_torch(dtype)
    info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return [info.min, info.max]


def get_default_scheduling_params() -> dict:
    """Latencies and units by Wave's symbols; the target's own table decides here."""
    delays = {"READ_SHARED": 1, "WRITE_SHARED": 1, "READ_GLOBAL": 2, "WRITE_GLOBAL": 2}
    delays |= {"GLOBAL_TO_SHARED": 1, "MMA": 1, "VALU": 1, "SHUFFLE": 1}
    units = {"SHARED_MEMORY": 4, "GLOBAL_MEMORY": 4, "MMA": 4, "VALU": 2, "SHUFFLE": 2}
    made = {getattr(symbols, f"{name}_DELAY"): number for name, number in delays.items()}
    return made | {getattr(symbols, f"{name}_UNITS"): number for name, number in units.items()}


def ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def clamp(x, low, high):
    return max(low, min(x, high))


def delinearize_index(index, shape):
    """The place that a number means, last dimension fastest."""
    made = []
    for extent in reversed(list(shape)):
        made.append(index % extent)
        index = index // extent
    return made[::-1]


def infer_dim(expr):
    """`K` of `K/32`."""
    if not is_sympy(expr) or expr.is_Symbol:
        return expr
    found = list(expr.free_symbols)
    if len(found) != 1:
        raise ValueError(f"`{expr}` is not a part of one dimension")
    return found[0]


def is_scaled_dim(expr) -> bool:
    """Is it `K/32`?"""
    return is_sympy(expr) and not expr.is_Symbol and expr.is_Mul and any(each.is_Rational and each < 1 for each in expr.args)


def check_leaks(function):
    """The function; with WAVE_CHECK_LEAKS=1 Wave looks for leaks of its runtime, which is not here."""
    return function


def run_test(function):
    """Runs a function at once, as Wave's text tests do."""
    function()
    return function


