"""Kernels as one lane sees them, and what lanes that differ do in kernels of tiles (docs/tutorial/06-simt.md).

    @tkw.wave([tkw.Simt(256, [tkl.ceildiv(N, 256)])])
    def saxpy(a: tkl.f32, x: Floats, y: Floats):
        i = 256 * tkw.workgroup_id(0) + tkw.thread_id()
        tkw.store(a * tkw.load(x[i]) + tkw.load(y[i]), y[i])
"""

from __future__ import annotations

from . import _native, _places
from ._errors import error
from ._symbols import is_expression, to_expr
from ._trace import Element, Handle, Value, current
from ._types import TYPES, dtype_name

# ---- Who I am --------------------------------------------------------------------------------------------------------------


def lanes():
    """The dimension of a wave's lanes, and their number.

    >>> total = tkw.sum(value, dim=tkw.lanes())
    """
    return _native.lanes()


def waves():
    """The dimension of a workgroup's waves, and their number.

    >>> total = tkw.sum(tkw.sum(value, dim=tkw.lanes()), dim=tkw.waves())
    """
    return _native.waves()


def lane_id():
    """This lane in its wave, in expressions.

    >>> first = tkw.per_lane(tkw.lane_id()) == 0
    """
    return _native.lane_id()


def wave_id():
    """This wave in its workgroup, in expressions.

    >>> part[tkw.wave_id()] = value
    """
    return _native.wave_id()


def thread_id():
    """This thread in its workgroup, in expressions.

    >>> i = 256 * tkw.workgroup_id(0) + tkw.thread_id()
    """
    return _native.thread_id()


def workgroup_id(dim: int):
    """This workgroup's place along a dimension of the grid, in expressions.

    >>> row = tkw.workgroup_id(1)
    """
    return _native.workgroup_id(int(dim))


def iteration(axis):
    """The number of the iteration, from 0, of the innermost loop over `axis`.

    >>> first = tkw.iteration(K) * BLOCK_K
    """
    return _native.iteration(current().dim(axis))


def coordinate(dim):
    """Inside of `elements`: where the element is along a dimension of its tensor.

    >>> with tkw.elements(acc) as x:
    ...     tkw.store(x, c[tkw.coordinate(N), tkw.coordinate(M)])
    """
    return _native.coordinate(current().dim(dim))


def vector(size: int):
    """The dimension of a lane's own vectors of that size.

    >>> total = tkw.sum(tkw.load(x[4 * i], vector=4), dim=tkw.vector(4))
    """
    return _native.vector(int(size))


# ---- Memory ----------------------------------------------------------------------------------------------------------------


def _element(value, what: str):
    if isinstance(value, Element):
        return value
    found = f"the memory `{value.handle.name}`" if isinstance(value, Handle) else f"`{value!r}`"
    raise error("simt-place", f"`{what}` got {found}, expected a place of a memory", f"`{what}` takes `x[i, j]`")


def _entries(element: Element):
    made = []
    for each in element.at:
        # A number that a symbol stands for stays an expression, which the compiler understands.
        is_value = isinstance(each, Value) and each.symbol is None
        made.append(each.handle if is_value else to_expr(each))
    return made


def _operand(value, what: str):
    if isinstance(value, Value):
        return value.handle
    if isinstance(value, (int, float)):
        return value
    if hasattr(value, "item"):
        return value.item()
    if is_expression(value):
        return per_lane(value).handle
    raise error("simt-value", f"`{what}` got `{value!r}`, expected a value of a lane")


def load(element, vector=1, tag=None):
    """What this lane finds at a place of a memory; 0 outside of it.

    >>> x_i = tkw.load(x[i])
    >>> four = tkw.load(x[4 * i], vector=4)
    """
    at = _element(element, "load")
    return Value(_native.load(at.memory.handle, _entries(at), int(vector), tag or "", _places.here()))


