"""Kernels, constraints, operations and schedules; symbols are SymPy's."""

from soliton.wave import *  # noqa: F403

from ..lang.global_symbols import *  # noqa: F403
from ..lang.wave_types import IndexMapping  # noqa: F401 - in place of ours
from .assumptions import Assumption  # noqa: F401
from . import wave_schedule  # noqa: F401
from .compile import WaveCompileOptions, wave_compile  # noqa: F401
from .wave import wave, wave_trace_only  # noqa: F401 - the decorators, not the module of that name
from soliton._types import TYPES, AddressSpace, DataType  # noqa: F401
from .._support.indexing import IndexExpr, IndexSequence, IndexSymbol  # noqa: F401
from ..ops.wave_ops import get_custom  # noqa: F401

i32 = TYPES["i32"]
