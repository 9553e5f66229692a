"""Symbols that mean the same in every kernel: address spaces, and the places of workgroups.

>>> from soliton.lang.global_symbols import GLOBAL_ADDRESS_SPACE, SHARED_ADDRESS_SPACE, WORKGROUP_0
"""

from .. import _native
from .._symbols import index_symbol

GLOBAL_ADDRESS_SPACE = GLOBAL_MEMORY = _native.address_space(False)
SHARED_ADDRESS_SPACE = SHARED_MEMORY = _native.address_space(True)
WORKGROUP_0, WORKGROUP_1, WORKGROUP_2 = (_native.workgroup_id(dim) for dim in range(3))
THREAD_0, THREAD_1, THREAD_2 = (index_symbol(f"$T{dim}") for dim in range(3))
# There is one device, the first.
DEVICE_DIM_0 = DEVICE_DIM_1 = DEVICE_DIM_2 = _native.constant(0)
LINEAR_INDEX = index_symbol("$LINEAR_INDEX")


def GET_ITER_ARG(index: int):
    """In the condition of a loop: what it carries at that position."""
    return index_symbol(f"$GET_ITER_ARG_{index}")


def get_workgroup_symbol(dim: int):
    """This workgroup's place along a dimension of the grid."""
    return _native.workgroup_id(dim)


_DELAYS = "READ_SHARED WRITE_SHARED READ_GLOBAL WRITE_GLOBAL GLOBAL_TO_SHARED MMA VALU SHUFFLE"
_UNITS = "SHARED_MEMORY GLOBAL_MEMORY MMA VALU SHUFFLE"
globals().update({f"{name}_DELAY": index_symbol(f"${name}_DELAY") for name in _DELAYS.split()})
globals().update({f"{name}_UNITS": index_symbol(f"${name}_UNITS") for name in _UNITS.split()})
