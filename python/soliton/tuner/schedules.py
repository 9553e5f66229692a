"""Moves of one node, their repair, and hill climbing by them: what Wave's documents describe, on C++'s verifier.

    validator = ScheduleValidator(initial_schedule=…, T=…, nodes=…, resource_limits=…, node_rrt_getter=…, raw_edges_list=…, num_resource_types=…)
    success, schedule, why = validator.attempt_move(node, 40)
    if success:
        validator.commit_move(schedule, validator.rrt_of(schedule))

    result = ScheduleOptimizer(validator, measure).optimize(max_iterations=50, max_no_improvement=30, verbose=True)

Whoever depends on a node that moved follows, by latencies, distances between iterations and units modulo the interval.
"""

from __future__ import annotations

import enum
import logging
import math
import pathlib
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple

from .. import _native
from .._errors import CompileError, error
from . import loops
from ._checks import one_of, whole

# Cycles of C++ are as wide.
LATEST = 2**31 - 1


class MoveAttempt(NamedTuple):
    """Whether it can be done; the schedule then, or as it was; and why not."""

    success: bool
    schedule: dict
    error: str


class ScheduleValidator:
    """A modulo schedule, and moves of one node to another cycle.

    Nodes are those of a `Loop`, whose registers, memories and counters then count too, or any objects: `node_rrt_getter(node)` says
    which units one occupies, as an array of (cycles, resources), and `raw_edges_list` has `Edge`s or (from, to, iterations, cycles).
    """

    def __init__(
        self,
        initial_schedule: dict,
        T: int,
        nodes: list,
        resource_limits,
        node_rrt_getter: Callable,
        raw_edges_list: list,
        num_resource_types: int,
    ):
        self.T, self.nodes, self.num_resource_types = whole("T", T, 1, 2**31 - 1), list(nodes), whole("num_resource_types", num_resource_types, 0)
        limits = [int(each) for each in resource_limits]
        if len(limits) != self.num_resource_types:
            raise error("schedule-argument", f"`resource_limits` has {len(limits)} numbers, expected {self.num_resource_types}, one for each resource")
        tables = [self._table_of(node, node_rrt_getter) for node in self.nodes]
        self._set_problem(tables, raw_edges_list, limits)
        self._validator = _native.Validator(self._problem, self.T, self._times(initial_schedule))
        self._check(self._validator.times)

    def _table_of(self, node, getter) -> list[list[int]]:
        found = getter(node)
        if not hasattr(found, "__iter__"):
            raise error("schedule-argument", f"`node_rrt_getter` gives `{found!r}` for `{node}`, expected rows of units")
        table = [[int(units) for units in row] for row in found]
        if any(len(row) != self.num_resource_types for row in table):
            raise error("schedule-argument", f"`node_rrt_getter` gives rows of {sorted({len(row) for row in table})} numbers for `{node}`, expected {self.num_resource_types}")
        return table or [[0] * self.num_resource_types]

    def _set_problem(self, tables, raw_edges, limits) -> None:
        """The loop itself where the nodes are all of its own, else one that is made of what was said."""
        problem = loops.problem_of(self.nodes)
        is_whole = problem is not None and all(problem.table_of_op(node.index) == table for node, table in zip(self.nodes, tables))
        self._op_of = {node: node.index if is_whole else i for i, node in enumerate(self.nodes)}
        self._node_of = {op: node for node, op in self._op_of.items()}
        edges = [self._edge(each) for each in raw_edges]
        if is_whole:
            known = set(problem.edges)
            self._problem = problem.changed(limits, [each for each in edges if each not in known])
        else:
            self._problem = loops.described(self.nodes, tables, edges, limits)

    def _edge(self, edge) -> tuple:
        if hasattr(edge, "weight"):
            edge = (edge._from, edge._to, edge.weight.iteration_difference, edge.weight.delay)
        if not isinstance(edge, (tuple, list)) or len(edge) != 4:
            raise error("schedule-argument", f"found `{edge!r}` as an edge, expected an `Edge`, or (from, to, iterations, cycles)")
        source, target, distance, delay = edge
        return (self._op(source), self._op(target), int(distance), int(delay))

    def _op(self, node) -> int:
        if node not in self._op_of:
            raise error("schedule-unknown-op", f"`{node}` is none of the {len(self.nodes)} nodes of the schedule")
        return self._op_of[node]

    def _times(self, schedule: dict) -> list[int]:
        times = [-1] * len(self._problem.ops)
        for node, cycle in schedule.items():
            times[self._op(node)] = whole(f"schedule[{node}]", cycle, 0, LATEST)
        if missing := [node for node in self.nodes if node not in schedule]:
            raise error("schedule-missing-op", f"the schedule has no cycle for `{missing[0]}`, expected one for each of {len(self.nodes)} nodes")
        return times

    def _schedule(self, times: list[int]) -> dict:
        return {node: times[op] for op, node in self._node_of.items()}

    def _check(self, times: list[int]) -> None:
        """The one verifier; raises everything that it finds."""
        found = [each for each in self._validator.verify(times) if each["severity"] == "error"]
        if found:
            raise CompileError(found)

    def attempt_move(self, node, new_cycle: int) -> MoveAttempt:
        """The schedule with the node there and all that depends on it repaired; nothing changes yet."""
        times, why = self._validator.attempt_move(self._op(node), whole("new_cycle", new_cycle, -LATEST, LATEST))
        return MoveAttempt(not why, self._schedule(times), why)

    def rrt_of(self, schedule: dict):
        """Units in use: an array of (T, resources)."""
        import numpy as np

        return np.array(self._problem.table(self.T, self._times(schedule)), dtype=int)

    def commit_move(self, schedule: dict, rrt=None) -> None:
        """The schedule is the one from now on. A table that is not the schedule's is refused."""
        import numpy as np

        times = self._times(schedule)
        self._check(times)
        if rrt is not None and not np.array_equal(np.asarray(rrt), self.rrt_of(schedule)):
            raise error("schedule-argument", "the table is not that of the schedule", "leave it out, or pass `validator.rrt_of(schedule)`")
        self._validator.commit_move(times)

    def get_current_schedule_state(self):
        """(schedule, table)."""
        import numpy as np

        return self._schedule(self._validator.times), np.array(self._validator.table, dtype=int)


