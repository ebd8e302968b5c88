from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

from reprise_vllm import passlog


def request(prompt: int, computed: int) -> SimpleNamespace:
    return SimpleNamespace(num_prompt_tokens=prompt, num_computed_tokens=computed)


class Scheduler:
    """After a schedule() of: a first chunk, a last chunk of one token, a decode, a recomputed output."""

    requests = {"first": request(100, 64), "last": request(65, 65), "decode": request(10, 15), "again": request(8, 12)}
    kv_cache_manager = SimpleNamespace(usage=0.25)
    news = {"first": 64, "last": 1, "decode": 1, "again": 12}

    def get_request_counts(self) -> tuple[int, int]:
        return 4, 2

    def schedule(self) -> SimpleNamespace:
        return SimpleNamespace(
            num_scheduled_tokens=self.news, total_num_scheduled_tokens=sum(self.news.values()), preempted_req_ids={"x"}
        )


def test_a_pass_says_who_prefills_and_who_decodes() -> None:
    class Fresh(Scheduler):
        pass

    passlog.install(Fresh)
    facts = passlog.facts_of(Fresh().schedule())
    assert facts is not None
    assert facts["prefill"] == [(64, 0), (1, 64), (12, 0)]
    assert (facts["decode_reqs"], facts["decode_ctx_sum"], facts["tokens"]) == (1, 15, 78)
    assert (facts["running"], facts["waiting"], facts["preempted"], facts["kv_usage"]) == (4, 2, 1, 0.25)
    assert facts["t_sched_ns"] <= facts["t_sched_end_ns"]


def test_steps_count_passes_with_work() -> None:
    class Idle(Scheduler):
        news: dict[str, int] = {}

    class Fresh(Scheduler):
        pass

    passlog.install(Idle)
    assert passlog.facts_of(Idle().schedule()) is None
    passlog.install(Fresh)
    scheduler = Fresh()
    steps = [passlog.facts_of(scheduler.schedule()) for _ in range(3)]
    assert [facts["step"] for facts in steps if facts] == [0, 1, 2]


def test_lines_are_on_disk_after_a_flush(tmp_path: Path) -> None:
    log = passlog.PassLog(tmp_path / "passes.jsonl")
    log.write({"step": 0, "t_end_ns": 0})
    log.flush()
    log.write({"step": 1, "t_end_ns": 0})
    log.flush()
    lines = (tmp_path / "passes.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [0, 1]
