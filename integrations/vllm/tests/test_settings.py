from __future__ import annotations

from pathlib import Path

import pytest

from reprise_vllm import settings


def test_everything_is_off_by_default() -> None:
    assert settings.read({}) == settings.Settings(None, False, None)


def test_switches_are_read() -> None:
    read = settings.read({"REPRISE_ROUTES_DIR": "r", "REPRISE_RECORD_ROUTES": "1", "REPRISE_PASS_LOG": "p"})
    assert read == settings.Settings(Path("r"), True, Path("p"))


def test_zero_is_off() -> None:
    assert not settings.read({"REPRISE_RECORD_ROUTES": "0"}).record_routes


def test_recording_needs_a_folder() -> None:
    with pytest.raises(ValueError, match="REPRISE_ROUTES_DIR is not"):
        settings.read({"REPRISE_RECORD_ROUTES": "1"})
