"""Layers of networks: x · wᵀ + bias, of f16 and of 8-bit floats.

    run = get_linear_kernel((in_features, out_features), use_bias=True)
    run(x, w, bias, y)           # x [B, M, K], w [N, K], y [B, M, N]
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave.compile import WaveCompileOptions, wave_compile
from wave_lang.kernel.wave.constraints import MMAType
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params, torch_dtype_range, torch_dtype_to_wave
from wave_lang.kernel.wave.utils.run_utils import set_default_run_config

B, M, N, K = tkl.sym.B, tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_B, BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_B, tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE = tkl.sym.ADDRESS_SPACE


def _compiled(shape, kind, mfma_variant, use_bias, operand, result):
    """`operand` makes what is multiplied of what was read, number 0 or 1; `result` what is written of a sum."""
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.WorkgroupConstraint(B, BLOCK_B, 2),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant, vector_shapes={B: 0}),
    ]

    def product(a, b, bias, c):
        @tkw.iterate(K, init_args=[tkl.Register[B, M, N, tkl.f32](0.0)])
        def repeat(acc):
            return tkw.mma(operand(tkw.read(a), 0), operand(tkw.read(b), 1), acc)

        total = result(repeat)
        if bias is not None:
            total = total + tkw.broadcast(tkw.cast(tkw.read(bias), tkl.f32), target_shape=[B, M, N])
        tkw.write(tkw.cast(total, kind), c)

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[B, M, K, ADDRESS_SPACE, kind],
        b: tkl.Memory[N, K, ADDRESS_SPACE, kind],
        result: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, kind],
    ):
        product(a, b, None, result)

    @tkw.wave(constraints)
    def gemm_with_bias(
        a: tkl.Memory[B, M, K, ADDRESS_SPACE, kind],
        b: tkl.Memory[N, K, ADDRESS_SPACE, kind],
        bias: tkl.Memory[N, GLOBAL_ADDRESS_SPACE, kind],
        result: tkl.Memory[B, M, N, GLOBAL_ADDRESS_SPACE, kind],
    ):
        product(a, b, bias, result)

    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, BLOCK_B: 1, BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32, K: shape[0], N: shape[1]}
    options = WaveCompileOptions(subs=subs | get_default_scheduling_params(), canonicalize=True, dynamic_symbols=[B, M])
    return wave_compile(set_default_run_config(options), gemm_with_bias if use_bias else gemm)


def get_linear_kernel(shape, dynamic_dims=False, mfma_variant=MMAType.F32_16x16x16_F16, use_bias=False):
    """A compiled layer of `shape` (inputs, outputs), for any number of rows."""
    return _compiled(shape, tkl.f16, mfma_variant, use_bias, lambda tile, _: tile, lambda total: total)


def get_quant_linear_kernel(shape, input_dtype, quant_params, dynamic_dims=False, mfma_variant=MMAType.F32_16x16x32_F8, use_bias=False):
    """The same of 8-bit floats: `quant_params` are the scales of weights and inputs, and the type."""
    weight_scale, input_scale, quant_dtype = quant_params
    scales = [float(each.item() if hasattr(each, "item") else each) for each in (input_scale, weight_scale)]
    kind, eight = torch_dtype_to_wave(input_dtype), torch_dtype_to_wave(quant_dtype)
    lowest, highest = torch_dtype_range(quant_dtype)

    def quantised(tile, number):
        scaled = tkw.cast(tile, tkl.f32) * (1.0 / scales[number])
        return tkw.cast(tkw.maximum(tkw.minimum(scaled, highest), lowest), eight)

    return _compiled(shape, kind, mfma_variant, use_bias, quantised, lambda total: total * (scales[0] * scales[1]))
