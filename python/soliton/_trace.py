"""A kernel while its function runs: the builder of C++, and what Python has to remember beside it.

Python decides nothing here: each operation is one call of the builder with the place of the author's text.
"""

from __future__ import annotations

import functools
import contextlib
import re
import threading
import zlib

from . import _native, _places
from ._errors import error
from ._symbols import is_expression, is_sympy, meanings, plain_expr, to_expr

_local = threading.local()


def current() -> Trace:
    """The kernel that is being traced by this thread."""
    trace = getattr(_local, "trace", None)
    if trace is None:
        raise error(
            "undefined-value",
            "an operation of the kernel language stands outside of a kernel",
            "operations belong into a function under `@tkw.wave(…)`, which `wave_compile` runs",
        )
    return trace


def is_tracing() -> bool:
    return getattr(_local, "trace", None) is not None


class Loop:
    """A loop that runs while a condition holds: its axis, the symbol that is set to its place, and what the body makes of it."""

    def __init__(self, axis, symbol):
        self.axis, self.symbol = axis, symbol
        self.next = None


class LoopsOverDimensions(Exception):
    """A loop with a condition has an axis that is a dimension of tensors: the kernel is traced again, knowing this."""

    def __init__(self, axis):
        super().__init__(str(axis))
        self.axis = axis


class PolledBetweenWorkgroups(Exception):
    """Memories that are read anew while others write them (`VOLATILE`): the kernel is traced again, and reaches them by atomics."""

    def __init__(self, names):
        super().__init__(", ".join(sorted(names)))
        self.names = frozenset(names)


class Mask:
    """Which elements a branch is for: a tile of truth values. `some`: it holds for one of a workgroup's lanes, whatever the data,
    so that what has no dimension of lanes is done as well."""

    def __init__(self, tile, some: bool = False):
        self.tile, self.some = tile, some


