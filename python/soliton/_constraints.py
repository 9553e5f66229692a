"""Constraints: who computes what. Each remembers where it was written, and is lowered when its kernel is traced.

    constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WaveConstraint(M, BLOCK_M / 2)]
    constraints += [tkw.TilingConstraint(K, BLOCK_K)]
    constraints += [tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.MMAType.F32_16x16x16_F16)]
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from . import _native, _places
from ._errors import error
from ._symbols import ceildiv, is_sympy, to_expr


class MMAType(enum.Enum):
    """Matrix instructions by Wave's names and numbers."""

    F32_16x16x16_F16 = 0x1020
    F32_32x32x8_F16 = 0x1021
    F32_16x16x32_K8_F16 = 0x1022
    F32_32x32x16_K8_F16 = 0x1023
    I32_16x16x16_I8 = 0x10C0
    I32_32x32x8_I8 = 0x10C1
    F32_16x16x32_F8 = 0x1230
    F32_32x32x16_F8 = 0x1231
    F32_16x16x32_K4_F8 = 0x1232
    F32_32x32x16_K4_F8 = 0x1233
    I32_16x16x32_I8 = 0x12C0
    I32_32x32x16_I8 = 0x12C1
    F32_16x16x32_F16 = 0x1320
    F32_32x32x16_F16 = 0x1321
    F32_16x16x32_BF16 = 0x1322
    F32_32x32x16_BF16 = 0x1323
    RDNA4_WAVE32_F32_16x16x16_F16 = 0x1920
    GFX1250_F32_16x16x32_F16 = 0x1921


class ScaledMMAType(enum.Enum):
    """Matrix instructions on elements that share scales."""

    F32_16x16x128_F8F6F4 = 0x1340
    F32_32x32x64_F8F6F4 = 0x1341
    GFX1250_F32_16x16x128_F8F6F4 = 0x1940


class MMAOperand(enum.Enum):
    """A dimension of a matrix product."""

    M = 0
    N = 1
    K = 2


@dataclass
class GenericDot:
    """A matrix product made of dot products, where tiles are smaller than matrix instructions take; otherwise those compute
    the same. The sizes are hints.

    >>> tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.GenericDot(k_vec_size=4))
    """

    out_vec_size: int = 1
    k_vec_size: int = 4
    k_mult: int = 1
    along_dim: MMAOperand = MMAOperand.N


def mma_name(kind) -> str | None:
    """What the builder calls it."""
    if kind is None or isinstance(kind, GenericDot):
        return None
    if isinstance(kind, str):
        return kind
    if isinstance(kind, (MMAType, ScaledMMAType)):
        return kind.name
    raise error("mma-unknown", f"expected an `MMAType`, found `{kind!r}`")


def formula(function, sympy: bool):
    """A function of one expression as (its parameter, its result)."""
    if function is None:
        return None
    parameter = _native.symbol("$parameter")
    argument = parameter
    if sympy:
        from ._sympy import to_sympy

        argument = to_sympy(parameter)
    return parameter, to_expr(function(argument))


class Constraint:
    """Any of the constraints."""

    def _lower(self, trace) -> _native.Constraint:
        raise NotImplementedError

    def _exprs(self):
        """What tells whether the kernel speaks of SymPy's symbols."""
        return ()

    distributes = is_loop = False

    def uses_sympy(self) -> bool:
        return any(is_sympy(each) for each in self._exprs())


def _tile(value, trace):
    """A tile's size; that it is 1 is said at once, since one place is more than a tile of unknown size."""
    return _native.constant(1) if trace.known(value) == 1 else to_expr(value)


def _optional(value):
    return None if value is None else to_expr(value)


@dataclass(eq=False)
class DistributionConstraint(Constraint):
    """Any that distributes a dimension."""

    dim: object
    tile_size: object
    place: object = field(default=None, init=False, repr=False)

    def __post_init__(self):
        self.place = _places.here()

    def _exprs(self):
        return (self.dim, self.tile_size)

    @property
    def count(self):
        """How many tiles there are."""
        said = getattr(self, "iters", None)
        return said if said is not None else ceildiv(self.dim, 1 if self.tile_size is None else self.tile_size)


