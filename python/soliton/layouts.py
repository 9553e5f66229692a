"""Layouts: which lane of which wave holds which element of a tile in which register.

>>> import soliton.layouts
>>> soliton.layouts.draw("F32_16x16x16_F16", target="gfx942")     # a matrix instruction
>>> soliton.layouts.draw(run, "acc")                              # the tile of an operation with `tag="acc"`
"""

from __future__ import annotations

import difflib

from . import _native
from ._errors import error
from ._views import LayoutPicture

__all__ = ["LayoutPicture", "draw", "instructions", "values"]


def instructions(target: str = "") -> list[str]:
    """The names of matrix instructions, of one target or of all."""
    found = [name for each in _native.target_list() if target in ("", each["name"]) for name in each["matrix_instructions"]]
    return list(dict.fromkeys(found))


def values(kernel) -> list[tuple[str, str, str]]:
    """(tag, role, layout) of the tiles of a compiled kernel's tagged operations."""
    return [(each["tag"], each["role"], each["layout"]) for each in kernel._value_layouts("")]


def draw(what, tag: str = "", *, target: str = "", dtype: str = "") -> LayoutPicture:
    """The layout of a matrix instruction, by its name, or of a tagged operation of a compiled kernel."""
    if isinstance(what, str) or hasattr(what, "name"):
        name = what if isinstance(what, str) else what.name
        for spelling in (name, name.lower(), name.upper()):
            if (found := _native.instruction_layout(spelling, target, dtype)) is not None:
                return LayoutPicture(found)
        raise error("mma-unknown", f"no operands in registers of a matrix instruction `{name}`{f' on {target}' if target else ''}", _nearest(name, instructions(target)))
    found = what._value_layouts(tag)
    drawn = [each for each in found if "svg" in each]
    if drawn:
        return LayoutPicture(drawn[0])
    tags = sorted({each["tag"] for each in what._value_layouts("")})
    raise error("schedule-unknown", f"no operation of the kernel has the tag `{tag}`", f"the tags are {', '.join(tags)}" if tags else 'give an operation one: `tkw.read(a, tag="a")`')


def _nearest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name.upper(), [each.upper() for each in names], 1, 0)
    return f"did you mean `{near[0]}`? `soliton.layouts.instructions()` lists them" if near else ""
