"""Three agents of four turns: what `reprise record` is to see in docs/live.md.

Each agent asks the server, runs a tool (here: waits), and asks again with the answer and the tool's result
behind what it had asked before. Needs nothing but Python and integrations/agent.

usage: PYTHONPATH=integrations/agent python3 examples/live/agent.py RECORDER_URL MODEL
"""

from __future__ import annotations

import json
import random
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from reprise_agent import Agent

TURNS = 4
WORDS = "read write list open close server client queue batch plan fix bug patch commit error value call test file line".split()


def ask(agent: Agent, model: str, messages: list[dict[str, str]], name: str, after: list[str]) -> str:
    body = {"model": model, "messages": messages, "max_tokens": 20, "temperature": 0.7}
    request = urllib.request.Request(
        agent.base_url + "/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", **agent.headers(name, after)},
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)["choices"][0]["message"]["content"] or ""


def work(url: str, model: str, name: str) -> None:
    agent, rng = Agent(url, session=name), random.Random(name)
    messages = [{"role": "user", "content": f"{name}: " + " ".join(rng.choices(WORDS, k=40))}]
    after: list[str] = []
    for turn in range(TURNS):
        call = f"{name}-{turn}"
        answer = ask(agent, model, messages, call, after)
        if turn == TURNS - 1:
            return
        with agent.tool("test", after=[call]) as run:
            time.sleep(rng.uniform(0.02, 0.2))
            run.result = " ".join(rng.choices(WORDS, k=rng.randrange(5, 20)))
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": run.result}]
        after = [run.id]


def main(url: str, model: str) -> None:
    with ThreadPoolExecutor() as agents:
        for done in [agents.submit(work, url, model, name) for name in ("parser", "scheduler", "cache")]:
            done.result()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
