"""Types as annotations name them: element types, memories, registers, mappings.

    a: Memory[M, K, SHARED_ADDRESS_SPACE, f16]
    acc = Register[M, N, f32](0.0)
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from . import _native
from ._errors import error
from ._symbols import is_expression, to_expr

# ---- Element types -----------------------------------------------------------------------------------------------------

_BITS = {"i1": 1, "i4": 4, "f4e2m1fn": 4, "f6e2m3fn": 6, "bf16": 16}
_ASSEMBLY = {"f8": "f8E4M3FN", "bf8": "f8E5M2", "f4e2m1fn": "f4E2M1FN", "f6e2m3fn": "f6E2M3FN"}


class DataType:
    """The type of an element: `tkl.f16`, `tkl.i32`, …; equal where they name the same type.

    >>> tkl.f16.bitwidth()
    16
    """

    __slots__ = ("_name", "_native_name")
    symbolic_shape = ()

    def __init__(self, name: str, native_name: str | None = None):
        self._name = name
        self._native_name = native_name or name

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DataType:
        return self

    def bitwidth(self) -> int:
        """Bits of one element."""
        if self._name == "index":
            return 64
        if self._native_name in _BITS:
            return _BITS[self._native_name]
        return 8 if self._native_name.startswith(("f8", "bf8")) else int(self._native_name[1:])

    def is_index_asm(self) -> bool:
        return self._name == "index"

    def is_int_asm(self) -> bool:
        return self._native_name.startswith("i") and not self.is_index_asm()

    def is_float_asm(self) -> bool:
        return not self._native_name.startswith("i")

    def ir_type_asm(self) -> str:
        """Its name in MLIR."""
        name = "index" if self.is_index_asm() else self._native_name
        if name.startswith("f8") and name != "f8":
            return "f8E" + name[3:4] + "M" + name[5:6] + name[6:].upper()
        return _ASSEMBLY.get(name, name)

    def __eq__(self, other) -> bool:
        return isinstance(other, DataType) and self._ir() == other._ir()

    def _ir(self) -> str:
        return "index" if self._name == "index" else self._native_name

    def __hash__(self) -> int:
        return hash(self._ir())

    def __str__(self) -> str:
        return self._name

    __repr__ = __str__

    def __reduce__(self):
        return (DataType, (self._name, self._native_name))


def _define_types():
    names = "i4 i8 i16 i32 i64 f16 bf16 f32 f64 f8 bf8 f8e5m2 f8e5m2fnuz f8e4m3fn f8e4m3fnuz f8e8m0fnu f6e2m3fn f4e2m1fn"
    types = {name: DataType(name) for name in names.split()}
    types["i1"] = DataType("i1")
    types["bool"] = DataType("bool", "i1")
    types["index"] = DataType("index", "i64")
    return types


TYPES: dict[str, DataType] = _define_types()


def dtype_name(dtype) -> str:
    """What the builder calls it."""
    if isinstance(dtype, DataType):
        return dtype._native_name
    raise error("elementwise-type", f"expected an element type such as `tkl.f16`, found `{dtype!r}`")


# ---- Memories and registers ----------------------------------------------------------------------------------------------


class AddressSpace(enum.Enum):
    """Where a memory lies."""

    REGISTER = 0
    SHARED_MEMORY = 1
    GLOBAL_MEMORY = 2

    def __soliton_expr__(self):
        if self is AddressSpace.REGISTER:
            raise error("address-space-unknown", "a memory cannot lie in registers", "take `tkl.Register`")
        return _native.address_space(self is AddressSpace.SHARED_MEMORY)


class KernelBufferUsage(enum.Enum):
    """How a kernel uses a parameter; the compiler finds out by itself."""

    NONE = 0
    INPUT = 1
    OUTPUT = 2
    TEMPORARY = 3


@dataclass(frozen=True)
class MemoryLayout:
    """The extents that a tensor has in memory, where they are not those of its dimensions; None: the caller's."""

    shape: tuple

    def __init__(self, shape):
        object.__setattr__(self, "shape", tuple(shape))


class MemoryType:
    """What `Memory[…]` gives: the annotation of a kernel's parameter."""

    def __init__(self, dims, space, dtype, layout=None, usage=KernelBufferUsage.NONE):
        self.symbolic_shape = tuple(dims)
        self.address_space = space
        self.dtype = dtype
        self.physical_layout = layout
        self.usage = usage

    def __repr__(self) -> str:
        return f"Memory[{', '.join(map(str, self.symbolic_shape))}, {self.address_space}, {self.dtype}]"


def _split_at_dtype(items, what):
    """(what stands in front of the element type, the type, what stands behind it)."""
    if len(items) == 1 and isinstance(items[0], tuple):
        items = items[0]
    for position, item in enumerate(items):
        if isinstance(item, DataType):
            return list(items[:position]), item, list(items[position + 1 :])
    raise error("elementwise-type", f"`{what}[…]` names no element type", f"`{what}[M, …, tkl.f16]`")


