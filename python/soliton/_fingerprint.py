"""When two kernels are the same: their text, what they close over, their types, constraints and bindings."""

from __future__ import annotations

import hashlib
import types


def _code(code: types.CodeType) -> tuple:
    constants = tuple(_code(each) if isinstance(each, types.CodeType) else repr(each) for each in code.co_consts)
    return (code.co_code, code.co_names, code.co_varnames, constants)


def _value(value, seen) -> object:
    """Functions by their text and what they close over, everything else by what it prints as."""
    function = getattr(value, "_f", value)
    if not isinstance(function, types.FunctionType):
        return repr(value)
    if id(function) in seen:
        return "again"
    seen = seen | {id(function)}
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    free = tuple(zip(function.__code__.co_freevars, (_value(each, seen) for each in cells)))
    annotations = tuple((name, repr(each)) for name, each in function.__annotations__.items())
    return (_code(function.__code__), free, annotations, repr(function.__defaults__))


def _is_filled(cell) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


_OPTIONS = """
    target schedule dynamic_symbols use_global_to_shared override_schedule multi_buffer_count short_sums mma padded_rows staged_writes
    raster cluster persistent service_waves overlap_tiles turns workgroups_per_cluster dependent_launch stable
""".split()


def fingerprint(kernel, options) -> str:
    """A name that tells kernels apart."""
    subs = sorted((str(symbol), str(value)) for symbol, value in options.subs.items())
    chosen = [repr(getattr(options, name)) for name in _OPTIONS]
    text = repr((_value(kernel, frozenset()), [repr(each) for each in kernel.constraints], subs, chosen))
    return hashlib.sha256(text.encode()).hexdigest()
