"""Admission: what cannot be honoured exactly is refused before it is queued, with a reason.

Wraps ``InputProcessor.process_inputs`` in the API process. A refusal is vLLM's own validation
error: status 400, or an error event with code 400 inside a stream. Never shortens, never guesses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import gate, routes, settings
from .call import RECORD, ROUTES, TOKENS, Call, Refusal, parse


@dataclass
class Admissions:
    """Counts of this API process."""

    admitted: int = 0
    refused: int = 0


counts = Admissions()


@dataclass(frozen=True)
class Server:
    """The facts of the server that admission depends on."""

    vocabulary: int
    max_model_len: int
    runner: str
    """"v1" or "v2"."""
    speculative: bool
    cpu: bool
    layout: routes.Layout
    routes_dir: routes.RouteFiles | None
    record_routes: bool


def describe(processor: Any) -> Server:
    """The facts, from an InputProcessor."""
    model, config, mine = processor.model_config, processor.vllm_config, settings.current()
    return Server(
        vocabulary=model.get_vocab_size(),
        max_model_len=model.max_model_len,
        runner="v2" if config.use_v2_model_runner else "v1",
        speculative=config.speculative_config is not None,
        cpu=config.device_config.device_type == "cpu",
        layout=layout_of(model),
        routes_dir=routes.RouteFiles(mine.routes_dir) if mine.routes_dir else None,
        record_routes=mine.record_routes,
    )


def layout_of(model_config: Any) -> routes.Layout:
    """The routing shape of a model; all zero experts for a dense one."""
    return routes.Layout(
        layers=model_config.get_total_num_hidden_layers(),
        top_k=model_config.get_num_experts_per_tok() or 0,
        experts=model_config.get_num_experts() or 0,
    )


def install(processor_class: Any, error: Callable[..., Exception]) -> None:
    """Wrap the class; ``error`` is vLLM's validation error."""
    gate.require_parameters(processor_class.process_inputs, "request_id", "prompt", "params")
    native = processor_class.process_inputs

    @functools.wraps(native)
    def process_inputs(self: Any, request_id: str, prompt: Any, params: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(params, "max_tokens"):  # pooling
            return native(self, request_id, prompt, params, *args, **kwargs)
        try:
            call = parse(params.extra_args)
            trace = params.trace_decode_token_ids
            if trace is not None or call is not None and call.tokens is not None:
                refuse_contradictions(params)
            server = describe(self)
            refuse_seed(server, params)
            request = native(self, request_id, prompt, params, *args, **kwargs)
            refuse_cut_trace(len(trace or ()), request.sampling_params)
            if call is not None:
                if request.prompt_token_ids is None:
                    raise Refusal("the prompt is embeddings, not tokens", "prompt_embeds")
                admit(call, server, request.sampling_params, len(request.prompt_token_ids))
                counts.admitted += 1
        except Refusal as refusal:
            counts.refused += 1
            raise error(str(refusal), parameter=refusal.key) from None
        return request

    processor_class.process_inputs = process_inputs


def refuse_contradictions(params: Any) -> None:
    """What cannot hold together with a fixed output, asked before vLLM, which answers some of it with
    status 500 and no message (spec/vllm-cpu-live.md 4)."""
    if params.trace_decode_token_ids is not None and not params.trace_decode_token_ids:
        raise Refusal("trace_decode_token_ids is empty", "trace_decode_token_ids")
    if params.n != 1:
        raise Refusal(f"n is {params.n}, must be 1 where the output is fixed", "n")
    for field in ("structured_outputs", "bad_words"):
        if getattr(params, field, None):
            raise Refusal(f"{field} is set, which contradicts recorded tokens", field)


def refuse_seed(server: Server, sampling: Any) -> None:
    """A seed and a prompt in chunks end the engine of the V1 CPU runner (spec/vllm-cpu-live.md 3)."""
    if server.cpu and server.runner == "v1" and sampling.seed is not None:
        raise Refusal("seed ends the engine of the V1 CPU runner when the prompt is chunked", "seed")


def refuse_cut_trace(asked: int, sampling: Any) -> None:
    """vLLM cuts its own traces to max_tokens and to the context without a word (spec/vllm-cpu-live.md 4)."""
    if not asked:
        return
    left = min(len(sampling.trace_decode_token_ids), sampling.max_tokens)
    if left < asked:
        raise Refusal(
            f"trace_decode_token_ids holds {asked} ids, but max_tokens and max_model_len leave room for {left}",
            "trace_decode_token_ids",
        )


def admit(call: Call, server: Server, sampling: Any, prompt: int) -> None:
    """Check the demands of a call and make its sampling parameters obey the recorded end.

    ``prompt`` is the number of prompt tokens. Raises Refusal.
    """
    if server.speculative:
        raise Refusal("speculative decoding is on, drafts have no recorded tokens or routes", _first_key(call))
    if call.tokens is not None:
        _check_tokens(call.tokens, server, sampling, prompt)
        _obey_recorded_end(sampling)
    if call.routes is not None:
        _check_routes(call, server, sampling, prompt)
    if call.record is not None:
        _check_record(call.record, server)


def _first_key(call: Call) -> str:
    return TOKENS if call.tokens is not None else ROUTES if call.routes is not None else RECORD


def _check_tokens(tokens: list[int], server: Server, sampling: Any, prompt: int) -> None:
    if server.runner == "v2":
        raise Refusal(
            f"{TOKENS} is for the V1 runner; this server runs V2: start it with --enable-trace-replay "
            "and send trace_decode_token_ids to /inference/v1/generate",
            TOKENS,
        )
    outside = [t for t in tokens if not 0 <= t < server.vocabulary]
    if outside:
        raise Refusal(f"token ids {outside[:8]} are outside the vocabulary of {server.vocabulary}", TOKENS)
    if sampling.max_tokens != len(tokens):
        raise Refusal(
            f"max_tokens is {sampling.max_tokens}, must equal the {len(tokens)} recorded tokens "
            "(the server may have lowered it to the room left in the context)",
            "max_tokens",
        )
    if prompt + len(tokens) > server.max_model_len:
        raise Refusal(
            f"prompt ({prompt}) + recorded output ({len(tokens)}) exceed max_model_len ({server.max_model_len})",
            TOKENS,
        )
    if sampling.trace_decode_token_ids:
        raise Refusal(f"{TOKENS} and trace_decode_token_ids are both set", TOKENS)


def _obey_recorded_end(sampling: Any) -> None:
    """The recorded end wins over EOS, stop strings and stop ids (spec/vllm-cpu-live.md 5)."""
    sampling.min_tokens = 0
    sampling.ignore_eos = True
    sampling.stop = []
    sampling.stop_token_ids = []
    sampling._eos_token_id = None
    sampling._all_stop_token_ids = set()


def _check_routes(call: Call, server: Server, sampling: Any, prompt: int) -> None:
    name = str(call.routes)
    if server.routes_dir is None:
        raise Refusal("this server forces no experts: it was started without REPRISE_ROUTES_DIR", ROUTES)
    if not server.layout.experts:
        raise Refusal("this model has no experts", ROUTES)
    output = call.tokens or sampling.trace_decode_token_ids
    if not output:
        raise Refusal("routes are forced together with tokens only: the output is not fixed", ROUTES)
    try:
        table = server.routes_dir.open(name)
    except (OSError, ValueError) as error:
        raise Refusal(f"no route table {name!r} can be read: {_plain(error)}", ROUTES) from None
    wrong = routes.check(table, server.layout, prompt + len(output) - 1)
    if wrong:
        raise Refusal(f"route table {name!r} {wrong}", ROUTES)


def _plain(error: Exception) -> str:
    """The reason without the server's folders."""
    return error.strerror or "unreadable" if isinstance(error, OSError) else str(error)


def _check_record(name: str, server: Server) -> None:
    if not server.record_routes or server.routes_dir is None:
        raise Refusal("this server records no routes: it was started without REPRISE_RECORD_ROUTES=1", RECORD)
    if not server.layout.experts:
        raise Refusal("this model has no experts", RECORD)
    try:
        taken = server.routes_dir.exists(name)
    except ValueError as error:
        raise Refusal(str(error), RECORD) from None
    if taken:
        raise Refusal(f"a route table {name!r} exists already", RECORD)
