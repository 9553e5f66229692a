"""A matrix product whose workgroups take tiles in groups of rows, so that neighbours share what they load."""

import sympy

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0, WORKGROUP_1
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params, torch_dtype_to_wave
from wave_lang.kernel.wave.utils.torch_names import float16, float32

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE


def _order(m_tiles, n_tiles, group):
    """The rows and the column of a workgroup by its number: down `group` rows, then one column on."""
    number = WORKGROUP_1 * m_tiles + WORKGROUP_0
    which = sympy.floor(number / (group * n_tiles))
    rows = sympy.Min(m_tiles - which * group, group)
    inside = sympy.Mod(number, group * n_tiles)
    return which * group + sympy.Mod(inside, rows), sympy.floor(inside / rows)


def get_reordered_matmul(
    m_size, n_size, k_size, block_m_size, block_n_size, block_k_size, group_m_size, mfma_variant, input_dtype=float16, output_dtype=float32
):
    """c[M, N] = a[M, K] · b[N, K]ᵀ in groups of `group_m_size` rows of tiles."""
    input_wtype, output_wtype = torch_dtype_to_wave(input_dtype), torch_dtype_to_wave(output_dtype)
    new_m, new_n = _order(-(-m_size // block_m_size), -(-n_size // block_n_size), group_m_size)
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 4),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.ReorderingConstraint(new_m, 0),
        tkw.ReorderingConstraint(new_n, 1),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant),
    ]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, input_wtype],
        b: tkl.Memory[N, K, ADDRESS_SPACE, input_wtype],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, output_wtype],
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(tkw.cast(repeat, output_wtype), c)

    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: m_size, N: n_size, K: k_size}
    subs |= {BLOCK_M: block_m_size, BLOCK_N: block_n_size, BLOCK_K: block_k_size}
    return gemm, subs | get_default_scheduling_params()