class Trace:
    """One run of a kernel's function."""

    def __init__(self, subs: dict, sympy: bool, constraints=(), strided: bool = False, while_axes=(), polled=frozenset()):
        # Dimensions that loops with conditions walk: a tile has their first place, which is moved to where the loop is.
        self.places = {axis: _native.symbol(f"PLACE_{axis}") for axis in while_axes}
        self.subs = subs
        self.sympy = sympy
        self.constraints = list(constraints)
        self.strided = strided
        self.kernel: _native.Kernel = None
        # What stands for the parameters, how a call passes each (name, "argument", "symbol" or "default"), symbols that are parameters,
        # and extents of parameters, by name and position, that are the caller's.
        self.arguments: list = []
        self.passes: list[tuple[str, str]] = []
        self.bound: list[_native.Expr] = []
        self.larger: frozenset = frozenset()
        self.aliases: dict[_native.Expr, _native.Expr] = {}
        self.loops: list[Loop] = []
        self.logs: list = []
        self.tags: set[str] = set()
        self.allocations = 0
        self.masks: list[Mask] = []
        # How often the text has changed each memory so far.
        self.changes: dict[str, int] = {}
        # Memories that workgroups wait for, by name; those that were accessed with `VOLATILE`, and that were read, so far.
        self.polled = polled
        self.volatile: set[str] = set()
        self.read: set[str] = set()
        # Symbols that were set to a number of each element's own, to the end of the region.
        self.of_elements: dict[_native.Expr, Value] = {}
        # The loops around what is being traced.
        self.axes: list[_native.Expr] = []
        self.has_mma, self.threads_place = False, None
        self._one_place: dict = {}
        # Symbols of ours that the launch finds in its arguments.
        self.unbound: list[_native.Expr] = []

    def __enter__(self):
        self.before = getattr(_local, "trace", None), meanings.pairs
        _local.trace = self
        meanings.pairs = self.of_workgroups
        return self

    def __exit__(self, *_):
        _local.trace, meanings.pairs = self.before

    def dim(self, dim) -> _native.Expr:
        """A dimension by its expression. One that is no symbol (`HF*WF*C`) is a dimension of its own: equal expressions
        are the same one, and its extent is what the expression comes to. `K/2` is the builder's to understand."""
        expr = plain_expr(dim)
        if expr.kind in ("symbol", "constant", "exactDiv"):
            return expr
        words = re.sub(r"\W+", "_", str(expr)).strip("_")
        # The same name in every process, so that what one has compiled another finds.
        alias = _native.symbol(f"DIM_{words}_{zlib.crc32(str(expr).encode()) & 0xFFFF:04x}")
        self.aliases[alias] = self.bindings[alias] = expr
        return alias

    def dims(self, dims) -> list:
        if is_expression(dims):
            dims = (dims,)
        return [self.dim(each) for each in dims]

    def known(self, value) -> int | None:
        """What it comes to under `subs`, as far as that is a number."""
        expr = to_expr(value)
        for _ in range(len(self.subs) + 1):
            if expr.value is not None:
                return expr.value
            bound = [(symbol, self.bindings[symbol]) for symbol in expr.free_symbols if symbol in self.bindings]
            if not bound:
                return None
            expr = expr._substitute(bound)
        return None

    @functools.cached_property
    def of_workgroups(self) -> list:
        """What `subs` binds to expressions that differ from workgroup to workgroup."""
        differs = {_native.workgroup_id(dim) for dim in range(5)}
        found: dict = {}
        for _ in range(len(self.bindings)):
            new = {
                symbol: value
                for symbol, value in self.bindings.items()
                if symbol not in found and value.free_symbols & (differs | set(found))
            }
            if not new:
                break
            found |= new
        for _ in found:
            found = {symbol: value._substitute(list(found.items())) for symbol, value in found.items()}
        return list(found.items())

    @functools.cached_property
    def bindings(self) -> dict:
        """`subs` as expressions."""
        made = {to_expr(symbol): to_expr(value) for symbol, value in self.subs.items() if is_expression(value)}
        return {symbol: value for symbol, value in made.items() if symbol != value} | self.aliases

    def number(self, value, what: str) -> int:
        """A number that has to be known now."""
        made = self.known(value)
        if made is None:
            raise error("hardware-value", f"`{what}` is `{value}`, which `subs` does not bind to a number")
        return made

    @contextlib.contextmanager
    def region(self):
        """The body of a loop or a branch: what is set in it holds to its end."""
        outside = dict(self.of_elements)
        yield
        self.of_elements = outside

    def set_for_elements(self, expr) -> list:
        """(symbol, tile) of those symbols in an expression that each element has its own number for."""
        return [(symbol, value) for symbol, value in self.of_elements.items() if symbol in expr.free_symbols]

    def changed(self, memory) -> None:
        self.changes[memory.name] = self.changes.get(memory.name, 0) + 1

    def mask_for(self, dims, place):
        """Which elements of a tile may change a memory in the branches around; None where all may."""
        masks = [each.tile for each in self.masks if not (each.some and not all(dim in dims for dim in each.tile.dims))]
        made = None
        for each in masks:
            made = each if made is None else _native.binary("and", made, each, "", place)
        return made

    def extent(self, name: str, position: int, dim, given) -> _native.Expr:
        """What stands for an extent of a memory's layout: the dimension itself where both are the same."""
        if given is not None and to_expr(given) == dim:
            return dim
        own = _native.symbol(f"EXTENT_{name}_{position}")
        if given is None:
            self.unbound.append(own)
        else:
            self.aliases[own] = to_expr(given)
        return own

    def stride(self, name: str, position: int) -> _native.Expr:
        """A stride that the launch finds in its argument."""
        own = _native.symbol(f"STRIDE_{name}_{position}")
        self.unbound.append(own)
        return own

    def has_one_place(self, dim) -> bool:
        """Has a tile one place along the dimension: that of its workgroup, of an iteration, or the only one there is?"""
        known = self._one_place.get(dim)
        if known is None:
            tiles = [self.known(tile) for tile in self._tiles_of(dim)]
            known = self._one_place[dim] = all(tile == 1 for tile in tiles or (self.known(dim),))
        return known

    def _tiles_of(self, dim) -> list:
        """What constraints say a workgroup has of it at a time."""
        tiles = []
        for each in self.constraints:
            if each.distributes and self.dim(each.dim) == dim:
                tiles.append(1 if each.tile_size is None else each.tile_size)
            elif getattr(each, "source", None) is not None and self.dim(each.source) == dim:
                tiles += [each.source_to_target(tile) for tile in self._tiles_of(self.dim(each.target))]
        return tiles

    def wave_tile(self, dim):
        """What a wave has of a dimension at a time."""
        waves = [each.tile_size for each in self.constraints if type(each).__name__ == "WaveConstraint" and self.dim(each.dim) == dim]
        return (waves or self._tiles_of(dim) or [dim])[0]

    def is_always_inside(self, dim) -> bool:
        """Is the one place of a tile always in its dimension? Of several that share the workgroups of a grid's dimension, only
        those that count them are."""
        mine = [each for each in self.constraints if each.distributes and self.dim(each.dim) == dim]
        return all(getattr(each, "primary", True) or each.apply_fn is not None for each in mine)

    def is_unchecked(self, dim) -> bool:
        """Does Wave check no bounds along it? It follows the workgroups of another dimension, and whole tiles are its own."""
        if self.is_always_inside(dim):
            return False
        extent, tiles = self.known(dim), [self.known(tile) for tile in self._tiles_of(dim)]
        return extent is not None and all(tile and extent % tile == 0 for tile in tiles)

    def start_of(self, dim):
        """Where the tile of a workgroup and an iteration begins; None where this is not known here."""
        if dim in self.places:
            return _native.constant(0)  # mappings say the rest
        if any(loop.axis == dim for loop in self.loops):
            return dim  # what the loop has set it to
        mine = [each for each in self.constraints if each.distributes and self.dim(each.dim) == dim]
        if not mine:
            follows = any(getattr(each, "source", None) is not None and self.dim(each.source) == dim for each in self.constraints)
            return None if follows else _native.constant(0)
        start = _native.constant(0)
        for each in mine:
            if not each.is_loop or dim in self.axes:
                start = start + each._start(self)
        return start

    def argument(self, symbol):
        """An element as functions of the author's expect it: SymPy's in programs that use it. It may be negative, so
        `Max(x, 0)` must not become `x`."""
        if not self.sympy:
            return symbol
        import sympy

        return sympy.Symbol(symbol.name, integer=True)


