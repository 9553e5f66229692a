"""Constraints and matrix instructions by name."""

from soliton._constraints import (
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
    SymbolicAlias,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)

__all__ = [
    *["Assumption", "Constraint", "DeviceConstraint", "DistributionConstraint", "GenericDot", "GridConstraint"],
    *["HardwareConstraint", "IteratorBindings", "MMAOperand", "MMAType", "ReorderingConstraint", "ScaledMMAType"],
    *["SymbolicAlias", "TilingConstraint", "WaveConstraint", "WorkgroupConstraint"],
]
