#!/usr/bin/env bash
# serve.sh FOLDER dense|moe|moe-v2 PORT: one of the servers of the end-to-end tests, in the foreground.
#
#   dense    V1 runner, a KV pool for about one long request and a half, so that requests are preempted
#   moe      V1 runner, 4 layers with 16 experts, top 4
#   moe-v2   the same model on Model Runner V2 in Triton's interpreter, with vLLM's own trace replay and
#            returned routes
#
# FOLDER is what install.sh filled. Flags and variables are those of spec/vllm-cpu-live.md 3; the
# plug-in reads its own (integrations/vllm/README.md) from the environment.
set -euo pipefail

folder=$1 kind=$2 port=$3
model=tiny-moe blocks=256 more=()
case $kind in
dense) model=tiny-dense blocks=24 ;;
moe) ;;
moe-v2)
	more=(--enable-trace-replay --enable-return-routed-experts)
	# Only this server may see the stand-in Triton backend (install.sh).
	export VLLM_USE_V2_MODEL_RUNNER=1 TRITON_INTERPRET=1 PYTHONPATH=$folder/interp
	;;
*)
	echo "serve.sh: $kind: want dense, moe or moe-v2" >&2
	exit 2
	;;
esac

export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 TORCHDYNAMO_DISABLE=1 OMP_NUM_THREADS=1
export VLLM_CPU_KVCACHE_SPACE=1 VLLM_ENABLE_V1_MULTIPROCESSING=0 VLLM_PLUGINS=reprise,reprise_status
unset PYTHONDONTWRITEBYTECODE # nearly all of the time to ready is Python compiling what it imports
exec "$folder/venv/bin/python" -m vllm.entrypoints.openai.api_server \
	--model "$folder/models/$model" --served-model-name tiny --host 127.0.0.1 --port "$port" \
	--dtype float32 --enforce-eager --distributed-executor-backend uni \
	--max-model-len 512 --block-size 32 --num-gpu-blocks-override "$blocks" \
	--max-num-batched-tokens 128 --max-num-seqs 8 \
	--enable-prompt-tokens-details --enable-per-request-metrics --enable-scale-out "${more[@]}"
