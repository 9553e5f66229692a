"""Enumerations and records."""

import enum
from dataclasses import dataclass

from soliton._options import CoalescingType, KernelLaunchInfo


class ShuffleMode(enum.Enum):
    """How lanes exchange values."""

    XOR = 0
    DOWN = 1
    UP = 2
    IDX = 3


class GemmOperationType(enum.Enum):
    """What a loop of a matrix product consists of."""

    GLOBAL_LOAD = "global_load"
    LOCAL_STORE = "local_store"
    LOCAL_LOAD = "local_load"
    MMA = "mma"


class AttentionOperationType(enum.Enum):
    """What a loop of attention consists of."""

    GLOBAL_LOAD_0 = "global_load_0"
    LOCAL_STORE_0 = "local_store_0"
    LOCAL_LOAD_0 = "local_load_0"
    MMA_0 = "mma_0"
    SOFTMAX0 = "softmax0"
    GLOBAL_LOAD_1 = "global_load_1"
    LOCAL_STORE_1 = "local_store_1"
    LOCAL_LOAD_1 = "local_load_1"
    MMA_1 = "mma_1"
    SOFTMAX1 = "softmax1"


class Result:
    """Whether something went well."""


@dataclass
class Success(Result):
    """It did."""

    def __bool__(self) -> bool:
        return True


@dataclass
class Failure(Result):
    """It did not, and why."""

    message: str = ""

    def __bool__(self) -> bool:
        return False


__all__ = ["AttentionOperationType", "CoalescingType", "Failure", "GemmOperationType", "KernelLaunchInfo", "Result", "ShuffleMode", "Success"]
