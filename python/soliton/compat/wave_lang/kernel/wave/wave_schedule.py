"""The decorator of schedules."""

from soliton._schedule import WaveSchedule, wave_schedule

__all__ = ["WaveSchedule", "wave_schedule"]
