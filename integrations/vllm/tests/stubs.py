"""Stand-ins for the parts of vLLM that the plug-in touches, with vLLM's own names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


class Invalid(ValueError):
    """vLLM's validation error."""

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


def sampling(**changed: Any) -> SimpleNamespace:
    values = dict(
        n=1, max_tokens=3, min_tokens=2, ignore_eos=False, stop=["e"], stop_token_ids=[7], bad_words=None, seed=None,
        structured_outputs=None, trace_decode_token_ids=None, extra_args=None, _eos_token_id=2, _all_stop_token_ids={2, 7},
    )
    return SimpleNamespace(**(values | changed))


def model(**changed: Any) -> SimpleNamespace:
    values = dict(vocabulary=100, layers=2, experts=4, top_k=2, max_model_len=32) | changed
    return SimpleNamespace(
        max_model_len=values["max_model_len"],
        get_vocab_size=lambda: values["vocabulary"],
        get_total_num_hidden_layers=lambda: values["layers"],
        get_num_experts=lambda: values["experts"],
        get_num_experts_per_tok=lambda: values["top_k"],
    )


def processor_class(prompt: int = 5, **changed: Any) -> type:
    """An InputProcessor; ``cut`` shortens native traces as vLLM does."""

    class InputProcessor:
        model_config = model(**changed.get("model", {}))
        vllm_config = SimpleNamespace(
            use_v2_model_runner=changed.get("v2", False),
            speculative_config=changed.get("speculative"),
            device_config=SimpleNamespace(device_type=changed.get("device", "cuda")),
        )

        def process_inputs(self, request_id: str, prompt: Any, params: Any, supported_tasks: Any) -> Any:
            trace = params.trace_decode_token_ids
            if trace:
                room = max(self.model_config.max_model_len - len(prompt), 1)
                params.trace_decode_token_ids = trace[:room]
                params.max_tokens = min(len(trace[:room]), params.max_tokens)
            return SimpleNamespace(sampling_params=params, prompt_token_ids=prompt)

    return InputProcessor


def routes(positions: int, layers: int = 2, top_k: int = 2) -> np.ndarray:
    """Distinct experts in every row."""
    table = np.zeros((positions, layers, top_k), np.uint8)
    table[...] = np.arange(top_k)
    return table
