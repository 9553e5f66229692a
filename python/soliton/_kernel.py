"""Kernels as their author defines, compiles and calls them.

    @tkw.wave(constraints)
    def copy(a: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16], b: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16]):
        tkw.write(tkw.read(a), b)

    run = wave_compile(WaveCompileOptions(subs={M: 64, N: 64, …}), copy)
    run(x, y)
"""

from __future__ import annotations

import functools
import inspect
import os
import pathlib

from . import _native, _places, _progress, _tensors, _threads
from ._constraints import HardwareConstraint, SymbolicAlias, WorkgroupConstraint
from ._errors import CompileError, error
from ._options import ALGORITHMS, SchedulingType, WaveCompileOptions
from ._symbols import is_sympy, to_expr
from ._trace import Handle, LoopsOverDimensions, PolledBetweenWorkgroups, Trace, Value
from ._types import AddressSpace, DataType, MemoryLayout, MemoryType, SymbolBindType, dtype_name


class LaunchableWave:
    """A kernel that is defined and not compiled yet."""

    def __init__(self, constraints, function):
        functools.update_wrapper(self, function)
        self.constraints = list(constraints)
        self._f = function
        self._name = function.__name__
        self.place = _places.of_function(function)
        self._places: dict | None = None

    def place_of(self, parameter: str):
        """Where the text declares a parameter."""
        if self._places is None:
            self._places = _places.of_parameters(self._f)
        return self._places.get(parameter, self.place)

    def __call__(self, *_, **__):
        raise error(
            "not-supported-here",
            f"`{self._name}` is not compiled yet, so it cannot be called",
            f"`run = wave_compile(WaveCompileOptions(subs=…), {self._name})`, then `run(…)`",
        )

    def __repr__(self) -> str:
        return f"<kernel {self._name}>"


def wave(constraints=None):
    """Makes a kernel of a function; its annotations say what it takes.

    >>> @tkw.wave(constraints)
    ... def gemm(a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16], …): …
    """
    if callable(constraints):
        raise error("constraint-missing", "`@tkw.wave` needs the list of constraints", "`@tkw.wave(constraints)`")
    return lambda function: LaunchableWave(constraints or [], function)


def wave_trace_only(constraints=None):
    """A function that traces the kernel and returns the builder's text of it; for those who look at traces."""

    def decorate(function):
        kernel = LaunchableWave(constraints or [], function)
        return lambda: trace_kernel(kernel, {}).kernel

    return decorate


# ---- Tracing -----------------------------------------------------------------------------------------------------------------


def _signature(kernel: LaunchableWave):
    try:
        return inspect.signature(kernel._f, eval_str=True)
    except NameError:
        # Annotations that are text (`from __future__ import annotations`) may name what the function closes over.
        closed = inspect.getclosurevars(kernel._f).nonlocals
        try:
            return inspect.signature(kernel._f, locals=dict(closed), eval_str=True)
        except NameError as missing:
            raise error(
                "undefined-value",
                f"an annotation of `{kernel._name}` names `{missing.name}`, which is not known where the kernel is",
                "leave `from __future__ import annotations` out of files with kernels",
                kernel.place,
            ) from None


def _uses_sympy(kernel: LaunchableWave, parameters) -> bool:
    if any(each.uses_sympy() for each in kernel.constraints):
        return True
    shapes = [each.annotation.symbolic_shape for each in parameters if isinstance(each.annotation, MemoryType)]
    return any(is_sympy(dim) for shape in shapes for dim in shape)


def _space(trace: Trace, said):
    """Where a memory lies; programs also bind the symbol for it to a number, `AddressSpace.GLOBAL_MEMORY.value`."""
    number = None if isinstance(said, AddressSpace) else trace.known(said)
    if number is not None and number not in (each.value for each in AddressSpace):
        raise error("address-space-unknown", f"`{said}` is {number}, expected a value of `AddressSpace`", "`GLOBAL_ADDRESS_SPACE`")
    return to_expr(said if number is None else AddressSpace(number))


def _memory(trace: Trace, kernel: LaunchableWave, name: str, annotation: MemoryType) -> Handle:
    """A tensor parameter. Extents that a `MemoryLayout` gives are dimensions of their own, and `None` is the caller's."""
    space, dims = _space(trace, annotation.address_space), trace.dims(annotation.symbolic_shape)
    place, kind = kernel.place_of(name), dtype_name(annotation.dtype)
    shape, layout = list(dims), annotation.physical_layout
    if any(each == name for each, _ in trace.larger):
        given = list(dims) if layout is None else layout.shape
        layout = MemoryLayout([None if (name, position) in trace.larger else each for position, each in enumerate(given)])
    if layout is not None:
        if len(layout.shape) != len(dims):
            raise error("memory-rank", f"the `MemoryLayout` of `{name}` has {len(layout.shape)} extents, expected {len(dims)}", place=place)
        shape = [trace.extent(name, position, dim, extent) for position, (dim, extent) in enumerate(zip(dims, layout.shape))]
    strides = [trace.stride(name, position) for position in range(len(shape))] if trace.strided and annotation.dtype.bitwidth() >= 8 else []
    handle = trace.kernel.memory(name, shape, space, kind, strides, place)
    return Handle(handle, annotation, dims)