# ---- Hill climbing -----------------------------------------------------------------------------------------------------------


class OptimizationAlgorithm(enum.Enum):
    """How a `ScheduleOptimizer` searches; `soliton.tuner.tune` has the other strategies."""

    HILL_CLIMBING = "hill_climbing"


@dataclass
class OptimizationResult:
    """What was found; `improvement_history` has the first latency and each that was better than all before it."""

    schedule: dict
    latency: float
    iterations: int
    algorithm: OptimizationAlgorithm
    improvement_history: list[float] = field(default_factory=list)
    ended: str = ""


class ScheduleOptimizer:
    """Moves a random node to a random cycle, repairs, measures, keeps what is faster.

    `measure_fn(schedule)` gives seconds, infinity for what does not run. Nothing is faster than `bound`: a schedule that reaches it
    ends the search.
    """

    def __init__(
        self,
        validator: ScheduleValidator,
        measure_fn: Callable[[dict], float],
        algorithm: OptimizationAlgorithm = OptimizationAlgorithm.HILL_CLIMBING,
        logger: logging.Logger | None = None,
        progress_file=None,
        tuning_logger: Any = None,
        random_seed: int | None = None,
        bound: float = 0.0,
    ):
        if not isinstance(validator, ScheduleValidator) or not callable(measure_fn):
            raise error("schedule-argument", f"found `{validator!r}` and `{measure_fn!r}`, expected a `ScheduleValidator` and a function that measures")
        if not isinstance(algorithm, OptimizationAlgorithm):
            one_of("algorithm", algorithm, [each.value for each in OptimizationAlgorithm])
        self.validator, self.measure_fn, self.algorithm, self.bound = validator, measure_fn, OptimizationAlgorithm(algorithm), bound
        self.logger = logger or logging.getLogger("soliton.tuner")
        self.progress_file, self.tuning_logger, self.random_seed = progress_file, tuning_logger, whole("random_seed", random_seed or 0, 0, 2**64 - 1)

    def optimize(self, max_iterations: int = 100, max_no_improvement: int = 20, verbose: bool = True) -> OptimizationResult:
        """Until so many iterations, so many without an improvement one after another, or the bound."""
        validator = self.validator
        lines = ["iteration,latency_seconds,is_improvement"]
        limits = whole("max_iterations", max_iterations, 0), whole("max_no_improvement", max_no_improvement, 0)

        def measure(times: list[int]) -> float:
            found = self.measure_fn(validator._schedule(times))
            if not hasattr(found, "__float__"):
                raise error("schedule-argument", f"`measure_fn` gives `{found!r}`, expected seconds, infinity for what does not run")
            # What is no number was not measured, and is no better than anything.
            return math.inf if math.isnan(seconds := float(found)) else seconds

        def report(step: dict, times: list[int]) -> None:
            step["node"] = validator._node_of[step.pop("op")]
            lines.append(f"{step['iteration']},{step['latency']},{step['is_improvement']}")
            if verbose:
                self.logger.info(_line(step))
            if self.tuning_logger is not None:
                self.tuning_logger.log_iteration(step, validator._schedule(times))

        found = validator._validator.optimize(measure, report, self.random_seed, self.bound, limits)
        if self.progress_file:
            pathlib.Path(self.progress_file).write_text("\n".join(lines) + "\n")
        schedule = validator._schedule(found.pop("times"))
        return OptimizationResult(schedule, **{**found, "algorithm": self.algorithm})


