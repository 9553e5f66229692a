"""The kernels that were compiled before, on disk (docs/cache.md).

>>> import soliton.cache
>>> soliton.cache.folder(), len(soliton.cache.entries())
>>> soliton.cache.verify()        # removes what is damaged, and says how much that was
>>> soliton.cache.clear()
"""

from __future__ import annotations

import os

from . import _native


def folder() -> str:
    """Where it is; empty where there is none."""
    return _native.cache_state()["folder"]


def flaw() -> str:
    """Why it is not used; empty where it is."""
    return _native.cache_state()["flaw"]


def entries() -> list[dict]:
    """One dictionary for each kernel, those first that were used last."""
    return _native.cache_entries()


def verify() -> int:
    """Looks at every entry and removes those that are damaged; how many that were."""
    return _native.cache_remove(True)


def clear() -> int:
    """Removes every entry; how many there were."""
    return _native.cache_remove(False)


def disable() -> None:
    """For the rest of this process, and for those that it starts."""
    os.environ["SOLITON_CACHE"] = "off"