def store(value, element, tag=None):
    """Puts this lane's value at a place of a memory; nothing happens outside of it. `y[i] = value` is the same.

    >>> tkw.store(2.0 * tkw.load(x[i]), y[i])
    """
    at = _element(element, "store")
    _native.store(_operand(value, "store"), at.memory.handle, _entries(at), tag or "", _places.here())


def lane_atomic(name: str, value, element: Element, tag):
    """`tkw.atomic_add(1, bins[b])` and its like."""
    handle = element.memory.handle
    return Value(_native.lane_atomic(name, _operand(value, name), handle, _entries(element), tag or "", _places.here()))


def shared_array(shape, dtype):
    """An array in the workgroup's shared memory, which lanes reach by its places.

    >>> part = tkw.shared_array([tkw.waves()], tkl.i32)
    """
    from ._types import MemoryType

    trace = current()
    trace.allocations += 1
    extents = [to_expr(each) for each in (shape if isinstance(shape, (list, tuple)) else (shape,))]
    name = f"array_{trace.allocations}"
    handle = _native.shared_array(trace.kernel, name, extents, dtype_name(dtype), _places.here())
    return Handle(handle, MemoryType(tuple(handle.shape), None, dtype))


def per_lane(expr, dtype=None, tag=None):
    """What an expression is for each lane, as its value.

    >>> odd = tkw.per_lane(tkw.thread_id() % 2)
    """
    kind = dtype_name(dtype or TYPES["i32"])
    return Value(_native.per_lane(current().kernel, to_expr(expr), kind, tag or "", _places.here()))


def component(value, index: int):
    """One of a lane's own vector.

    >>> last = tkw.component(tkw.load(x[4 * i], vector=4), 3)
    """
    return Value(_native.component(_operand(value, "component"), int(index), _places.here()))


# ---- The other lanes ---------------------------------------------------------------------------------------------------------


def _mode_name(mode) -> str:
    return str(getattr(mode, "name", mode)).lower()


def shuffle(arg, offset, width=None, mode=None, tag=None):
    """What another lane of the wave has: that of number `offset`, or with a `mode` of Wave's (XOR, DOWN, UP) the one that far
    away. A lane whose source is none of the wave keeps its own.

    >>> first = tkw.shuffle(value, 0)
    >>> other = tkw.shuffle(value, 1, 64, ShuffleMode.XOR)
    """
    tile = _operand(arg, "shuffle")
    if width is None or mode is None or _mode_name(mode) == "idx":
        at = offset.handle if isinstance(offset, Value) else to_expr(offset)
        return Value(_native.shuffle(tile, at, tag or "", _places.here()))
    names = {"xor": "shuffle_xor", "down": "shuffle_down", "up": "shuffle_up"}
    name = names.get(_mode_name(mode))
    if name is None:
        raise error("shuffle-source", f"`shuffle` with the mode `{mode}`, expected XOR, DOWN, UP or IDX")
    if name != "shuffle_xor" and int(width) < 64:
        raise error("not-supported-here", f"`shuffle` {_mode_name(mode)} in groups of {width} lanes", "take the whole wave")
    return Value(_native.exchange(name, tile, int(offset), tag or "", _places.here()))


def _define_exchange(name: str, doc: str):
    def exchange(value, distance, tag=None):
        return Value(_native.exchange(name, _operand(value, name), int(distance), tag or "", _places.here()))

    exchange.__name__ = exchange.__qualname__ = name
    exchange.__doc__ = f"{doc}\n\n    >>> other = tkw.{name}(value, 1)\n    "
    return exchange


shuffle_xor = _define_exchange("shuffle_xor", "What the lane has whose number differs in these bits.")
shuffle_up = _define_exchange("shuffle_up", "What the lane has that many before this one; the first ones keep their own.")
shuffle_down = _define_exchange("shuffle_down", "What the lane has that many behind this one; the last ones keep their own.")
rotate = _define_exchange("rotate", "What the lane has that many behind this one, counted in a circle.")


