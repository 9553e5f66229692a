"""Schedules for products of 4-bit floats: tiles of the next iteration arrive while this one is multiplied.

    gemm, options = get_tagged_mxfp4_gemm(shape)
    run = wave_compile(options, gemm, get_mxfp4_dbuf_schedule())

Wave has one for each choice of where tensors lie; here each finds out by itself. What lies in shared memory is copied
there directly, what is read from global memory waits in registers.
"""

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.wave import wave_schedule

from ._parts import Loads, compute, halves, memory

K, M, N = tkl.sym.K, tkl.sym.M, tkl.sym.N
TAGS = ("read_a_scale", "read_a", "read_b_scale", "read_b")


def _all_loads():
    loads = [Loads(tag) for tag in TAGS]
    return sum(loads[1:], loads[0])


def _dimension(mma, wanted=2):
    """Along which dimension the products can be halved: K if it has enough pieces, otherwise M or N."""
    return next((dim for dim in (K, M, N) if tkw.pieces(mma, dim) >= wanted), None)


def _double_buffer(name, use_stagger):
    @wave_schedule.wave_schedule()
    def mxfp4_dbuf_schedule():
        loads, mma = _all_loads(), tkw.get_node_by_tag("scaled_mma")
        dim = _dimension(mma)
        pipeline_loop = tkw.pipeline(tkw.get_node_by_tag("k_loop"), eliminate_epilogue=True)
        with pipeline_loop as loop:
            loop.set_stage([(loads.fetches,), (loads.writes,)])
            loop.set_stage([(loads.shared,), (mma,)])
        if dim is None:
            clusters = [memory(loads.shared, loads.fetches, loads.writes), compute(mma)]
        else:
            (mma_0, shared_0), (mma_1, shared_1) = halves(mma, loads, dim)
            clusters = [memory(shared_0, loads.fetches), compute(mma_0), memory(shared_1, loads.writes), compute(mma_1)]
        tkw.reorder_graph(pipeline_loop.KERNEL, clusters)
        if use_stagger:
            tkw.stagger(pipeline_loop.KERNEL)

    mxfp4_dbuf_schedule.__name__ = name
    return mxfp4_dbuf_schedule


def get_mxfp4_dbuf_schedule(use_stagger=True, k_partitions=2):
    """Two buffers, products in two clusters; staggered waves multiply while others load."""
    return _double_buffer("mxfp4_dbuf_schedule", use_stagger)


def get_mxfp4_dbuf_pingpong_schedule(use_stagger=True, shape=None, k_partitions=2):
    """The same, for preshuffled scales."""
    return _double_buffer("mxfp4_dbuf_pingpong_schedule", use_stagger)


def get_mxfp4_dbuf_pingpong_schedule_Bshuffled(use_stagger=True, shape=None):
    """The same, for preshuffled `b` in global memory."""
    return _double_buffer("mxfp4_dbuf_pingpong_schedule_Bshuffled", use_stagger)


def get_mxfp4_dbuf_pingpong_schedule_Bshuffled_lds(use_stagger=True, shape=None, block=None):
    """The same, for preshuffled `b` that goes through shared memory."""
    return _double_buffer("mxfp4_dbuf_pingpong_schedule_Bshuffled_lds", use_stagger)


def get_mxfp4_dbuf_mixed_pingpong_schedule(use_stagger=True):
    """The same, where tensors lie in both memories."""
    return _double_buffer("mxfp4_dbuf_mixed_pingpong_schedule", use_stagger)


def get_mxfp4_dbuf_mixed_pingpong_shuffle_schedule(use_stagger=True):
    """The same, with preshuffled ones among them."""
    return _double_buffer("mxfp4_dbuf_mixed_pingpong_shuffle_schedule", use_stagger)


def get_mxfp4_asymmetric_schedule(eliminate_epilogue=False, is_bscale_shuffled=False):
    """`a` through shared memory, two iterations ahead; `b` into registers, one ahead; loads between the products."""

    @wave_schedule.wave_schedule()
    def mxfp4_asymmetric_schedule():
        far, near = Loads("read_a_scale") + Loads("read_a"), Loads("read_b_scale") + Loads("read_b")
        mma = tkw.get_node_by_tag("scaled_mma")
        pipeline_loop = tkw.pipeline(tkw.get_node_by_tag("k_loop"), eliminate_epilogue=eliminate_epilogue)
        with pipeline_loop as loop:
            loop.set_stage([(far.fetches,), (far.writes,)])
            loop.set_stage([(near.fetches,), (near.writes,)])
            loop.set_stage([(far.shared, near.shared), (mma,)])
        between = tkw.interleave_operations(mma, [far.fetches, near.fetches], intervals=[2, 2], start_offsets=[0, 1])
        clusters = [memory(far.shared + near.shared), tkw.cluster(between)]
        if len(far.writes) or len(near.writes):
            clusters += [memory(far.writes + near.writes)]
        tkw.reorder_graph(pipeline_loop.KERNEL, clusters)

    return mxfp4_asymmetric_schedule
