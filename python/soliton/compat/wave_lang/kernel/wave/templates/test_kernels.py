"""Small kernels with tags and schedules of their own."""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave import wave_schedule
from wave_lang.kernel.wave.compile import WaveCompileOptions
from wave_lang.kernel.wave.constraints import MMAType
from wave_lang.kernel.wave.scheduling.schedule import SchedulingType

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE, ADDRESS_SPACE_0 = tkl.sym.ADDRESS_SPACE, tkl.sym.ADDRESS_SPACE_0


def _tagged_gemm(mfma_variant):
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant),
    ]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, ADDRESS_SPACE_0, tkl.f32],
    ):
        c_reg = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg], tag="k_loop")
        def repeat(acc):
            a_reg = tkw.read(a, tag="read_a")
            b_reg = tkw.read(b, tag="read_b")
            return tkw.mma(a_reg, b_reg, acc, tag="mma")

        tkw.write(repeat, c)

    return gemm


def _options(shape, compile_to_mlir, use_global_to_shared=False):
    subs = {M: shape[0], N: shape[1], K: shape[2], BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32}
    subs |= {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, ADDRESS_SPACE_0: GLOBAL_ADDRESS_SPACE}
    return WaveCompileOptions(
        subs=subs,
        schedule=SchedulingType.MANUAL,
        use_scheduling_barriers=True,
        use_global_to_shared=use_global_to_shared,
        compile_to_mlir=compile_to_mlir,
    )


def _loads(tag):
    """(global loads, stores to shared memory, shared loads) of a read."""
    from_global, from_shared = tkw.partition_by_address_space(tkw.get_node_by_tag_and_type(tag, tkw.Read), GLOBAL_ADDRESS_SPACE)
    return from_global, tkw.get_node_by_tag_and_type(tag, tkw.Write), from_shared


def _pipeline(k_loop):
    (global_a, write_a, shared_a), (global_b, write_b, shared_b) = _loads("read_a"), _loads("read_b")
    with tkw.pipeline(k_loop) as loop:
        loop.set_stage([(global_a, global_b), (write_a, write_b)])
        loop.set_stage([(shared_a, shared_b), (tkw.get_node_by_tag("mma"),)])
    return loop


def get_gemm_prefetch_kernel_and_schedule(shape=(128, 128, 128), mfma_variant=MMAType.F32_16x16x16_F16, compile_to_mlir=True):
    """A product whose tiles are loaded one iteration ahead."""

    @wave_schedule.wave_schedule()
    def prefetch_schedule():
        _pipeline(tkw.get_node_by_tag("k_loop"))

    return _tagged_gemm(mfma_variant), prefetch_schedule, _options(shape, compile_to_mlir)


def get_gemm_unroll_kernel_and_schedule(
    shape=(256, 256, 512), mfma_variant=MMAType.F32_16x16x16_F16, unroll_factor=2, compile_to_mlir=True, use_global_to_shared=False
):
    """A product whose loop is unrolled."""

    @wave_schedule.wave_schedule()
    def unroll_schedule():
        tkw.unroll(tkw.get_node_by_tag("k_loop"), unroll_factor)

    return _tagged_gemm(mfma_variant), unroll_schedule, _options(shape, compile_to_mlir, use_global_to_shared)


def get_gemm_pipeline_then_unroll_kernel_and_schedule(
    shape=(256, 256, 544), mfma_variant=MMAType.F32_16x16x16_F16, unroll_factor=2, compile_to_mlir=True, use_global_to_shared=False
):
    """A product whose loop is pipelined, and the kernel of that unrolled."""

    @wave_schedule.wave_schedule()
    def schedule():
        loop = _pipeline(tkw.get_node_by_tag("k_loop"))
        tkw.unroll(loop.KERNEL, unroll_factor)

    return _tagged_gemm(mfma_variant), schedule, _options(shape, compile_to_mlir, use_global_to_shared)
