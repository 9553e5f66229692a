"""The operations of the language, with Wave's names and signatures; each is one call of the builder.

Every function takes `tag="name"`, by which schedules find what it becomes. A module has those of a kind, and all names are here.
"""

from __future__ import annotations

from .. import _lanes
from . import along, control, elementwise, memory, order, registers, shapes
from .memory import MemoryAccessFlags
from .order import InstructionClass


def _functions_of(module) -> dict:
    own = {name: value for name, value in vars(module).items() if callable(value) and not name.startswith("_")}
    return {name: value for name, value in own.items() if value.__module__ == module.__name__ and not isinstance(value, type)}


_functions = {name: getattr(_lanes, name) for name in _lanes.__all__}
for _module in (memory, registers, shapes, along, elementwise, control, order):
    _functions |= _functions_of(_module)
globals().update(_functions)
__all__ = [*_functions, "InstructionClass", "MemoryAccessFlags"]
