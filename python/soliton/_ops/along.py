"""Matrix products, and what goes along a dimension: sums, scans, extremes, order."""

from __future__ import annotations

import numbers

from .. import _native, _places
from .._constraints import GenericDot, HardwareConstraint, mma_name
from .._symbols import is_expression
from .._trace import Value, current, fitted
from ._given import _also, _name, _tile


all_of = all  # Python's own: the language has a function of that name


def mma(lhs, rhs, acc, mma_type=None, tag=None):
    """acc[…, M, N] + the sum over K of lhs[…, M, K] · rhs[…, N, K].

    >>> acc = tkw.mma(a_reg, b_reg, acc)
    """
    name, place = mma_name(mma_type), _places.here()
    current().has_mma = True
    tiles = [_tile(each, "mma") for each in (lhs, rhs, acc)]
    extra = _single_batches(*tiles)
    for position, given in enumerate((lhs, rhs) if extra else ()):
        tiles[position] = _without_batches(given, [dim for dim in extra if dim in tiles[position].dims], place)
    if _is_dot(mma_type) and not _fits_matrices(tiles):
        return Value(_dot(tiles, place))
    return Value(_native.mma(*tiles, name, _name(tag), place))


def _is_dot(kind) -> bool:
    if kind is None:
        hardware = [each for each in current().constraints if isinstance(each, HardwareConstraint)]
        kind = hardware[0].mma_type if hardware else None
    return isinstance(kind, GenericDot)


def _fits_matrices(tiles) -> bool:
    """Has a wave whole matrices of rows and columns, as instructions take them?"""
    trace, dims = current(), tiles[2].dims
    sizes = [trace.known(trace.wave_tile(dim)) for dim in dims[-2:]] if not tiles[2].is_poisoned else []
    return all_of(size is not None and size % 16 == 0 for size in sizes)


def _dot(tiles, place):
    """`GenericDot`: products, and their sum along what both operands have and the accumulator lacks."""
    acc, kind = tiles[2], tiles[2].type
    contracted = [dim for dim in tiles[0].dims if dim in tiles[1].dims and dim not in acc.dims]
    if len(contracted) != 1:
        return _native.mma(*tiles, None, "", place)  # the builder says what is wrong
    wide = [*acc.dims, *contracted]
    factors = [each if each.type == kind else _native.cast(each, kind, "", place) for each in tiles[:2]]
    factors = [_native.rearrange("broadcast", each, wide, "", place) for each in factors]
    return _native.reduce("sum", _native.binary("mul", *factors, "", place), acc, contracted[0], False, "", place)


def _without_batches(value: Value, dims: list, place):
    """An operand without batches of which it has one place, and which the accumulator lacks."""
    if not dims:
        return value.handle
    trace = current()
    if value.without is not None and all_of(trace.start_of(dim) is not None for dim in dims):
        made = value.without(dims)
        if made is not None:
            return made.handle
    return fitted(value.handle, [dim for dim in value.handle.dims if dim not in dims], place)


def _single_batches(lhs, rhs, acc) -> list:
    """Dimensions that one operand has beside rows and K and the accumulator lacks, where a tile has one place along them."""
    if lhs.is_poisoned or rhs.is_poisoned or acc.is_poisoned:
        return []
    shared = [dim for dim in lhs.dims if dim in rhs.dims and dim not in acc.dims]
    one = current().has_one_place
    # Of several dimensions that both have, the last one that is more than a place is K.
    contracted = [dim for dim in shared if not one(dim)] or shared[-1:]
    return [
        dim
        for dim in dict.fromkeys([*lhs.dims, *rhs.dims])
        if dim not in acc.dims and dim not in contracted and one(dim)
    ]


def scaled_mma(lhs, lhs_scale, rhs, rhs_scale, acc, mma_type=None, tag=None):
    """`mma` on elements that share a power of two with 32 neighbours along K.

    >>> acc = tkw.scaled_mma(a_reg, a_scale, b_reg, b_scale, acc)
    """
    tiles = [_tile(each, "scaled_mma") for each in (lhs, lhs_scale, rhs, rhs_scale, acc)]
    return Value(_native.scaled_mma(*tiles, mma_name(mma_type), _name(tag), _places.here()))


