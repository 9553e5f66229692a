"""Symbols that mean the same in every kernel. A star import also brings `sympy` and `index_symbol`, as Wave's does."""

import sympy

from soliton import _native
from soliton._sympy import symbol as index_symbol
from soliton._sympy import to_sympy

GLOBAL_ADDRESS_SPACE = GLOBAL_MEMORY = to_sympy(_native.address_space(False))
SHARED_ADDRESS_SPACE = SHARED_MEMORY = to_sympy(_native.address_space(True))
REGISTER_ADDRESS_SPACE = index_symbol("$REGISTER_ADDRESS_SPACE")
WORKGROUP_0, WORKGROUP_1, WORKGROUP_2 = (to_sympy(_native.workgroup_id(dim)) for dim in range(3))
THREAD_0, THREAD_1, THREAD_2 = (index_symbol(f"$T{dim}") for dim in range(3))
DEVICE_DIM_0, DEVICE_DIM_1, DEVICE_DIM_2 = (index_symbol(f"$DD{dim}") for dim in range(3))
LINEAR_INDEX, GPR_NUM = index_symbol("$LINEAR_INDEX"), index_symbol("$GPR_NUM")
MMA_LHS, MMA_RHS, MMA_ACC = (index_symbol(f"$MMA_{name}") for name in ("LHS", "RHS", "ACC"))
MMA_LHS_SCALE, MMA_RHS_SCALE = index_symbol("$MMA_LHS_SCALE"), index_symbol("$MMA_RHS_SCALE")
MMA_SCALE_FP4, INPUT_SELECTOR = index_symbol("$MMA_SCALE_FP4"), index_symbol("$INPUT_SELECTOR")
INITIATION_INTERVAL = index_symbol("$INITIATION_INTERVAL")

READ_SHARED_DELAY, WRITE_SHARED_DELAY = index_symbol("$READ_SHARED_DELAY"), index_symbol("$WRITE_SHARED_DELAY")
READ_GLOBAL_DELAY, WRITE_GLOBAL_DELAY = index_symbol("$READ_GLOBAL_DELAY"), index_symbol("$WRITE_GLOBAL_DELAY")
GLOBAL_TO_SHARED_DELAY, MMA_DELAY = index_symbol("$GLOBAL_TO_SHARED_DELAY"), index_symbol("$MMA_DELAY")
VALU_DELAY, SHUFFLE_DELAY = index_symbol("$VALU_DELAY"), index_symbol("$SHUFFLE_DELAY")
SHARED_MEMORY_UNITS, GLOBAL_MEMORY_UNITS = index_symbol("$SHARED_MEMORY_UNITS"), index_symbol("$GLOBAL_MEMORY_UNITS")
MMA_UNITS, VALU_UNITS, SHUFFLE_UNITS = (index_symbol(f"${name}_UNITS") for name in ("MMA", "VALU", "SHUFFLE"))


def GET_ITER_ARG(index: int) -> sympy.Symbol:
    """In the condition of a loop: what it carries at that position."""
    return index_symbol(f"$GET_ITER_ARG_{index}")


def get_workgroup_symbol(dim: int) -> sympy.Symbol:
    """This workgroup's place along a dimension of the grid."""
    return to_sympy(_native.workgroup_id(dim))
