// Package livetest is a server to test against: the serving APIs of vLLM over a toy
// model, with a switch for every way in which a server can go wrong.
//
// A [Server] is an [net/http.Handler]. It reads the requests that a replay sends,
// keeps a block-hash prefix cache, writes tokens at the pace of its [Options] and
// answers in the wire format of vLLM (spec/live.md A.2, A.3, A.9; spec/vllm-cpu-live.md
// 4 to 7). [Faults] say what it does wrong, call by call (spec/live.md F.5). It knows
// nothing of package live, so that both can be wrong independently.
package livetest
