from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stubs import Invalid, processor_class, routes, sampling

from reprise_vllm import admission

PROMPT = [1, 2, 3, 4, 5]


def submit(extra: dict[str, Any] | None, server: dict[str, Any] | None = None, **params: Any) -> Any:
    kind = processor_class(**(server or {}))
    admission.install(kind, Invalid)
    return kind().process_inputs("r", PROMPT, sampling(extra_args=extra, **params), ())


def test_a_forced_call_obeys_the_recorded_end() -> None:
    params = submit({"reprise_tokens": [9, 2, 9]}).sampling_params
    assert (params.min_tokens, params.ignore_eos, params.stop, params.stop_token_ids) == (0, True, [], [])
    assert params._eos_token_id is None and params._all_stop_token_ids == set()


def test_other_calls_are_not_touched() -> None:
    params = submit(None).sampling_params
    assert vars(params) == vars(sampling())


TOKENS = {"reprise_tokens": [9, 2, 9]}


@pytest.mark.parametrize(
    ("extra", "server", "params", "reason"),
    [
        ({"reprise_tokens": [9, 100, -1]}, {}, {}, r"\[100, -1\] are outside the vocabulary of 100"),
        (TOKENS, {}, {"max_tokens": 2}, "max_tokens is 2, must equal the 3"),
        (TOKENS, {}, {"max_tokens": 4}, "max_tokens is 4, must equal the 3"),
        (TOKENS, {}, {"n": 2}, "n is 2"),
        (TOKENS, {}, {"structured_outputs": {"regex": "a"}}, "structured_outputs is set"),
        (TOKENS, {}, {"bad_words": ["x"]}, "bad_words is set"),
        (TOKENS, {}, {"trace_decode_token_ids": [1, 2, 3]}, "both set"),
        (None, {}, {"trace_decode_token_ids": []}, "trace_decode_token_ids is empty"),
        (None, {}, {"trace_decode_token_ids": [1], "n": 2}, "n is 2"),
        (TOKENS, {"model": {"max_model_len": 7}}, {}, r"prompt \(5\) \+ recorded output \(3\) exceed max_model_len \(7\)"),
        (TOKENS, {"speculative": object()}, {}, "speculative decoding is on"),
        (TOKENS, {"v2": True}, {}, "this server runs V2.*trace_decode_token_ids"),
        ({"reprise_tokens": ["a"]}, {}, {}, "list of integers"),
        ({"reprise_route": "x"}, {}, {}, "unknown key reprise_route"),
        ({"reprise_routes": "x"} | TOKENS, {}, {}, "started without REPRISE_ROUTES_DIR"),
        ({"reprise_record": "x"}, {}, {}, "started without REPRISE_RECORD_ROUTES"),
        (None, {"device": "cpu"}, {"seed": 1}, "seed ends the engine"),
    ],
)
def test_what_cannot_be_honoured_is_refused(
    extra: dict[str, Any] | None, server: dict[str, Any], params: dict[str, Any], reason: str
) -> None:
    before = admission.counts.refused
    with pytest.raises(Invalid, match=reason):
        submit(extra, server, **params)
    assert admission.counts.refused == before + 1


def test_a_seed_is_fine_off_the_cpu() -> None:
    assert submit(None, seed=1).sampling_params.seed == 1


@pytest.mark.parametrize(("length", "max_tokens"), [(4, 3), (40, 40)])
def test_a_cut_native_trace_is_refused(length: int, max_tokens: int) -> None:
    with pytest.raises(Invalid, match=f"holds {length} ids, but"):
        submit(None, trace_decode_token_ids=[1] * length, max_tokens=max_tokens)


def test_a_whole_native_trace_passes() -> None:
    assert submit(None, trace_decode_token_ids=[1] * 4, max_tokens=4).sampling_params.max_tokens == 4


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REPRISE_ROUTES_DIR", str(tmp_path))
    monkeypatch.setenv("REPRISE_RECORD_ROUTES", "1")
    return tmp_path


def test_fitting_routes_are_admitted(folder: Path) -> None:
    np.save(folder / "good.npy", routes(len(PROMPT) + 3 - 1))
    submit(TOKENS | {"reprise_routes": "good"})


def test_routes_go_with_native_traces_too(folder: Path) -> None:
    np.save(folder / "good.npy", routes(len(PROMPT) + 3 - 1))
    submit({"reprise_routes": "good"}, {"v2": True}, trace_decode_token_ids=[1, 2, 3])


def test_routes_without_tokens_are_refused(folder: Path) -> None:
    np.save(folder / "good.npy", routes(7))
    with pytest.raises(Invalid, match="together with tokens only"):
        submit({"reprise_routes": "good"})


def test_routes_of_another_length_are_refused(folder: Path) -> None:
    np.save(folder / "short.npy", routes(6))
    with pytest.raises(Invalid, match="covers 6 positions, this call computes 7"):
        submit(TOKENS | {"reprise_routes": "short"})


def test_a_dense_model_has_no_routes(folder: Path) -> None:
    np.save(folder / "good.npy", routes(7))
    with pytest.raises(Invalid, match="no experts"):
        submit(TOKENS | {"reprise_routes": "good"}, {"model": {"experts": 0, "top_k": 0}})


@pytest.mark.parametrize("name", ["../good", "/etc/passwd", "a/b", "", ".hidden", "nope"])
def test_names_stay_in_the_folder_and_errors_do_not_show_it(folder: Path, name: str) -> None:
    with pytest.raises(Invalid, match="no route table") as refused:
        submit(TOKENS | {"reprise_routes": name})
    assert str(folder) not in str(refused.value)


def test_a_recording_never_overwrites(folder: Path) -> None:
    submit({"reprise_record": "mine"})
    np.save(folder / "mine.npy", routes(1))
    with pytest.raises(Invalid, match="'mine' exists already"):
        submit({"reprise_record": "mine"})
