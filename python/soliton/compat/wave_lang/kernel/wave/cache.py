"""Wave's counters of what was compiled before. The cache itself is the compiler's (docs/cache.md)."""

import os
from collections import OrderedDict
from pathlib import Path

WAVE_CACHE_ON = int(os.environ.get("WAVE_CACHE_ON", 1))
CACHE_BASE_DIR = Path(os.environ.get("WAVE_CACHE_DIR", str(Path.home() / ".wave")))
_LIMIT = int(os.environ.get("WAVE_CACHE_LIMIT", 16))


class WaveCacheManager:
    """One hit or one miss for each kernel that is compiled."""

    def __init__(self, base_dir=None):
        self.base_dir = Path(base_dir or CACHE_BASE_DIR)
        self.session_cache = OrderedDict()
        self.cache_hits = self.cache_misses = 0

    def look_up(self, key, made) -> None:
        if key in self.session_cache:
            self.cache_hits += 1
            self.session_cache.move_to_end(key)
            return
        self.cache_misses += 1
        self.session_cache[key] = made
        if len(self.session_cache) > _LIMIT:
            self.session_cache.popitem(last=False)


_manager = None


def is_cache_enabled() -> bool:
    return bool(int(WAVE_CACHE_ON))


def get_cache_manager() -> WaveCacheManager:
    """The current one."""
    global _manager
    if _manager is None:
        _manager = WaveCacheManager()
    return _manager


def reset_cache_manager(base_dir=None) -> None:
    """Starts an empty one."""
    global _manager
    _manager = WaveCacheManager(base_dir)


def clear_caches() -> None:
    reset_cache_manager(get_cache_manager().base_dir)


def count(made) -> None:
    """Notes what `wave_compile` made: the same program under the same bindings is a hit."""
    if is_cache_enabled() and not made.options.compile_to_mlir:
        get_cache_manager().look_up(made.fingerprint(), made)


__all__ = ["CACHE_BASE_DIR", "WAVE_CACHE_ON", "WaveCacheManager", "clear_caches", "get_cache_manager", "is_cache_enabled", "reset_cache_manager"]
