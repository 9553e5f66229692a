"""Kernels, constraints, operations and schedules, with Wave's names.

>>> import soliton.lang as tkl, soliton.wave as tkw
>>> @tkw.wave(constraints)
... def copy(a: tkl.Memory[M, N, ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16]):
...     tkw.write(tkw.read(a), b)
>>> run = tkw.wave_compile(tkw.WaveCompileOptions(subs={…}), copy)
"""

from .. import _ops, _schedule
from .._constraints import (
    Assumption,
    Constraint,
    DeviceConstraint,
    DistributionConstraint,
    GenericDot,
    GridConstraint,
    HardwareConstraint,
    IteratorBindings,
    MMAOperand,
    MMAType,
    ReorderingConstraint,
    ScaledMMAType,
    Simt,
    SymbolicAlias,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from .._define import LaunchableWave, wave, wave_trace_only
from .._kernel import WaveKernel, wave_compile
from .._ops import *  # noqa: F403
from .._options import CoalescingType, KernelLaunchInfo, SchedulingType, WaveCompileOptions
from .._schedule import *  # noqa: F403
from .._types import TYPES, IndexMapping, Memory, Register

i1 = TYPES["i1"]

__all__ = [
    *["Assumption", "CoalescingType", "Constraint", "DeviceConstraint", "DistributionConstraint", "GenericDot"],
    *["GridConstraint", "HardwareConstraint", "IndexMapping", "IteratorBindings", "KernelLaunchInfo", "LaunchableWave"],
    *["MMAOperand", "MMAType", "Memory", "Register", "ReorderingConstraint", "ScaledMMAType", "SchedulingType", "Simt"],
    *["SymbolicAlias", "TilingConstraint", "WaveCompileOptions", "WaveConstraint", "WaveKernel", "WorkgroupConstraint"],
    *["i1", "wave", "wave_compile", "wave_trace_only"],
    *_ops.__all__,
    *_schedule.__all__,
]
