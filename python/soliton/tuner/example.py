"""What the listings of Wave's document on its tuner take for granted, under the names that they use.

    from soliton.tuner.example import *

and then the listings as they stand. The loop is that of the attention which the document tunes, for the target of this machine, else of
WAVE_DEFAULT_ARCH: its `schedule`, `nodes`, `edges` and units; `node` and `new_cycle` are a move that can be made; `optimizer` searches by the
model. Of three names the listings pass values that nothing in them makes, since they belong to a schedule that is only then found:
`new_rrt`, `num_stages` and `resource_reservations`. They are None, for which `commit_move` and `dump_schedule` take what the schedule has.
"""

import numpy as np

from . import AttentionConfig, Loop, ScheduleOptimizer, ScheduleValidator, calculate_average_latency, dump_schedule, rpdTracerControl

__all__ = [
    *["np", "ScheduleValidator", "ScheduleOptimizer", "dump_schedule", "rpdTracerControl", "calculate_average_latency"],
    *["loop", "schedule", "initiation_interval", "nodes", "edges", "resource_limits", "resource_names", "node_rrt_getter", "num_resource_types"],
    *["node", "new_cycle", "new_rrt", "optimizer", "num_stages", "resource_reservations"],
]

loop = Loop(*AttentionConfig().kernel())
schedule, nodes, edges = loop.schedule, loop.nodes, loop.edges
initiation_interval, resource_limits, resource_names = loop.initiation_interval, loop.resource_limits, loop.resource_names
num_resource_types = len(resource_names)


def node_rrt_getter(node):
    return node.rrt


def _movable():
    """A node, and a cycle to which it can go."""
    validator = loop.validator()
    for by in (7, 1, -1):
        for each in nodes:
            if validator.attempt_move(each, schedule[each] + by).success:
                return each, schedule[each] + by
    return nodes[0], schedule[nodes[0]]


node, new_cycle = _movable()
optimizer = ScheduleOptimizer(loop.validator(), loop.modelled)
new_rrt = num_stages = resource_reservations = None
