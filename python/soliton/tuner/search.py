"""The search of a space for a kernel of Python: the strategies, filters and database of `soliton tune`.

    tuned = tune(gemm, Space().choice(BLOCK_M, [64, 128]).choice("schedule", ["prefetch", "modulo"]), options, budget=12)
    print(tuned)
    run = wave_compile(tuned.options(), gemm)
"""

from __future__ import annotations

import difflib
import json
import math
import os
import pathlib
import time
import warnings
from dataclasses import dataclass, field

from .. import _native, _progress
from .._errors import CompileError, error
from .._fingerprint import fingerprint
from .._options import ALGORITHMS
from ._checks import names_of, one_of, seconds, whole
from ._compiling import Subject, median
from ._device import Device, Lost, Refused
from ._workers import Here, Reply, Workers
from .spaces import NUMBERS, OPTIONS, SWITCHES, Space

SAMPLES, WARMUPS = 21, 5


@dataclass
class Trial:
    """One candidate: what was chosen, and what came of it. `latency` is in seconds, infinity where a filter refused it."""

    choices: dict
    schedule: str
    latency: float
    refused_by: str
    why: str
    hash: str
    is_best: bool
    was_known: bool
    result: dict = field(repr=False, default_factory=dict)

    @staticmethod
    def _of(found: dict) -> Trial:
        result = json.loads(found["result"])
        choices = {name: int(value) if value.lstrip("-").isdigit() else value for name, value in found["choices"].items()}
        why, by = result.get("why", ""), result.get("refused_by", "")
        return Trial(choices, found["schedule"], found["cost"] * 1e-6, by, why, found["hash"], found["is_best"], found["was_known"], result)


@dataclass
class Tuned:
    """What a search found; `times` says what latencies are: `modelled`, `measured` or `emulated`."""

    kernel: str
    target: str
    times: str
    trials: list[Trial]
    best: Trial | None
    ended: str
    run: int
    database: str
    moves: dict
    _subject: Subject = field(repr=False)

    @property
    def latency(self) -> float:
        """Seconds of the best; infinity where all were refused."""
        return self.best.latency if self.best else math.inf

    def options(self):
        """What `wave_compile` takes to compile the best."""
        if self.best is None:
            raise error("schedule-unsuitable", f"none of {len(self.trials)} candidates was accepted: {self.trials[0].why if self.trials else 'there are none'}")
        return self._subject.options_for({name: str(value) for name, value in self.best.choices.items()}, self.best.schedule)

    def rejected(self) -> dict:
        """How many each filter refused."""
        filters = [each.refused_by for each in self.trials if each.refused_by]
        return {each: filters.count(each) for each in sorted(set(filters))}

    def _said(self, trial: Trial) -> str:
        how = f" with {trial.result['cache']} caches" if self.times == "measured" and trial.result.get("cache") else ""
        return f"refused by {trial.refused_by}" if trial.refused_by else f"{trial.latency * 1e6:.2f} us {self.times}{how}"

    def __str__(self) -> str:
        lines = [f"{self.kernel} on {self.target}: {len(self.trials)} candidates, ended by {self.ended}"]
        lines += [f"  refused by {name}: {count}" for name, count in self.rejected().items()]
        if self.best is None:
            return "\n".join([*lines, "  none was accepted"])
        lines += [f"  start  {self._said(self.trials[0])}", f"  best   {self._said(self.best)}, {self.best.result['registers']} registers"]
        lines += [f"    {name} = {value}" for name, value in self.best.choices.items()]
        if self.moves.get("tried"):
            lines.append("  moves  {tried} schedules of loop `{loop}`: {cycles_before} cycles modelled before, {cycles_best} after, bound {cycles_bound}".format(**self.moves))
        return "\n".join(lines)

    def _repr_svg_(self) -> str:
        from ._picture import curve

        return curve([each.latency for each in self.trials], f"{self.kernel} on {self.target}", self.times)


