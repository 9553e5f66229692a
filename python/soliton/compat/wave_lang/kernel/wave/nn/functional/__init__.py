"""Functions of torch over Wave's kernels."""

from .attention import wave_sdpa
from .quant_attention import wave_sdpa_fp8

__all__ = ["wave_sdpa", "wave_sdpa_fp8"]
