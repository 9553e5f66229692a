"""What is done element by element."""

from __future__ import annotations

from .. import _native, _places
from .._trace import Value, binary
from ._given import _also, _name, _tile
from .shapes import select


def _define_unary(name: str, native_name: str | None = None):
    @_also(src="arg")
    def unary(arg, tag=None):
        return Value(_native.unary(native_name or name, _tile(arg, name), _name(tag), _places.here()))

    unary.__name__ = unary.__qualname__ = name
    unary.__doc__ = f"`{name}` of every element.\n\n    >>> y = tkw.{name}(x)\n    "
    return unary


def _define_binary(name: str, native_name: str | None = None):
    def operation(lhs, rhs, tag=None):
        return binary(native_name or name, lhs, rhs, _name(tag))

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = f"`{name}` of two tiles, or of a tile and a number, element by element.\n\n    >>> z = tkw.{name}(x, y)\n    "
    return operation


UNARY = {name: _define_unary(name) for name in _native.op_names("unary")}
_BINARY_NAMES = {name: name for name in "floordiv maximum minimum pow atan2 lt le gt ge eq ne".split()}
_BINARY_NAMES |= {"powf": "pow", "add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "mod": "mod"}
_BINARY_NAMES |= {"and_op": "and", "or_op": "or"}
BINARY = {name: _define_binary(name, native) for name, native in _BINARY_NAMES.items()}
globals().update(UNARY)
globals().update(BINARY)


def remf(lhs, rhs, tag=None):
    """The remainder of a division of floats, with the sign of the dividend; `%` has that of the divisor.

    >>> y = tkw.remf(x, tkl.Register[M, N, tkl.f32](3.0))
    """
    rest = binary("mod", abs(lhs), abs(rhs), _name(tag))
    return select(lhs < 0.0, -rest, rest)


def neg(arg, tag=None):
    """The element with the other sign.

    >>> y = tkw.neg(x)
    """
    return -arg


def invert(arg, tag=None):
    """Logical not of `i1`, bitwise not of integers.

    >>> outside = tkw.invert(inside)
    """
    return ~arg


@_also(src="arg")
def softsign(arg, logit_cap=30.0, apply_scaling=False, head_dim=None, tag=None):
    """x / (1 + |x / cap|), where the cap is divided by the root of `head_dim` if asked for.

    >>> y = tkw.softsign(x, logit_cap=30.0)
    """
    head = None if head_dim is None else int(head_dim)
    tile = _tile(arg, "softsign")
    return Value(_native.softsign(tile, float(logit_cap), bool(apply_scaling), head, _name(tag), _places.here()))