class _Line:
    """The progress line: candidates a second, the best, its bound, time left; for those who look at a terminal or a notebook."""

    def __init__(self, name: str, budget: int, times: str, wanted: bool | None):
        is_said = _progress.wanted(wanted)
        self.line = _progress.Line(name) if is_said is not False else None
        self.budget, self.times, self.begun, self.tried = budget, times, time.monotonic(), 0
        self.best: Trial | None = None

    def see(self, trial: Trial) -> None:
        self.tried += 1
        if trial.is_best:
            self.best = trial
        if self.line:
            self.line.say(self.text())

    def text(self) -> str:
        rate = self.tried / max(time.monotonic() - self.begun, 1e-9)
        words = [f"{self.tried} of {self.budget} candidates", f"{rate:.1f} a second"]
        if self.best is None:
            return ", ".join([*words, "none accepted yet"])
        result = self.best.result
        words.append(f"best {self.best.latency * 1e6:.2f} us {self.times}")
        if result["cycles"] > 0:
            words.append(f"bound {result['modelled_us'] * result['bound'] / result['cycles']:.2f} us modelled")
        return ", ".join([*words, f"{max(self.budget - self.tried, 0) / rate:.0f} s left"])

    def end(self) -> None:
        if self.line:
            self.line.say(self.text(), is_last=True)


class _Judges:
    """Answers what C++ asks about candidates, in processes that may die. What a GPU is asked, one asks it that is no copy: none may."""

    def __init__(self, subject: Subject, device: str, workers: int, seconds: float, cache: str):
        self.subject, self.device, self.cache = subject, device, cache
        self.compiling: Here | Workers = Workers(self._answer, workers, seconds) if workers > 0 else Here(self._answer)
        # A device is asked by one process, one candidate at a time.
        self.measuring: Here | Workers = Here(self._answer) if workers == 0 else Workers(self._answer, 1, seconds)
        self.gpu = Device(subject, device, seconds) if workers > 0 and is_gpu(device) else None

    def __enter__(self) -> _Judges:
        return self

    def __exit__(self, *_) -> None:
        self.compiling.__exit__()
        self.measuring.__exit__()
        if self.gpu:
            self.gpu.__exit__()

    def __call__(self, texts: list[str], stage: str, other: str | None, found) -> None:
        """`found` is told of the line of each candidate as it comes."""

        def take(number: int, reply: Reply) -> None:
            found(number, _native.result_json("worker", reply.fault, 0.0, 0.0, 0.0) if reply.fault else reply.value)

        requests = [{"candidate": text, "stage": stage, "other": other} for text in texts]
        if stage in ("device", "duel") and self.gpu:
            return self._at_gpu(self.gpu, requests, found)
        (self.compiling if stage in ("model", "answer") else self.measuring).run(requests, take)

    def _at_gpu(self, gpu: Device, requests: list, found) -> None:
        """Copies compile; what is compiled is measured while they compile the next."""

        def take(number: int, reply: Reply) -> None:
            try:
                if reply.fault:
                    raise Lost(reply.fault)
                found(number, reply.value if isinstance(reply.value, str) else self._launched(gpu, reply.value))
            except Lost as lost:
                found(number, _native.result_json("worker", str(lost), 0.0, 0.0, 0.0))
            except Refused as refusal:
                found(number, _native.result_json("device", str(refusal), 0.0, 0.0, 0.0))

        self.compiling.run([{**each, "prepares": True} for each in requests], take)

    def _launched(self, gpu: Device, prepared: dict) -> str:
        if wrong := gpu.answer(prepared["answer"])[0]:
            return _native.result_json("device", wrong, 0.0, 0.0, 0.0)
        return _timed(lambda path, samples: gpu.measured(path, WARMUPS, samples, self.cache == "cold")[0], prepared["own"], prepared["other"], self.cache)

    def _prepared(self, gpu: Device, candidate: tuple[dict, str], other: str | None) -> dict:
        return {
            "answer": gpu.prepare_answer(*candidate),
            "own": gpu.prepare_measure(*candidate),
            "other": gpu.prepare_measure(*_native.parse_candidate(other)) if other is not None else None,
        }

    def _answer(self, request: dict):
        """What the compiler or a driver refuses is a result like others, and says why."""
        candidate, stage = _native.parse_candidate(request["candidate"]), request["stage"]
        try:
            if request.get("prepares") and self.gpu:
                return self._prepared(self.gpu, candidate, request["other"])
            return self.subject.model(*candidate) if stage == "model" else self._asked(candidate, stage, request["other"])
        except CompileError as failure:
            return _native.result_json({"model": "verifier", "duel": "device"}.get(stage, stage), str(failure).strip(), 0.0, 0.0, 0.0)

    def _asked(self, candidate: tuple[dict, str], stage: str, other: str | None) -> str:
        choices, schedule = candidate
        if stage == "answer":
            wrong, unchecked = self.subject.answer(choices, schedule)
            return _native.result_json("answer" if wrong else "", wrong or unchecked, 0.0, 0.0, 0.0)
        if wrong := self.subject.answer(choices, schedule, self.device)[0]:
            return _native.result_json("device", wrong, 0.0, 0.0, 0.0)
        measure = lambda each, samples: self.subject.measured(each[0], each[1], self.device, WARMUPS, samples, self.cache == "cold")[0]  # noqa: E731
        return _timed(measure, candidate, _native.parse_candidate(other) if other is not None else None, self.cache)


