"""Direct copies two iterations ahead, in three buffers.

    gemm, options = get_tagged_gemm((256, 256, 512), use_global_to_shared=True)
    run = wave_compile(options, gemm, get_async_two_cluster_triple_buffer())
"""

import wave_lang.kernel.wave as tkw
from soliton._errors import error
from wave_lang.kernel.wave import wave_schedule

from ._parts import Loads, compute


def get_async_two_cluster_triple_buffer():
    """Copies stay in flight over a whole iteration: the wait leaves as many outstanding as were just issued."""

    @wave_schedule.wave_schedule()
    def async_two_cluster_three_stage_schedule():
        both, mma = Loads("read_a") + Loads("read_b"), tkw.get_node_by_tag("mma")
        pipeline_loop = tkw.pipeline(tkw.get_node_by_tag("k_loop"), multi_buffer_count=3)
        with pipeline_loop as loop:
            loop.set_stage([(both.fetches,), ()])
            loop.set_stage([(), ()])
            loop.set_stage([(both.shared,), (mma,)])
        fence, waits = tkw.SchedulingBarrier([]), tkw.MemoryCounterWait(load=len(both.fetches))
        first = tkw.cluster([both.shared, fence, both.fetches, fence, waits, tkw.WorkgroupBarrier(), fence])
        tkw.reorder_graph(pipeline_loop.KERNEL, [first, compute(mma)])
        tkw.stagger(pipeline_loop.KERNEL)

    return async_two_cluster_three_stage_schedule


def get_gfx1250_tbuf_gemm_schedule():
    """Not supported here: only gfx1250 has tensor copies, which is no target here."""
    raise error("not-supported-here", "a schedule for gfx1250, which is no target here", "take `get_async_two_cluster_triple_buffer`")


get_gfx1250_tbuf_gemm_schedule.is_missing = True
