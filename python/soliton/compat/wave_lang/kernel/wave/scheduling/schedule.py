"""Algorithms of schedules by name."""

from soliton._options import SchedulingType

__all__ = ["SchedulingType"]
