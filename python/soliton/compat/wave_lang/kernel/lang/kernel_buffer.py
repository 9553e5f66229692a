"""Parameters of kernels without constraints, which this version does not have, and words that go with them."""

from soliton._errors import error
from soliton._types import AddressSpace, KernelBufferUsage, MemoryLayout


class KernelBuffer:
    """`InputBuffer[M, N].of(f16)` of Wave's thread kernels."""

    def __class_getitem__(cls, _):
        raise error("not-supported-here", f"`{cls.__name__}[…]` of kernels without constraints", "take `tkl.Memory[…]`")


class InputBuffer(KernelBuffer):
    """What a kernel reads."""


class OutputBuffer(KernelBuffer):
    """What a kernel writes."""


class TemporaryBuffer(KernelBuffer):
    """What a kernel keeps."""


__all__ = ["AddressSpace", "InputBuffer", "KernelBuffer", "KernelBufferUsage", "MemoryLayout", "OutputBuffer", "TemporaryBuffer"]
