from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from reprise_vllm import hooks


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_hook_runs_after_the_first_import(folder: Path) -> None:
    (folder / "hooked_late.py").write_text("value = 1\n")
    seen: list[int] = []
    hooks.on_import("hooked_late", lambda module: seen.append(module.value))
    assert seen == []
    importlib.import_module("hooked_late")
    assert seen == [1]
    importlib.import_module("hooked_late")
    assert seen == [1]


def test_a_hook_on_an_imported_module_runs_at_once(folder: Path) -> None:
    (folder / "hooked_early.py").write_text("value = 2\n")
    importlib.import_module("hooked_early")
    seen: list[int] = []
    hooks.on_import("hooked_early", lambda module: seen.append(module.value))
    assert seen == [2]


def test_a_half_imported_module_is_refused(folder: Path) -> None:
    (folder / "hooked_half.py").write_text(
        "from reprise_vllm import hooks\nhooks.on_import('hooked_half', lambda module: None)\n"
    )
    with pytest.raises(RuntimeError, match="half imported"):
        importlib.import_module("hooked_half")


def test_the_module_keeps_its_loaders_gifts(folder: Path) -> None:
    (folder / "hooked_source.py").write_text("value = 3\n")
    hooks.on_import("hooked_source", lambda module: None)
    module: ModuleType = importlib.import_module("hooked_source")
    loader = sys.modules["hooked_source"].__loader__
    assert loader.get_source("hooked_source") == "value = 3\n"  # type: ignore[union-attr]
    assert module.__file__ == str(folder / "hooked_source.py")
