"""Symbols and expressions, ours and SymPy's, and the border between them.

    sym.M // 2 + 1          an exact integer expression
    to_expr(sympy_expr)     SymPy's, as ours; to_sympy(expr) the other way

SymPy is imported only by those who bring its expressions.
"""

from __future__ import annotations

import numbers
import sys
import threading

from . import _native
from ._native import Expr


class _Symbols:
    """`sym.NAME` is the symbol of that name; the same name is the same symbol everywhere.

    >>> from soliton.lang import sym
    >>> sym.M * 2 + 1
    2*M + 1
    """

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        return _native.symbol(name)


sym = _Symbols()


def index_symbol(name: str) -> Expr:
    """The symbol of that name, which need not be an identifier."""
    return _native.symbol(name)


def is_sympy(value) -> bool:
    """Is it an expression of SymPy? Does not import it."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic)


class _Meanings(threading.local):
    """Symbols that stand for expressions of workgroups while a kernel is traced: `subs = {OFFSET: WORKGROUP_2 * 64}`."""

    pairs: list = []


meanings = _Meanings()


def to_expr(value) -> Expr:
    """A number, an expression of ours or of SymPy, or an address space, as an expression."""
    made = plain_expr(value)
    return made._substitute(meanings.pairs) if meanings.pairs else made


def plain_expr(value) -> Expr:
    """The same, whatever symbols stand for."""
    if type(value) is Expr:
        return value
    if isinstance(value, numbers.Integral):
        return _native.constant(int(value))
    if is_sympy(value):
        from ._sympy import from_sympy

        return from_sympy(value)
    if isinstance(value, float) and value.is_integer():
        return _native.constant(int(value))
    made = getattr(value, "__soliton_expr__", None)
    if made is not None:
        return made()
    raise TypeError(f"expected a number or an expression of symbols, found {type(value).__name__}: {value!r}")


def is_expression(value) -> bool:
    """Would `to_expr` take it?"""
    return (
        type(value) is Expr
        or isinstance(value, numbers.Integral)
        or is_sympy(value)
        or hasattr(value, "__soliton_expr__")
    )


def to_sympy(expr: Expr):
    """The same expression of SymPy."""
    from ._sympy import to_sympy as convert

    return convert(expr)


def ceildiv(a, b):
    """The quotient, rounded up.

    >>> ceildiv(7, 2)
    4
    """
    if isinstance(a, numbers.Integral) and isinstance(b, numbers.Integral):
        return -(-a // b)
    if is_sympy(a) or is_sympy(b):
        import sympy

        return sympy.ceiling(sympy.sympify(a) / sympy.sympify(b))
    return _native.expr_ceildiv(to_expr(a), to_expr(b))


def _fold(pick, native, name, values):
    if len(values) == 1:
        values = tuple(values[0])
    if all(isinstance(value, numbers.Integral) for value in values):
        return pick(values)
    if any(is_sympy(value) for value in values):
        import sympy

        return getattr(sympy, name)(*values)
    result = to_expr(values[0])
    for value in values[1:]:
        result = native(result, to_expr(value))
    return result


_smallest, _largest = min, max


def min(*values):  # noqa: A001 - the language's word
    """The least of numbers and expressions; Python's own `min` needs to know at once which that is."""
    return _fold(_smallest, _native.expr_min, "Min", values)


def max(*values):  # noqa: A001 - the language's word
    """The largest of numbers and expressions."""
    return _fold(_largest, _native.expr_max, "Max", values)


def select(condition, then, otherwise) -> Expr:
    """`then` where the condition holds, otherwise `otherwise`."""
    return _native.expr_select(to_expr(condition), to_expr(then), to_expr(otherwise))


def eq(a, b) -> Expr:
    """The condition that both are equal; `a == b` asks whether they are the same expression."""
    return _native.expr_eq(to_expr(a), to_expr(b))


def ne(a, b) -> Expr:
    """The condition that both differ."""
    return _native.expr_ne(to_expr(a), to_expr(b))


def _subs(self: Expr, *given) -> Expr:
    """Replaces symbols, as SymPy's method does: `e.subs({M: 4})`, `e.subs(M, 4)`."""
    pairs = [given] if len(given) == 2 else list(given[0].items() if hasattr(given[0], "items") else given[0])
    return self._substitute([(to_expr(symbol), to_expr(value)) for symbol, value in pairs])


Expr.subs = _subs
Expr._sympy_ = lambda self: to_sympy(self)
