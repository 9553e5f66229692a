"""The operations of kernels."""

from soliton._ops import *  # noqa: F403
from soliton._ops import __all__ as _names
from soliton._schedule import MMA, GatherToLDS, Read, ScaledMMA, Write, facts_of


def get_custom(node):
    """An instruction of a schedule with what is known about it: `name`, `tag`, `expanded_dims`, `unroll_iteration`."""
    return facts_of(node)[0]


__all__ = [*_names, "GatherToLDS", "MMA", "Read", "ScaledMMA", "Write", "get_custom"]
