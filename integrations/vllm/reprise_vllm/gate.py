"""The signature gate: refuse to arm on a vLLM whose private parts look different.

The hooks stand on private methods that may change with any release. A renamed parameter must
stop the server at start, not corrupt a replay later.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class UnsupportedServer(RuntimeError):
    """This vLLM, model or setting cannot be replayed on; the message says what is in the way."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"reprise: {reason}")


def require_parameters(function: Callable[..., Any], *names: str) -> None:
    """Refuse unless ``function`` takes parameters of these names."""
    have = list(inspect.signature(function).parameters)
    missing = [name for name in names if name not in have]
    if missing:
        where = getattr(function, "__qualname__", repr(function))
        raise UnsupportedServer(
            f"{where} has no parameter {', '.join(missing)} (it has {', '.join(have)}); "
            "this version of vLLM is not supported"
        )


def require_attributes(thing: object, *names: str) -> None:
    """Refuse unless ``thing`` has attributes of these names."""
    missing = [name for name in names if not hasattr(thing, name)]
    if missing:
        raise UnsupportedServer(
            f"{type(thing).__name__} has no {', '.join(missing)}; this version of vLLM is not supported"
        )
