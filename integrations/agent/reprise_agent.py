"""Tell `reprise record` what an agent does: tools, sub-agents, who waits for whom.

Needs nothing but Python's standard library. Marks are small requests to the recorder;
if it cannot be reached, the agent goes on as if nobody recorded it.
"""

from __future__ import annotations

import itertools
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["Agent", "ToolRun"]

_numbers = itertools.count(1)
_numbers_lock = threading.Lock()


def _number() -> int:
    with _numbers_lock:
        return next(_numbers)


@dataclass
class ToolRun:
    """A run of a tool; what is put into `result` is recorded at its end."""

    id: str
    result: Any = None


class Agent:
    """A session of an agent whose calls pass through a recorder.

    `base_url` is the recorder's address without `/v1`; `session` names the conversation,
    `task` what it is part of, if that is more than the session.
    """

    def __init__(self, base_url: str, session: str, task: str | None = None, parent: str | None = None, timeout: float = 5.0) -> None:
        self.base_url = base_url.rstrip("/")
        self.session = session
        self.task = task
        self.parent = parent
        self.timeout = timeout

    def headers(self, call: str | None = None, after: Iterable[str] = ()) -> dict[str, str]:
        """Headers for a call: its name and what it waits for, if they are given."""
        named = {
            "X-Reprise-Session": self.session,
            "X-Reprise-Task": self.task,
            "X-Reprise-Parent": self.parent,
            "X-Reprise-Call": call,
            "X-Reprise-After": ",".join(after),
        }
        return {name: value for name, value in named.items() if value}

    def invocation(self, call: str, after: Iterable[str] = ()) -> None:
        """Announce the call of that name, which says its name in a header."""
        self._mark(mark="invocation", call=call, session=self.session, task=self.task, after=list(after))

    def tool_start(self, name: str, tool: str | None = None, after: Iterable[str] = (), args: Any = None) -> str:
        """A tool run begins; returns its id."""
        tool = tool or f"{self.session}/{name}-{_number()}"
        self._mark(mark="tool_start", tool=tool, name=name, session=self.session, task=self.task, after=list(after), args=args)
        return tool

    def tool_end(self, tool: str, result: Any = None) -> None:
        """The tool run of that id ends."""
        self._mark(mark="tool_end", tool=tool, result=result)

    @contextmanager
    def tool(self, name: str, tool: str | None = None, after: Iterable[str] = (), args: Any = None) -> Iterator[ToolRun]:
        """A tool run that lasts as long as the block."""
        run = ToolRun(self.tool_start(name, tool, after, args))
        try:
            yield run
        finally:
            self.tool_end(run.id, run.result)

    def spawn(self, session: str, after: Iterable[str] = ()) -> Agent:
        """A sub-agent begins, with a session of its own inside the same task."""
        self._mark(mark="spawn", session=session, parent=self.session, after=list(after))
        return Agent(self.base_url, session, self.task, self.session, self.timeout)

    def join(self, *of: str) -> None:
        """The next call of this session waits for these tools, calls and sessions."""
        self._mark(mark="join", session=self.session, of=list(of))

    def _mark(self, **fields: Any) -> None:
        mark = {name: value for name, value in fields.items() if value not in (None, [])}
        request = urllib.request.Request(
            self.base_url + "/reprise/v1/marks",
            data=json.dumps(mark, default=str).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            urllib.request.urlopen(request, timeout=self.timeout).close()
        except urllib.error.HTTPError as refused:
            raise ValueError(f"the recorder refuses a mark: {refused.read().decode(errors='replace')}") from refused
        except OSError:
            return  # nobody records