def _along(dim, tile):
    if dim is None or (isinstance(dim, numbers.Integral) and not isinstance(dim, bool)):
        dims = tile.dims
        return dims[-1 if dim is None else dim] if dims else _native.constant(0)
    return current().dim(dim)


def _define_reduce(name: str, doc: str):
    @_also(src="arg", acc="init")
    def reduce(arg, init=None, dim=None, block=False, tag=None):
        if is_expression(init) and not isinstance(init, Value) and dim is None:
            init, dim = None, init
        tile, place = _tile(arg, name), _places.here()
        along = _along(dim, tile)
        start = None if init is None else fitted(_tile(init, name), [each for each in tile.dims if each != along], place)
        return Value(_native.reduce(name, tile, start, along, bool(block), _name(tag), place))

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"{doc}\n\n    >>> y = tkw.{name}(x, init, dim=N)\n    "
    return reduce


sum = _define_reduce("sum", "The sum along `dim`, starting from `init`.")  # noqa: A001
max = _define_reduce("max", "The largest along `dim`, and of `init`.")  # noqa: A001
min = _define_reduce("min", "The least along `dim`, and of `init`.")  # noqa: A001
prod = _define_reduce("prod", "The product along `dim`, starting from `init`.")
any = _define_reduce("any", "Whether one along `dim` is true.")  # noqa: A001
all = _define_reduce("all", "Whether all along `dim` are true.")  # noqa: A001
cumsum = _define_reduce("cumsum", "Each element plus those before it along `dim`.")
cumprod = _define_reduce("cumprod", "Each element times those before it along `dim`.")
cummax = _define_reduce("cummax", "The largest up to each element along `dim`.")
cummin = _define_reduce("cummin", "The least up to each element along `dim`.")


def _pair(made):
    return Value(made[0]), Value(made[1])


def _extreme(largest, name, arg, init, dim, tag):
    if init is not None and is_expression(init) and dim is None:
        init, dim = None, init
    tile = _tile(arg, name)
    start = None if init is None else (_tile(init[0], name), _tile(init[1], name))
    return _pair(_native.extreme(largest, tile, start, _along(dim, tile), _name(tag), _places.here()))


def argmax(arg, init=None, dim=None, tag=None):
    """The largest element along `dim`, and where it first occurs; `init` is one more candidate.

    >>> value, index = tkw.argmax(x, dim=N)
    """
    return _extreme(True, "argmax", arg, init, dim, tag)


def argmin(arg, init=None, dim=None, tag=None):
    """The least element along `dim`, and where it first occurs; `init` is one more candidate.

    >>> value, index = tkw.argmin(x, dim=N)
    """
    return _extreme(False, "argmin", arg, init, dim, tag)


def sort(arg, dim=None, descending=False, tag=None):
    """The elements along `dim` in order, and the index that each had.

    >>> values, indices = tkw.sort(x, N, descending=True)
    """
    tile = _tile(arg, "sort")
    return _pair(_native.sort(tile, _along(dim, tile), bool(descending), _name(tag), _places.here()))


def sort_by(keys, payloads, dim=None, descending=False, tag=None):
    """The keys along `dim` in order, and what they carry.

    >>> keys, values = tkw.sort_by(keys, [values], N)
    """
    tile, carried = _tile(keys, "sort_by"), [_tile(each, "sort_by") for each in payloads]
    made = _native.sort_by(tile, carried, _along(dim, tile), bool(descending), _name(tag), _places.here())
    return tuple(map(Value, made))


@_also(src="arg")
def topk(arg, k_dim, dim, largest=True, tag=None):
    """The largest elements along `dim` (or the least), as many as `k_dim` has, and their indices.

    >>> values, indices = tkw.topk(x, K, N)
    """
    tile = _tile(arg, "topk")
    made = _native.topk(tile, current().dim(k_dim), _along(dim, tile), bool(largest), _name(tag), _places.here())
    return _pair(made)


def topk_by(keys, payloads, k_dim, dim=None, largest=True, tag=None):
    """The largest keys along `dim`, as many as `k_dim` has, and what they carry.

    >>> keys, values = tkw.topk_by(keys, [values], K, N)
    """
    tile, carried = _tile(keys, "topk_by"), [_tile(each, "topk_by") for each in payloads]
    k = current().dim(k_dim)
    made = _native.topk_by(tile, carried, k, _along(dim, tile), bool(largest), _name(tag), _places.here())
    return tuple(map(Value, made))
