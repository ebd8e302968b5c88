"""Where a pass passes through Model Runner V2.

Tokens are vLLM's own business there (``trace_decode_token_ids``); experts, recording and the pass
log are ours.
"""

from __future__ import annotations

from typing import Any

from . import gate
from .batch import Batch
from .worker import Worker


class RunnerV2:
    """The plug-in on one V2 runner: experts, recording, pass log."""

    def __init__(self, runner: Any) -> None:
        """Check the signatures, then wrap the instance's methods. Raises UnsupportedServer."""
        gate.require_parameters(runner.execute_model, "scheduler_output", "dummy_run")
        gate.require_parameters(runner.prepare_inputs, "scheduler_output")
        gate.require_parameters(runner.sample_tokens, "grammar_output")
        self.worker = Worker(runner, "v2")
        self._scheduled: Any = None
        self._batch: Batch | None = None
        self._native_execute = runner.execute_model
        self._native_prepare = runner.prepare_inputs
        self._native_tokens = runner.sample_tokens
        runner.execute_model = self.execute_model
        runner.prepare_inputs = self.prepare_inputs
        runner.sample_tokens = self.sample_tokens

    def execute_model(self, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        self._scheduled = self._batch = None
        if kwargs.get("dummy_run") or len(args) > 1 and args[1]:
            return self._native_execute(scheduler_output, *args, **kwargs)
        self.worker.begin(scheduler_output)
        self._scheduled = scheduler_output
        output = self._native_execute(scheduler_output, *args, **kwargs)
        if self._batch is not None:
            self.worker.computed(self._batch)
        return output

    def prepare_inputs(self, *args: Any, **kwargs: Any) -> Any:
        inputs = self._native_prepare(*args, **kwargs)
        self._batch = Batch(
            list(inputs.req_ids),
            inputs.query_start_loc_np,
            inputs.num_computed_tokens_np,
            inputs.num_tokens_after_padding,
        )
        self.worker.rows_known(self._batch)
        return inputs

    def sample_tokens(self, *args: Any, **kwargs: Any) -> Any:
        scheduled, self._scheduled = self._scheduled, None
        output = self._native_tokens(*args, **kwargs)
        if scheduled is not None:
            self.worker.end(scheduled, output, None)
        return output
