"""Types, symbols and mappings of the kernel language, with Wave's names.

>>> import soliton.lang as tkl
>>> M, N = tkl.sym.M, tkl.sym.N
>>> a: tkl.Memory[M, N, tkl.global_symbols.GLOBAL_ADDRESS_SPACE, tkl.f16]
"""

from .._native import Expr as IndexExpr
from .._symbols import ceildiv, eq, index_symbol, max, min, ne, select, sym
from .._types import (
    TYPES,
    AddressSpace,
    DataType,
    IndexMapping,
    KernelBufferUsage,
    Memory,
    MemoryLayout,
    Register,
    SymbolBind,
)
from . import global_symbols

IndexSymbol = IndexExpr

bf16, bool, index = TYPES["bf16"], TYPES["bool"], TYPES["index"]
i1, i4, i8, i16, i32, i64 = (TYPES[name] for name in "i1 i4 i8 i16 i32 i64".split())
f16, f32, f64, f8, bf8 = (TYPES[name] for name in "f16 f32 f64 f8 bf8".split())
f8e5m2, f8e5m2fnuz, f8e4m3fn = (TYPES[name] for name in "f8e5m2 f8e5m2fnuz f8e4m3fn".split())
f8e4m3fnuz, f8e8m0fnu = TYPES["f8e4m3fnuz"], TYPES["f8e8m0fnu"]
f6e2m3fn, f4e2m1fn = TYPES["f6e2m3fn"], TYPES["f4e2m1fn"]

__all__ = [
    *["AddressSpace", "DataType", "IndexExpr", "IndexMapping", "IndexSymbol", "KernelBufferUsage", "Memory"],
    *["MemoryLayout", "Register", "SymbolBind", "ceildiv", "eq", "global_symbols", "index_symbol", "max", "min", "ne"],
    *["select", "sym", *(name for name in TYPES)],
]
