package config

import (
	"math"
	"strconv"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
)

// passesFile is the name of the log of passes of a run.
const passesFile = "passes.jsonl"

// watch is told the passes of one instance. Instances run side by side, so each has
// its own; what they gather is passed on from one goroutine.
type watch struct {
	sourced latency.Sourced // nil: nobody asks where prices are from
	shares  latency.Shares

	log    bool   // passes are written down
	text   []byte // lines that are not written yet
	step   int
	buffer []engine.Share
}

// Passes implements [cluster.PassObserver].
func (w *watch) Passes(in *cluster.Instance, first *latency.Pass, startMs float64, ends []float64) {
	if w.sourced != nil {
		s := w.sourced.Shares(first)
		w.shares.Add(&s, float64(len(ends)))
	}
	if !w.log {
		return
	}
	w.line(in, first, startMs, ends[0])
}

// line writes down a pass: {"bucket":…,"instance":…,"step":…,"t_sched_ns":…,…}, with the
// fields that a server's log has. To decide takes no time here, nor does forcing.
func (w *watch) line(in *cluster.Instance, p *latency.Pass, startMs, endMs float64) {
	field := func(name string, v int64) {
		w.text = append(w.text, name...)
		w.text = strconv.AppendInt(w.text, v, 10)
	}
	field(`{"bucket":`, int64(in.Bucket()))
	field(`,"instance":`, int64(in.ID()))
	field(`,"step":`, int64(w.step))
	d := in.Decision()
	field(`,"t_sched_ns":`, int64(math.Round(d.AtMs*1e6)))
	field(`,"t_sched_end_ns":`, int64(math.Round(d.AtMs*1e6)))
	field(`,"t_start_ns":`, int64(math.Round(startMs*1e6)))
	field(`,"t_end_ns":`, int64(math.Round(endMs*1e6)))
	w.text = append(w.text, `,"prefill":[`...)
	if p.PrefillSeqs > 0 {
		w.prompts(in, p)
	}
	w.text = append(w.text, ']')
	field(`,"decode_reqs":`, p.DecodeSeqs)
	field(`,"decode_ctx_sum":`, p.DecodeContext)
	field(`,"tokens":`, p.PrefillNew+p.DecodeNew)
	field(`,"running":`, int64(d.Load.Running))
	field(`,"waiting":`, int64(d.Load.Waiting))
	field(`,"preempted":`, int64(d.Preempted))
	w.text = append(w.text, `,"kv_usage":`...)
	w.text = strconv.AppendFloat(w.text, float64(d.Load.BlocksUsed)/float64(max(1, d.Load.BlocksTotal)), 'g', -1, 64)
	w.text = append(w.text, ",\"force_ns\":0}\n"...)
	w.step++
}

// prompts lists the prompt chunks of a pass: new tokens, tokens before them. A chunk
// of one token looks like a decode in what the engine lists: such chunks are told by
// what is missing from the sums.
func (w *watch) prompts(in *cluster.Instance, p *latency.Pass) {
	seqs, before := p.PrefillSeqs, p.PrefillBefore
	chunk := func(n, x int64) {
		if w.text[len(w.text)-1] == ']' {
			w.text = append(w.text, ',')
		}
		w.text = append(strconv.AppendInt(append(w.text, '['), n, 10), ',')
		w.text = append(strconv.AppendInt(w.text, x, 10), ']')
	}
	w.buffer = in.Shares(w.buffer[:0])
	for _, s := range w.buffer {
		if s.New > 1 && seqs > 0 {
			chunk(int64(s.New), int64(s.Before))
			seqs--
			before -= int64(s.Before)
		}
	}
	for ; seqs > 0; seqs-- {
		chunk(1, max(0, before/seqs))
		before -= before / seqs
	}
}

// watch is a watch for the next instance, nil if nobody wants to know anything of
// passes.
func (s *Simulation) watch() *watch {
	w := &watch{log: s.record != nil && s.record.passes != nil}
	w.sourced, _ = latency.AsSourced(s.model)
	if !w.log && w.sourced == nil {
		return nil
	}
	s.watches = append(s.watches, w)
	return w
}

// shares is where all prices of the run are from.
func (s *Simulation) shares() map[string]float64 {
	var sum latency.Shares
	for _, w := range s.watches {
		sum.Add(&w.shares, 1)
	}
	return sum.Fractions()
}

// flushPasses writes the lines of all instances that are complete.
func (s *Simulation) flushPasses() error {
	for _, w := range s.watches {
		if len(w.text) == 0 {
			continue
		}
		if _, err := s.record.passes.Write(w.text); err != nil {
			return err
		}
		w.text = w.text[:0]
	}
	return nil
}