def _line(step: dict) -> str:
    what = f"iteration {step['iteration']}: {getattr(step['node'], 'name', step['node'])} to cycle {step['cycle']}"
    came = f"refused: {step['why']}" if step["why"] else f"{step['latency']:.3e} s"
    return f"{what}, {came}" + (", better" if step["is_improvement"] else "")


# ---- Files -------------------------------------------------------------------------------------------------------------------


def dump_schedule(schedule: dict, initiation_interval: int, num_stages: int | None, dump_file, resource_reservations=None, resource_names=None) -> None:
    """Writes Wave's schedule file, which `override_schedule` takes: interval, stages, the table of units, and a row for each node,
    which must be those of a `Loop`. What is said of stages, units and names must be so; None is what the schedule has.
    """
    import numpy as np

    interval, problem = whole("initiation_interval", initiation_interval, 1, 2**31 - 1), loops.problem_of(list(schedule))
    if problem is None:
        raise error("schedule-argument", "nodes that are not those of one loop, expected those of a `Loop`", "`dump_schedule(schedule=loop.schedule, …)`")
    times = loops.times_of(problem, schedule)
    stages, names = max(times) // interval + 1, [name for name, _ in problem.resources]
    if num_stages is not None and stages != int(num_stages):
        raise error("schedule-argument", f"`num_stages` is {num_stages}, but the schedule has {stages} at the interval {interval}")
    if resource_names is not None and list(resource_names) != names:
        raise error("schedule-argument", f"`resource_names` are {list(resource_names)}, expected those of the loop, {names}")
    if resource_reservations is not None and not np.array_equal(np.asarray(resource_reservations), problem.table(interval, times)):
        raise error("schedule-argument", "`resource_reservations` is not the table of the schedule", "pass `loop.rrt(schedule)`, or leave it out")
    pathlib.Path(dump_file).write_text(problem.wave_text(interval, times))
