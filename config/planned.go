package config

import (
	"regexp"
	"strings"
)

// planned are keys of DESIGN.md 6 that nothing reads yet. A section among them
// stands for all of its keys. A key leaves the list when it does something.
var planned = []string{
	"engine.speculative", "engine.eviction", "engine.sglang", "engine.trtllm",
	"cluster.prefill_instances", "cluster.decode_instances", "cluster.transfer", "cluster.scaling.startup_ms",
	"cluster.cache.l1_store_gbps",
	"cluster.router.kv_event_lag_ms",
	"output.timeline", "output.parquet",
}

// plannedOfBuckets are such keys of the items of cluster.buckets (spec/buckets.md 2,
// rule 11).
var plannedOfBuckets = regexp.MustCompile(`^cluster\.buckets\.[0-9]+\.(prefill|decode)_instances$`)

// isPlanned is whether a path is one of the planned keys or below one.
func isPlanned(path string) bool {
	if plannedOfBuckets.MatchString(path) {
		return true
	}
	for _, p := range planned {
		if path == p || strings.HasPrefix(path, p+".") {
			return true
		}
	}
	return false
}
