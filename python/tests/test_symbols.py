"""Symbols and expressions: Python's operators, and SymPy's expressions both ways."""

import itertools
import math
import random

import pytest
import sympy

import soliton
import soliton.lang as tkl
from soliton._sympy import from_sympy, to_sympy

M, N = tkl.sym.M, tkl.sym.N
SM, SN = sympy.symbols("M N", integer=True, nonnegative=True)


def test_equal_names_are_equal_symbols_and_keys():
    assert tkl.sym.M == M and {M: 1}[tkl.sym.M] == 1 and M != N
    assert f"{M}_{N + 1}" == "M_N + 1"


def test_operators_build_expressions():
    e = (2 * M + N // 3) % 7 - (M**2) / 1
    assert int(e.subs({M: 5, N: 10})) == (10 + 3) % 7 - 25
    assert int((-M // 2).subs(M, 5)) == -3
    assert math.ceil(M / 2).subs(M, 5) == 3 and math.floor(M / 2).subs(M, 5) == 2


def test_words_of_the_package():
    assert soliton.ceildiv(7, 2) == 4 and int(soliton.ceildiv(M, 2).subs(M, 7)) == 4
    assert soliton.min(3, 4) == 3 and int(soliton.max(M, 4).subs(M, 2)) == 4
    assert int(soliton.select(M < 3, 10, 20).subs(M, 2)) == 10


def test_conditions_combine():
    e = (M < 3) & ~(N >= 2) | (M > 8)
    for m, n in itertools.product(range(10), range(4)):
        assert bool(e.subs({M: m, N: n})) == ((m < 3 and not n >= 2) or m > 8)


SYMPY = [
    2 * SM + SN,
    SM // 3 + SN % 5,
    sympy.floor(SM / 2 + SN / 3),
    sympy.ceiling(SM * SN / 4),
    sympy.Min(SM, SN, 7) + sympy.Max(SM - SN, 0),
    sympy.Piecewise((SM, SM < SN), (SN * 2, SN > 3), (5, True)),
    (SM + 1) ** 2 - SM * SN,
    sympy.Mod(SM - SN, 4),
    sympy.floor((SM + 2 * SN) / 4) * 4 + 3,
]


@pytest.mark.parametrize("expr", SYMPY, ids=str)
def test_sympys_expressions_mean_the_same_as_ours(expr):
    ours = from_sympy(expr)
    back = to_sympy(ours)
    choose = random.Random(1)
    for _ in range(50):
        m, n = choose.randrange(0, 40), choose.randrange(0, 40)
        wanted = int(expr.subs({SM: m, SN: n}))
        assert int(ours.subs({M: m, N: n})) == wanted
        assert int(back.subs({SM: m, SN: n})) == wanted


RELATIONS = [SM < SN, SM <= SN, SM > SN, SM >= SN, sympy.Eq(SM, SN), sympy.Ne(SM, SN), sympy.And(SM < 5, SN > 2), sympy.Or(SM > 5, ~(SN > 2))]


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_sympys_relations_mean_the_same_as_ours(relation):
    ours = from_sympy(relation)
    for m, n in itertools.product(range(8), range(8)):
        assert bool(ours.subs({M: m, N: n})) == bool(relation.subs({SM: m, SN: n}))


def test_ours_mix_with_sympys():
    assert M + SN == SM + SN and SM * N == SM * SN
    assert sympy.ceiling(M / 2) == sympy.ceiling(SM / 2)


def test_what_is_no_integer_is_refused():
    with pytest.raises(TypeError, match="no exact integer expression"):
        from_sympy(sympy.sin(SM))
