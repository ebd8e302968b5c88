"""Run a function on a module right after its first import.

Importing vLLM's runner from the API process would cost seconds, and wrapping a half-imported
module fails, so nothing is imported here: the hook waits for vLLM's own import.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

Hook = Callable[[ModuleType], None]


class _Loader(importlib.abc.Loader):
    """A module's own loader, with a hook after execution."""

    def __init__(self, inner: Any, hook: Hook) -> None:
        self._inner = inner
        self._hook = hook

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._inner.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        self._hook(module)

    def __getattr__(self, name: str) -> Any:  # get_source, get_filename and the like
        return getattr(self._inner, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the hooked modules by asking all other finders."""

    def __init__(self) -> None:
        self.hooks: dict[str, Hook] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.hooks:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, self.hooks.pop(fullname))
                return spec
        return None


_finder = _Finder()


def on_import(name: str, hook: Hook) -> None:
    """Call ``hook(module)`` once ``name`` is imported; at once if it already is.

    Raises RuntimeError if the module is being imported right now: its classes do not exist yet
    and the hook would never run.
    """
    module = sys.modules.get(name)
    if module is not None:
        if getattr(module.__spec__, "_initializing", False):
            raise RuntimeError(f"reprise: {name} is half imported, the plug-in was loaded too late")
        hook(module)
        return
    _finder.hooks[name] = hook
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
