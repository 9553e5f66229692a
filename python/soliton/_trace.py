"""A kernel while its function runs: the builder of C++, and what Python has to remember beside it.

Python decides nothing here: each operation is one call of the builder with the place of the author's text.
"""

from __future__ import annotations

import re
import threading
import zlib

from . import _native, _places
from ._errors import error
from ._symbols import is_expression, is_sympy, to_expr

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
    """A loop that runs while a condition holds: its axis, and what the body makes of it."""

    def __init__(self, axis):
        self.axis = axis
        self.next = None


class Trace:
    """One run of a kernel's function."""

    def __init__(self, subs: dict, sympy: bool):
        self.subs = subs
        self.sympy = sympy
        self.kernel: _native.Kernel = None
        self.aliases: dict[_native.Expr, _native.Expr] = {}
        self.loops: list[Loop] = []
        self.logs: list = []
        self.allocations = 0

    def __enter__(self):
        self.before = getattr(_local, "trace", None)
        _local.trace = self
        return self

    def __exit__(self, *_):
        _local.trace = self.before

    def dim(self, dim) -> _native.Expr:
        """A dimension by its expression. One that is no symbol (`HF*WF*C`) is a dimension of its own: equal expressions
        are the same one, and its extent is what the expression comes to. `K/2` is the builder's to understand."""
        expr = to_expr(dim)
        if expr.kind in ("symbol", "constant", "exactDiv"):
            return expr
        words = re.sub(r"\W+", "_", str(expr)).strip("_")
        # The same name in every process, so that what one has compiled another finds.
        alias = _native.symbol(f"DIM_{words}_{zlib.crc32(str(expr).encode()) & 0xFFFF:04x}")
        self.aliases[alias] = expr
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
            expr = expr._substitute([(to_expr(s), to_expr(v)) for s, v in self.subs.items() if is_expression(v)])
        return None

    def number(self, value, what: str) -> int:
        """A number that has to be known now."""
        made = self.known(value)
        if made is None:
            raise error("hardware-value", f"`{what}` is `{value}`, which `subs` does not bind to a number")
        return made

    def argument(self, symbol):
        """An element as functions of the author's expect it: SymPy's in programs that use it. It may be negative, so
        `Max(x, 0)` must not become `x`."""
        if not self.sympy:
            return symbol
        import sympy

        return sympy.Symbol(symbol.name, integer=True)


class Handle:
    """A parameter in memory, in a kernel that is being traced."""

    __slots__ = ("handle", "annotation")

    def __init__(self, handle, annotation=None):
        self.handle = handle
        self.annotation = annotation

    @property
    def symbolic_shape(self):
        return tuple(self.annotation.symbolic_shape) if self.annotation else tuple(self.handle.shape)

    @property
    def dtype(self):
        from ._types import TYPES

        return TYPES[self.handle.type]

    def __repr__(self) -> str:
        return f"<memory {self.handle.name}>"

    def __getitem__(self, _):
        raise error(
            "not-supported-here", "a memory has no elements that a kernel could index", "take `tkw.read(…, mapping=…)`"
        )


class Value:
    """A tile, or a number, of the kernel that is being traced. Operators of Python are operations of the kernel."""

    __slots__ = ("handle", "symbol")

    def __init__(self, handle, symbol=None):
        self.handle = handle
        self.symbol = symbol

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
        from ._ops import scalar

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
    return Value(_native.binary(name, left, right, tag, _places.here()))


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
