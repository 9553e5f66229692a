"""Element types by name."""

from soliton._types import TYPES, DataType

globals().update(TYPES)
__all__ = ["DataType", *TYPES]