@dataclass(eq=False)
class WorkgroupConstraint(DistributionConstraint):
    """Distributes `dim` over workgroups, `tile_size` elements each.

    >>> tkw.WorkgroupConstraint(M, BLOCK_M, 0)
    """

    workgroup_dim: int = 0
    apply_fn: object = None
    primary: bool | None = True
    iters: object = None
    per_device_dim: object = None
    distributes = True

    def _start(self, trace):
        number = _native.workgroup_id(int(getattr(self.workgroup_dim, "value", self.workgroup_dim)))
        if self.apply_fn is None:
            return number * to_expr(self.tile_size)
        parameter, result = formula(self.apply_fn, trace.sympy)
        return result._substitute([(parameter, number)])

    def _lower(self, trace):
        number = getattr(self.workgroup_dim, "value", self.workgroup_dim)
        apply_fn = formula(self.apply_fn, trace.sympy)
        return _native.workgroup_constraint(
            trace.dim(self.dim), _tile(self.tile_size, trace), int(number), apply_fn, bool(self.primary), _optional(self.iters), self.place
        )


@dataclass(eq=False)
class TilingConstraint(DistributionConstraint):
    """A loop over `dim` takes `tile_size` elements an iteration.

    >>> tkw.TilingConstraint(K, BLOCK_K)
    """

    tile_size: object = 1
    induction_var: object = None
    iters: object = None
    start: object = None
    distributes = is_loop = True

    def _start(self, trace):
        tile = 1 if self.tile_size is None else self.tile_size
        return _native.iteration(trace.dim(self.dim)) * to_expr(tile) + to_expr(0 if self.start is None else self.start)

    def _lower(self, trace):
        tile = 1 if self.tile_size is None else self.tile_size
        if trace.dim(self.dim) in trace.places:
            first = _native.symbol("$parameter"), _native.constant(0)
            one = _native.constant(1)
            return _native.workgroup_constraint(trace.dim(self.dim), one, 0, first, False, one, self.place)
        return _native.tiling_constraint(
            trace.dim(self.dim), _tile(tile, trace), _optional(self.iters), _optional(self.start), self.place
        )


@dataclass(eq=False)
class WaveConstraint(DistributionConstraint):
    """Distributes a workgroup's tile of `dim` over its waves, `tile_size` elements each.

    >>> tkw.WaveConstraint(M, BLOCK_M / 2)
    """

    def _lower(self, trace):
        return _native.wave_constraint(trace.dim(self.dim), to_expr(self.tile_size), self.place)


@dataclass(eq=False)
class DeviceConstraint(DistributionConstraint):
    """Distributes `dim` over devices, `tile_size` elements each. Where that is all of it, there is one device; several are
    refused by this version.

    >>> tkw.DeviceConstraint(M, DEVICE_M, 0)
    """

    device_dim: int = 0

    def _lower(self, trace):
        tile, extent = trace.known(self.tile_size), trace.known(self.dim)
        if to_expr(self.tile_size) == trace.dim(self.dim) or (tile is not None and extent is not None and tile >= extent):
            return None
        return _native.device_constraint(trace.dim(self.dim), to_expr(self.tile_size), int(self.device_dim), self.place)


