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

from . import _native, _places, _tensors
from ._errors import CompileError, error
from ._options import ALGORITHMS, SchedulingType, WaveCompileOptions
from ._symbols import is_sympy, to_expr
from ._trace import Handle, Trace, Value
from ._types import DataType, MemoryType, SymbolBindType, dtype_name


class LaunchableWave:
    """A kernel that is defined and not compiled yet."""

    def __init__(self, constraints, function):
        functools.update_wrapper(self, function)
        self.constraints = list(constraints)
        self._f = function
        self._name = function.__name__
        self.place = _places.of_function(function)

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


def _parameter(trace: Trace, kernel: LaunchableWave, parameter):
    """What stands for a parameter in the body, and how the call passes it."""
    name, annotation = parameter.name, parameter.annotation
    if isinstance(annotation, MemoryType):
        if annotation.physical_layout is not None:
            raise error(
                "not-supported-here", f"the `MemoryLayout` of `{name}`", "pass a tensor that lies densely", kernel.place
            )
        space, dims = to_expr(annotation.address_space), trace.dims(annotation.symbolic_shape)
        handle = trace.kernel.memory(name, dims, space, dtype_name(annotation.dtype), kernel.place)
        return Handle(handle, annotation), "argument"
    if isinstance(annotation, SymbolBindType):
        symbol = _native.symbol(name)
        trace.bound.append(symbol)
        return _BoundSymbol(symbol, annotation.dtype), "symbol"
    if isinstance(annotation, DataType):
        return Value(trace.kernel.scalar(name, dtype_name(annotation), kernel.place)), "argument"
    if parameter.default is not inspect.Parameter.empty:
        return parameter.default, "default"
    raise error(
        "undefined-value",
        f"the parameter `{name}` of `{kernel._name}` has the annotation `{annotation}`, expected a `Memory`, an element type or a `SymbolBind`"
        if annotation is not inspect.Parameter.empty
        else f"the parameter `{name}` of `{kernel._name}` has no annotation",
        f"`{name}: tkl.Memory[M, N, GLOBAL_ADDRESS_SPACE, tkl.f16]`",
        kernel.place,
    )


class _BoundSymbol(Value):
    """A `SymbolBind`: where the body uses it as a value, the number of its symbol."""

    __slots__ = ("_dtype", "_made")

    def __init__(self, symbol, dtype):
        self.symbol = symbol
        self._dtype = dtype
        self._made = None

    @property
    def handle(self):
        from ._ops import scalar

        return scalar(self.symbol, self._dtype).handle


def trace_kernel(kernel: LaunchableWave, subs: dict) -> Trace:
    """Runs the function once on what stands for its parameters."""
    parameters = list(_signature(kernel).parameters.values())
    for each in kernel.constraints:
        if not hasattr(each, "_lower"):
            raise error("constraint-dim", f"the constraints of `{kernel._name}` hold `{each!r}`, which is none", place=kernel.place)
    trace = Trace(subs, _uses_sympy(kernel, parameters))
    trace.bound, trace.passes, trace.arguments = [], [], []
    with trace:
        lowered = [each._lower(trace) for each in kernel.constraints]
        trace.kernel = _native.Kernel(kernel._name, lowered, kernel.place)
        arguments = []
        for each in parameters:
            made, how = _parameter(trace, kernel, each)
            arguments.append(made)
            trace.arguments.append(made)
            trace.passes.append((each.name, how))
        kernel._f(*arguments)
    return trace


# ---- Compiling ---------------------------------------------------------------------------------------------------------------


def _substitutions(trace: Trace, options: WaveCompileOptions) -> list:
    """`subs`, and what dimensions that are no symbols come to."""
    bound = {}
    for symbol, value in options.subs.items():
        key, made = to_expr(symbol), to_expr(value)
        if key != made and key.kind == "symbol":
            bound[key] = made
    for label, _, sizes, *_ in trace.logs:
        bound.update(sizes)
    bound.update(trace.aliases)
    return list(bound.items())


def _requested(options: WaveCompileOptions, trace: Trace, schedule, place) -> dict:
    dynamic = [to_expr(each) for each in options.dynamic_symbols]
    dynamic += [each for each in trace.bound if each not in dynamic]
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
        request["schedule_function"] = schedule.run
    elif kind in ALGORITHMS:
        request["schedule"] = ALGORITHMS[kind]
    else:
        raise error("not-supported-here", f"the schedule `{getattr(kind, 'name', kind)}`", f"one of {', '.join(each.name for each in ALGORITHMS)}", place)
    return request


class WaveKernel:
    """A compiled kernel; call it with arrays and numbers in the order of its parameters. Outputs are written in place."""

    def __init__(self, options, kernel, trace, request, compiled, place):
        self.options = options
        self._kernel = kernel
        self._trace = trace
        self._request = request
        self._compiled = compiled
        self._place = place
        self._texts: dict[str, str] = {}
        self._specs = compiled.arguments() if compiled else []

    def __call__(self, *args, debug_logs: dict | None = None):
        if self._compiled is None:
            raise error("not-supported-here", "a kernel that was compiled with `compile_to_mlir` cannot be called")
        given, sizes = self._split(args)
        logs = self._log_arrays(given)
        arguments, owners = [], []
        for value, spec in zip([*given, *(array for _, array in logs)], self._specs):
            argument, owner = _tensors.argument(value, spec, self.options.match_width_only)
            arguments.append(argument)
            owners.append(owner)
        self._compiled.launch(arguments, sizes, _stream_of(owners))
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

    def _text(self, kind: str) -> str:
        if kind not in self._texts:
            image = "emulator" if kind in ("wave", "machine") else "ptx" if self.options.target.startswith("sm_") else "hsaco"
            request = {**self._request, "keep": [kind], "device": "", "cache": False}
            made = _native.compile_texts(self._trace.kernel, request, image, self._place)
            self._texts[kind] = made[kind].decode()
        return self._texts[kind]

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


def _stream_of(owners) -> int:
    """torch's current stream, where tensors lie on a GPU."""
    for array in owners:
        if array is not None and array.memory != "host":
            import torch

            return torch.cuda.current_stream(array.device).cuda_stream
    return 0


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
    try:
        options.check(place)
        trace = trace_kernel(kernel, options.subs)
        request = _requested(options, trace, schedule, place)
        compiled = None
        if not options.compile_to_mlir:
            compiled = _native.compile(trace.kernel, request, place)
        made = WaveKernel(options, kernel, trace, request, compiled, place)
        if options.compile_to_mlir:
            made.asm  # noqa: B018 - says what is wrong with the kernel, as compiling does
    except CompileError as failure:
        raise failure.with_traceback(None) from None
    if compiled is not None:
        _fill_launch_info(options, kernel, compiled)
    _leave_behind(options, made, kernel._name)
    return made


def _fill_launch_info(options: WaveCompileOptions, kernel: LaunchableWave, compiled) -> None:
    info = options.kernel_launch_info
    if info is not None:
        info.func_name = kernel._name
        info.blocks = list(compiled.threads)


if os.environ.get("SOLITON_TRACEBACKS"):
    # For those who work on this package: errors keep the frames in which they were raised.
    _hidden = CompileError.with_traceback
    CompileError.with_traceback = lambda self, _: self
