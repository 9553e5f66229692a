"""Kernels as their author compiles and calls them; _define.py has how they are defined.

    @tkw.wave(constraints)
    def copy(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.read(a), b)

    run = wave_compile(WaveCompileOptions(subs={M: 64, N: 64, …}), copy)
    run(x, y)
"""

from __future__ import annotations

import functools
import os
import pathlib

from . import _native, _places, _progress, _tensors
from ._define import LaunchableWave, trace_kernel
from ._errors import CompileError, error
from ._options import ALGORITHMS, SchedulingType, WaveCompileOptions
from ._symbols import to_expr
from ._trace import Handle, Trace


def _bound(symbol, value):
    try:
        return to_expr(value)
    except TypeError:
        raise error("symbol-unbound", f"`subs` binds `{symbol}` to `{value!r}`, expected an integer, an expression or an address space") from None


def _substitutions(trace: Trace, options: WaveCompileOptions) -> list:
    """`subs`, and what dimensions that are no symbols come to."""
    bound, of_workgroups = {}, {symbol for symbol, _ in trace.of_workgroups}
    for symbol, value in options.subs.items():
        if value is None:  # of a size that the program has not
            continue
        key, made = to_expr(symbol), _bound(symbol, value)
        if key != made and key.kind == "symbol" and key not in of_workgroups:
            bound[key] = made
    for label, _, sizes, *_ in trace.logs:
        bound.update(sizes)
    bound.update(trace.aliases)
    if options.match_width_only:  # a program of Wave: what is not said to be shared is global
        for each in trace.arguments:
            space = to_expr(each.annotation.address_space) if isinstance(each, Handle) and each.annotation else None
            if space is not None and space.kind == "symbol" and not space.name.startswith("$"):
                bound.setdefault(space, _native.address_space(False))
    for dim, extent in _only_in_layouts(trace).items():
        bound.setdefault(dim, extent)
    return list(bound.items())


def _only_in_layouts(trace: Trace) -> dict:
    """Dimensions that are the extent of no tensor, because each that has them has a `MemoryLayout`: they reach as far as the
    largest. A kernel sets them to what it needs."""
    memories = [each for each in trace.arguments if isinstance(each, Handle)]
    shown = {dim for each in memories for dim in each.handle.shape} | set(trace.bound)
    reach: dict = {}
    for each in memories:
        for dim, extent in each.layout.items():
            if dim not in shown:
                reach[dim] = _native.expr_max(reach[dim], extent) if dim in reach else extent
    return reach


def _requested(options: WaveCompileOptions, trace: Trace, schedule, place) -> dict:
    unknown = _only_in_layouts(trace)
    dynamic = [each for each in map(to_expr, options.dynamic_symbols) if each not in unknown]
    dynamic += [each for each in [*trace.bound, *trace.unbound] if each not in dynamic]
    request = {
        "target": options.target,
        "device": options.run_on,
        "subs": _substitutions(trace, options),
        "dynamic": dynamic,
        "direct_copies": bool(options.use_global_to_shared),
        "short_sums": bool(options.short_sums),
        "allow_spills": True,
        "mma": options.mma,
        "padded_rows": options.padded_rows,
        "staged_writes": bool(options.staged_writes),
        "raster": int(options.raster),
        "cluster": int(options.cluster),
        "persistent": int(options.persistent),
    }
    if options.service_waves is not None:
        request["service_waves"] = int(options.service_waves)
    if options.workgroups_per_cluster is not None:
        request["workgroups_per_cluster"] = [int(each) for each in options.workgroups_per_cluster]
    if options.overlap_tiles is not None:
        request["overlap_tiles"] = bool(options.overlap_tiles)
    if options.turns is not None:
        request["turns"] = bool(options.turns)
    if options.dependent_launch:
        request["dependent_launch"] = True
    if options.stable:
        request["stable"] = [options.stable] if isinstance(options.stable, str) else [str(each) for each in options.stable]
    if options.override_schedule:
        request["schedule_file"] = str(options.override_schedule)
        return request
    kind = SchedulingType.NONE if options.schedule is None else options.schedule
    if schedule is not None and kind is not SchedulingType.MANUAL:
        raise error("schedule-unknown", "a schedule was given, but `schedule` is no `SchedulingType.MANUAL`", place=place)
    if kind is SchedulingType.MANUAL:
        if schedule is None:
            raise error("schedule-unknown", "`SchedulingType.MANUAL` needs a schedule", "`wave_compile(options, kernel, schedule)`", place)
        request["schedule_function"] = functools.partial(schedule.run, tags=trace.tags)
    elif kind in ALGORITHMS:
        request["schedule"] = ALGORITHMS[kind]
    else:
        raise error("not-supported-here", f"the schedule `{getattr(kind, 'name', kind)}`", f"one of {', '.join(each.name for each in ALGORITHMS)}", place)
    return request


