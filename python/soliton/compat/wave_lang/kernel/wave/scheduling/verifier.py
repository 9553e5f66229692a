"""Moves of one node of a schedule, and their repair."""

from soliton.tuner.schedules import ScheduleValidator

__all__ = ["ScheduleValidator"]
