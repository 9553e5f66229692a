"""Memories, registers and mappings."""

from soliton import _native
from soliton._sympy import to_sympy
from soliton._types import IndexMapping as _IndexMapping
from soliton._types import Memory, MemoryLayout, Register, SymbolBind


class IndexMapping(_IndexMapping):
    """Where the elements of a tile lie in memory; iterators are SymPy's symbols."""

    @staticmethod
    def iterator(index: int):
        return to_sympy(_native.iterator(index))

    @staticmethod
    def dynamic_val(index: int):
        return to_sympy(_native.dynamic_val(index))


__all__ = ["IndexMapping", "Memory", "MemoryLayout", "Register", "SymbolBind"]
