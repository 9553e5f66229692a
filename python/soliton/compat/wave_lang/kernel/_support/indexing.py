"""Symbols and index expressions, which are SymPy's."""

from dataclasses import dataclass

import sympy

from soliton._sympy import symbol as index_symbol
from soliton._sympy import xor

IndexExpr = sympy.Expr
IndexSymbol = sympy.Symbol


class _Symbols:
    """`sym.NAME` is the symbol of that name."""

    def __getattr__(self, name: str) -> sympy.Symbol:
        if name.startswith("__"):
            raise AttributeError(name)
        return index_symbol(name)


sym = _Symbols()


@dataclass
class IndexSequence:
    """Where a lane's elements of a dimension begin, how many there are and how far apart."""

    start: object
    size: object = 1
    stride: object = 1

    @staticmethod
    def from_expr(expr, subs=None):
        return IndexSequence(expr)

    def subs(self, values):
        return IndexSequence(*(sympy.sympify(each).subs(values) for each in (self.start, self.size, self.stride)))


__all__ = ["IndexExpr", "IndexSequence", "IndexSymbol", "index_symbol", "sym", "xor"]