class Handle:
    """A parameter in memory, in a kernel that is being traced. `layout` are the dimensions that stand for its extents where
    those are not the ones of its dimensions (`MemoryLayout`)."""

    __slots__ = ("handle", "annotation", "dims", "layout", "is_allocated")

    def __init__(self, handle, annotation=None, dims=None, is_allocated=False):
        self.is_allocated = is_allocated
        self.handle = handle
        self.annotation = annotation
        self.dims = list(handle.shape) if dims is None else dims
        self.layout = {} if dims is None else {a: b for a, b in zip(dims, handle.shape) if a != b}

    def physical(self, dim):
        """What stands for the extent of a dimension."""
        return self.layout.get(dim, dim)

    @property
    def symbolic_shape(self):
        return tuple(self.annotation.symbolic_shape) if self.annotation else tuple(self.handle.shape)

    shape = symbolic_shape

    @property
    def dtype(self):
        from ._types import TYPES

        return TYPES[self.handle.type]

    def __repr__(self) -> str:
        return f"<memory {self.handle.name}>"

    def __getitem__(self, at):
        return Element(self, at if isinstance(at, tuple) else (at,))

    def __setitem__(self, at, value):
        from ._lanes import store

        store(value, self[at])


class Element:
    """A place of a memory, as a lane names it: `x[row, column]`. `tkw.load` and `tkw.store` take it."""

    __slots__ = ("memory", "at")

    def __init__(self, memory, at):
        self.memory = memory
        self.at = at

    def __repr__(self) -> str:
        return f"<{self.memory.handle.name}[{', '.join(map(str, self.at))}]>"


class Value:
    """A tile, or a number, of the kernel that is being traced. Operators of Python are operations of the kernel."""

    __slots__ = ("handle", "symbol", "scalar", "without", "read_at")

    def __init__(self, handle, symbol=None, scalar=None, without=None, read_at=None):
        self.handle = handle
        self.symbol = symbol
        # Of a tile from memory: functions that give it without dimensions of which it has one place, and at other places.
        self.without, self.read_at = without, read_at
        # Of a tile that repeats one number: a function that gives it.
        self.scalar = scalar

    @property
    def symbolic_shape(self):
        """Its dimensions in order."""
        return tuple(self.handle.dims)

    shape = symbolic_shape

    @property
    def dtype(self):
        """The type of its elements."""
        from ._types import TYPES

        return TYPES[self.handle.type]

    def __soliton_expr__(self):
        if self.symbol is not None:
            return self.symbol
        return _native.index_of(self.handle, _places.here())

    def __bool__(self):
        raise error(
            "not-supported-here",
            "`if`, `while`, `and`, `or` and `not` of Python run while the kernel is traced and cannot ask a tile",
            "take `tkw.select` or `tkw.conditional`, and `&`, `|`, `~`",
        )

    def __iter__(self):
        raise error("not-supported-here", "a tile cannot be iterated over or unpacked", "a loop that carries one value has one result")

    def __getitem__(self, index):
        if index == 0:  # `repeat[0]` of a loop with one result
            return self
        raise error("not-supported-here", f"a tile has no element `[{index}]` in the language", "take `tkw.extract` or `tkw.slice`")

    def __repr__(self) -> str:
        dims = ", ".join(map(str, self.handle.dims))
        return f"<tile [{dims}] of {self.handle.type}>"

    __hash__ = object.__hash__


