"""Attention in four stages: the keys of one tile are fetched while values of another are multiplied.

    run = wave_compile(WaveCompileOptions(schedule=SchedulingType.MANUAL, …), tagged_attention, get_attention_prefetch_schedule())
"""

import wave_lang.kernel.wave as tkw
from wave_lang.kernel.wave import wave_schedule

from ._parts import Loads, compute, memory


def get_attention_prefetch_schedule():
    """Keys are fetched three iterations ahead of the values' product, and scores are one ahead of their weights.

    Two clusters of products, each with the half of softmax that belongs to another tile, alternate with memory; the
    second half of the waves runs one cluster behind the first, so that products of one meet loads of the other.
    """

    @wave_schedule.wave_schedule()
    def attention_prefetch_schedule():
        keys, values = Loads("read_k"), Loads("read_v")
        scores, sums = tkw.get_node_by_tag("mma_qk"), tkw.get_node_by_tag("mma_pv")
        softmax0, softmax1 = tkw.get_node_by_tag("softmax0"), tkw.get_node_by_tag("softmax1")
        pipeline_loop = tkw.pipeline(tkw.get_node_by_tag("n_kv_loop"))
        with pipeline_loop as loop:
            loop.set_stage([(keys.fetches,), (keys.writes,)])
            loop.set_stage([(keys.shared, values.fetches), (values.writes,)])
            loop.set_stage([(scores,), (softmax0,)])
            loop.set_stage([(softmax1, values.shared), (sums,)])
        clusters = [
            compute(scores + softmax1),
            memory(values.shared, keys.fetches),
            compute(sums + softmax0),
            memory(keys.shared, values.fetches, keys.writes, values.writes),
        ]
        tkw.reorder_graph(pipeline_loop.KERNEL, clusters)
        tkw.stagger(pipeline_loop.KERNEL)

    return attention_prefetch_schedule