class WaveKernel:
    """A compiled kernel; call it with arrays and numbers in the order of its parameters. Outputs are written in place."""

    def __init__(self, options, kernel, schedule, trace, request, compiled, place):
        self.options = options
        self._schedule = schedule
        self._variants: dict[tuple, WaveKernel] = {}
        self._kernel = kernel
        self._trace = trace
        self._request = request
        self._compiled = compiled
        self._place = place
        self._texts: dict[str, bytes] = {}
        self._launch_sizes: dict[str, int] = {}  # by which the command draws arguments
        self._specs = compiled.arguments() if compiled else []
        self._log_names = {label for label, *_ in trace.logs}
        # Arguments are the builder's parameters, one for one: C++ takes them as they are wherever it can.
        self._is_plain = compiled is not None and not trace.logs and all(how == "argument" for _, how in trace.passes)
        self._by_width = bool(options.match_width_only)

    def __call__(self, *args, debug_logs: dict | None = None):
        try:
            if self._is_plain and debug_logs is None and self._compiled.launch_plain(args, self._by_width):
                return
            self._launch(args, debug_logs)
        except CompileError as failure:
            # Programs of Wave pass tensors that are larger than their annotations say, and reach into what is there.
            is_extent = failure.id in ("argument-shape", "symbol-conflict")
            larger = self._larger_extents(args) if is_extent and self.options.match_width_only else frozenset()
            # Offsets of 32 bits are a guess that the launch has found wrong.
            is_wide = failure.id == "launch-assumption" and "`wideOffsets`" in str(failure) and not self._request.get("wide_offsets")
            if not larger and not is_wide:
                raise failure.with_traceback(None) from None
            key = (larger, is_wide)
            if key not in self._variants:
                wide = is_wide or bool(self._request.get("wide_offsets"))
                self._variants[key] = _made(self.options, self._kernel, self._schedule, self._place, self._trace.larger | larger, wide)
            self._variants[key](*args, debug_logs=debug_logs)

    def _larger_extents(self, args) -> frozenset:
        """Which extents of tensors are larger than the kernel says, by parameter and position; nothing where one is smaller."""
        given, _ = self._split(args)
        values = dict(self._request["subs"])
        found = set()
        for value, spec, handle in zip(given, self._specs, self._memories()):
            if handle is None or not hasattr(value, "shape") or len(value.shape) != len(handle.shape):
                continue
            for position, (dim, extent) in enumerate(zip(handle.shape, value.shape)):
                if dim.kind == "symbol":
                    values.setdefault(dim, _native.constant(int(extent)))
                for _ in range(len(values) + 1):
                    dim = dim._substitute(list(values.items()))
                if dim.value is None or dim.value > extent:
                    return frozenset()
                if dim.value < extent:
                    found.add((spec[0], position))
        return frozenset(found)

    def _launch(self, args, debug_logs) -> None:
        if self._compiled is None:
            raise error("not-supported-here", "a kernel that was compiled with `compile_to_mlir` cannot be called")
        given, sizes = self._split(args)
        logs = self._log_arrays(given)
        arguments, owners, stream = [], [], _tensors.launch_stream(given)
        for value, spec in zip([*given, *(array for _, array in logs)], self._specs):
            strided = self._trace.strided and spec[0] not in self._log_names
            argument, owner = _tensors.argument(value, spec, self._by_width, strided, stream)
            arguments.append(argument)
            owners.append(owner)
        self._compiled.launch(arguments, sizes, stream or 0)
        self._hand_out(logs, debug_logs)

    def _split(self, args):
        """(what the builder's parameters take, sizes by name)."""
        passes = [each for each in self._trace.passes if each[1] != "default"]
        if len(args) != len(passes):
            names = ", ".join(name for name, _ in passes)
            raise error("argument-count", f"the kernel takes {len(passes)} arguments ({names}), found {len(args)}")
        given, sizes = [], []
        for value, (name, how) in zip(args, passes):
            if how == "symbol":
                sizes.append((_native.symbol(name), int(value)))
            else:
                given.append(value)
        return given, [each for each in sizes if str(each[0]) in {name for name, _ in self._compiled.symbols()}]

    def _log_arrays(self, given):
        """An array of zeros for each `debug_log`, whose parameters stand behind the author's."""
        logs = []
        for entry, spec in zip(self._trace.logs, self._specs[len(given) :]):
            logs.append((entry, _zeros(self._extents(entry, given), spec[2], given)))
        return logs

    def _extents(self, entry, given):
        _, memory, *_ = entry
        values = {to_expr(s): to_expr(v) for s, v in self._request["subs"]}
        for value, (_, is_array, *_), handle in zip(given, self._specs, self._memories()):
            if is_array and handle is not None:
                for dim, extent in zip(handle.shape, getattr(value, "shape", ())):
                    if dim.kind == "symbol":
                        values.setdefault(dim, _native.constant(int(extent)))
        extents = []
        for dim in memory.shape:
            expr = dim
            for _ in range(len(values) + 1):
                expr = expr._substitute(list(values.items()))
            extents.append(int(expr))
        return extents

    def _argument_shapes(self, sizes: dict) -> list[list[int]]:
        """The extents of each parameter, under `subs` and the sizes that are given by name; none of a number."""
        values = [(to_expr(s), to_expr(v)) for s, v in self._request["subs"]]
        values += [(_native.symbol(name), to_expr(value)) for name, value in sizes.items()]
        shapes = []
        for (name, is_array, *_), handle in zip(self._specs, self._memories()):
            shape = list(handle.shape) if is_array and handle is not None else []
            for _ in range(len(values) + 1):
                shape = [dim._substitute(values) for dim in shape]
            if any(dim.value is None for dim in shape):
                raise error("argument-count", f"nothing says the extents of `{name}`: [{', '.join(map(str, shape))}]", "say every size: `--size M=128,…`")
            shapes.append([int(dim) for dim in shape])
        return shapes

    def _memories(self):
        return [each.handle if isinstance(each, Handle) else None for each in self._trace.arguments]

    def _hand_out(self, logs, debug_logs):
        filled = {} if debug_logs is None else debug_logs
        handlers = []
        for (label, memory, _, printer, handler, loops), array in logs:
            filled[label] = {"value": array, "symbolic_shape": tuple(memory.shape), "iteration_dimensions": loops}
            if printer is not None and debug_logs is None:
                printer(label, array)
            if handler is not None and handler not in handlers:
                handlers.append(handler)
        for handler in handlers:
            handler(filled)

    # ---- Looking at it ----

    def _artefact(self, kind: str) -> bytes:
        if kind not in self._texts:
            image = "emulator" if kind in ("wave", "machine", "schedule") else "ptx" if self.options.target.startswith("sm_") else "hsaco"
            keep = [] if kind == "schedule" else [kind]
            request = {**self._request, "keep": keep, "device": "", "cache": False}
            self._texts |= _native.compile_texts(self._trace.kernel, request, image, self._place)
        return self._texts[kind]

    def _text(self, kind: str) -> str:
        return self._artefact(kind).decode()

    def schedule(self):
        """When the instructions of its innermost loops happen; `.show()` in a notebook, `print(…)` elsewhere."""
        from ._errors import Diagnostic
        from ._views import LoopSchedule, Schedule

        loops, found = _native.schedules(self._trace.kernel, {**self._request, "cache": False}, self._place)
        if any(each["severity"] == "error" for each in found):
            raise CompileError([Diagnostic._of(each) for each in found])
        return Schedule(self._trace.kernel.name, [LoopSchedule(each) for each in loops])

    def explain(self) -> str:
        """What the compiler chose and why: layouts with what they cost and what came second, waits and barriers that it
        added, and what the code takes of the chip.

        >>> print(run.explain())
        """
        from ._errors import Diagnostic

        request = {**self._request, "explain_layouts": True, "cache": False}
        made = _native.compile(self._trace.kernel, request, self._place)
        lines = [str(self)[1:-1], ""]
        lines += [str(Diagnostic._of(each)) for each in made.warnings]
        summary = made.summary()
        taken = [f"{name} {summary[name]}" for name in ("vgprs", "agprs", "sgprs", "spill_bytes") if summary[name]]
        taken += [f"{summary['machine_ops']} operations", f"{summary['matrix_ops']} of them matrix instructions"]
        lines += ["", "threads of a workgroup: " + " x ".join(map(str, made.threads)), ", ".join(taken)]
        lines += [f"compiled in {summary['total_ms']:.1f} ms"]
        return "\n".join(lines) + "\n"

    @property
    def summary(self) -> dict:
        """What the code takes of the chip and how long its compilation took: `vgprs`, `matrix_ops`, `threads`, `phases_ms`, …"""
        if self._compiled is None:
            raise error("not-supported-here", "the summary of a kernel that was compiled with `compile_to_mlir`")
        return {**self._compiled.summary(), "threads": self._compiled.threads}

    @property
    def log(self) -> str:
        """What the emulator noticed in the last launch and did not call an error."""
        return self._compiled.log() if self._compiled else ""

    def _value_layouts(self, tag: str) -> list[dict]:
        return _native.value_layouts(self._trace.kernel, {**self._request, "cache": False}, self._place, tag)

    @property
    def ptx(self) -> str:
        """The program as PTX; of NVIDIA's targets."""
        if not self.options.target.startswith("sm_"):
            raise error("not-supported-here", f"`{self.options.target}` has no PTX", "take `.assembly`")
        return self._text("ptx")

    @property
    def asm(self) -> str:
        """The program as MLIR text, in the form in which it will run."""
        return self._text("machine")

    @property
    def mlir(self) -> str:
        """The program as MLIR text, as the author wrote it."""
        return self._text("wave")

    @property
    def assembly(self) -> str:
        """The target's instructions."""
        return self._text("ptx" if self.options.target.startswith("sm_") else "assembly")

    @property
    def schedule_text(self) -> str:
        """When the instructions of the loops happen, as a file that `override_schedule` takes; empty without a schedule."""
        return self._text("schedule")

    @property
    def warnings(self):
        """What the compiler had to say besides."""
        from ._errors import Diagnostic

        return [Diagnostic._of(each) for each in self._compiled.warnings] if self._compiled else []

    def fingerprint(self) -> str:
        """Equal for kernels of the same text, free variables, types and bindings."""
        from ._fingerprint import fingerprint

        return fingerprint(self._kernel, self.options)

    def get_trace(self):
        return self._trace

    def __repr__(self) -> str:
        return f"<kernel {self._trace.kernel.name} for {self.options.target}>"


