"""What a compilation is asked for, with Wave's names: `WaveCompileOptions`, `SchedulingType`.

Every field of Wave's is there. One that has no meaning here says so once, when it is set to something; one that would
change what is computed and is not implemented is refused.
"""

from __future__ import annotations

import enum
import os
import warnings
from dataclasses import dataclass, field, fields
from typing import Any

from . import _native
from ._errors import error


class SchedulingType(enum.Enum):
    """When the instructions of a loop happen."""

    NONE = 0x00
    MODULO = 0x10
    PREFETCH = 0x20
    FOUR_STAGE = 0x21
    PREFETCH_ATTENTION = 0x22
    MANUAL = 0x30
    # Ours.
    LIST = 0x100
    EXACT = 0x101
    RING = 0x102
    FASTEST = 0x103
    AUTO = 0x104


ALGORITHMS = {
    SchedulingType.NONE: "none",
    SchedulingType.MODULO: "modulo",
    SchedulingType.PREFETCH: "prefetch",
    SchedulingType.FOUR_STAGE: "four_stage",
    SchedulingType.PREFETCH_ATTENTION: "prefetch_attention",
    SchedulingType.LIST: "list",
    SchedulingType.EXACT: "exact",
    SchedulingType.RING: "ring",
    SchedulingType.FASTEST: "fastest",
    SchedulingType.AUTO: "auto",
}


class CoalescingType(enum.Enum):
    """A hint about copies to shared memory; layouts are chosen by cost here."""

    LINEAR = 0x00
    WAVE_TILE_ALIGNED = 0x10


@dataclass
class KernelLaunchInfo:
    """What a launch of the kernel looks like; filled by `wave_compile`."""

    grid: object = None
    blocks: object = None
    shared_memory_bytes: int = 0
    func_name: str = ""
    grid_str: str = ""
    cluster_dims: object = None


class OptionWarning(UserWarning):
    """An option that was set and has no meaning here."""


def default_target() -> str:
    """The chip that kernels are compiled for: SOLITON_TARGET, WAVE_DEFAULT_ARCH, the GPU that is there, or gfx942."""
    named = os.environ.get("SOLITON_TARGET") or os.environ.get("WAVE_DEFAULT_ARCH")
    return named or _native.gpu_target() or "gfx942"


# Asked for: there is nothing to do, since it is always done, or there is no such thing here.
_WITHOUT_MEANING = """
    backend iree_preprocessing_pass_pipeline use_water_backend run_bench benchmark_batch_size benchmark_repetitions
    benchmark_results_file capture_trace bench_with_constant_weights profile_python_wrapper use_water_leak_check
    check_water_analysis mlir_print_ir_after_all profile_pass print_trace_begin print_mlir_before_water
    print_mlir_after_water location_capture_config edit_ir_before edit_ir_after edit_ir_all
""".split()
# Asked for: the kernel would be another one.
_REFUSED = {"override_mlir": "a program in Wave's MLIR cannot be compiled here"}


