"""`THREAD_0` and its like in kernels of tiles: which lane has an element, as Wave distributes what no matrix product reaches.

A wave has `vector_shapes[N]` elements of the dimension that lies along the grid's first one at a time, so many a lane:

    place in the workgroup's tile = wave * tile of a wave + step * vector shape + lane * elements + element
    THREAD_0 = 64 * wave + lane            THREAD_1, THREAD_2 = the wave along the grid's other dimensions

Lanes that hold nothing of a tile have no names here, and in kernels with matrix products layouts are the compiler's: both
are refused.
"""

from __future__ import annotations

from . import _native
from ._constraints import HardwareConstraint, WaveConstraint, WorkgroupConstraint
from ._errors import error
from ._trace import Mask

_THREADS = [_native.symbol(f"$T{dim}") for dim in range(3)]
_LANES = 64


def speaks_of_threads(expr) -> bool:
    return bool(expr.free_symbols & set(_THREADS))


def _refuse(why: str, place):
    return error("not-supported-here", f"`THREAD_0` where {why}", "a kernel with `tkw.Simt` speaks of lanes; `tkw.self_index` says where an element is", place)


def _dim_of(trace, number: int, place):
    """The dimension whose places are lanes or waves along a dimension of the grid, and what a workgroup and a wave have of it."""
    found = [each for each in trace.constraints if isinstance(each, WorkgroupConstraint) and int(getattr(each.workgroup_dim, "value", each.workgroup_dim)) == number]
    if not found:
        return None
    dim = trace.dim(found[0].dim)
    tile = trace.known(found[0].tile_size)
    waves = [each for each in trace.constraints if isinstance(each, WaveConstraint) and trace.dim(each.dim) == dim]
    wave = trace.known(waves[0].tile_size) if waves else tile
    if tile is None or wave is None:
        raise _refuse(f"the tile of `{dim}` is not known", place)
    return dim, found[0], wave


def _vector(trace, dim, place) -> int:
    shapes = [each.vector_shapes or {} for each in trace.constraints if isinstance(each, HardwareConstraint)]
    sizes = {trace.dim(each): trace.known(size) for shape in shapes for each, size in shape.items()}
    size = sizes.get(dim)
    if not size or size % _LANES:
        raise _refuse(f"lanes have no whole elements of `{dim}` (its vector shape is {size})", place)
    return size


def _numbers(trace, expr, place) -> list:
    """(symbol, dimension, the symbol as an expression of `$place`) for each thread symbol."""
    place_symbol = _native.symbol("$place")
    made = []
    for number, symbol in enumerate(_THREADS):
        if symbol not in expr.free_symbols:
            continue
        found = _dim_of(trace, number, place)
        if found is None:
            made.append((symbol, None, _native.constant(0)))
            continue
        dim, constraint, wave = found
        inside = place_symbol - constraint._start(trace)
        value = _native.expr_floordiv(inside, wave)
        if number == 0:
            vector = _vector(trace, dim, place)
            lane = _native.expr_floordiv(_native.expr_mod(_native.expr_mod(inside, wave), vector), vector // _LANES)
            value = _LANES * value + lane
        made.append((symbol, dim, value))
    trace.threads_place = trace.threads_place or place
    return made


def _evaluate(trace, expr, dims, tiles, tag, place):
    """An expression of threads, and of tiles as `$APPLY_EXPR_ARG_<k>`, on a tile of these dimensions."""
    numbers = _numbers(trace, expr, place)
    operands, names = list(tiles), []
    for symbol, dim, value in numbers:
        if dim is None:
            names.append((symbol, value))
            continue
        if dim not in dims:
            raise _refuse(f"the tile `[{', '.join(map(str, dims))}]` has no places along `{dim}`", place)
        index = _native.rearrange("broadcast", trace.kernel.self_index(dim, "i32", "", place), list(dims), "", place)
        argument = _native.symbol(f"$APPLY_EXPR_ARG_{len(operands)}")
        operands.append(index)
        names.append((symbol, value._substitute([(_native.symbol("$place"), argument)])))
    wanted = expr._substitute(names)
    return _native.apply_expr(operands, lambda _: wanted, tag, place)


def tile(trace, expr, dims, kind: str, tag: str, place):
    """`Register[dims, kind](expr)`; without dimensions a tile of those that the threads go along."""
    along = [dim for _, dim, _ in _numbers(trace, expr, place) if dim is not None]
    made = _evaluate(trace, expr, list(dims) or along, [], tag, place)
    return made if made.type == kind else _native.cast(made, kind, "", place)


def applied(trace, tiles, call, tag: str, place):
    """`apply_expr` whose expression speaks of threads."""
    symbols = [_native.symbol(f"$APPLY_EXPR_ARG_{k}") for k in range(len(tiles))]
    return _evaluate(trace, call(symbols), tiles[0].dims, tiles, tag, place)


def mask(trace, expr, place) -> Mask | None:
    """The condition of a branch as truth values of elements."""
    numbers = _numbers(trace, expr, place)
    along = [dim for _, dim, _ in numbers if dim is not None]
    made = _evaluate(trace, expr, along, [], "", place)
    if made.type != "i1":
        made = _native.binary("ne", made, 0, "", place)
    return Mask(made, some=_holds_somewhere(expr))


def _holds_somewhere(expr) -> bool:
    """Does it hold for some lane of the first wave, whatever else is the case?"""
    others = [(symbol, _native.constant(0)) for symbol in _THREADS[1:]]
    for lane in range(_LANES):
        value = expr._substitute([(_THREADS[0], _native.constant(lane)), *others]).value
        if value is None:
            return False
        if value:
            return True
    return False


def check(trace) -> None:
    """Layouts of matrix products are the compiler's."""
    if trace.threads_place is None:
        return
    waves = [each.threads_per_wave for each in trace.constraints if isinstance(each, HardwareConstraint)]
    if any(each not in (None, _LANES) for each in waves):
        raise _refuse(f"a wave has {waves[0]} threads", trace.threads_place)
    if trace.has_mma:
        raise _refuse("a kernel has matrix products, whose lanes are the compiler's", trace.threads_place)


__all__ = ["applied", "check", "mask", "speaks_of_threads", "tile"]
