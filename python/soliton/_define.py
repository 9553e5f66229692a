"""Kernels as their author defines them: a function, run once on what stands for its parameters."""

from __future__ import annotations

import functools
import inspect

from . import _native, _places, _threads
from ._constraints import HardwareConstraint, SymbolicAlias, WorkgroupConstraint
from ._errors import error
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
    trace.larger = larger
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
