"""A kernel whose candidates are compiled, checked and timed: where Python's kernels meet C++'s judges.

    subject = Subject(gemm, options)
    subject.model({"BLOCK_M": "128", "schedule": "modulo"}, "")      a line of JSON: soliton/tuner/Result.h

Tracing is Python's, and everything else C++'s.
"""

from __future__ import annotations

import dataclasses
import statistics

from .. import _native, _places
from .._define import LaunchableWave, trace_kernel
from .._errors import CompileError, error
from .._kernel import WaveKernel, _made, _requested
from .._options import ALGORITHMS, SchedulingType, WaveCompileOptions
from .._symbols import to_expr
from ._checks import whole
from ._launching import Launching, drawn
from .spaces import NUMBERS, SWITCHES

RAGGED = 13


def _size_name(symbol) -> str:
    return symbol if isinstance(symbol, str) else to_expr(symbol).name


class Subject:
    """A kernel with the options that its candidates start from; `sizes` are those that only the launch knows."""

    def __init__(self, kernel, options: WaveCompileOptions | None = None, sizes: dict | None = None, schedule=None):
        if isinstance(kernel, WaveKernel):
            options, kernel, schedule = options or kernel.options, kernel._kernel, schedule or kernel._schedule
        if not isinstance(kernel, LaunchableWave):
            raise error("undefined-value", f"found `{kernel!r}` to be tuned, expected a kernel: a function under `@tkw.wave(…)`", "kernels of the library: `soliton tune gemm`")
        if options is not None and not isinstance(options, WaveCompileOptions):
            raise error("schedule-argument", f"found `{options!r}` as options, expected `WaveCompileOptions`", "`WaveCompileOptions(subs={…})`")
        self.kernel, self.options, self.schedule = kernel, options or WaveCompileOptions(), schedule
        self.sizes = {_size_name(symbol): whole(f"sizes[{symbol}]", value, 1) for symbol, value in (sizes or {}).items()}
        dynamic = {str(symbol) for symbol in self.options.dynamic_symbols}
        if unknown := [name for name in self.sizes if name not in dynamic]:
            raise error("schedule-argument", f"`sizes` has `{unknown[0]}`, expected sizes of `dynamic_symbols`, which are {sorted(dynamic) or 'none'}")
        self.place = _places.here()
        self._expected: dict = {}

    # ---- Candidates ----

    def options_for(self, choices: dict, schedule: str = "", sizes: dict | None = None) -> WaveCompileOptions:
        """The options with what a candidate says in their place; `schedule` is the text of a file."""
        made = dataclasses.replace(self.options, subs=dict(self.options.subs))
        for name, value in choices.items():
            self._choose(made, name, value)
        for name, value in (sizes or {}).items():
            self._bind(made, name, value, is_new=False)
        if schedule:
            made.override_schedule = schedule
        return made

    def _choose(self, options: WaveCompileOptions, name: str, value: str) -> None:
        if name == "schedule":
            kinds = {word: kind for kind, word in ALGORITHMS.items()}
            if value not in kinds:
                raise error("schedule-unknown", f"there is no schedule `{value}` to choose", f"one of {', '.join(kinds)}")
            options.schedule, options.override_schedule = kinds[value], None
        elif name == "direct_copies":
            options.use_global_to_shared = value == "on"
        elif name == "mma":
            options.mma = "" if value == "default" else value
        elif name == "padded_rows":
            options.padded_rows = value
        elif name in SWITCHES:
            setattr(options, name, value == "on")
        elif name == "workgroups_per_cluster":
            options.workgroups_per_cluster = tuple(int(each) for each in value.split("x"))
        elif name in NUMBERS:
            setattr(options, name, int(value))
        else:
            self._bind(options, name, int(value))

    @staticmethod
    def _bind(options: WaveCompileOptions, name: str, value: int, is_new: bool = True) -> None:
        known = [symbol for symbol in options.subs if str(symbol) == name]
        for symbol in known or ([_native.symbol(name)] if is_new else []):
            options.subs[symbol] = value

    def _request(self, options: WaveCompileOptions):
        options.check(self.place)
        trace = trace_kernel(self.kernel, options.subs, bool(options.allow_noncontiguous_runtime_buffers))
        if trace.logs:
            raise error("not-supported-here", f"`{self.kernel._name}` has a `debug_log`, which is not tuned", "leave it out")
        schedule = self.schedule if options.schedule is SchedulingType.MANUAL and not options.override_schedule else None
        return trace, {**_requested(options, trace, schedule, self.place), "cache": False}

    def _launch_sizes(self, more=None) -> list:
        return [(_native.symbol(name), to_expr(value)) for name, value in {**self.sizes, **(more or {})}.items()]

    def loop(self, choices: dict | None = None):
        """The longest loop of a candidate, as C++ has it."""
        trace, request = self._request(self.options_for(choices or {}))
        return _native.tuned_loop(trace.kernel, request, self.place, self._launch_sizes())

    # ---- Judging ----

    def model(self, choices: dict, schedule: str) -> str:
        """What verifier, model and code say."""
        trace, request = self._request(self.options_for(choices, schedule))
        return _native.judge_kernel(trace.kernel, request, self.place, self._launch_sizes())

    def small_sizes(self, choices: dict, more: int) -> dict:
        """Sizes at which the emulator is quick."""
        trace, request = self._request(self.options_for(choices))
        return _native.small_sizes(trace.kernel, [*request["subs"], *self._launch_sizes()], more)

    def compiled(self, choices: dict, schedule: str, device: str, sizes: dict | None = None) -> WaveKernel:
        """Ready to be launched at these sizes."""
        options = self._small_for(choices, schedule, sizes)
        options.run_on, options.progress = device, False
        own = self.schedule if options.schedule is SchedulingType.MANUAL and not options.override_schedule else None
        made = _made(options, self.kernel, own, self.place)
        made._launch_sizes = self._bound(sizes)
        return made

    def _small_for(self, choices: dict, schedule: str, sizes: dict | None) -> WaveCompileOptions:
        options = self.options_for(choices, schedule, sizes)
        if sizes and options.persistent > 0:
            options.persistent = 1  # it walks all tiles of a small launch, or none would
        return options

    def _bound(self, sizes: dict | None) -> dict:
        return {**self.sizes, **{name: value for name, value in (sizes or {}).items() if name in self.sizes}}

    def _compiled_for(self, choices: dict, schedule: str, device: str, sizes: dict | None = None) -> tuple[WaveKernel, bytes]:
        """The same for another process: what it loads, and all but that. The device is not asked."""
        options = self._small_for(choices, schedule, sizes)
        trace, request = self._request(options)
        if trace.polled and device != "emulator":
            raise error("not-supported-here", "workgroups that wait for others on a GPU: nothing orders stores of several workgroups there")
        found = _native.compile_image(trace.kernel, {**request, "cache": True}, device, self.place)
        made = WaveKernel(options, self.kernel, self.schedule, trace, request, None, self.place)
        made._specs, made._launch_sizes = found["arguments"], self._bound(sizes)
        return made, found["image"]

    def job(self, choices: dict, schedule: str, device: str, sizes: dict | None = None) -> dict:
        """What `Launching.of` takes."""
        made, image = self._compiled_for(choices, schedule, device, sizes)
        return {"image": image, "device": device, **_about(made)}

    def answer_jobs(self, choices: dict, schedule: str, device: str, keep) -> dict:
        """As `answer`, for another process: {"jobs": as `keep` returns them, "wrong": "", "unchecked": ""}."""

        def try_size(sizes: dict) -> str:
            made, image = self._compiled_for(choices, schedule, device, sizes)
            contents, expected = self._expectation(made, tuple(sorted(sizes.items())))
            jobs.append(keep({"image": image, "device": device, **_about(made), "contents": contents, "expected": expected}))
            return ""

        jobs: list = []
        wrong, unchecked = self._at_sizes(choices, try_size)
        return {"jobs": jobs, "wrong": wrong, "unchecked": unchecked}

    def answer(self, choices: dict, schedule: str, device: str = "emulator") -> tuple[str, str]:
        """(why it is wrong, what could not be checked) at a small and at a ragged size; both empty where it is right."""
        return self._at_sizes(choices, lambda sizes: self._wrong(self.compiled(choices, schedule, device, sizes), tuple(sorted(sizes.items()))))

    def _at_sizes(self, choices: dict, try_size) -> tuple[str, str]:
        unchecked = ""
        for more in (0, RAGGED):
            try:
                wrong = try_size(self.small_sizes(choices, more))
            except CompileError as failure:
                # A schedule may be for aligned rows alone, or name instructions that masks make others of.
                if not more:
                    return str(failure).strip(), ""
                unchecked = f"not for ragged sizes: {failure.diagnostics[0].message}"
                continue
            if wrong:
                return wrong, ""
        return "", unchecked

    def _expectation(self, made: WaveKernel, key: tuple) -> tuple:
        """(contents of all arguments, what the interpreter makes of them by the same program)."""
        if key not in self._expected:
            contents = [data.tobytes() for data in drawn(made._specs, made._argument_shapes(made._launch_sizes))]
            self._expected[key] = contents, _native.reference(made._trace.kernel, made._request, self.place, contents, list(made._launch_sizes.items()), True)
        return self._expected[key]

    def _wrong(self, made: WaveKernel, key: tuple) -> str:
        """What is wrong with what it computes; empty if nothing."""
        return _launching(made).wrong(*self._expectation(made, key))

    def measured(self, choices: dict, schedule: str, device: str, warmup: int, samples: int, cold: bool = False) -> tuple[list[float], int]:
        """Seconds of each sample on a device, and how many launches one is the mean of."""
        return _launching(self.compiled(choices, schedule, device)).measured(warmup, samples, cold)


def _about(made: WaveKernel) -> dict:
    return {"specs": made._specs, "shapes": made._argument_shapes(made._launch_sizes), "sizes": made._launch_sizes}


def _launching(made: WaveKernel) -> Launching:
    return Launching(made._compiled, **_about(made))


def median(seconds: list[float]) -> float:
    return statistics.median(seconds)
