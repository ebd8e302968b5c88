"""Make tiny model folders: configuration, tokenizer and seeded random weights (float16).

vLLM's own dummy weights are so small that all logits are equal, and then forcing experts changes
nothing that can be seen; these have a spread (spec/vllm-cpu-live.md 3).

usage: make_models.py FOLDER      writes FOLDER/tiny-dense and FOLDER/tiny-moe
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 1024
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>"]
BOS, EOS = SPECIAL.index("<|endoftext|>"), SPECIAL.index("<|im_end|>")
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
WORDS = (
    "the a of to in run test file line error value call tool step token expert cache block read write list open "
    "close server client queue batch plan fix bug patch commit return def class import self for while if else print assert"
).split()

BASE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "hidden_act": "silu",
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "initializer_range": 0.02,
    "torch_dtype": "bfloat16",
    "bos_token_id": BOS,
    "eos_token_id": EOS,
    "use_cache": True,
}
MODELS: dict[str, dict[str, Any]] = {
    "tiny-dense": {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"},
    "tiny-moe": {
        "architectures": ["Qwen3MoeForCausalLM"],
        "model_type": "qwen3_moe",
        "moe_intermediate_size": 64,
        "num_experts": 16,
        "num_experts_per_tok": 4,
        "norm_topk_prob": True,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
    },
}


def corpus() -> Iterator[str]:
    for i in range(400):
        yield " ".join(WORDS[(i * 7 + j * (1 + i % 5)) % len(WORDS)] for j in range(24)) + f"\n{i} {i * 37}\n"


def write_tokenizer(folder: Path) -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": 32768,
            "eos_token": SPECIAL[EOS],
            "pad_token": "<|pad|>",
            "bos_token": None,
            "unk_token": None,
            "clean_up_tokenization_spaces": False,
            "chat_template": CHAT,
        },
    )


def weights(config: dict[str, Any]) -> dict[str, Any]:
    """Normal with deviation 1/sqrt(fan in), times 2.5 for the head and 1.5 for the gates."""
    rng = np.random.default_rng(0)
    hidden, head = config["hidden_size"], config["head_dim"]

    def matrix(out: int, fan_in: int, gain: float = 1.0) -> Any:
        return (rng.standard_normal((out, fan_in)) * (gain / fan_in**0.5)).astype(np.float16)

    def ones(n: int) -> Any:
        return np.ones(n, np.float16)

    tensors = {
        "model.embed_tokens.weight": rng.standard_normal((VOCABULARY, hidden)).astype(np.float16),
        "lm_head.weight": matrix(VOCABULARY, hidden, 2.5),
        "model.norm.weight": ones(hidden),
    }
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        tensors |= {
            at + "input_layernorm.weight": ones(hidden),
            at + "post_attention_layernorm.weight": ones(hidden),
            at + "self_attn.q_proj.weight": matrix(queries, hidden),
            at + "self_attn.k_proj.weight": matrix(keys, hidden),
            at + "self_attn.v_proj.weight": matrix(keys, hidden),
            at + "self_attn.o_proj.weight": matrix(hidden, queries),
            at + "self_attn.q_norm.weight": ones(head),
            at + "self_attn.k_norm.weight": ones(head),
        }
        width, parts = config["intermediate_size"], [at + "mlp."]
        if "num_experts" in config:
            tensors[at + "mlp.gate.weight"] = matrix(config["num_experts"], hidden, 1.5)
            width = config["moe_intermediate_size"]
            parts = [f"{at}mlp.experts.{e}." for e in range(config["num_experts"])]
        for part in parts:
            tensors[part + "gate_proj.weight"] = matrix(width, hidden)
            tensors[part + "up_proj.weight"] = matrix(width, hidden)
            tensors[part + "down_proj.weight"] = matrix(hidden, width)
    return tensors


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1))


def main(root: str) -> None:
    for name, special in MODELS.items():
        folder = Path(root, name)
        folder.mkdir(parents=True, exist_ok=True)
        config = BASE | special
        write_tokenizer(folder)
        write_json(folder / "config.json", config)
        write_json(folder / "generation_config.json", {"eos_token_id": EOS, "bos_token_id": BOS})
        save_file(weights(config), str(folder / "model.safetensors"), metadata={"format": "pt"})


if __name__ == "__main__":
    main(sys.argv[1])
