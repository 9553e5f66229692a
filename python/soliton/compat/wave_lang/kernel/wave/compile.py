"""Compiling a kernel. Arrays are compared by the width of their elements alone, as Wave does."""

from dataclasses import dataclass

from soliton import _kernel, _options
from soliton._kernel import WaveKernel

from . import cache


@dataclass
class WaveCompileOptions(_options.WaveCompileOptions):
    """What `wave_compile` is asked for."""

    match_width_only: bool = True


def wave_compile(options, kernel, schedule=None) -> WaveKernel:
    """Compiles a kernel for a target."""
    __tracebackhide__ = True
    made = _kernel.wave_compile(options, kernel, schedule)
    cache.count(made)
    return made


__all__ = ["WaveCompileOptions", "WaveKernel", "wave_compile"]