def _timed(measure, own, other, cache: str) -> str:
    """The result of `measure(own, samples)`, in turn with another one if there is one, so that clock and heat are the same for both."""
    if other is None:
        seconds = measure(own, SAMPLES)
        return _native.result_json("", "", median(seconds) * 1e6, _spread(seconds), 0.0, cache)
    seconds, others = [], []
    for _ in range(3):
        seconds += measure(own, SAMPLES // 3)
        others += measure(other, SAMPLES // 3)
    return _native.result_json("", "", median(seconds) * 1e6, _spread(seconds), median(others) * 1e6, cache)


def is_gpu(device: str) -> bool:
    return device.startswith(("cuda", "hip"))


def _spread(seconds: list[float]) -> float:
    ordered = sorted(seconds)
    return (ordered[(3 * len(ordered)) // 4] - ordered[len(ordered) // 4]) * 1e6


def _default_database() -> str:
    if said := os.environ.get("SOLITON_TUNE_DB"):
        return said
    folder = _native.cache_state()["folder"]
    if not folder:
        raise error("schedule-argument", "there is no folder for the database", "say `database=\"tuning.db\"`, or set SOLITON_TUNE_DB")
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    return str(pathlib.Path(folder) / "tuning.db")


def _start(space: Space, subject: Subject) -> dict:
    """Where a search starts: what the options say, as far as the space has it."""
    options = subject.options
    said = {str(symbol): str(value) for symbol, value in options.subs.items()}
    said |= {"schedule": ALGORITHMS.get(options.schedule, ""), "direct_copies": "on" if options.use_global_to_shared else "off", "mma": options.mma or "default"}
    said |= {"padded_rows": options.padded_rows} | {name: "on" if getattr(options, name) else "off" for name in SWITCHES}
    said |= {name: str(getattr(options, name) or 0) for name in NUMBERS}
    said["workgroups_per_cluster"] = "x".join(map(str, options.workgroups_per_cluster or (1,)))
    return {name: said[name] for name, values in space._native.choices if said.get(name) in values}


def _check_space(space, subject: Subject) -> None:
    """A name that the kernel never speaks of would make candidates that differ in nothing."""
    if not isinstance(space, Space):
        raise error("schedule-argument", f"found `{space!r}` as the space, expected a `Space`", "`Space().choice(BLOCK_M, [64, 128])`")
    known = {str(symbol) for symbol in [*subject.options.subs, *subject.options.dynamic_symbols]} | set(OPTIONS) | names_of(subject.kernel)
    for name in space.choices:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean `{near[0]}`?" if near else "a name of `subs`, of the kernel's symbols, or an option of `Space`"
            raise error("tune-space", f"found `{name}` as a choice of `{subject.kernel._name}`, which has no symbol of that name", hint)


def _device_named(device: str) -> dict:
    found = [each for each in _native.device_list()["devices"] if device in (each["kind"], f"{each['kind']}:{each['index']}")]
    if not found:
        raise error("no-device", f"there is no device `{device}`", "`python -m soliton.doctor` says what was found")
    return found[0]


def found_device(device: str) -> str:
    """The name again, if such a device is there; empty is none."""
    return device if not device or _device_named(device) else ""


def _about(subject: Subject, device: str, cache: str) -> tuple[str, str, str]:
    """What results are true of: kernel, device, driver."""
    options = subject.options
    kernel = {"kernel": subject.kernel._name, "python": fingerprint(subject.kernel, options), "sizes": subject.sizes}
    if not device:
        return json.dumps(kernel, sort_keys=True), f"modelled {options.target}", ""
    if cache != "warm":
        kernel["cache"] = cache
    found = _device_named(device)
    driver = pathlib.Path("/sys/module/nvidia/version" if found["kind"] == "cuda" else "/sys/module/amdgpu/version")
    version = driver.read_text().strip() if driver.exists() and found["kind"] != "emulator" else ""
    return json.dumps(kernel, sort_keys=True), f"{found['name']} {options.target}", version


def tune(
    kernel,
    space: Space,
    options=None,
    *,
    sizes: dict | None = None,
    schedule=None,
    strategy: str = "evolution",
    budget: int = 60,
    moves: int = 0,
    seed: int = 1,
    generation: int = 8,
    patience: int = 0,
    workers: int = 2,
    device: str = "",
    database=None,
    progress: bool | None = None,
    timeout: float = 60,
    cache: str = "warm",
) -> Tuned:
    """Searches a space for a kernel under `@tkw.wave(…)`, or one that `wave_compile` made.

    Without a device times are those of the compiler's model. Then `moves` schedules of the longest loop of the best are tried by the
    model alone, and the best of those compiled and checked like any candidate. `sizes` binds what only the launch knows.
    Results stay in the database of `soliton tune` (`database=""`: nowhere), and the same call finds them again. Candidates are judged
    by so many `workers`, processes that have `timeout` seconds for each (0: by this one); what ends such a process is refused by `worker`.
    Where a device measures, what it reads is in its caches (`cache="warm"`) or in none (`"cold"`).
    """
    one_of("strategy", strategy, _native.strategies())
    one_of("cache", cache, ("warm", "cold"))
    how: dict = {"strategy": strategy, "seed": whole("seed", seed, 0, 2**64 - 1), "budget": whole("budget", budget, 1)}
    how |= {"generation": whole("generation", generation, 1, 4096), "patience": whole("patience", patience, 0), "measures": bool(device)}
    moves, workers, timeout = whole("moves", moves, 0), whole("workers", workers, 0, 256), seconds("timeout", timeout)
    subject, path = Subject(kernel, options, sizes, schedule), str(_default_database() if database is None else database)
    _check_space(space, subject)
    how["budget"] = min(how["budget"], len(space))
    settings = json.dumps({**how, "space": space._native.text, "moves": moves, "start": _start(space, subject)}, sort_keys=True)
    tuning = _native.Tuning(path, _about(subject, device, cache), settings)
    times = "modelled" if not device else "emulated" if device == "emulator" else "measured"
    line = _Line(f"{subject.kernel._name} for {subject.options.target}", how["budget"], times, progress)
    see = lambda found: line.see(Trial._of(found))  # noqa: E731
    with _Judges(subject, device, workers, timeout, cache) as judges:
        found = tuning.search(space._native, _start(space, subject), how, judges, see)
        trials, best, moved = found["trials"], found["best"], {}
        if best is not None and moves > 0:
            choices = trials[best]["choices"]
            moved = subject.loop(choices).moves(strategy, seed, moves, generation)
            line.budget += len(moved["files"])
            later = tuning.search_all([_native.candidate_text(choices, file) for file in moved["files"]], how, judges, see)
            best = best if later["best"] is None else len(trials) + later["best"]
            trials = trials + later["trials"]
    tuning.end(found["ended"])
    line.end()
    if tuning.unkept:
        warnings.warn(f"{tuning.unkept} results and decisions could not be kept in `{path}`: its disk is full, or another program holds it [tune-database]", RuntimeWarning, stacklevel=2)
    every = [Trial._of(each) for each in trials]
    return Tuned(subject.kernel._name, subject.options.target, times, every, None if best is None else every[best], found["ended"], tuning.run, path, moved, subject)
