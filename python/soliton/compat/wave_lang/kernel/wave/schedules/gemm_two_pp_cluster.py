"""Ping-pong: half of the waves loads while the other half multiplies. A kernel with tags, and schedules for it.

    gemm, options = get_tagged_gemm((128, 256, 1024))
    run = wave_compile(options, gemm, get_two_pp_cluster_schedule())
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE
from wave_lang.kernel.wave import wave_schedule
from wave_lang.kernel.wave.compile import WaveCompileOptions
from wave_lang.kernel.wave.constraints import MMAType
from wave_lang.kernel.wave.scheduling.schedule import SchedulingType
from wave_lang.kernel.wave.utils.general_utils import get_default_scheduling_params

from ._parts import Loads, compute, halves, memory

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
ADDRESS_SPACE, ADDRESS_SPACE_0 = tkl.sym.ADDRESS_SPACE, tkl.sym.ADDRESS_SPACE_0


def _constraints(mfma_variant, threads_per_wave=64):
    """Eight waves: four along M, two along N."""
    return [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 4),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.HardwareConstraint(threads_per_wave=threads_per_wave, mma_type=mfma_variant),
    ]


def _options(shape, block_shape, compile_to_mlir, use_global_to_shared):
    subs = dict(zip((M, N, K, BLOCK_M, BLOCK_N, BLOCK_K), (*shape, *block_shape)))
    subs |= {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, ADDRESS_SPACE_0: GLOBAL_ADDRESS_SPACE, **get_default_scheduling_params()}
    return WaveCompileOptions(
        subs=subs,
        canonicalize=True,
        schedule=SchedulingType.MANUAL,
        use_global_to_shared=use_global_to_shared,
        compile_to_mlir=compile_to_mlir,
    )


def get_tagged_gemm(
    shape=(128, 256, 1024), block_shape=(128, 256, 64), mfma_variant=MMAType.F32_16x16x16_F16, compile_to_mlir=False, use_global_to_shared=False
):
    """c[M, N] = a[M, K] · b[N, K]ᵀ with the tags `k_loop`, `read_a`, `read_b`, `mma`."""

    @tkw.wave(_constraints(mfma_variant))
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, ADDRESS_SPACE_0, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)], tag="k_loop")
        def repeat(acc):
            return tkw.mma(tkw.read(a, tag="read_a"), tkw.read(b, tag="read_b"), acc, tag="mma")

        tkw.write(repeat, c)

    return gemm, _options(shape, block_shape, compile_to_mlir, use_global_to_shared)


def get_tagged_BxA_T_gemm(
    shape=(1024, 1024, 1024),
    block_shape=(256, 256, 64),
    mfma_variant=MMAType.F32_16x16x16_F16,
    compile_to_mlir=False,
    use_global_to_shared=False,
    threads_per_wave=64,
):
    """The same result, computed as (b · aᵀ)ᵀ, so that a lane's results lie side by side in a row of c."""

    @tkw.wave(_constraints(mfma_variant, threads_per_wave))
    def gemm(
        a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[N, K, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N, ADDRESS_SPACE_0, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[N, M, tkl.f32](0.0)], tag="k_loop")
        def repeat(acc):
            return tkw.mma(tkw.read(b, tag="read_b"), tkw.read(a, tag="read_a"), acc, tag="mma")

        tkw.write(tkw.permute(repeat, target_shape=[M, N]), c)

    return gemm, _options(shape, block_shape, compile_to_mlir, use_global_to_shared)


def get_two_pp_cluster_schedule():
    """Two clusters of products, each behind one of memory; tiles of the next iteration wait in registers, so one buffer
    is enough: the first cluster empties it, the third fills it again."""

    @wave_schedule.wave_schedule()
    def two_pp_cluster_schedule():
        loads_a, loads_b, mma = Loads("read_a"), Loads("read_b"), tkw.get_node_by_tag("mma")
        both = loads_a + loads_b
        (mma_0, shared_0), (mma_1, shared_1) = halves(mma, both, K)
        pipeline_loop = tkw.pipeline(tkw.get_node_by_tag("k_loop"))
        with pipeline_loop as loop:
            loop.set_stage([(both.fetches,), (both.writes,)])
            loop.set_stage([(both.shared,), (mma,)])
        first = memory(shared_0, loads_a.fetches, shared_1, loads_b.fetches)
        tkw.reorder_graph(pipeline_loop.KERNEL, [first, compute(mma_0), memory(both.writes), compute(mma_1)])
        tkw.stagger(pipeline_loop.KERNEL)

    return two_pp_cluster_schedule


def get_async_two_pp_clusters():
    """The same with direct copies, for kernels with `use_global_to_shared=True`."""

    @wave_schedule.wave_schedule()
    def async_two_pp_cluster_schedule():
        both, mma = Loads("read_a") + Loads("read_b"), tkw.get_node_by_tag("mma")
        (mma_0, shared_0), (mma_1, shared_1) = halves(mma, both, K)
        pipeline_loop = tkw.pipeline(tkw.get_node_by_tag("k_loop"), eliminate_epilogue=True, multi_buffer_count=2)
        with pipeline_loop as loop:
            loop.set_stage([(both.fetches,), ()])
            loop.set_stage([(both.shared,), (mma,)])
        clusters = [memory(shared_0, both.fetches), compute(mma_0), memory(shared_1), compute(mma_1)]
        tkw.reorder_graph(pipeline_loop.KERNEL, clusters)
        tkw.stagger(pipeline_loop.KERNEL)

    return async_two_pp_cluster_schedule
