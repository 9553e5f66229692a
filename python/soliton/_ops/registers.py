"""Tiles of numbers and indices, and symbols that are set."""

from __future__ import annotations

import numbers

from .. import _native, _places, _threads
from .._errors import error
from .._symbols import is_expression, is_sympy, to_expr
from .._trace import Handle, Value, current
from .._types import TYPES, dtype_name
from ._given import _also, _name, _one_number, _tile


def register(shape, dtype, value, tag=None):
    """A tile whose elements are all `value`: a number, a scalar of the kernel, or an expression of symbols.

    >>> zero = tkw.register((M, N), tkl.f32, 0.0)
    """
    trace, place = current(), _places.here()
    dims, kind = trace.dims(shape), dtype_name(dtype)
    if isinstance(value, Value):
        scalar_ = value.handle if value.handle.type == kind else _native.cast(value.handle, kind, "", place)
        if dims and not value.handle.dims:
            return Value(_spread(scalar_, dims, _name(tag), place), scalar=lambda: scalar_)
        return Value(scalar_)
    number = _number(value, kind)
    if number is not None:
        return Value(trace.kernel.fill(dims, kind, number, _name(tag), place), scalar=lambda: trace.kernel.fill([], kind, number, "", place))
    if _threads.speaks_of_threads(expr := to_expr(value)):
        return Value(_threads.tile(trace, expr, dims, kind, _name(tag), place))
    if own := trace.set_for_elements(expr):
        made = _of_elements([], lambda _: expr, own, "", place)
        made = made if made.type == kind else _native.cast(made, kind, "", place)
        return Value(_native.rearrange("broadcast", made, dims, _name(tag), place) if dims and dims != made.dims else made)
    scalar_ = _from_expr(value, kind, place)
    return Value(_spread(scalar_, dims, _name(tag), place), scalar=lambda: scalar_)


def _spread(scalar_, dims, tag, place):
    return _native.rearrange("broadcast", scalar_, dims, tag, place) if dims else scalar_


def _number(value, kind: str):
    """The constant that it is, in the sort that the element type has; None for an expression."""
    if is_sympy(value) and value.is_number:
        value = float(value)
    elif isinstance(value, _native.Expr) and value.value is not None:
        value = value.value
    elif is_expression(value) and not isinstance(value, numbers.Number):
        return None
    if hasattr(value, "item"):
        value = value.item()
    if not isinstance(value, (int, float)):
        raise error("undefined-value", f"a tile is filled with `{value!r}`, expected a number or an expression")
    return int(value) if kind.startswith("i") else float(value)


def _from_expr(value, kind: str, place):
    """A number of the kernel from an expression of its symbols."""
    trace = current()
    zero = trace.kernel.fill([], "i32", 0, "", place)
    expr = to_expr(value)
    made = _native.apply_expr([zero], lambda _: expr, "", place)
    return made if kind == "i32" else _native.cast(made, kind, "", place)


def scalar(value, dtype, tag=None):
    """A number of the kernel: from a number, or from an expression of its symbols.

    >>> one = tkw.scalar(1.0, tkl.f32)
    """
    return register((), dtype, value, tag=tag)


def self_index(dim, dtype=None, elements_per_thread=None, tag=None):
    """Each element's own index along `dim`.

    >>> column = tkw.self_index(N, tkl.i32)
    """
    trace = current()
    kind = "i32" if dtype is None else dtype_name(dtype)
    axis = trace.dim(dim)
    for loop in reversed(trace.loops):
        if loop.axis == axis:
            return scalar(loop.symbol, TYPES["i32"] if dtype is None else dtype)
    return Value(trace.kernel.self_index(axis, kind, _name(tag), _places.here()))


@_also(value="register_")
def apply_expr(register_, expr, tag=None):
    """Evaluates an expression on the elements of integer tiles.

    >>> doubled = tkw.apply_expr(index, lambda x: 2 * x + 1)
    >>> inside = tkw.apply_expr([row, column], lambda r, c: r >= c)
    """
    trace = current()
    values = list(register_) if isinstance(register_, (list, tuple)) else [register_]
    call = lambda arguments: to_expr(expr(*[trace.argument(each) for each in arguments]))  # noqa: E731
    place, tiles = _places.here(), [_tile(each, "apply_expr") for each in values]
    symbols = [_native.symbol(f"$APPLY_EXPR_ARG_{k}") for k in range(len(tiles))]
    if _threads.speaks_of_threads(call(symbols)):
        return Value(_threads.applied(trace, tiles, call, _name(tag), place))
    if own := trace.set_for_elements(call(symbols)):
        return Value(_of_elements(tiles, call, own, _name(tag), place))
    scalar_ = None
    if all(each.scalar is not None or not each.handle.dims for each in values):
        scalar_ = lambda: _native.apply_expr([_one_number(each, "apply_expr") for each in values], call, "", place)  # noqa: E731
    return Value(_native.apply_expr(tiles, call, _name(tag), place), scalar=scalar_)


def _of_elements(tiles, call, own, tag: str, place):
    """An expression of tiles, and of symbols that each element has its own number for: those are tiles as well."""
    kind = tiles[0].type if tiles else own[0][1].handle.type
    operands = list(tiles)
    for _, value in own:
        operands.append(value.handle if value.handle.type == kind else _native.cast(value.handle, kind, "", place))
    widest = max(operands, key=lambda each: len(each.dims))
    operands = [each if each.dims == widest.dims else _native.rearrange("broadcast", each, widest.dims, "", place) for each in operands]

    def applied(symbols):
        names = [(symbol, symbols[len(tiles) + k]) for k, (symbol, _) in enumerate(own)]
        return call(symbols[: len(tiles)])._substitute(names)

    return _native.apply_expr(operands, applied, tag, place)


@_also(value="register_")
def set_symbol(symbol, register_, tag=None):
    """From here on, to the end of the region, expressions mean by `symbol` the one integer of the value. Of a tile with several places
    each element means its own; mappings, `apply_expr` and registers may then speak of it.

    >>> tkw.set_symbol(SEQ_LEN, tkw.read(lengths))
    """
    trace, place = current(), _places.here()
    axis, value = to_expr(symbol), _one_number(register_, "set_symbol")
    trace.of_elements.pop(axis, None)
    is_of_loop = any(loop.symbol == axis for loop in trace.loops)
    is_dim = any(axis in each.dims for each in trace.arguments if isinstance(each, Handle))
    if value.dims and not value.is_poisoned and not is_of_loop and not is_dim:
        trace.of_elements[axis] = Value(value)
        return
    for loop in reversed(trace.loops):
        if loop.symbol == axis:
            loop.next = value
            break
    _native.set_symbol(axis, value, _name(tag), place)
