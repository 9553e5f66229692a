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


def get_broadcast_scaled_add(shape):
    """c[M, N/2] = a[M, N/2] + b[M], in halves of N."""
    constraints = [tkw.WorkgroupConstraint(M, 1, 1), tkw.WorkgroupConstraint(N, max(min(shape[1], 256), 64), 0)]
    constraints += [tkw.HardwareConstraint(threads_per_wave=64)]

    @tkw.wave(constraints)
    def broadcast_scaled_add(
        a: tkl.Memory[M, N / 2, ADDRESS_SPACE, tkl.f16],
        b: tkl.Memory[M, ADDRESS_SPACE, tkl.f16],
        c: tkl.Memory[M, N / 2, ADDRESS_SPACE, tkl.f16],
    ):
        tkw.write(tkw.read(a) + tkw.broadcast(tkw.read(b), [M, N / 2]), c)

    return broadcast_scaled_add, {ADDRESS_SPACE: GLOBAL_ADDRESS_SPACE, M: shape[0], N: shape[1]}


def get_broadcasted_scale_gemm_mxfp4(shape, mfma_variant):
    """A product of 4-bit floats where all elements of a row of `a` share one scale."""

    @tkw.wave(_constraints(mfma_variant))
    def broadcasted_scale_scaled_mma(
        a: tkl.Memory[M, K / 2, ADDRESS_SPACE, tkl.i8],
        a_scale: tkl.Memory[M, ADDRESS_SPACE, tkl.i8],
        b: tkl.Memory[N, K / 2, ADDRESS_SPACE, tkl.i8],
        b_scale: tkl.Memory[N, K / 32, ADDRESS_SPACE, tkl.i8],
        c: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f32],
    ):
        @tkw.iterate(K, init_args=[tkl.Register[M, N, tkl.f32](0.0)])
        def repeat(acc):
            left, right = (tkw.bitcast(tkw.read(each), tkl.f4e2m1fn) for each in (a, b))
            left_scale = tkw.bitcast(tkw.broadcast(tkw.read(a_scale), [M, K / 32]), tkl.f8e8m0fnu)
            return tkw.scaled_mma(left, left_scale, right, tkw.bitcast(tkw.read(b_scale), tkl.f8e8m0fnu), acc)

        tkw.write(repeat, c)

    subs = {ADDRESS_SPACE: SHARED_ADDRESS_SPACE, M: shape[0], N: shape[1], K: shape[2], BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 256}
    return broadcasted_scale_scaled_mma, subs


def _constraints(mfma_variant):
    return [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / 2),
        tkw.WaveConstraint(N, BLOCK_N / 2),
        tkw.HardwareConstraint(threads_per_wave=64, mma_type=mfma_variant),
    ]


def _tagged_gemm(mfma_variant):
    @tkw.wave(_constraints(mfma_variant))
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


def get_gemm_unroll_with_iteration_access_kernel_and_schedule(
    shape=(256, 256, 512), mfma_variant=MMAType.F32_16x16x16_F16, unroll_factor=2, compile_to_mlir=True, use_global_to_shared=False
):
    """A product whose loop is unrolled, and whose copies are ordered one by one."""

    @wave_schedule.wave_schedule()
    def unroll_iter_access_schedule():
        k_loop = tkw.get_node_by_tag("k_loop")
        tkw.unroll(k_loop, unroll_factor)
        clusters = []
        for copy in range(unroll_factor):
            loads = [tkw.get_node_by_tag_and_iteration(tag, copy) for tag in ("read_a", "read_b")]
            clusters += [tkw.cluster(loads), tkw.cluster([tkw.get_node_by_tag_and_iteration("mma", copy)])]
        tkw.reorder_graph(k_loop, clusters)

    return _tagged_gemm(mfma_variant), unroll_iter_access_schedule, _options(shape, compile_to_mlir, use_global_to_shared)


def get_gemm_pipeline_then_unroll_kernel_and_schedule(
    shape=(256, 256, 544), mfma_variant=MMAType.F32_16x16x16_F16, unroll_factor=2, compile_to_mlir=True, use_global_to_shared=False
):
    """A product whose loop is pipelined, and the kernel of that unrolled."""

    @wave_schedule.wave_schedule()
    def schedule():
        loop = _pipeline(tkw.get_node_by_tag("k_loop"))
        tkw.unroll(loop.KERNEL, unroll_factor)

    return _tagged_gemm(mfma_variant), schedule, _options(shape, compile_to_mlir, use_global_to_shared)
