"""Compiling a kernel: `wave_compile(WaveCompileOptions(subs=…), kernel)`."""

from .._kernel import WaveKernel, wave_compile
from .._options import WaveCompileOptions

__all__ = ["WaveCompileOptions", "WaveKernel", "wave_compile"]