@dataclass(eq=False)
class HardwareConstraint(Constraint):
    """What the hardware does; whatever is not said is the target's.

    `threads_per_wave=64` is what every Wave program says and counts as not said, and so does 32 in programs with Wave's names, whose
    results do not depend on it. `vector_shapes` change no result.

    >>> tkw.HardwareConstraint(threads_per_wave=64, mma_type=tkw.MMAType.F32_16x16x16_F16)
    """

    threads_per_wave: int | None = None
    waves_per_block: tuple | None = None
    workgroups_per_cluster: tuple | None = None
    mma_type: object = None
    vector_shapes: dict | None = None
    max_bits_per_load: int = 128
    n_service_waves: int = 0

    def __post_init__(self):
        self.place = _places.here()

    def _exprs(self):
        return tuple(self.vector_shapes or ())

    @property
    def threads_per_block(self) -> tuple:
        """Threads of a workgroup along its dimensions, where `waves_per_block` says how many waves there are."""
        x, y, z = self.waves_per_block or (1, 1, 1)
        return (x * (self.threads_per_wave or 64), y + self.n_service_waves, z)

    def _lower(self, trace):
        hints = (None, 32, 64) if trace.sympy else (None, 64)
        threads = None if self.threads_per_wave in hints else int(self.threads_per_wave)
        # Kernels without a matrix product hand over anything here; those with two kinds name them at each `mma`.
        kind = None if isinstance(self.mma_type, (tuple, list)) else self.mma_type
        # Hints: what is not known yet says nothing.
        sizes = {dim: trace.known(size) for dim, size in (self.vector_shapes or {}).items()}
        shapes = [(trace.dim(dim), _native.constant(size)) for dim, size in sizes.items() if size is not None]
        return _native.hardware_constraint(
            threads,
            [trace.number(each, "waves_per_block") for each in self.waves_per_block or ()],
            [int(each) for each in self.workgroups_per_cluster or ()],
            mma_name(kind),
            shapes,
            int(self.max_bits_per_load),
            int(self.n_service_waves),
            self.place,
        )


@dataclass(eq=False)
class Simt(Constraint):
    """The kernel speaks of one lane: workgroups of so many threads, in a grid of up to three dimensions.

    >>> tkw.Simt(256, [tkl.ceildiv(N, 256)])
    """

    threads: object
    grid: object = ()

    def __post_init__(self):
        self.place = _places.here()

    def _exprs(self):
        return (self.threads, *self._grid())

    def _grid(self):
        return tuple(self.grid) if isinstance(self.grid, (tuple, list)) else (self.grid,)

    def _lower(self, trace):
        return _native.simt(to_expr(self.threads), [to_expr(each) for each in self._grid()], self.place)


@dataclass(eq=False)
class GridConstraint(Constraint):
    """A fixed number of workgroups, for persistent kernels."""

    grid_size: object

    def __post_init__(self):
        self.place = _places.here()

    def _exprs(self):
        return (self.grid_size,)

    def _lower(self, trace):
        size = self.grid_size[0] if isinstance(self.grid_size, (tuple, list)) else self.grid_size
        return _native.grid_constraint(to_expr(size), self.place)


@dataclass(eq=False)
class ReorderingConstraint(Constraint):
    """Replaces the number of a workgroup along one dimension by an expression in all of them."""

    reordered_equation: object
    workgroup_dim: int

    def __post_init__(self):
        self.place = _places.here()

    def _exprs(self):
        return (self.reordered_equation,)

    def _lower(self, trace):
        return _native.reordering_constraint(to_expr(self.reordered_equation), int(self.workgroup_dim), self.place)


@dataclass(eq=False)
class SymbolicAlias(Constraint):
    """`source` is distributed as `target` is, with tiles mapped by a function."""

    source: object
    target: object
    source_to_target: object

    def __post_init__(self):
        self.place = _places.here()

    def _exprs(self):
        return (self.source, self.target)

    def _lower(self, trace):
        mapped = formula(self.source_to_target, trace.sympy)
        return _native.symbolic_alias(trace.dim(self.source), trace.dim(self.target), mapped, self.place)


@dataclass(eq=False)
class Assumption(Constraint):
    """A predicate over sizes that holds at every launch; the launch checks it."""

    expr: object

    def __post_init__(self):
        self.place = _places.here()

    def _exprs(self):
        return (self.expr,)

    def _lower(self, trace):
        return _native.assumption(to_expr(self.expr), self.place)


@dataclass(eq=False)
class IteratorBindings(Constraint):
    """Which dimension each iterator of `source` and `target` stands for."""

    bindings: dict

    def __post_init__(self):
        self.place = _places.here()

    def _exprs(self):
        return tuple(self.bindings)

    def _lower(self, trace):
        return _native.iterator_bindings([(to_expr(i), trace.dim(dim)) for i, dim in self.bindings.items()], self.place)
