"""Parameters by how a kernel uses them: tensors in global memory, as `Memory[…, GLOBAL_ADDRESS_SPACE, …]` names them."""

from soliton._types import AddressSpace, KernelBufferUsage, MemoryLayout, MemoryType

from .global_symbols import GLOBAL_ADDRESS_SPACE


class KernelBuffer:
    """A tensor in global memory: `KernelBuffer[M, N, f16]`."""

    usage = KernelBufferUsage.NONE

    def __class_getitem__(cls, dims_and_dtype) -> MemoryType:
        *dims, dtype = dims_and_dtype if isinstance(dims_and_dtype, tuple) else (dims_and_dtype,)
        if not dims:
            raise TypeError(f"`{cls.__name__}[…]` takes dimensions and an element type, found `{dims_and_dtype}`")
        return MemoryType(dims, GLOBAL_ADDRESS_SPACE, dtype, usage=cls.usage)


class InputBuffer(KernelBuffer):
    """What a kernel reads."""

    usage = KernelBufferUsage.INPUT


class OutputBuffer(KernelBuffer):
    """What a kernel writes."""

    usage = KernelBufferUsage.OUTPUT


class TemporaryBuffer(KernelBuffer):
    """What a kernel keeps."""

    usage = KernelBufferUsage.TEMPORARY


__all__ = ["AddressSpace", "InputBuffer", "KernelBuffer", "KernelBufferUsage", "MemoryLayout", "OutputBuffer", "TemporaryBuffer"]