@dataclass
class WaveCompileOptions:
    """What `wave_compile` is asked for.

    >>> options = WaveCompileOptions(subs={M: 1024, BLOCK_M: 64, …}, schedule=SchedulingType.PREFETCH)
    """

    postprocess: str | None = None
    canonicalize: bool = True
    func_name: str = "isolated_benchmark"
    subs: dict = field(default_factory=dict)
    dynamic_symbols: list = field(default_factory=list)
    schedule: Any = SchedulingType.NONE
    use_scheduling_barriers: bool | None = False
    multi_buffer_count: int | None = None
    kernel_launch_info: KernelLaunchInfo = field(default_factory=KernelLaunchInfo)
    kernel_usages: list | None = None
    backend: str = "llvm"
    device: str = "hip"
    target: str = field(default_factory=default_target)
    codeobj: str = "5"
    iree_preprocessing_pass_pipeline: str | None = None
    num_devices: int = 1
    use_water_backend: bool = False
    linearize_reads: bool = True
    run_bench: bool = False
    benchmark_batch_size: int | None = None
    benchmark_repetitions: int | None = None
    benchmark_results_file: str | None = None
    capture_trace: bool = False
    bench_with_constant_weights: bool = False
    profile_python_wrapper: bool = False
    profile_python_cprofile: bool = True
    profile_python_warmup: int = 1
    profile_python_repetitions: int = 1000
    kernel_hash: str | None = None
    create_vmfb_file: str | None = None
    override_mlir: str | None = None
    dump_binaries: str | None = None
    dump_intermediates: str | None = None
    compile_to_mlir: bool = False
    compile_to_asm: bool = False
    location_capture_config: object = None
    use_local_scope: bool = False
    enforce_locations: bool = True
    drop_debug_info_before_mlir: bool = True
    use_water_leak_check: bool = False
    check_water_analysis: bool = False
    verify_region_captures: bool = True
    optimization_level: bool = True
    denorm_fp_math_f32: str | None = None
    waves_per_eu: int | None = None
    wave_runtime: bool = False
    iree_launch_async: bool = True
    use_buffer_ops: bool = False
    use_buffer_load_ops: bool = False
    use_buffer_store_ops: bool = False
    use_fast_math: bool = False
    use_global_to_shared: bool = False
    linearize_shared_access: bool = False
    scalarize_packed_math: bool = False
    coalescing_strategy_hint: object = CoalescingType.LINEAR
    enable_swizzle: bool = True
    enable_mark_hardware_transpose_candidates: bool = True
    minimize_shared_allocs: bool = True
    reorder_allocs: bool = True
    override_schedule: str | None = None
    dump_schedule: str | None = None
    use_bound_check: bool = False
    specialize: bool = False
    eliminate_epilogue: bool = False
    cluster_barrier_delay: int | None = None
    allow_noncontiguous_runtime_buffers: bool = False
    edit_ir_before: object = None
    edit_ir_after: object = None
    edit_ir_all: bool = False
    mlir_print_ir_after_all: bool = False
    print_ir_after: object = field(default_factory=list)
    print_ir_before: object = field(default_factory=list)
    profile_pass: list = field(default_factory=list)
    print_trace_begin: bool = False
    print_grid: bool = False
    print_signature: bool = False
    print_mlir: bool = False
    print_mlir_file: str | None = None
    print_mlir_before_water: bool = False
    print_mlir_after_water: bool = False
    print_pass_times: bool = False
    # Ours: arrays are compared by the width of their elements, as Wave does; where kernels run ("" means the first GPU
    # that can, otherwise the emulator).
    match_width_only: bool = False
    run_on: str = ""
    # Ours: sums of 8-bit floats stay in the few bits that a matrix instruction keeps of them.
    short_sums: bool = False
    # Ours: the matrix instruction of every `mma` that names none; whether rows that are not aligned are copied (auto, on, off).
    mma: str = ""
    padded_rows: str = "auto"
    # Ours: results go to global memory through shared memory; the order in which workgroups take tiles, in bands; how many workgroups sum
    # a product's tile; how many there are at most, each of which takes several tiles; waves beside those that compute, which have tiles
    # copied, and neighbours along each dimension of the grid that copy tiles to each other (None: as the hardware constraint says).
    staged_writes: bool = False
    raster: int = 0
    cluster: int = 0
    persistent: int = 0
    service_waves: int | None = None
    workgroups_per_cluster: tuple | None = None
    # Ours: waves that walk tiles do not wait for each other between two of them; None: `auto` may choose it.
    overlap_tiles: bool | None = None
    # Ours: teams of waves that issue matrix instructions together take turns at it in loops; None: `auto` may choose it.
    turns: bool | None = None
    # Ours: launches begin before those ahead of them in their stream have ended, and wait for them; memories that none of those launches
    # writes, as weights, which are read before the wait.
    dependent_launch: bool = False
    stable: tuple = ()
    # Ours: a line about the compilation, always or never; None: on a terminal or in a notebook, if it takes long.
    progress: bool | None = None

    def check(self, place) -> None:
        """Says what has no meaning, refuses what cannot be done."""
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in _REFUSED and value is not None:
                raise error("not-supported-here", f"the option `{each.name}`: {_REFUSED[each.name]}", place=place)
            if each.name in _WITHOUT_MEANING and value != _default_of(each):
                _say_once(each.name)
        if self.padded_rows not in ("auto", "on", "off"):
            raise error("not-supported-here", f"the option `padded_rows` is `{self.padded_rows}`, expected `auto`, `on` or `off`", place=place)
        if int(self.num_devices) != 1:
            raise error("not-supported-here", f"a kernel for {self.num_devices} devices", "leave `num_devices` at 1", place)


def _default_of(each):
    return each.default if each.default_factory is _MISSING else each.default_factory()


_MISSING = fields(KernelLaunchInfo)[0].default_factory
_said: set[str] = set()


def _say_once(name: str) -> None:
    if name not in _said:
        _said.add(name)
        warnings.warn(f"the option `{name}` has no meaning for Soliton", OptionWarning, stacklevel=5)
