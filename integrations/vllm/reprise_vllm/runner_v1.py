"""Where a pass passes through vLLM's V1 runner (GPU and CPU)."""

from __future__ import annotations

from typing import Any

from . import gate
from .batch import Batch
from .tokens import Writes
from .worker import Worker


class RunnerV1:
    """The plug-in on one V1 runner: tokens, experts, recording, pass log."""

    def __init__(self, runner: Any) -> None:
        """Check the signatures, then wrap the instance's methods. Raises UnsupportedServer."""
        gate.require_parameters(runner.execute_model, "scheduler_output")
        gate.require_parameters(runner._model_forward, "input_ids", "positions")
        gate.require_parameters(runner._sample, "logits", "spec_decode_metadata")
        gate.require_parameters(runner.sample_tokens, "grammar_output")
        gate.require_parameters(runner.sampler.sample, "logits", "sampling_metadata")
        gate.require_attributes(runner, "input_batch", "query_start_loc")
        gate.require_attributes(
            runner.input_batch, "req_ids", "num_tokens_no_spec", "num_prompt_tokens", "num_computed_tokens_cpu"
        )
        self.runner = runner
        self.worker = Worker(runner, "v1")
        self._scheduled: Any = None
        self._writes: Writes | None = None
        self._native_execute = runner.execute_model
        self._native_forward = runner._model_forward
        self._native_step = runner._sample
        self._native_sample = runner.sampler.sample
        self._native_tokens = runner.sample_tokens
        runner.execute_model = self.execute_model
        runner._model_forward = self._model_forward
        runner._sample = self._sample
        runner.sampler.sample = self.sample
        runner.sample_tokens = self.sample_tokens

    def execute_model(self, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        self.worker.begin(scheduler_output)
        self._scheduled = scheduler_output
        return self._native_execute(scheduler_output, *args, **kwargs)

    def _model_forward(self, input_ids: Any = None, positions: Any = None, *args: Any, **kwargs: Any) -> Any:
        batch = self._batch(input_ids if input_ids is not None else positions)
        self.worker.rows_known(batch)
        output = self._native_forward(input_ids, positions, *args, **kwargs)
        self.worker.computed(batch)
        return output

    def _batch(self, per_row: Any) -> Batch:
        """The rows of the pass; positions of multimodal models are [3, rows]."""
        batch = self.runner.input_batch
        return Batch(
            list(batch.req_ids), self.runner.query_start_loc.np, batch.num_computed_tokens_cpu, per_row.shape[-1]
        )

    def _sample(self, logits: Any, spec_decode_metadata: Any) -> Any:
        batch = self.runner.input_batch
        self._writes = self.worker.plan_tokens(batch.req_ids, batch.num_tokens_no_spec, batch.num_prompt_tokens)
        return self._native_step(logits, spec_decode_metadata)

    def sample(self, *args: Any, **kwargs: Any) -> Any:
        """The sampler's inner step: its ids become history, input and logprobs."""
        sampled, logprobs = self._native_sample(*args, **kwargs)
        self.worker.write_tokens(sampled)
        return sampled, logprobs

    def sample_tokens(self, *args: Any, **kwargs: Any) -> Any:
        scheduled, self._scheduled, self._writes = self._scheduled, None, None
        output = self._native_tokens(*args, **kwargs)
        if scheduled is not None:
            self.worker.end(scheduled, output, self._writes)
        return output
