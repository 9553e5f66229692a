"""Loops and branches."""

from __future__ import annotations

from .. import _native, _places, _threads
from .._errors import error
from .._symbols import meanings, to_expr
from .._trace import Handle, Loop, LoopsOverDimensions, Mask, Value, current, fitted
from .._types import TYPES
from ._given import _name, _one_number, _tile
from .registers import scalar


def _results(returned, what: str):
    """What the body of a region returned, as a list of tiles."""
    if returned is None:
        return []
    many = returned if isinstance(returned, (tuple, list)) else (returned,)
    return [_tile(each, what) for each in many]


def _carried(returned, inits, place):
    """What a body returned with the dimensions of what it was given, which name the same elements in any order."""
    return [fitted(value, init.dims, place) for value, init in zip(returned, inits)] + returned[len(inits) :]


def _unpacked(values):
    made = [Value(each) for each in values]
    if not made:
        return None
    return made[0] if len(made) == 1 else tuple(made)


def iterate(axis, init_args=(), step=1, start=None, condition=None, count=None, tag=None):
    """A loop over `axis`; the function under it is the body, and its name becomes what the last iteration returned.

    >>> @tkw.iterate(K, init_args=[c_reg])
    ... def repeat(acc):
    ...     return tkw.mma(tkw.read(a), tkw.read(b), acc)
    >>> tkw.write(repeat, c)

    With `start` and `condition` it runs as long as the condition on `axis` holds; the body says `set_symbol(axis, …)`. With
    `count` it runs so often instead of what the constraint of `axis` says.
    """
    if step != 1:
        raise error("not-supported-here", f"`iterate` with `step={step}`", "say so with the tile of a `TilingConstraint`")
    inits = [_tile(each, "iterate") for each in init_args or ()]

    def trace_body(body):
        trace, place = current(), _places.here()
        if condition is not None:
            return _iterate_while(trace, trace.dim(axis), start, condition, inits, body, _name(tag), place)

        def call(arguments):
            trace.axes.append(trace.dim(axis))
            with trace.region():
                returned = _carried(_results(body(*map(Value, arguments)), "iterate"), inits, place)
            trace.axes.pop()
            return returned

        often = None if count is None else to_expr(count)
        return _unpacked(trace.kernel.iterate(trace.dim(axis), inits, call, _name(tag), often, place))

    return trace_body


reduction = iterate


def _iterate_while(trace, axis, start, condition, inits, body, tag, place):
    first = start if isinstance(start, Value) else scalar(0 if start is None else start, TYPES["i32"])

    is_dim = any(isinstance(each, Handle) and axis in each.dims for each in trace.arguments)
    is_only_loop = all(each.is_loop for each in trace.constraints if each.distributes and trace.dim(each.dim) == axis)
    if is_dim and is_only_loop and axis not in trace.places and trace.has_one_place(axis):
        raise LoopsOverDimensions(axis)
    symbol = trace.places.get(axis, axis)
    outside = meanings.pairs
    inside = outside if symbol == axis else [*outside, (axis, symbol)]

    def holds(arguments):
        meanings.pairs = inside
        names, wanted = [(symbol, _native.index_of(arguments[0], place))], to_expr(condition)
        meanings.pairs = outside
        for index in range(len(inits)):
            carried = _native.symbol(f"$GET_ITER_ARG_{index}")
            if carried in wanted.free_symbols:
                names.append((carried, _native.index_of(_one_number(Value(arguments[1 + index]), "iterate"), place)))
        return wanted._substitute(names)

    def call(arguments):
        loop = Loop(axis, symbol)
        _native.set_symbol(symbol, arguments[0], "", place)
        trace.loops.append(loop)
        meanings.pairs = inside
        with trace.region():
            returned = _carried(_results(body(*map(Value, arguments[1:])), "iterate"), inits, place)
        meanings.pairs = outside
        trace.loops.pop()
        if loop.next is None:
            raise error("set-symbol", f"the body of this loop never says `set_symbol({axis}, …)`, so it would not end", place=place)
        return [loop.next, *returned]

    values = trace.kernel.iterate_while([_one_number(first, "iterate"), *inits], holds, call, tag, place)
    return _unpacked(values[1:])


def iterate_while(init_args, condition, body, tag=None):
    """A loop that runs as long as a condition on what it carries holds, which is one for the whole workgroup.

    >>> i, acc = tkw.iterate_while([first, zero], lambda i, acc: tkw.index_of(i) < N, body)
    """
    trace, place = current(), _places.here()
    inits = [_tile(each, "iterate_while") for each in init_args]
    holds = lambda arguments: to_expr(condition(*map(Value, arguments)))  # noqa: E731
    call = lambda arguments: _results(body(*map(Value, arguments)), "iterate_while")  # noqa: E731
    return _unpacked(trace.kernel.iterate_while(inits, holds, call, _name(tag), place))


def continue_while(condition):
    """In the body of a loop: it ends with this iteration unless the condition holds, for the whole workgroup.

    >>> tkw.continue_while(tkw.index_of(left) > 0)
    """
    trace, place = current(), _places.here()
    trace.kernel.continue_while(_condition(condition, place), place)


def index_of(value):
    """The one integer of a tile without dimensions, as what expressions may speak of.

    >>> length = tkw.index_of(tkw.read_at(lengths, [tkw.workgroup_id(0)]))
    """
    return _native.index_of(_one_number(value, "index_of"), _places.here())


def conditional(condition, else_return=None, tag=None):
    """What the function under it does happens only if the condition holds: for the whole workgroup if that is one number,
    for those elements for which it holds if it is a tile. `else_return` are the results where it does not hold.

    >>> @tkw.conditional(M > 16)
    ... def then():
    ...     tkw.write(x, c)
    """

    def trace_body(body):
        trace, place = current(), _places.here()
        others = _results(else_return, "conditional")

        def then():
            parameters = body.__code__.co_argcount if hasattr(body, "__code__") else 0
            with trace.region():
                return _results(body(*map(Value, others[:parameters])), "conditional") or others

        mask = _mask(condition, place)
        if mask is not None:
            return _unpacked(_for_elements(trace, mask, then, others, place))
        holds = _condition(condition, place)
        return _unpacked(trace.kernel.conditional(holds, then, lambda: others, _name(tag), place))

    return trace_body


def _mask(condition, place) -> Mask | None:
    """What the condition says of each element, if it is a tile of several places or speaks of threads."""
    trace = current()
    if not isinstance(condition, Value):
        expr = to_expr(condition)
        return _threads.mask(trace, expr, place) if _threads.speaks_of_threads(expr) else None
    tile = condition.handle
    if tile.is_poisoned or condition.scalar is not None or all(trace.has_one_place(dim) for dim in tile.dims):
        return None
    return Mask(tile if tile.type == "i1" else _native.binary("ne", tile, 0, "", place))


def _for_elements(trace, mask: Mask, then, others, place):
    """Elements whose condition does not hold change nothing; results are chosen element by element."""
    trace.masks.append(mask)
    results = then()
    trace.masks.pop()
    return [_native.select(mask.tile, taken, other, "", place) for taken, other in zip(results, others)]


def _condition(condition, place):
    """An expression, or the one number of a tile, as what a branch asks."""
    if not isinstance(condition, Value):
        return to_expr(condition)
    tile = _one_number(condition, "conditional")
    if tile.type == "i1":
        tile = _native.cast(tile, "i32", "", place)
    return _native.expr_ne(_native.index_of(tile, place), 0)
