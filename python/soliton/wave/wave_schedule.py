"""The decorator of schedules: `@wave_schedule.wave_schedule()`."""

from .._schedule import WaveSchedule, wave_schedule

__all__ = ["WaveSchedule", "wave_schedule"]
