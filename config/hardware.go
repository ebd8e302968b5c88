package config

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/capacity"
	"github.com/reprise-sim/reprise/latency/predict"
	"github.com/reprise-sim/reprise/setting"
)

// deployment is what a latency model has to know of the engine.
func (c *Config) deployment() latency.Deployment {
	return latency.Deployment{Backend: c.Engine.Backend, TensorParallel: c.Engine.TensorParallelSize, DataParallel: c.Engine.DPSize}
}

// fitMemory makes the number of KV blocks and the bytes of a token those of the
// language model on the GPU, where the configuration names both and nobody pinned
// them.
func (c *Config) fitMemory() error {
	if !predict.Hardware(c.Latency) || c.Latency.Validate() != nil {
		return nil
	}
	u := c.Engine.GPUMemoryUtilization
	if !(u > 0 && u <= 1) {
		return &setting.Error{Field: "engine.gpu_memory_utilization", Value: u, Want: "a fraction above 0, at most 1"}
	}
	if c.Engine.KVCacheBytesPerToken == nil {
		d, err := predict.Deployment(c.Latency, c.deployment())
		if err != nil {
			return inSection("latency", err)
		}
		bytes := d.Model.KVBytesPerToken(d.Cache)
		c.Engine.KVCacheBytesPerToken = &bytes
	}
	if c.wrote("engine.num_gpu_blocks") || c.Engine.NumGPUBlocks != engine.Defaults().NumGPUBlocks {
		return nil
	}
	b, err := predict.Memory(c.Latency, c.deployment(), capacity.Settings{
		Utilization: u, BlockSize: c.Engine.BlockSize, MaxTokens: c.Engine.MaxNumBatchedTokens, MaxSeqs: c.Engine.MaxNumSeqs,
	})
	if err != nil {
		return inSection("latency", err)
	}
	c.Engine.NumGPUBlocks = b.Blocks
	c.memory = "engine.num_gpu_blocks: " + predict.Explain(&b, c.Engine.BlockSize)
	return nil
}

// wrote is whether somebody wrote a key.
func (c *Config) wrote(path string) bool { return c.reading != nil && c.reading.Wrote(path) }

// file is a setting that may be the path of a file.
type file struct {
	key  string
	path *string
}

// latencyFiles are the settings of the latency model that may be paths.
func latencyFiles(s *latency.Settings) []file {
	return []file{{"latency.gpu", &s.GPU}, {"latency.model_name", &s.ModelName}, {"latency.kernels", &s.Kernels}, {"latency.path", &s.Path}}
}

// names is whether a setting is a path, seen from a folder: a name of a catalogue is
// none.
func (f *file) names(dir string) bool {
	switch filepath.Ext(*f.path) {
	case ".csv", ".json", ".gz":
		return true
	case "":
		if *f.path == "" {
			return false
		}
	}
	_, err := os.Stat(relativeTo(dir, *f.path))
	return err == nil
}

// anchorLatency makes the paths of the latency model relative to the working
// directory.
func (c *Config) anchorLatency() {
	for _, f := range latencyFiles(&c.Latency) {
		if o, written := c.reading.Origin(f.key); written && f.names(o.Dir) {
			*f.path = relativeTo(o.Dir, *f.path)
		}
	}
}

// memoryNotes are remarks on what followed from the memory.
func (c *Config) memoryNotes() []string {
	if c.memory == "" {
		return nil
	}
	return []string{c.memory}
}

// source says what prices a run and from what, in a sentence for a person; "" if it
// predicts nothing.
func source(m latency.Model, shares map[string]float64) string {
	text := latency.Predicts(m)
	if text == "" || len(shares) == 0 {
		return text
	}
	for p := range latency.Provenances {
		if f := shares[p.String()]; f > 0 {
			text += fmt.Sprintf("; %.0f %% of the time %s", 100*f, p)
		}
	}
	return text
}
