"""What the operator switched on, from the environment of the server.

Read where it is needed and never cached across a fork, so that a worker sees what its parent set.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """The switches; all are off by default, and token forcing needs none."""

    routes_dir: Path | None
    """REPRISE_ROUTES_DIR: where route tables are read and kept. Unset: experts are not forced."""

    record_routes: bool
    """REPRISE_RECORD_ROUTES=1: keep the routes of calls that carry ``reprise_record``."""

    pass_log: Path | None
    """REPRISE_PASS_LOG: append one JSON line for every engine pass."""


def read(environment: Mapping[str, str]) -> Settings:
    """Raises ValueError if routes are to be recorded and there is no folder for them."""
    routes_dir = environment.get("REPRISE_ROUTES_DIR")
    pass_log = environment.get("REPRISE_PASS_LOG")
    record = environment.get("REPRISE_RECORD_ROUTES", "") not in ("", "0")
    if record and not routes_dir:
        raise ValueError("reprise: REPRISE_RECORD_ROUTES is set, but REPRISE_ROUTES_DIR is not")
    return Settings(
        routes_dir=Path(routes_dir) if routes_dir else None,
        record_routes=record,
        pass_log=Path(pass_log) if pass_log else None,
    )


def current() -> Settings:
    """The settings of this process."""
    return read(os.environ)
