"""Modules of torch over Wave's kernels."""

from . import functional
from .linear import WaveLinear
from .quant_linear import WaveQuantLinear

__all__ = ["WaveLinear", "WaveQuantLinear", "functional"]
