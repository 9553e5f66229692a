"""How arms are timed beside each other, in one process and by one protocol.

Every arm is captured into a CUDA graph of launches that walk through several sets of buffers (250 MB at least, so that no launch
finds its operands in a cache). *burst*: 80 ms idle, then one graph of about 3 ms; five rounds in which the arms take turns, starting
with another one each time; the median counts. *steady*: after 1.5 s of heating 0.3 s unmeasured and 0.3 s timed of each arm, forwards
and backwards; the mean counts.

    timings = measure({"ours": [launch_on_set_0, launch_on_set_1], "theirs": [...]})
    timings["ours"].burst, timings["ours"].steady                  microseconds a launch
"""
import statistics
import time
from dataclasses import dataclass, field

ROUNDS = 5
ROTATED_BYTES = 250_000_000


@dataclass
class Timing:
    """Microseconds a launch: each round, each pass."""

    bursts: list = field(default_factory=list)
    steadies: list = field(default_factory=list)

    @property
    def burst(self):
        return statistics.median(self.bursts)

    @property
    def steady(self):
        return statistics.mean(self.steadies) if self.steadies else None

    @property
    def spread(self):
        """Between the slowest and the fastest round, of the median."""
        return (max(self.bursts) - min(self.bursts)) / self.burst


def graph_of(functions, launches):
    import torch

    for function in functions:
        function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(launches):
            functions[i % len(functions)]()
    graph.replay()
    torch.cuda.synchronize()
    return graph


def microseconds(graph, times):
    import torch

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(times):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1e3 / times


def measure(arms, steady=True):
    """{name: Timing}; arms are {name: functions, one per set of buffers}."""
    graphs, timings, names = {}, {name: Timing() for name in arms}, list(arms)
    for name, functions in arms.items():
        once = microseconds(graph_of(functions, len(functions)), 3) / len(functions)
        launches = max(len(functions), int(3000 / once))
        graphs[name] = (graph_of(functions, launches), launches)
    for turn in range(ROUNDS):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            time.sleep(0.08)
            timings[name].bursts.append(microseconds(graphs[name][0], 1) / graphs[name][1])
    until = time.time() + 1.5
    while steady and time.time() < until:
        microseconds(graphs[names[0]][0], 10)
    for order in (names, names[::-1]) if steady else ():
        for name in order:
            graph, launches = graphs[name]
            count = max(1, int(0.3e6 / (timings[name].burst * launches)))
            microseconds(graph, count)
            timings[name].steadies.append(microseconds(graph, count) / launches)
    return timings


def sets_of(make, bytes_each):
    """Sets of buffers, so many that a launch finds nothing of its set in a cache."""
    return [make() for _ in range(max(2, -(-ROTATED_BYTES // bytes_each)))]
