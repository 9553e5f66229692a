"""Dimensions and types: casts, choices, and tiles whose elements move."""

from __future__ import annotations

from .. import _native, _places
from .._errors import error
from .._symbols import to_expr
from .._trace import Value, current
from .._types import dtype_name
from ._given import _also, _name, _tile


@_also(src="arg")
def cast(arg, dtype, tag=None):
    """Converts every element: floats round to nearest even, float to integer towards zero.

    >>> p = tkw.cast(e_delta, tkl.f16)
    """
    tile, kind, place = _tile(arg, "cast"), dtype_name(dtype), _places.here()
    scalar_ = without = again = None
    if arg.scalar is not None:
        scalar_ = lambda: _native.cast(arg.scalar(), kind, "", place)  # noqa: E731
    if arg.without is not None:
        without = lambda dims: (made := arg.without(dims)) and Value(_native.cast(made.handle, kind, _name(tag), place))  # noqa: E731
    if arg.read_at is not None:
        again = lambda at, tile: Value(_native.cast(arg.read_at(at, tile).handle, kind, "", place))  # noqa: E731
    return Value(_native.cast(tile, kind, _name(tag), place), scalar=scalar_, without=without, read_at=again)


@_also(src="arg")
def bitcast(arg, dtype, tag=None):
    """Reads the bits of every element as another type; of a narrower one the last dimension has more.

    >>> fp4 = tkw.bitcast(tkw.read(packed), tkl.f4e2m1fn)
    """
    return Value(_native.bitcast(_tile(arg, "bitcast"), dtype_name(dtype), _name(tag), _places.here()))


def select(cond, if_true, if_false, tag=None):
    """`if_true` where the condition holds, otherwise `if_false`, element by element.

    >>> bias = tkw.select(mask, zero, minus_infinity)
    """

    def operand(value):
        return value.handle if isinstance(value, Value) else value

    return Value(_native.select(_tile(cond, "select"), operand(if_true), operand(if_false), _name(tag), _places.here()))


def _define_rearrange(name: str, doc: str):
    @_also(src="arg")
    def rearrange(arg, target_shape, tag=None):
        dims, tile = current().dims(target_shape), _tile(arg, name)
        scalar_ = arg.scalar or ((lambda: tile) if not tile.dims else None)
        return Value(_native.rearrange(name, tile, dims, _name(tag), _places.here()), scalar=scalar_)

    rearrange.__name__ = rearrange.__qualname__ = name
    rearrange.__doc__ = f"{doc}\n\n    >>> y = tkw.{name}(x, target_shape=[M, N])\n    "
    return rearrange


broadcast = _define_rearrange("broadcast", "Repeats a tile along further dimensions.")
permute = _define_rearrange("permute", "Lists the dimensions of a tile in another order.")
reshape = _define_rearrange("reshape", "The same elements in the same order under other dimensions.")


def slice(value, dim, into, start=0, stride=1, tag=None):  # noqa: A001 - the language's word
    """Some of the elements along `dim`, as many as a tile of `into` has, which takes its place.

    >>> upper = tkw.slice(x, N, H, start=16)
    """
    trace = current()
    handle = _tile(value, "slice")
    return Value(_native.slice(handle, trace.dim(dim), trace.dim(into), to_expr(start), to_expr(stride), _name(tag), _places.here()))


def extract(value, dim, at=None, tag=None):
    """The elements at one place along `dim`, counted from the beginning of the tile.

    >>> first = tkw.extract(x, N, 0)
    """
    if at is None:
        raise error("not-supported-here", "`extract` of one lane's registers", "`tkw.extract(x, N, 0)` takes an element along a dimension")
    return Value(_native.extract(_tile(value, "extract"), current().dim(dim), to_expr(at), _name(tag), _places.here()))


def concatenate(pieces, into, tag=None):
    """Tiles one behind the other along `into`.

    >>> both = tkw.concatenate([(a, N1), (b, N2)], N)
    """
    trace = current()
    made = [(_tile(value, "concatenate"), trace.dim(dim)) for value, dim in pieces]
    return Value(_native.concatenate(made, trace.dim(into), _name(tag), _places.here()))
