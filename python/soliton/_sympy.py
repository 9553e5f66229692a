"""Expressions of SymPy as ours and back; imported only where SymPy is."""

from __future__ import annotations

import functools

import sympy
from sympy.logic.boolalg import BooleanFalse, BooleanTrue

from . import _native


class xor(sympy.Function):
    """The bits in which two numbers differ."""

    @classmethod
    def eval(cls, a, b):
        if a.is_Integer and b.is_Integer:
            return sympy.Integer(int(a) ^ int(b))
        return None


def symbol(name: str) -> sympy.Symbol:
    """The symbol that stands for ours of that name."""
    return sympy.Symbol(name, integer=True, nonnegative=True)


# ---- Ours to SymPy's ---------------------------------------------------------------------------------------------------


def _chain(function, args):
    return functools.reduce(function, args)


_TO = {
    "add": lambda *a: sympy.Add(*a),
    "mul": lambda *a: sympy.Mul(*a),
    "exactDiv": lambda a, b: a / b,
    "floordiv": lambda a, b: sympy.floor(a / b),
    "ceildiv": lambda a, b: sympy.ceiling(a / b),
    "mod": lambda a, b: sympy.Mod(a, b),
    "min": lambda *a: sympy.Min(*a),
    "max": lambda *a: sympy.Max(*a),
    "select": lambda c, t, o: sympy.Piecewise((t, c), (o, True)),
    "lt": lambda a, b: sympy.Lt(a, b),
    "le": lambda a, b: sympy.Le(a, b),
    "eq": lambda a, b: sympy.Eq(a, b),
    "ne": lambda a, b: sympy.Ne(a, b),
    "and": lambda *a: sympy.And(*a),
    "or": lambda *a: sympy.Or(*a),
    "not": lambda a: sympy.Not(a),
    "xor": lambda *a: _chain(xor, a),
    "shl": lambda a, b: a * 2**b,
    "shr": lambda a, b: sympy.floor(a / 2**b),
}


@functools.lru_cache(maxsize=4096)
def to_sympy(expr: _native.Expr):
    """The same expression of SymPy."""
    if expr.kind == "constant":
        return sympy.Integer(expr.value)
    if expr.kind == "symbol":
        return symbol(expr.name)
    return _TO[expr.kind](*[to_sympy(each) for each in expr.args])


# ---- SymPy's to ours ---------------------------------------------------------------------------------------------------


def _product(expr):
    """Rational coefficients and powers below zero are divisors of the whole."""
    numerator, denominator = expr.as_numer_denom()
    if denominator == 1:
        return _fold(_multiply, numerator.args if numerator.is_Mul else (numerator,))
    return _native.expr_exact_div(from_sympy(numerator), from_sympy(denominator))


def _multiply(a, b):
    return a * b


def _fold(function, args):
    return functools.reduce(function, [from_sympy(each) for each in args])


def _rational_sum(expr):
    """A sum of fractions is one fraction, so that rounding it sees all of it."""
    numerator, denominator = sympy.fraction(sympy.together(expr))
    return from_sympy(numerator), from_sympy(denominator)


def _floor(expr):
    return _native.expr_floordiv(*_rational_sum(expr.args[0]))


def _ceiling(expr):
    return _native.expr_ceildiv(*_rational_sum(expr.args[0]))


def _sum(expr):
    numerator, denominator = sympy.fraction(sympy.together(expr))
    if denominator != 1:
        return _native.expr_exact_div(from_sympy(sympy.expand(numerator)), from_sympy(denominator))
    return _fold(lambda a, b: a + b, expr.args)


def _piecewise(expr):
    result = None
    for value, condition in reversed(expr.args):
        if condition in (True, sympy.true):
            result = from_sympy(value)
        else:
            result = _native.expr_select(from_sympy(condition), from_sympy(value), 0 if result is None else result)
    return result


def _power(expr):
    base, exponent = expr.args
    if exponent.is_Integer and int(exponent) >= 0:
        return from_sympy(base) ** int(exponent)
    if exponent.is_Integer:
        return _native.expr_exact_div(_native.constant(1), from_sympy(base) ** -int(exponent))
    raise TypeError(f"`{expr}` has a power that is no number: only literal powers are exact integers")


def _mod(expr):
    a, b = expr.args
    return _native.expr_mod(from_sympy(a), from_sympy(b))


_FROM = [
    (sympy.Add, _sum),
    (sympy.Mul, _product),
    (sympy.Pow, _power),
    (sympy.floor, _floor),
    (sympy.ceiling, _ceiling),
    (sympy.Mod, _mod),
    (sympy.Min, lambda e: _fold(_native.expr_min, e.args)),
    (sympy.Max, lambda e: _fold(_native.expr_max, e.args)),
    (sympy.Piecewise, _piecewise),
    (sympy.StrictLessThan, lambda e: _native.expr_lt(from_sympy(e.args[0]), from_sympy(e.args[1]))),
    (sympy.LessThan, lambda e: _native.expr_le(from_sympy(e.args[0]), from_sympy(e.args[1]))),
    (sympy.StrictGreaterThan, lambda e: _native.expr_lt(from_sympy(e.args[1]), from_sympy(e.args[0]))),
    (sympy.GreaterThan, lambda e: _native.expr_le(from_sympy(e.args[1]), from_sympy(e.args[0]))),
    (sympy.Equality, lambda e: _native.expr_eq(from_sympy(e.args[0]), from_sympy(e.args[1]))),
    (sympy.Unequality, lambda e: _native.expr_ne(from_sympy(e.args[0]), from_sympy(e.args[1]))),
    (sympy.And, lambda e: _fold(_native.expr_and, e.args)),
    (sympy.Or, lambda e: _fold(_native.expr_or, e.args)),
    (sympy.Not, lambda e: _native.expr_not(from_sympy(e.args[0]))),
    (xor, lambda e: _fold(_native.expr_xor, e.args)),
]


@functools.lru_cache(maxsize=4096)
def from_sympy(expr) -> _native.Expr:
    """The same expression of ours; TypeError for what is no exact integer expression."""
    if isinstance(expr, _native.Expr):
        return expr
    if isinstance(expr, (BooleanTrue, BooleanFalse)):
        return _native.constant(int(bool(expr)))
    if expr.is_Symbol:
        # There is one device, the first.
        return _native.constant(0) if expr.name in ("$DD0", "$DD1", "$DD2") else _native.symbol(expr.name)
    if expr.is_Integer:
        return _native.constant(int(expr))
    if expr.is_Float and float(expr).is_integer():
        return _native.constant(int(expr))
    if expr.is_Rational:
        return _native.expr_exact_div(_native.constant(int(expr.p)), _native.constant(int(expr.q)))
    for kind, convert in _FROM:
        if isinstance(expr, kind):
            return convert(expr)
    raise TypeError(f"`{expr}` ({type(expr).__name__}) is no exact integer expression")
