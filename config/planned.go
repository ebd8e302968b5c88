package config

import "strings"

// planned are keys of DESIGN.md 6 that nothing reads yet. A section among them
// stands for all of its keys. A key leaves the list when it does something.
var planned = []string{
	"engine.kv_cache_bytes_per_token", "engine.speculative", "engine.eviction", "engine.sglang", "engine.trtllm",
	"latency.gpu", "latency.model_name", "latency.path",
	"cluster.prefill_instances", "cluster.decode_instances", "cluster.buckets", "cluster.global_router", "cluster.meta_store",
	"cluster.cache", "cluster.transfer", "cluster.on_unroutable", "cluster.scaling",
	"cluster.router.kv_event_lag_ms",
	"output.routing_log", "output.passes", "output.timeline", "output.parquet",
}

// isPlanned is whether a path is one of the planned keys or below one.
func isPlanned(path string) bool {
	for _, p := range planned {
		if path == p || strings.HasPrefix(path, p+".") {
			return true
		}
	}
	return false
}
