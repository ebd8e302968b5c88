package stats

import (
	"io"
	"math"

	"github.com/reprise-sim/reprise/trace"
)

// Stats is what is in a trace. What is not defined is nil.
type Stats struct {
	Tasks        int   `json:"tasks"`
	Calls        int   `json:"calls"`
	Tools        int   `json:"tools"`
	Waits        int   `json:"waits"` // of a human, or idle
	Untimed      int   `json:"untimed_tasks"`
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`

	Input  *Distribution `json:"input_length"`    // tokens of a call's prompt
	Output *Distribution `json:"output_length"`   // tokens a call generates
	Turns  *Distribution `json:"calls_per_task"`  //
	Pauses *Distribution `json:"pause_ms"`        // from the end of a call to the next; nil without calls that wait for calls
	Tool   *Distribution `json:"tool_ms"`         // durations of tools
	Wait   *Distribution `json:"wait_ms"`         // durations of waits
	Gaps   *Distribution `json:"interarrival_ms"` // between tasks; nil below two timed tasks

	Rate    *Rate    `json:"rate"`    // nil below two timed tasks
	Sharing *Sharing `json:"sharing"` // nil if nothing is known of any prompt
}

// Options say how to look at a trace.
type Options struct {
	// CacheBlocks are the sizes of caches to count hits of; nil: DefaultCacheBlocks.
	CacheBlocks []int
	// BlockSize is the size of blocks where prompts are token ids; 0: 16.
	BlockSize int
}

// DefaultCacheBlocks are the sizes of caches that are looked at by default.
var DefaultCacheBlocks = []int{1_000, 10_000, 30_000, 50_000, 100_000}

// Of reads a trace once.
func Of(t trace.Trace, o Options) (*Stats, error) {
	src, err := t.Tasks()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if o.CacheBlocks == nil {
		o.CacheBlocks = DefaultCacheBlocks
	}
	if o.BlockSize == 0 {
		o.BlockSize = 16
	}
	if size := t.Header().BlockSize; size > 0 {
		o.BlockSize = size
	}
	c := counting{rate: newRate(t.Report()), sharing: newSharing(o), lastMs: math.NaN()}
	for {
		task, err := src.Next()
		if err == io.EOF {
			return c.stats(), nil
		}
		if err != nil {
			return nil, err
		}
		c.task(task)
	}
}

// counting is a trace that is being read.
type counting struct {
	Stats
	input, output, turns, pauses, tool, wait, gaps samples
	rate                                           *rateCount
	sharing                                        *sharingCount
	lastMs                                         float64 // release of the last timed task
}

// task counts one task.
func (c *counting) task(t *trace.Task) {
	c.Tasks++
	if math.IsNaN(t.ReleaseMs) {
		c.Untimed++
	} else {
		if !math.IsNaN(c.lastMs) {
			c.gaps.add(t.ReleaseMs - c.lastMs)
		}
		c.lastMs = t.ReleaseMs
		c.rate.add(t.ReleaseMs)
	}
	for i := range t.Nodes {
		c.node(t, &t.Nodes[i])
	}
	c.turns.add(float64(t.Calls()))
}

// node counts one node.
func (c *counting) node(t *trace.Task, n *trace.Node) {
	switch n.Kind {
	case trace.Tool:
		c.Tools++
		c.tool.add(n.DurationMs)
	case trace.Think:
		c.Waits++
		c.wait.add(n.DurationMs)
	case trace.LLM:
		c.Calls++
		c.InputTokens += int64(n.InputTokens)
		c.OutputTokens += int64(n.OutputTokens)
		c.input.add(float64(n.InputTokens))
		c.output.add(float64(n.OutputTokens))
		for _, e := range n.After {
			if e.Trigger == trace.Completion && t.Nodes[e.From].Kind == trace.LLM {
				c.pauses.add(e.DelayMs)
			}
		}
		c.sharing.prompt(n.Input)
	}
}

// stats are the figures of what has been counted.
func (c *counting) stats() *Stats {
	s := c.Stats
	s.Input, s.Output, s.Turns = c.input.distribution(), c.output.distribution(), c.turns.distribution()
	s.Pauses, s.Tool, s.Wait = c.pauses.distribution(), c.tool.distribution(), c.wait.distribution()
	s.Gaps = c.gaps.distribution()
	s.Rate = c.rate.rate()
	s.Sharing = c.sharing.sharing()
	return &s
}
