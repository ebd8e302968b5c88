from __future__ import annotations

import pytest

from reprise_vllm.call import Refusal, parse


def test_requests_without_our_keys_make_no_demands() -> None:
    assert parse(None) is None
    assert parse({"other": 1}) is None


def test_demands_are_taken_as_sent() -> None:
    call = parse({"reprise_tokens": [1, 2], "reprise_routes": "a", "reprise_record": "b"})
    assert call is not None
    assert (call.tokens, call.routes, call.record) == ([1, 2], "a", "b")


@pytest.mark.parametrize("tokens", [[], "12", [1.0], ["1"], [True], 5, {}])
def test_tokens_must_be_integers(tokens: object) -> None:
    with pytest.raises(Refusal, match="non-empty list of integers"):
        parse({"reprise_tokens": tokens})


def test_misspelt_keys_are_refused() -> None:
    with pytest.raises(Refusal, match="unknown key reprise_token;"):
        parse({"reprise_token": [1]})


def test_names_must_be_strings() -> None:
    with pytest.raises(Refusal, match="must be a name, not int"):
        parse({"reprise_routes": 3})