def _operand(value, like: Value):
    """What stands on one side of an operator, as the builder takes it."""
    if isinstance(value, Value):
        return value.handle
    if isinstance(value, (int, float)):
        return value
    if is_sympy(value) and value.is_number:
        return int(value) if value.is_Integer else float(value)
    if hasattr(value, "item") and not hasattr(value, "symbolic_shape"):  # a number of NumPy
        return value.item()
    if is_expression(value):
        from ._ops.registers import scalar

        return scalar(value, like.dtype).handle
    return None


def binary(name: str, lhs, rhs, tag: str = "") -> Value:
    """An operation of two operands, of which one is a tile."""
    like = lhs if isinstance(lhs, Value) else rhs
    if not isinstance(like, Value):
        raise error("undefined-value", f"`{name}` got no tile, but `{lhs!r}` and `{rhs!r}`")
    left, right = _operand(lhs, like), _operand(rhs, like)
    for given, taken in ((lhs, left), (rhs, right)):
        if taken is None:
            raise error("undefined-value", f"`{name}` got `{given!r}`, expected a tile or a number")
    place = _places.here()
    left, right = nested(left, right, place)
    return Value(_native.binary(name, left, right, tag, place), scalar=_scalar_of(name, lhs, rhs, left, right, place))


def dropped(tile, dims, place):
    """A tile without dimensions of which it has one place."""
    kind = tile.type
    for dim in dims:
        tile = _native.reduce("any" if kind == "i1" else "sum", tile, None, dim, False, "", place)
    return tile


def can_drop(dims) -> bool:
    trace = current()
    return bool(dims) and all(trace.has_one_place(dim) and trace.is_always_inside(dim) for dim in dims)


def nested(left, right, place):
    """Operands of which one has the dimensions of the other, as far as dropping single places can make them so."""
    if not isinstance(left, _native.Value) or not isinstance(right, _native.Value) or left.is_poisoned or right.is_poisoned:
        return left, right
    more, less = [d for d in left.dims if d not in right.dims], [d for d in right.dims if d not in left.dims]
    if not more or not less:
        return left, right
    if can_drop(more):
        return dropped(left, more, place), right
    if can_drop(less):
        return left, dropped(right, less, place)
    return left, right


def fitted(tile, dims, place):
    """A tile with these dimensions in this order, as far as naming them and dropping single places can make it so."""
    found = list(tile.dims)
    if tile.is_poisoned or found == list(dims):
        return tile
    more = [dim for dim in found if dim not in dims]
    if more:
        if not can_drop(more):
            return tile
        tile = dropped(tile, more, place)
    word = "permute" if len(tile.dims) == len(dims) else "broadcast"
    return tile if list(tile.dims) == list(dims) else _native.rearrange(word, tile, list(dims), "", place)


def _scalar_of(name, lhs, rhs, left, right, place):
    """The number that the result repeats, where both operands do."""
    sides = []
    for given, taken in ((lhs, left), (rhs, right)):
        scalar = getattr(given, "scalar", None)
        if scalar is None and isinstance(given, Value) and taken.dims:
            return None
        sides.append(scalar or (lambda taken=taken: taken))
    return lambda: _native.binary(name, sides[0](), sides[1](), "", place)


def _define_operators():
    operators = "add sub mul truediv floordiv mod and or xor".split()
    for name in operators:
        setattr(Value, f"__{name}__", lambda self, other, name=name: binary(name, self, other))
        setattr(Value, f"__r{name}__", lambda self, other, name=name: binary(name, other, self))
    for name in "lt le gt ge eq ne".split():
        setattr(Value, f"__{name}__", lambda self, other, name=name: binary(name, self, other))
    Value.__pow__ = lambda self, other: binary("pow", self, other)
    Value.__neg__ = lambda self: Value(_native.negate(self.handle, _places.here()))
    Value.__pos__ = lambda self: self
    Value.__invert__ = lambda self: Value(_native.invert(self.handle, _places.here()))
    Value.__abs__ = lambda self: Value(_native.unary("abs", self.handle, "", _places.here()))
    Value.__hash__ = object.__hash__


_define_operators()
