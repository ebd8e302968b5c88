from __future__ import annotations

import pytest

from reprise_vllm import gate


def sample(logits: int, spec_decode_metadata: int) -> None: ...


def test_known_signatures_pass() -> None:
    gate.require_parameters(sample, "logits", "spec_decode_metadata")


def test_a_renamed_parameter_is_named() -> None:
    with pytest.raises(gate.UnsupportedServer, match=r"sample has no parameter draft \(it has logits, spec"):
        gate.require_parameters(sample, "logits", "draft")


def test_a_missing_attribute_is_named() -> None:
    with pytest.raises(gate.UnsupportedServer, match="object has no req_ids"):
        gate.require_attributes(object(), "req_ids")
