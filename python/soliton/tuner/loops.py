"""A kernel's longest loop as the tuner sees it: nodes, edges, units, and the schedule that it has now.

    loop = Loop(kernel, options)
    loop.schedule[loop.nodes[0]]          the cycle of a node, counted from the beginning of its iteration
    loop.modelled(loop.schedule)          seconds of the launch, by the compiler's model

A schedule is a dictionary from nodes to cycles. A node's cycle is stage * interval + cycle of the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import _native
from .._errors import error
from ._checks import whole


class Node:
    """An instruction of the loop; `rrt` says which units it occupies in the cycles from its own on."""

    def __init__(self, problem, index: int, name: str, kind: str, latency: int):
        self.problem, self.index = problem, index
        self.name, self.type, self.latency = name, kind, latency
        self.sort_key = (index,)

    @property
    def rrt(self):
        import numpy as np

        return np.array(self.problem.table_of_op(self.index), dtype=int)

    def __repr__(self) -> str:
        return f"<node {self.name} ({self.type})>"


@dataclass(frozen=True)
class EdgeWeight:
    """`delay` cycles at least, to the node of an iteration that is `iteration_difference` later."""

    iteration_difference: int = 0
    delay: int = 0


@dataclass(frozen=True)
class Edge:
    """What has to happen before what."""

    _from: object
    _to: object
    weight: EdgeWeight = EdgeWeight()


class Loop:
    """The loop that takes longest of a kernel, compiled with the schedule that its options ask for.

    `sizes` are those that only the launch knows. Raises `soliton.CompileError` where the kernel does not compile or has no
    loop, and `schedule-unsuitable` where its schedule is none of cycles.
    """

    def __init__(self, kernel, options, sizes=None):
        from ._compiling import Subject

        self.subject = Subject(kernel, options, sizes)
        self._native = self.subject.loop()
        if not self._native.times:
            hint = "start from another one: `SchedulingType.MODULO`"
            raise error("schedule-unsuitable", f"schedule `{self._native.algorithm}` is not moved: {self._native.why_not}", hint)
        self.problem = self._native.problem
        self.name, self.algorithm, self.initiation_interval = self.problem.name, self._native.algorithm, self._native.interval
        every = [Node(self.problem, i, *op) for i, op in enumerate(self.problem.ops)]
        self.nodes = [each for each, time in zip(every, self._native.times) if time >= 0]
        self.schedule = {node: self._native.times[node.index] for node in self.nodes}
        known = set(self.nodes)
        edges = [(every[a], every[b], EdgeWeight(distance, latency)) for a, b, distance, latency in self.problem.edges]
        self.edges = [Edge(a, b, weight) for a, b, weight in edges if a in known and b in known]
        self.resource_names = [name for name, _ in self.problem.resources]
        self.resource_limits = [units for _, units in self.problem.resources]

    def times(self, schedule: dict) -> list[int]:
        """The schedule as C++ has it: one cycle for each op, -1 for those that have none."""
        return times_of(self.problem, schedule)

    def num_stages(self, schedule: dict) -> int:
        self.times(schedule)
        return max(schedule.values()) // self.initiation_interval + 1

    def rrt(self, schedule: dict):
        """Units in use, an array of (interval, resources)."""
        import numpy as np

        return np.array(self.problem.table(self.initiation_interval, self.times(schedule)), dtype=int)

    def modelled(self, schedule: dict) -> float:
        """Modelled seconds of the launch's share of this loop; infinity for what the verifier refuses."""
        found = self._native.modelled(self.initiation_interval, self.times(schedule))
        return found["seconds"] if found["accepted"] else math.inf

    @property
    def bound(self) -> float:
        """Modelled seconds below which no schedule of the loop gets."""
        return self._native.bound_seconds

    def file(self, schedule: dict) -> str:
        """The text that `override_schedule` takes, for all loops of the kernel."""
        return self._native.file(self.initiation_interval, self.times(schedule))

    def validator(self):
        """A `ScheduleValidator` of the schedule that the loop has now."""
        from .schedules import ScheduleValidator

        return ScheduleValidator(
            initial_schedule=self.schedule,
            T=self.initiation_interval,
            nodes=self.nodes,
            resource_limits=self.resource_limits,
            node_rrt_getter=lambda node: node.rrt,
            raw_edges_list=self.edges,
            num_resource_types=len(self.resource_names),
        )

    def __repr__(self) -> str:
        return f"<loop {self.name}: {self.algorithm}, {len(self.nodes)} nodes, interval {self.initiation_interval}>"


def times_of(problem, schedule: dict) -> list[int]:
    times = [-1] * len(problem.ops)
    if not schedule:
        raise error("schedule-missing-op", "the schedule has no cycle for any node, expected one for each")
    for node, cycle in schedule.items():
        if not isinstance(node, Node) or node.problem is not problem:
            raise error("schedule-unknown-op", f"`{node}` is no node of the loop `{problem.name}`")
        times[node.index] = whole(f"schedule[{node.name}]", cycle, -(2**31), 2**31 - 1)
    return times


def problem_of(nodes):
    """The loop that all of these are nodes of, or None."""
    problems = {id(each.problem): each.problem for each in nodes if isinstance(each, Node)}
    return next(iter(problems.values())) if len(problems) == 1 and all(isinstance(each, Node) for each in nodes) else None


def described(nodes, tables, edges, limits, names=None):
    """A loop that somebody describes: what each node occupies, and what depends on what."""
    named = [f"{getattr(node, 'name', node)}" for node in nodes]
    unique = [name if named.count(name) == 1 else f"{name}#{i}" for i, name in enumerate(named)]
    resources = [(name, int(units)) for name, units in zip(names or [f"resource {i}" for i in range(len(limits))], limits)]
    return _native.LoopProblem.described(unique, tables, edges, resources)
