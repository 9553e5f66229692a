"""Dimensions that are distributed as others are."""

from soliton._constraints import SymbolicAlias

__all__ = ["SymbolicAlias"]
