"""Kernels as plain functions on arrays of the CPU: what a kernel should compute, without a compiler.

    @wave_sim(constraints)
    def gemm(a: tkl.Memory[M, K, ADDRESS_SPACE, tkl.f16], …): …

    gemm(a, b, c)        # arrays of torch or NumPy

Symbols are the extents of the arrays, registers are arrays, and a loop's body runs once, over all of its axis. There are
`tkl.Register`, `tkw.iterate`, `tkw.read`, `tkw.write` and `tkw.mma`, and the operators of arrays.
"""

import functools
import inspect
import itertools
import types

import sympy

from soliton._errors import error
from soliton._types import DataType, IndexMapping, MemoryType

from .. import lang as tkl
from .. import wave as tkw

_NAMES = {"f16": "float16", "f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}


class _Arrays:
    """torch or NumPy, whichever the caller's arrays are of."""

    def __init__(self, arguments):
        if any(hasattr(each, "data_ptr") for each in arguments):
            import torch as library
        else:
            import numpy as library
        self.library = library

    def dtype(self, kind):
        if not isinstance(kind, DataType) or kind.name not in _NAMES:
            raise error("not-supported-here", f"`wave_sim` with elements of `{kind}`", f"one of {', '.join(_NAMES)}")
        return getattr(self.library, _NAMES[kind.name])

    def full(self, shape, number, kind):
        return self.library.full(tuple(map(int, shape)), number, dtype=self.dtype(kind))

    def copy(self, array):
        return array.clone() if hasattr(array, "clone") else array.copy()

    def empty(self, shape, like):
        return self.library.zeros(tuple(shape), dtype=like.dtype)

    def wide(self, array):
        return array.float() if hasattr(array, "float") else array.astype("float32")


class _Standing:
    """What stands for `tkl` or `tkw`: what is defined here, and types and mappings of theirs."""

    def __init__(self, module, own, kept):
        self._module, self._own, self._kept = module, own, kept

    def __getattr__(self, name):
        if name in self._own:
            return self._own[name]
        found = getattr(self._module, name)
        if isinstance(found, (DataType, type)) or name in self._kept:
            return found
        raise error("not-supported-here", f"`{name}` in `wave_sim`", f"there are {', '.join(self._own)}, and operators of arrays")


class _Simulation:
    """One call: the extents of symbols, and what the kernel's words do."""

    def __init__(self, arguments, annotations):
        self.arrays = _Arrays(arguments)
        self.extents, self.shapes = {}, {}
        for array, annotation in zip(arguments, annotations):
            if not isinstance(annotation, MemoryType):
                continue
            self.shapes[id(array)] = annotation.symbolic_shape
            for dim, extent in zip(annotation.symbolic_shape, array.shape):
                if isinstance(dim, sympy.Symbol):
                    self.extents[dim] = int(extent)

    def number(self, expr):
        return int(sympy.sympify(expr).subs(self.extents))

    def _places(self, mapping):
        """For every place of the iterators, the numbers that they stand for."""
        extents = [range(self.number(dim)) for dim in mapping.iteration_shape]
        return (dict(zip(mapping.iters, place)) for place in itertools.product(*extents))

    def _at(self, entries, place):
        return tuple(int(sympy.sympify(each).subs(self.extents).subs(place)) for each in entries)

    def read(self, memory, elements_per_thread=None, mapping=None, **_):
        if mapping is None:
            return self.arrays.copy(memory)
        inputs = [mapping.input_mapping[dim] for dim in self.shapes.get(id(memory), mapping.input_mapping)]
        made = self.arrays.empty([self.number(dim) for dim in mapping.output_mapping], memory)
        for place in self._places(mapping):
            made[self._at(mapping.output_mapping.values(), place)] = memory[self._at(inputs, place)]
        return made

    def write(self, value, memory, elements_per_thread=None, mapping=None, **_):
        if mapping is None:
            memory[:] = value
            return
        outputs = [mapping.output_mapping[dim] for dim in self.shapes.get(id(memory), mapping.output_mapping)]
        for place in self._places(mapping):
            memory[self._at(outputs, place)] = value[self._at(mapping.input_mapping.values(), place)]

    def mma(self, lhs, rhs, acc, mma_type=None, **_):
        return self.arrays.wide(lhs) @ self.arrays.wide(rhs).T + acc

    def iterate(self, axis, init_args=(), **_):
        return lambda body: body(*init_args)

    def register(self):
        simulation = self

        class Register:
            """`Register[M, N, f32](0.0)`, an array of that number."""

            def __class_getitem__(cls, items):
                shape = [simulation.number(each) for each in items[:-1]]
                return lambda number: simulation.arrays.full(shape, number, items[-1])

        return Register

    def standing(self):
        words = {name: getattr(self, name) for name in ("iterate", "read", "write", "mma")}
        words["reduction"] = self.iterate
        return {
            tkl: _Standing(tkl, {"Register": self.register()}, ("sym", "global_symbols")),
            tkw: _Standing(tkw, {**words, "Register": self.register()}, ()),
        }

    def resolved(self, value, standing):
        """What a name of the kernel's text means in this call."""
        if isinstance(value, types.ModuleType):
            return standing.get(value, value)
        if isinstance(value, sympy.Symbol):
            return self.extents.get(value, value)
        if isinstance(value, sympy.Expr):
            made = value.subs(self.extents)
            return int(made) if made.is_Integer else made
        return value if not isinstance(value, IndexMapping) else value.substitute({})


def _with_names(function, change):
    """A copy of the function that sees its globals and what it closes over through `change`."""
    names = {name: change(value) for name, value in function.__globals__.items()}
    cells = None
    if function.__closure__ is not None:
        cells = tuple(types.CellType(change(each.cell_contents)) for each in function.__closure__)
    made = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def wave_sim(constraints=None):
    """Runs a kernel's function on arrays of the CPU; constraints change no result."""

    def decorate(function):
        @functools.wraps(function)
        def simulate(*arguments):
            parameters = inspect.signature(function, eval_str=True).parameters.values()
            simulation = _Simulation(arguments, [each.annotation for each in parameters])
            standing = simulation.standing()
            return _with_names(function, lambda value: simulation.resolved(value, standing))(*arguments)

        return simulate

    return decorate


__all__ = ["wave_sim"]