def _zeros(shape, dtype: str, like):
    """Of the caller's own sort: torch's where tensors are passed, otherwise NumPy's."""
    names = {"f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "i1": "bool"}
    name = names.get(dtype, dtype.replace("i", "int"))
    tensor = next((each for each in like if hasattr(each, "data_ptr")), None)
    if tensor is not None:
        import torch

        return torch.zeros(shape, dtype=getattr(torch, name), device=tensor.device)
    import numpy

    return numpy.zeros(shape, dtype=name if name != "bfloat16" else "uint16")


def _write_text(path, text: str) -> None:
    pathlib.Path(path).write_text(text)


def _leave_behind(options: WaveCompileOptions, kernel: WaveKernel, name: str) -> None:
    """The files and texts that options ask for."""
    if options.print_mlir:
        print(kernel.asm)
    if options.print_mlir_file:
        _write_text(options.print_mlir_file, kernel.asm)
    if options.dump_intermediates:
        folder = pathlib.Path(options.dump_intermediates)
        folder.mkdir(parents=True, exist_ok=True)
        _write_text(folder / f"{name}.rocmasm", kernel.assembly)
        _write_text(folder / f"{name}.mlir", kernel.asm)
    if options.dump_binaries:
        folder, kind = pathlib.Path(options.dump_binaries), "ptx" if options.target.startswith("sm_") else "hsaco"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.{kind}").write_bytes(kernel._artefact(kind))
    if options.dump_schedule:
        _write_text(options.dump_schedule, kernel.schedule_text)
    if options.create_vmfb_file:
        _write_text(options.create_vmfb_file, kernel.assembly)


def wave_compile(options: WaveCompileOptions, kernel: LaunchableWave, schedule=None) -> WaveKernel:
    """Compiles a kernel for a target; whoever finds a mistake raises `soliton.CompileError` with its place.

    >>> run = wave_compile(WaveCompileOptions(subs={M: 64, …}), gemm)
    >>> run(a, b, c)
    """
    __tracebackhide__ = True
    place = _places.here()
    if isinstance(options, LaunchableWave):
        raise error("undefined-value", "`wave_compile` takes the options first, then the kernel", "`wave_compile(options, kernel)`")
    made = _made(options, kernel, schedule, place)
    if made._compiled is not None:
        _fill_launch_info(options, kernel, made._compiled)
    _leave_behind(options, made, kernel._name)
    return made


def _made(options: WaveCompileOptions, kernel: LaunchableWave, schedule, place, larger=frozenset(), wide: bool = False) -> WaveKernel:
    """Compiles a kernel; `wide`: with offsets of 64 bits."""
    try:
        options.check(place)
        trace = trace_kernel(kernel, options.subs, bool(options.allow_noncontiguous_runtime_buffers), larger)
        request = _requested(options, trace, schedule, place)
        if wide:
            request["wide_offsets"] = True
        compiled = None
        if not options.compile_to_mlir:
            compiled = _progress.compile_watched(trace.kernel, request, place, options.progress)
            if trace.polled and compiled.device != "emulator":
                names = ", ".join(f"`{name}`" for name in sorted(trace.polled))
                raise error("not-supported-here", f"workgroups that wait for {names} on a GPU: nothing orders stores of several workgroups there", "`run_on=\"emulator\"`", place)
        made = WaveKernel(options, kernel, schedule, trace, request, compiled, place)
        if options.compile_to_mlir:
            made.asm  # noqa: B018 - says what is wrong with the kernel, as compiling does
        return made
    except CompileError as failure:
        raise failure.with_traceback(None) from None
    except (AttributeError, KeyError, TypeError, ValueError) as failure:
        found = _places.of_failure(failure)
        if found is None or os.environ.get("SOLITON_TRACEBACKS"):
            raise
        raise error("undefined-value", f"{failure}", place=found) from None


def _fill_launch_info(options: WaveCompileOptions, kernel: LaunchableWave, compiled) -> None:
    info = options.kernel_launch_info
    if info is not None:
        info.func_name = kernel._name
        info.blocks = list(compiled.threads)


if os.environ.get("SOLITON_TRACEBACKS"):
    # For those who work on this package: errors keep the frames in which they were raised.
    _hidden = CompileError.with_traceback
    CompileError.with_traceback = lambda self, _: self
