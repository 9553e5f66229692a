"""A kernel whose candidates are compiled, checked and timed: where Python's kernels meet C++'s judges.

    subject = Subject(gemm, options)
    subject.model({"BLOCK_M": "128", "schedule": "modulo"}, "")      a line of JSON: soliton/tuner/Result.h

Tracing is Python's, and everything else C++'s.
"""

from __future__ import annotations

import dataclasses
import math
import statistics

from .. import _native, _places
from .._define import LaunchableWave, trace_kernel
from .._errors import CompileError, error
from .._kernel import WaveKernel, _made, _requested
from .._options import ALGORITHMS, SchedulingType, WaveCompileOptions
from .._symbols import to_expr

RAGGED = 13


class Subject:
    """A kernel with the options that its candidates start from; `sizes` are those that only the launch knows."""

    def __init__(self, kernel, options: WaveCompileOptions | None = None, sizes: dict | None = None, schedule=None):
        if isinstance(kernel, WaveKernel):
            options, kernel, schedule = options or kernel.options, kernel._kernel, schedule or kernel._schedule
        if not isinstance(kernel, LaunchableWave):
            raise error("undefined-value", f"found `{kernel!r}` to be tuned, expected a kernel: a function under `@tkw.wave(…)`", "kernels of the library: `soliton tune gemm`")
        self.kernel, self.options, self.schedule = kernel, options or WaveCompileOptions(), schedule
        self.sizes = {to_expr(symbol).name: int(value) for symbol, value in (sizes or {}).items()}
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
        options = self.options_for(choices, schedule, sizes)
        options.run_on, options.progress = device, False
        own = self.schedule if options.schedule is SchedulingType.MANUAL and not options.override_schedule else None
        made = _made(options, self.kernel, own, self.place)
        bound = {name: value for name, value in (sizes or {}).items() if name in self.sizes}
        made._launch_sizes = {**self.sizes, **bound}
        return made

    def answer(self, choices: dict, schedule: str, device: str = "emulator") -> tuple[str, str]:
        """(why it is wrong, what could not be checked) at a small and at a ragged size; both empty where it is right."""
        unchecked = ""
        for more in (0, RAGGED):
            sizes = self.small_sizes(choices, more)
            try:
                made = self.compiled(choices, schedule, device, sizes)
            except CompileError as failure:
                # A schedule may be for aligned rows alone, or name instructions that masks make others of.
                if not more:
                    return str(failure).strip(), ""
                unchecked = f"not for ragged sizes: {failure.diagnostics[0].message}"
                continue
            if wrong := self._wrong(made, tuple(sorted(sizes.items()))):
                return wrong, ""
        return "", unchecked

    def _wrong(self, made: WaveKernel, key: tuple) -> str:
        """What is wrong with what it computes, by what the interpreter makes of the same program; empty if nothing."""
        if key not in self._expected:
            contents = [data.tobytes() for data in _drawn(made)]
            self._expected[key] = contents, _native.reference(made._trace.kernel, made._request, self.place, contents, list(made._launch_sizes.items()), True)
        contents, expected = self._expected[key]
        arguments, held = _arguments(made, contents)
        unbound = {name for name, is_bound in made._compiled.symbols() if not is_bound}
        sizes = [(_native.symbol(name), value) for name, value in made._launch_sizes.items() if name in unbound]
        try:
            made._compiled.launch(arguments, sizes)
        except CompileError as failure:
            return str(failure).strip()
        return _difference(made._specs, held, expected)

    def measured(self, choices: dict, schedule: str, device: str, warmup: int, samples: int) -> tuple[list[float], int]:
        """Seconds of each sample on a device, and how many launches one is the mean of."""
        made = self.compiled(choices, schedule, device)
        arguments, _held = _arguments(made, _drawn(made))
        microseconds, launches = made._compiled.measure(arguments, made._launch_sizes, warmup, samples)
        return [each * 1e-6 for each in microseconds], launches


def median(seconds: list[float]) -> float:
    return statistics.median(seconds)


def _drawn(made: WaveKernel) -> list:
    """The bytes of each argument: small integers in the kernel's own types; what it only writes is filled with ones."""
    import numpy as np

    draw, contents = np.random.default_rng(1), []
    for (_, _, dtype, is_output, is_read, _), shape in zip(made._specs, made._argument_shapes(made._launch_sizes)):
        values = [0.0, 1.0] if dtype == "i1" else [-2.0, -1.0, 0.0, 1.0, 2.0]
        patterns = np.frombuffer(_native.encode(dtype, values), dtype=f"u{len(_native.encode(dtype, [0.0]))}")
        data = patterns[draw.integers(0, len(patterns), int(np.prod(shape, dtype=np.int64)))].view(np.uint8)
        contents.append(np.full_like(data, 0xFF) if is_output and not is_read else data)
    return contents


def _arguments(made: WaveKernel, contents):
    """(arguments as a launch takes them, the arrays behind them)."""
    import numpy as np

    arguments: list = []
    held = []
    for (_, is_array, dtype, *_), shape, data in zip(made._specs, made._argument_shapes(made._launch_sizes), contents):
        array = np.frombuffer(bytearray(data), np.uint8)
        held.append(array)
        if is_array:
            strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
            arguments.append((array.ctypes.data, dtype, shape, strides, "host", 0, False))
        else:
            number = _native.decode(dtype, bytes(data))[0]
            arguments.append(number if dtype.startswith(("f", "b")) else int(number))
    return arguments, held


def _difference(specs, held, expected) -> str:
    """Where outputs are further off than they may be; empty if nowhere."""
    import numpy as np

    for (name, is_array, dtype, is_output, *_), array, (wanted, tolerance) in zip(specs, held, expected):
        if not (is_array and is_output):
            continue
        x, y = (np.array(_native.decode(dtype, bytes(each))) for each in (array, wanted))
        with np.errstate(invalid="ignore"):
            is_right = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= (np.array(tolerance) if tolerance else 0.0))
        if not is_right.all():
            first = int(np.argmin(is_right))
            return f"`{name}` is wrong in {(~is_right).sum()} of {x.size} elements: element {first} is {x[first]:g}, expected {y[first]:g}"
    return ""
