"""Where kernels run."""

import os

from soliton._options import default_target

dump_generated_mlir = os.environ.get("WAVE_DUMP_MLIR")
dump_generated_mlir_file = os.environ.get("WAVE_DUMP_MLIR_FILE")
enable_scheduling_barriers = os.environ.get("WAVE_USE_SCHED_BARRIERS")
check_individual_kernels = os.environ.get("WAVE_CHECK_INDIV_KERNS")


def get_default_arch() -> str:
    """The chip that kernels are compiled for."""
    return default_target()


def get_arch_family(arch: str | None = None) -> str:
    """`gfx94` of `gfx942`."""
    return (arch or get_default_arch())[:-1]


def set_default_run_config(options):
    """The same options with this machine's target."""
    options.device = "hip"
    options.target = get_default_arch()
    if dump_generated_mlir:
        options.print_mlir = True
        options.print_mlir_file = dump_generated_mlir_file
    if enable_scheduling_barriers is not None:
        options.use_scheduling_barriers = bool(int(enable_scheduling_barriers))
    return options
