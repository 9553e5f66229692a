"""Programs of Wave as they are: `wave_lang.…` and `iree.turbine.kernel.…` are found here.

    python -m soliton.compat program.py arguments…
    python -m soliton.compat -m pytest tests

or, in a program of one's own, before anything of Wave is imported:

>>> import soliton.compat; soliton.compat.install()
>>> import wave_lang.kernel.lang as tkl

Symbols are SymPy's there. `WAVE_DEFAULT_ARCH` (or `SOLITON_TARGET`) chooses the chip, and where there is no GPU kernels
run on its emulator, "cuda" being the CPU. What is not supported is refused by name.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import types

_HERE = "soliton.compat.wave_lang"
_NAMES = {"wave_lang": _HERE, "iree.turbine.kernel": f"{_HERE}.kernel", "iree.turbine.support": f"{_HERE}.support"}


def _ours(name: str) -> str | None:
    """The module of ours that goes by this name."""
    for prefix, module in _NAMES.items():
        if name == prefix or name.startswith(prefix + "."):
            return module + name[len(prefix) :]
    return None


def _share_names() -> None:
    """What is imported already goes by its other names, too: to import it once more would replace attributes of packages
    (`tkw.wave`, a decorator, by the module of that name)."""
    for prefix, module in _NAMES.items():
        for name in [each for each in sys.modules if each == module or each.startswith(module + ".")]:
            sys.modules.setdefault(prefix + name[len(module) :], sys.modules[name])


class _Loader:
    """Gives the module of ours under the other name, too: there is one of each."""

    def __init__(self, target: str):
        self.target = target

    def create_module(self, spec):
        self.kept = importlib.import_module(self.target)
        self.spec = self.kept.__spec__
        return self.kept

    def exec_module(self, module):
        module.__spec__ = self.spec
        _share_names()


class _Finder:
    """Stands in front of what is installed: who asked for us means us."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        ours = _ours(name)
        if ours is None:
            return None
        found = importlib.util.find_spec(ours)
        if found is None:
            raise ModuleNotFoundError(f"`{name}` is no module of Soliton's; docs/python.md lists those there are", name=name)
        is_package = found.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(name, _Loader(ours), is_package=is_package)


def _make_parents() -> None:
    """`iree` and `iree.turbine`, where they are not installed."""
    for name in ("iree", "iree.turbine"):
        if name in sys.modules:
            continue
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            module = types.ModuleType(name)
            module.__path__ = []
            sys.modules[name] = module
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)


def install() -> None:
    """From here on imports of Wave find Soliton. May be called twice."""
    if not any(each is _Finder for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder)
        _make_parents()


def uninstall() -> None:
    """Takes it back; modules that were imported stay with those who have them."""
    sys.meta_path[:] = [each for each in sys.meta_path if each is not _Finder]
    for name in [each for each in sys.modules if _ours(each)]:
        del sys.modules[name]
