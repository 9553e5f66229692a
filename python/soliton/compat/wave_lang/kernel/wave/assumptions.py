"""Facts that hold at every launch."""

from soliton._constraints import Assumption

__all__ = ["Assumption"]