def _flat(dims):
    return tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else tuple(dims)


class Memory:
    """A tensor parameter: `Memory[dims…, address space, element type]`, and a `MemoryLayout` where rows are padded.

    >>> a: tkl.Memory[M, K, SHARED_ADDRESS_SPACE, tkl.f16]
    """

    def __class_getitem__(cls, items):
        before, dtype, after = _split_at_dtype(items if isinstance(items, tuple) else (items,), "Memory")
        if len(before) < 2:
            raise error("memory-rank", "a memory needs a dimension and an address space", "`Memory[M, K, space, f16]`")
        layout = next((each for each in after if isinstance(each, MemoryLayout)), None)
        usage = next((each for each in after if isinstance(each, KernelBufferUsage)), KernelBufferUsage.NONE)
        return MemoryType(_flat(before[:-1]), before[-1], dtype, layout, usage)


class RegisterType:
    """What `Register[…]` gives: an annotation, and a function that fills a tile."""

    def __init__(self, dims, dtype):
        self.symbolic_shape = dims
        self.dtype = dtype

    def __call__(self, value, tag: str | None = None):
        from ._ops.registers import register

        return register(self.symbolic_shape, self.dtype, value, tag=tag)

    def __repr__(self) -> str:
        return f"Register[{', '.join(map(str, self.symbolic_shape))}, {self.dtype}]"


class Register:
    """A tile in registers: `Register[dims…, element type](value)` fills one.

    >>> acc = tkl.Register[M, N, tkl.f32](0.0)
    """

    def __class_getitem__(cls, items):
        dims, dtype, _ = _split_at_dtype(items if isinstance(items, tuple) else (items,), "Register")
        return RegisterType(_flat(dims), dtype)


class SymbolBindType:
    """What `SymbolBind[…]` gives."""

    def __init__(self, dtype):
        self.dtype = dtype


class SymbolBind:
    """A number of the launch that is also the symbol of its parameter's name: `SymbolBind[tkl.i32]`."""

    def __class_getitem__(cls, dtype):
        return SymbolBindType(dtype)


# ---- Mappings --------------------------------------------------------------------------------------------------------------


class IndexMapping:
    """Where the elements of a tile lie in a memory that is not read or written in its own order.

    >>> i, j = tkl.IndexMapping.iterator(0), tkl.IndexMapping.iterator(1)
    >>> transposed = tkl.IndexMapping(num_iterators=2, inputs={N: i, K: j}, outputs={K: j, N: i})
    """

    def __init__(self, num_iterators: int, inputs: dict, outputs: dict, dynamic_val_mappings=()):
        self.num_iterators = num_iterators
        self.input_mapping = dict(inputs)
        self.output_mapping = dict(outputs)
        many = (dynamic_val_mappings,) if isinstance(dynamic_val_mappings, dict) else dynamic_val_mappings
        self.dynamic_val_mappings = tuple(dict(each) for each in many)

    @staticmethod
    def iterator(index: int):
        """What stands for the place along the tile's dimension number `index`."""
        return _native.iterator(index)

    @staticmethod
    def dynamic_val(index: int):
        """What stands for an element of the dynamic value number `index`."""
        return _native.dynamic_val(index)

    @property
    def num_dynamic_vals(self) -> int:
        return len(self.dynamic_val_mappings)

    @property
    def iters(self):
        """The iterators."""
        return [self.iterator(k) for k in range(self.num_iterators)]

    @property
    def input_shape(self):
        return tuple(self.input_mapping)

    @property
    def output_shape(self):
        return tuple(self.output_mapping)

    @property
    def iteration_shape(self):
        """The dimension along which each iterator runs."""
        shape = []
        for k in range(self.num_iterators):
            both = [*self.output_mapping.items(), *self.input_mapping.items()]
            shape.append(next((dim for dim, index in both if index == self.iterator(k)), None))
        return tuple(shape)

    def is_identity(self) -> bool:
        return self.input_mapping == self.output_mapping

    def substitute(self, subs) -> IndexMapping:
        """The same with symbols replaced."""

        def replaced(mapping):
            return {dim: index.subs(subs) if hasattr(index, "subs") else index for dim, index in mapping.items()}

        values = [replaced(each) for each in self.dynamic_val_mappings]
        return type(self)(self.num_iterators, replaced(self.input_mapping), replaced(self.output_mapping), values)

    def _key(self):
        return (
            self.num_iterators,
            tuple(self.input_mapping.items()),
            tuple(self.output_mapping.items()),
            tuple(tuple(each.items()) for each in self.dynamic_val_mappings),
        )

    def __eq__(self, other) -> bool:
        return isinstance(other, IndexMapping) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"IndexMapping({self.num_iterators}, {self.input_mapping} -> {self.output_mapping})"


def is_dim(value) -> bool:
    """May it name a dimension?"""
    return is_expression(value)


def expr_list(values):
    """Each as an expression."""
    return [to_expr(value) for value in values]
