"""What schedules of matrix products share: the instructions of a loop by what they do."""

import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GLOBAL_ADDRESS_SPACE


class Loads:
    """Of one tagged read: loads from global memory (or direct copies), stores to shared memory, loads from there."""

    def __init__(self, tag):
        reads = tkw.get_node_by_tag_and_type(tag, tkw.Read)
        plain, self.shared = tkw.partition_by_address_space(reads, GLOBAL_ADDRESS_SPACE)
        self.copies = tkw.get_node_by_tag_and_type(tag, tkw.GatherToLDS)
        self.fetches = plain + self.copies
        self.writes = tkw.get_node_by_tag_and_type(tag, tkw.Write)

    def __add__(self, other):
        both = object.__new__(Loads)
        for name in ("shared", "copies", "fetches", "writes"):
            setattr(both, name, getattr(self, name) + getattr(other, name))
        return both


def halves(mma, loads, dim):
    """Two halves of the products along `dim`, each with the loads from shared memory that only it still needs."""
    first, second = tkw.partition_by_dim(mma, dim=dim, num_partitions=2)
    early, late = tkw.partition_by_use(loads.shared, first)
    return (first, early), (second, late)


def compute(products, barrier=True):
    """Products at high priority, so that waves that load do not disturb those that multiply."""
    items = [tkw.SetWavePrio(1), products, tkw.SetWavePrio(0), tkw.SchedulingBarrier([])]
    return tkw.cluster(items + ([tkw.WorkgroupBarrier(), tkw.SchedulingBarrier([])] if barrier else []))


def memory(*items):
    """Accesses in this order, then a barrier."""
    fenced = []
    for item in items:
        if isinstance(item, list) or len(item):
            fenced += [item, tkw.SchedulingBarrier([])]
    return tkw.cluster([*fenced, tkw.WorkgroupBarrier(), tkw.SchedulingBarrier([])])
