"""The decorators of kernels."""

from soliton._define import LaunchableWave, wave, wave_trace_only

__all__ = ["LaunchableWave", "wave", "wave_trace_only"]
