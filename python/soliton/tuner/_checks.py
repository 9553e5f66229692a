"""What is said to the tuner, looked at before anything is tried: a wrong number would end a search before it began, or find nothing."""

from __future__ import annotations

import inspect
import operator
import re

from .._define import LaunchableWave
from .._errors import error
from .._symbols import to_expr


def whole(name: str, value, least: int, most: int | None = None) -> int:
    """A whole number, which `value` has to be."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        expected = f"of {least} at least" if most is None else f"from {least} to {most}"
        raise error("schedule-argument", f"found `{name}={value!r}`, expected a whole number {expected}")
    return number


def seconds(name: str, value) -> float:
    """A time to wait, which `value` has to be."""
    if isinstance(value, (int, float)) and 0 < value < float("inf"):
        return float(value)
    raise error("schedule-argument", f"found `{name}={value!r}`, expected seconds, more than 0")


def one_of(name: str, value, words) -> None:
    if value not in words:
        raise error("schedule-argument", f"found `{name}={value!r}`, expected one of {', '.join(f'`{each}`' for each in words)}")


def _names_in(code) -> set[str]:
    inner = [_names_in(each) for each in code.co_consts if inspect.iscode(each)]
    return {*code.co_names, *code.co_freevars, *code.co_varnames}.union(*inner)


def names_of(kernel: LaunchableWave) -> set[str]:
    """Names that a kernel or its constraints speak of, those of its symbols among them."""
    names = _names_in(kernel._f.__code__)
    scope = {**kernel._f.__globals__, **dict(zip(kernel._f.__code__.co_freevars, [_held(each) for each in kernel._f.__closure__ or ()]))}
    names |= {symbol for name in names if (symbol := _symbol(scope.get(name)))}
    return names | set(re.findall(r"[$\w]+", f"{kernel.constraints} {kernel._f.__annotations__}"))


def _held(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _symbol(value) -> str:
    try:
        expr = to_expr(value)
    except Exception:  # whatever else a kernel refers to
        return ""
    return expr.name if expr.kind == "symbol" else ""
