"""Types, symbols and mappings; symbols are SymPy's."""

from soliton._types import TYPES, AddressSpace, DataType, KernelBufferUsage, Memory, MemoryLayout, Register, SymbolBind

from .._support.indexing import IndexExpr, IndexSymbol, index_symbol, sym
from . import global_symbols, kernel_buffer, wave_types
from .grid import Grid
from .kernel_buffer import InputBuffer, KernelBuffer, OutputBuffer, TemporaryBuffer
from .wave_types import IndexMapping

globals().update({name: kind for name, kind in TYPES.items() if name != "i1"})

__all__ = [
    *["AddressSpace", "DataType", "Grid", "IndexExpr", "IndexMapping", "IndexSymbol", "InputBuffer", "KernelBuffer"],
    *["KernelBufferUsage", "Memory", "MemoryLayout", "OutputBuffer", "Register", "SymbolBind", "TemporaryBuffer"],
    *["global_symbols", "index_symbol", "kernel_buffer", "sym", "wave_types", *(name for name in TYPES if name != "i1")],
]
