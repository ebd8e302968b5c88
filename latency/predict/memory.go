package predict

import (
	"fmt"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/capacity"
)

// Memory is the KV blocks of a rank that fit beside the language model, with what
// else lies in the memory. Only the settings of Setup count, and those of the engine
// that m holds; its rule follows from the backend.
func Memory(s latency.Settings, d latency.Deployment, m capacity.Settings) (capacity.Breakdown, error) {
	gpu, err := GPU(s.GPU)
	if err != nil {
		return capacity.Breakdown{}, wrong("gpu", s.GPU, err)
	}
	spread, err := Deployment(s, d)
	if err != nil {
		return capacity.Breakdown{}, err
	}
	if d.Backend == "trtllm" {
		m.Rule = capacity.OfFree
	}
	b, err := capacity.Plan(spread, &gpu, m)
	if err != nil {
		return b, wrong("gpu", s.GPU, fmt.Errorf("more memory: %w", err))
	}
	return b, nil
}

// Explain is a breakdown in a line: "28114 blocks of 16 tokens: 76.5 GB usable, …".
func Explain(b *capacity.Breakdown, blockSize int) string {
	text := fmt.Sprintf("%d blocks of %d tokens (%.3g MB each): %.1f GB usable − weights %.1f − activations %.1f − runtime %.1f",
		b.Blocks, blockSize, b.BlockBytes/1e6, b.Usable/1e9, b.Weights/1e9, b.Activations/1e9, b.Runtime/1e9)
	if b.States > 0 {
		text += fmt.Sprintf(" − states of sequences %.1f", b.States/1e9)
	}
	return text + fmt.Sprintf(" = %.1f GB of cache", b.Cache/1e9)
}