def _define_vote(name: str, doc: str):
    def vote(condition):
        return Value(_native.vote(name, _operand(condition, name), _places.here()))

    vote.__name__ = vote.__qualname__ = name
    vote.__doc__ = f"{doc}\n\n    >>> found = tkw.{name}(value > 0)\n    "
    return vote


ballot = _define_vote("ballot", "Bit `l` says whether the condition holds in lane `l` of the wave; `i64`.")
vote_count = _define_vote("vote_count", "In how many lanes of the wave the condition holds.")
vote_rank = _define_vote("vote_rank", "In how many lanes of the wave before this one the condition holds.")
vote_any = _define_vote("vote_any", "Whether the condition holds in some lane of the wave.")
vote_all = _define_vote("vote_all", "Whether the condition holds in all lanes of the wave.")


def any_thread(condition):
    """Whether the condition holds for any thread of the workgroup, as what `conditional` and loops take.

    >>> @tkw.conditional(tkw.any_thread(left > 0))
    ... def then(): …
    """
    return _native.any_thread(_operand(condition, "any_thread"), _places.here())


# ---- Lanes that go different ways --------------------------------------------------------------------------------------------


class _Scope:
    """A scope of the builder's that `with` opens and closes."""

    def __init__(self, opens, value=None):
        self.opens, self.value, self.scope = opens, value, None

    def __enter__(self):
        self.scope = self.opens()
        return self.value

    def __exit__(self, *_):
        self.scope.close()


def when(condition, then=None, otherwise=None):
    """Only lanes for which the condition holds load, store and change; the others load 0.

    >>> with tkw.when(tkw.per_lane(tkw.lane_id()) == 0):
    ...     tkw.store(total, sums[tkw.workgroup_id(0)])

    With two functions, what they return is chosen by lane:

    >>> half = tkw.when(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1)
    """
    place, holds = _places.here(), _operand(condition, "when")
    if then is None:
        return _Scope(lambda: _native.when(holds, True, place))
    with _Scope(lambda: _native.when(holds, True, place)):
        taken = then()
    if otherwise is None:
        return None
    with _Scope(lambda: _native.when(holds, False, place)):
        other = otherwise()
    if taken is None:
        return None
    from ._ops.shapes import select

    if isinstance(taken, (tuple, list)):
        return tuple(select(condition, a, b) for a, b in zip(taken, other))
    return select(condition, taken, other)


def elements(tile):
    """Speaks of one element of a tile: `load`, `store`, atomics and `when` are its own.

    >>> with tkw.elements(acc) as x:
    ...     tkw.store(x, c[tkw.coordinate(N), tkw.coordinate(M)])
    """
    place, handle = _places.here(), _operand(tile, "elements")
    return _Scope(lambda: _native.elements(handle, place), tile)


def lane_while(init_args, condition, body):
    """Each lane goes on as long as its own condition holds; a lane that is done keeps what it has.

    >>> low, high = tkw.lane_while([zero, count], lambda low, high: low < high, step)
    """
    inits = [_operand(each, "lane_while") for each in init_args]
    holds = lambda arguments: _operand(condition(*map(Value, arguments)), "lane_while")  # noqa: E731

    def step(arguments):
        returned = body(*map(Value, arguments))
        many = returned if isinstance(returned, (tuple, list)) else (returned,)
        return [_operand(each, "lane_while") for each in many]

    made = tuple(map(Value, _native.lane_while(inits, holds, step, _places.here())))
    return made[0] if len(made) == 1 else made


__all__ = [
    *["any_thread", "ballot", "component", "coordinate", "elements", "iteration", "lane_id", "lane_while", "lanes", "load"],
    *["per_lane", "rotate", "shared_array", "shuffle", "shuffle_down", "shuffle_up", "shuffle_xor", "store", "thread_id"],
    *["vector", "vote_all", "vote_any", "vote_count", "vote_rank", "wave_id", "waves", "when", "workgroup_id"],
]
