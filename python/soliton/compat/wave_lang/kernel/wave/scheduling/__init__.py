"""When the instructions of loops happen."""

from soliton._options import SchedulingType

__all__ = ["SchedulingType"]
