"""Kernels as operators of torch, which `torch.compile` and autograd understand.

>>> import soliton.torch
>>> matmul = soliton.torch.custom_op("mine::matmul", run)     # run = wave_compile(…)
>>> c = matmul(a, b)                                          # what the kernel only writes is made and returned
>>> torch.compile(lambda a, b: matmul(a, b).relu())(a, b)

`matmul.register_autograd(backward, setup_context=…)` is torch's own. Launches go to torch's current stream and wait for nothing,
so a CUDA graph captures them.
"""

from __future__ import annotations

import torch

from . import _native
from ._errors import error
from ._kernel import WaveKernel
from ._symbols import to_expr
from ._tensors import _NAMES

__all__ = ["custom_op"]


class _Operator:
    """How the parameters of a kernel become those and the results of an operator."""

    def __init__(self, kernel: WaveKernel):
        self.kernel = kernel
        passes = [each for each in kernel._trace.passes if each[1] != "default"]
        specs = iter(kernel._specs)
        self.parameters = [(name, how, next(specs) if how == "argument" else None) for name, how in passes]
        self.memories = dict(zip((name for name, how, *_ in self.parameters if how == "argument"), _memories(kernel)))
        self.results = [name for name, _, spec in self.parameters if spec and spec[1] and spec[3] and not spec[4]]
        self.mutated = [name for name, _, spec in self.parameters if spec and spec[1] and spec[3] and spec[4]]
        self.taken = [each for each in self.parameters if each[0] not in self.results]

    def schema(self) -> str:
        """As torch writes it: `(Tensor a, Tensor(a1!) b, float scale) -> Tensor`."""
        words = []
        for position, (name, _, spec) in enumerate(self.taken):
            if spec is None:
                words.append(f"SymInt {name}")
            elif not spec[1]:
                words.append(f"{'SymInt' if spec[2].startswith('i') else 'float'} {name}")
            else:
                words.append(f"Tensor(a{position}!) {name}" if name in self.mutated else f"Tensor {name}")
        made = ["Tensor"] * len(self.results)
        return f"({', '.join(words)}) -> {made[0] if len(made) == 1 else '(' + ', '.join(made) + ')'}"

    def _sizes(self, given: dict) -> dict:
        """What the arguments say about the kernel's symbols; symbols of torch stay what they are."""
        sizes: dict = {}
        for name, how, _ in self.taken:
            if how == "symbol":
                sizes[_native.symbol(name)] = given[name]
            elif self.memories.get(name) is not None:
                for dim, extent in zip(self.memories[name].shape, given[name].shape):
                    if dim.kind == "symbol":
                        sizes.setdefault(dim, extent)
        return sizes

    def _extents(self, result: str, given: dict) -> list:
        bound = [(to_expr(symbol), to_expr(value)) for symbol, value in self.kernel._request["subs"]]
        sizes = self._sizes(given)
        extents = []
        for dim in self.memories[result].shape:
            expr = dim
            for _ in range(len(bound) + 1):
                expr = expr._substitute(bound)
            if expr.value is None and expr in sizes:  # as it is: it may be a symbol of torch
                extents.append(sizes[expr])
                continue
            known = [(symbol, to_expr(int(extent))) for symbol, extent in sizes.items()]
            extents.append(int(expr._substitute(known)))
        return extents

    def empty_results(self, args) -> dict:
        """The tensors that a call returns, not yet written."""
        given = {name: value for (name, *_), value in zip(self.taken, args)}
        like = next((each for each in args if isinstance(each, torch.Tensor)), None)
        device = like.device if like is not None else "cpu"
        types = {name: spec[2] for name, _, spec in self.parameters if spec}
        return {name: torch.empty(self._extents(name, given), dtype=_torch_type(types[name]), device=device) for name in self.results}

    def call(self, *args):
        results = self.empty_results(args)
        given = iter(args)
        self.kernel(*(results[name] if name in results else next(given) for name, *_ in self.parameters))
        return self._returned(results)

    def fake(self, *args):
        return self._returned(self.empty_results(args))

    def _returned(self, results: dict):
        made = tuple(results.values())
        return made[0] if len(made) == 1 else made if made else None


def _memories(kernel: WaveKernel) -> list:
    arguments = zip(kernel._trace.passes, kernel._memories())
    return [memory for (_, how), memory in arguments if how == "argument"]


def _torch_type(dtype: str) -> torch.dtype:
    for name, ours in _NAMES.items():
        if ours == dtype and not name.startswith("uint") and hasattr(torch, name):
            return getattr(torch, name)
    raise error("argument-dtype", f"torch has no type for `{dtype}`, so no operator returns it")


def custom_op(name: str, kernel: WaveKernel):
    """An operator `namespace::name` of a compiled kernel. What the kernel writes and does not read becomes its results, of the
    kernel's shapes and types; what it also reads is changed in place.

    >>> scaled = soliton.torch.custom_op("mine::scaled", run)
    >>> y = scaled(x, 0.5)
    """
    if not isinstance(kernel, WaveKernel) or kernel._compiled is None:
        raise error("not-supported-here", f"`custom_op` got `{kernel!r}`, expected a compiled kernel", "`run = wave_compile(options, kernel)`")
    if kernel._trace.logs:
        raise error("not-supported-here", "a kernel with `debug_log` as an operator", "leave the logs out")
    operator = _Operator(kernel)
    schema = operator.schema()
    made = torch.library.custom_op(name, operator.call, mutates_args=operator.mutated, schema=schema)
    made.register_fake(operator.fake)
    return made