def _parameter(trace: Trace, kernel: LaunchableWave, parameter):
    """What stands for a parameter in the body, and how the call passes it."""
    name, annotation = parameter.name, parameter.annotation
    if isinstance(annotation, MemoryType):
        return _memory(trace, kernel, name, annotation), "argument"
    if isinstance(annotation, SymbolBindType):
        symbol = _native.symbol(name)
        trace.bound.append(symbol)
        return _BoundSymbol(symbol, annotation.dtype), "symbol"
    if isinstance(annotation, DataType):
        return Value(trace.kernel.scalar(name, dtype_name(annotation), kernel.place_of(name))), "argument"
    if parameter.default is not inspect.Parameter.empty:
        return parameter.default, "default"
    raise error(
        "undefined-value",
        f"the parameter `{name}` of `{kernel._name}` has the annotation `{annotation}`, expected a `Memory`, an element type or a `SymbolBind`"
        if annotation is not inspect.Parameter.empty
        else f"the parameter `{name}` of `{kernel._name}` has no annotation",
        f"`{name}: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16]`",
        kernel.place_of(name),
    )


class _BoundSymbol(Value):
    """A `SymbolBind`: where the body uses it as a value, the number of its symbol."""

    __slots__ = ("_dtype", "_made")

    def __init__(self, symbol, dtype):
        self.symbol = symbol
        self._dtype = dtype
        self._made = None
        self.scalar = self.without = self.read_at = None

    @property
    def handle(self):
        from ._ops.registers import scalar

        return scalar(self.symbol, self._dtype).handle


def _single_places(trace: Trace, kernel: LaunchableWave) -> list:
    """A dimension whose vector shape is 0 and that nothing distributes: a workgroup has one place of it, the first."""
    distributed = {trace.dim(each.dim) for each in kernel.constraints if each.distributes}
    distributed |= {trace.dim(each.source) for each in kernel.constraints if isinstance(each, SymbolicAlias)}
    shapes = [each.vector_shapes or {} for each in kernel.constraints if isinstance(each, HardwareConstraint)]
    made = []
    for dim in (dim for shape in shapes for dim, size in shape.items() if trace.known(size) == 0):
        if trace.dim(dim) not in distributed:
            made.append(WorkgroupConstraint(dim, 1, 0, apply_fn=lambda _: 0, primary=False, iters=1))
            made[-1].place = kernel.place
    return made


def trace_kernel(kernel: LaunchableWave, subs: dict, strided: bool = False, larger=frozenset()) -> Trace:
    """Runs the function once on what stands for its parameters; `strided`: these may lie in any way; `larger`: extents of
    parameters, by name and position, that are the caller's."""
    parameters = list(_signature(kernel).parameters.values())
    for each in kernel.constraints:
        if not hasattr(each, "_lower"):
            raise error("constraint-dim", f"the constraints of `{kernel._name}` hold `{each!r}`, which is none", place=kernel.place)
    axes: list = []
    polled: frozenset = frozenset()
    while True:
        try:
            return _traced(kernel, parameters, Trace(subs, _uses_sympy(kernel, parameters), kernel.constraints, strided, axes, polled), larger)
        except LoopsOverDimensions as found:
            axes.append(found.axis)
        except PolledBetweenWorkgroups as found:
            polled = polled | found.names


def _traced(kernel: LaunchableWave, parameters, trace: Trace, larger) -> Trace:
    trace.bound, trace.passes, trace.arguments, trace.larger = [], [], [], larger
    with trace:
        trace.constraints += _single_places(trace, kernel)
        lowered = [made for each in trace.constraints if (made := each._lower(trace)) is not None]
        trace.kernel = _native.Kernel(kernel._name, lowered, kernel.place)
        arguments = []
        for each in parameters:
            made, how = _parameter(trace, kernel, each)
            arguments.append(made)
            trace.arguments.append(made)
            trace.passes.append((each.name, how))
        kernel._f(*arguments)
        _threads.check(trace)
    if waited_for := {name for name in trace.volatile if name in trace.read and trace.changes.get(name)} - trace.polled:
        raise PolledBetweenWorkgroups(waited_for)
    return trace


# ---- Compiling ---------------------------------------------------------------------------------------------------------------


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
        "allow_spills": True,
    }
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
