"""What a tuning leaves behind, in a folder of its own:

    attention_tuning/tune_20250703_123456/
      schedules/schedule_0000.txt, .json    the first schedule, then each improvement: Wave's file, and the same as data
      traces/trace_0000.rpd                 the launches behind the latency of the schedule of that number
      tuning.log                            every iteration, in words
      tuning_progress.csv                   every iteration: iteration,latency_us,is_improvement,is_best,why
      tuning_history.json                   every iteration: which node went where, what came of it
      final_results.json                    the summary

Every latency stands beside what it is: `measured`, `emulated` or `modelled`. Names say units: `latency_seconds`, `latency_us`.
"""

from __future__ import annotations

import csv
import json
import math
import pathlib
import time
from typing import Any

from .._errors import error
from ._checks import one_of
from .traces import KINDS

STEP = ("iteration", "node", "cycle", "latency", "is_improvement", "why")


def _number(seconds: float):
    """JSON has no infinity."""
    return seconds if math.isfinite(seconds) else None


class TuningLogger:
    """Writes the folder, as it goes; `times` says what latencies are."""

    def __init__(self, output_dir="attention_tuning", times: str = "measured", verbose: bool = False):
        one_of("times", times, KINDS)
        self.times, self.verbose, self.best, self.number = times, verbose, math.inf, -1
        self.history: list[dict] = []
        self._whys: dict[tuple, str] = {}
        self._loop: Any = None
        self.folder = _new_folder(pathlib.Path(output_dir))
        self.schedules, self.traces = self.folder / "schedules", self.folder / "traces"
        self.schedules.mkdir()
        self.traces.mkdir()
        self._progress = open(self.folder / "tuning_progress.csv", "w", newline="")
        self._csv = csv.writer(self._progress)
        self._csv.writerow(["iteration", "latency_us", "is_improvement", "is_best", "why"])

    def log(self, message: str) -> None:
        with open(self.folder / "tuning.log", "a") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {message}\n")
        if self.verbose:
            print(message)

    def log_initial(self, loop, latency: float) -> None:
        """The schedule that the search starts from, number 0."""
        self._loop, why = loop, self._whys.get(tuple(loop.schedule.values()), "")
        came = f"refused: {why}" if why else _said(latency, self.times)
        self.log(f"loop `{loop.name}` from `{loop.algorithm}`: interval {loop.initiation_interval}, {len(loop.nodes)} nodes, {came}")
        self._save(loop.schedule, latency, 0)
        self._row({"iteration": 0, "latency": latency, "is_improvement": True, "why": why, "node": None, "cycle": None})

    def explain(self, schedule: dict, why: str) -> None:
        """Why a schedule has no latency: its compilation failed, or its answer was wrong."""
        self._whys[tuple(schedule.values())] = why

    def log_iteration(self, step: dict, schedule: dict) -> None:
        """One move: `iteration`, `node`, `cycle`, `latency` in seconds, `is_improvement`, `why`."""
        if missing := [name for name in STEP if name not in step]:
            raise error("schedule-argument", f"the step has no `{missing[0]}`, expected {', '.join(f'`{each}`' for each in STEP)}")
        if self._loop is None:
            raise error("schedule-argument", "an iteration before the schedule that the search starts from", "`log_initial(loop, latency)` first")
        step = {**step, "why": step["why"] or self._whys.get(tuple(schedule.values()), "")}
        name = getattr(step["node"], "name", step["node"])
        came = f"refused: {step['why']}" if step["why"] else _said(step["latency"], self.times)
        self.log(f"iteration {step['iteration']}: `{name}` to cycle {step['cycle']}: {came}" + (", better" if step["is_improvement"] else ""))
        if step["is_improvement"]:
            self._save(schedule, step["latency"], step["iteration"])
        self._row(step)

    def _row(self, step: dict) -> None:
        latency = step["latency"]
        is_best = latency < self.best
        self.best = min(self.best, latency)
        self._csv.writerow([step["iteration"], f"{latency * 1e6:.6f}" if math.isfinite(latency) else "inf", step["is_improvement"], is_best, step["why"]])
        self._progress.flush()
        node = step["node"] and {"name": getattr(step["node"], "name", str(step["node"])), "cycle": step["cycle"]}
        entry = {"iteration": step["iteration"], "latency_seconds": _number(latency), "times": self.times, "move": node}
        entry |= {"is_improvement": step["is_improvement"], "is_best": is_best, "why": step["why"]}
        self.history.append(entry | ({"schedule": self.number} if step["is_improvement"] else {}))

    def _save(self, schedule: dict, latency: float, iteration: int) -> None:
        from .schedules import dump_schedule

        self.number += 1
        loop, file = self._loop, self.schedules / f"schedule_{self.number:04d}"
        rrt, interval, stages = loop.rrt(schedule), loop.initiation_interval, loop.num_stages(schedule)
        dump_schedule(schedule, interval, stages, file.with_suffix(".txt"), rrt, loop.resource_names)
        nodes = [{"name": n.name, "type": n.type, "sort_key": list(n.sort_key), "cycle": c, "relative_cycle": c % interval, "stage": c // interval} for n, c in schedule.items()]
        data = {"iteration": iteration, "latency_seconds": _number(latency), "times": self.times, "loop": loop.name}
        data |= {"initiation_interval": interval, "num_stages": stages, "resource_names": loop.resource_names, "resource_limits": loop.resource_limits}
        data |= {"rrt": rrt.tolist(), "nodes": sorted(nodes, key=lambda each: each["cycle"]), "file": loop.file(schedule)}
        file.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n")

    def finish(self, result, **about) -> None:
        """History and summary."""
        self._progress.close()
        (self.folder / "tuning_history.json").write_text(json.dumps(self.history, indent=1) + "\n")
        first = result.improvement_history[0]
        data = {"times": self.times, "best_latency_seconds": _number(result.latency), "initial_latency_seconds": _number(first)}
        data |= {"improvement_history_seconds": [_number(each) for each in result.improvement_history], "iterations": result.iterations}
        data |= {"algorithm": result.algorithm.value, "ended": result.ended, "best_schedule": f"schedules/schedule_{self.number:04d}.txt", **about}
        (self.folder / "final_results.json").write_text(json.dumps(data, indent=1) + "\n")
        self.log(f"ended by {result.ended} after {result.iterations} iterations: {_said(first, self.times)} at first, best {_said(result.latency, self.times)}")


def _said(seconds: float, times: str) -> str:
    return f"{seconds * 1e6:.3f} us {times}" if math.isfinite(seconds) else "it does not run"


def _new_folder(parent: pathlib.Path) -> pathlib.Path:
    """One that nobody has: two tunings may begin in the same second."""
    parent.mkdir(parents=True, exist_ok=True)
    name = f"tune_{time.strftime('%Y%m%d_%H%M%S')}"
    for more in ["", *(f"_{i}" for i in range(1, 1000))]:
        try:
            (parent / (name + more)).mkdir()
            return parent / (name + more)
        except FileExistsError:
            continue
    raise FileExistsError(f"{parent / name}: a thousand tunings began in this second")
