package config_test

import (
	"math"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/config"
)

// Time in the front end comes before the engine: nothing changes but that all of it is
// later.
func TestTheFrontEndDelaysEveryRequest(t *testing.T) {
	path := rows(t, 40)
	at := func(us string) *config.Result {
		return simulate(t, config.Sources{Trace: []string{path}, Set: []string{"latency.request_us=" + us, "engine.max_num_seqs=4"}}, config.Options{})
	}
	off, on := at("0").Summary, at("15600").Summary
	if d := on.Latencies.TTFT.Mean - off.Latencies.TTFT.Mean; math.Abs(d-15.6) > 1e-6 {
		t.Errorf("first tokens %v ms later, want 15.6", d)
	}
	if d := on.Latencies.TPOT.Mean - off.Latencies.TPOT.Mean; math.Abs(d) > 1e-6 {
		t.Errorf("tokens %v ms further apart", d)
	}
}

// A configuration that names a GPU and a model runs with the blocks that fit; what is
// pinned is taken as it is.
func TestBlocksFollowFromTheMemoryUnlessPinned(t *testing.T) {
	hardware := []string{"latency.model=roofline", "latency.gpu=h100-sxm", "latency.model_name=llama-3.1-8b", "engine.block_size=16"}
	c := load(t, config.Sources{Trace: []string{rows(t, 1)}, Set: hardware})
	if n := c.Engine.NumGPUBlocks; n < 27000 || n > 29000 {
		t.Errorf("%d blocks, want about the 28152 of spec/latency.md 1.18", n)
	}
	if b := c.Engine.KVCacheBytesPerToken; b == nil || *b != 131072 {
		t.Errorf("bytes of a token: %v, want 128 KiB", b)
	}
	c = load(t, config.Sources{Trace: []string{rows(t, 1)}, Set: append(hardware, "engine.num_gpu_blocks=16384")})
	if n := c.Engine.NumGPUBlocks; n != 16384 {
		t.Errorf("%d blocks, 16384 were pinned", n)
	}
	_, err := config.Load(config.Sources{Trace: []string{rows(t, 1)}, Set: append(hardware, "latency.model_name=llama-3.1-405b")})
	if err == nil || !strings.Contains(err.Error(), "too much; it fits with tensor parallelism over") {
		t.Errorf("a model that does not fit: %v", err)
	}
}
