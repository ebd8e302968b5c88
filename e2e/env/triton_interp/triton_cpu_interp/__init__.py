"""A Triton "cpu" backend that compiles nothing.

With TRITON_INTERPRET=1 kernels run in Triton's own interpreter, so vLLM's Model Runner V2 works on a
CPU (spec/vllm-cpu-live.md 4). For tests: a step of a tiny model takes about 80 ms.
"""
