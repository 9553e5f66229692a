"""What functions of operations are given: tiles, memories, numbers and names, and the words that Wave has for parameters."""

from __future__ import annotations

import functools

from .. import _native, _places
from .._errors import error
from .._trace import Handle, Value, current


def _also(**names):
    """Lets a function take arguments by the names that Wave's documents give them, too: `_also(src="arg")`."""

    def decorate(function):
        @functools.wraps(function)
        def renamed(*args, **given):
            if given:
                given = {names.get(name, name): value for name, value in given.items()}
            return function(*args, **given)

        return renamed

    return decorate


def _tile(value, what: str):
    if isinstance(value, Value):
        return value.handle
    if isinstance(value, (tuple, list)):
        raise error("undefined-value", f"`{what}` got {len(value)} values, expected one tile", "take one of them: `a, b = loop`")
    if isinstance(value, Handle):
        raise error("undefined-value", f"`{what}` got the memory `{value.handle.name}`, expected a tile", "take `tkw.read` first")
    raise error("undefined-value", f"`{what}` got `{value!r}`, expected a tile")


def _memory(value, what: str):
    if isinstance(value, Handle):
        return value.handle
    raise error("undefined-value", f"`{what}` got `{value!r}`, expected a memory: a parameter, or what `allocate` gave")


def _one_number(value, what: str):
    """The one number of a tile without dimensions, of one that repeats a number, or of one with a single place."""
    tile = _tile(value, what)
    if tile.is_poisoned or not tile.dims:
        return tile
    if value.scalar is not None:
        return value.scalar()
    trace, place = current(), _places.here()
    if not all(trace.has_one_place(dim) for dim in tile.dims):
        return tile  # the builder says what is wrong with it
    if tile.type == "i1":
        tile = _native.cast(tile, "i32", "", place)
    for dim in tile.dims:
        tile = _native.reduce("sum", tile, None, dim, False, "", place)
    return tile


def _name(tag) -> str:
    if tag is None:
        return ""
    if isinstance(tag, (set, frozenset, list, tuple)):
        if len(tag) > 1:
            raise error("not-supported-here", "an operation takes one tag", "add more with `tkw.tag(value, name)`")
        tag = next(iter(tag), "")
    current().tags.add(str(tag))
    return str(tag)
