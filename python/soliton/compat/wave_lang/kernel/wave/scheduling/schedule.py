"""Algorithms of schedules by name, and their files."""

from soliton._options import SchedulingType
from soliton.tuner.schedules import dump_schedule

__all__ = ["SchedulingType", "dump_schedule"]
