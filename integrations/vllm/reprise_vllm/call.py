"""What one request asks of the plug-in, and the word for what it may not ask.

Values travel in ``vllm_xargs`` (completions, chat, responses, messages) or in
``sampling_params.extra_args`` (the token endpoint); vLLM brings both to the same place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TOKENS = "reprise_tokens"
ROUTES = "reprise_routes"
RECORD = "reprise_record"


class Refusal(ValueError):
    """A request that cannot be honoured exactly; ``key`` is the field at fault."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(f"reprise: {message}")
        self.key = key


@dataclass(frozen=True)
class Call:
    """The demands of one request; at least one is set."""

    tokens: list[int] | None
    """Output ids to force, one for each output position."""

    routes: str | None
    """Name of the route table to force."""

    record: str | None
    """Name under which the routes of this call are kept."""


def parse(extra_args: Mapping[str, Any] | None) -> Call | None:
    """The demands in a request's extra arguments; None if there are none.

    Raises Refusal for unknown ``reprise_`` keys and for values of a wrong type: a misspelt key
    would otherwise run natively and look like a replay.
    """
    mine = {k: v for k, v in (extra_args or {}).items() if k.startswith("reprise_")}
    if not mine:
        return None
    for key in mine:
        if key not in (TOKENS, ROUTES, RECORD):
            raise Refusal(f"unknown key {key}; known are {TOKENS}, {ROUTES}, {RECORD}", key)
    return Call(_token_ids(mine.get(TOKENS)), _name(mine, ROUTES), _name(mine, RECORD))


def _token_ids(value: Any) -> list[int] | None:
    if value is None:
        return None
    # type() and not isinstance(): True is an int to Python, and not a token id.
    if not isinstance(value, list) or not value or not all(type(t) is int for t in value):
        raise Refusal(f"{TOKENS} must be a non-empty list of integers", TOKENS)
    return value


def _name(values: Mapping[str, Any], key: str) -> str | None:
    value = values.get(key)
    if value is not None and not isinstance(value, str):
        raise Refusal(f"{key} must be a name, not {type(value).__name__}", key)
    return value
