"""What the programs of this folder have in common. They were written from Wave's reference by somebody who had not read our tests, as
strangers will: with Wave's names, its idioms, and torch. Each compares with torch."""

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-torch`")
sympy = pytest.importorskip("sympy")

import soliton.compat  # noqa: E402

soliton.compat.install()

import soliton  # noqa: E402
import wave_lang.kernel.lang as tkl  # noqa: E402
import wave_lang.kernel.wave as tkw  # noqa: E402
from torch.testing import assert_close  # noqa: E402
from wave_lang.kernel.lang.global_symbols import *  # noqa: E402, F403
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0, WORKGROUP_1, WORKGROUP_2  # noqa: E402
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile  # noqa: E402
from wave_lang.kernel.wave.constraints import GenericDot, MMAOperand, MMAType, ScaledMMAType  # noqa: E402
from wave_lang.kernel.wave.scheduling.schedule import SchedulingType  # noqa: E402
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params  # noqa: E402
from wave_lang.kernel.wave.utils.run_utils import set_default_run_config  # noqa: E402
from wave_lang.kernel.wave.utils.torch_utils import device_randint, device_randn, device_zeros  # noqa: E402

B, D, H, K, M, N, S, T = (getattr(tkl.sym, name) for name in "BDHKMNST")
BLOCK_B, BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_B, tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE
GS = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32}


def tiles(shapes):
    """A tile of each dimension a workgroup, of one wave."""
    constraints = [tkw.HardwareConstraint(threads_per_wave=64, vector_shapes=shapes)]
    for number, (dim, size) in enumerate(shapes.items()):
        constraints += [tkw.WorkgroupConstraint(dim, size, number), tkw.WaveConstraint(dim, size)]
    return constraints


def elementwise(rows=1, columns=256):
    return tiles({N: columns, M: rows})


def gemm_constraints(mma=MMAType.F32_16x16x16_F16, waves=(2, 2)):
    constraints = [tkw.WorkgroupConstraint(M, BLOCK_M, 0), tkw.WorkgroupConstraint(N, BLOCK_N, 1), tkw.TilingConstraint(K, BLOCK_K)]
    constraints += [tkw.WaveConstraint(M, BLOCK_M / waves[0]), tkw.WaveConstraint(N, BLOCK_N / waves[1])]
    return [*constraints, tkw.HardwareConstraint(threads_per_wave=64, mma_type=mma)]


def go(kernel, subs, *tensors, **options):
    run = wave_compile(set_default_run_config(WaveCompileOptions(subs=subs, canonicalize=True, **options)), kernel)
    run(*tensors)
    return run


__all__ = [name for name in dir() if not name.startswith("_")]
