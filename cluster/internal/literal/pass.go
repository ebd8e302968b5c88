package literal

import (
	"slices"

	"github.com/reprise-sim/reprise/latency"
)

// start begins a pass as soon as the device is free (DESIGN.md 6, Pricing).
func (in *instance) start(p *pass) {
	cost := latency.Pass{PoolTokens: int64(in.s.Engine.NumGPUBlocks * in.s.Engine.BlockSize)}
	for _, c := range p.chunks {
		if c.before < c.q.call.Prompt || c.n > 1 {
			cost.AddPrefill(int64(c.n), int64(c.before))
		} else {
			cost.AddDecode(int64(c.before) + 1)
		}
		if c.yields {
			cost.Sampled++
		}
	}
	d, err := in.s.Model.Cost(&cost)
	if err != nil {
		panic(err)
	}
	in.endMs = max(in.endMs, in.bucket.nowMs) + d.PrefillMs
	in.endMs += d.DecodeMs
	in.endMs += in.s.HostMs
	p.endMs = in.endMs
	in.flight = append(in.flight, p)
	in.bucket.Passes[in.id] = append(in.bucket.Passes[in.id], p.endMs)
}

// finish ends the oldest pass: publish, write to host memory, tokens, completions
// (spec/buckets.md 7).
func (in *instance) finish() {
	p := in.flight[0]
	in.flight = in.flight[1:]
	in.due, in.sealed = true, false
	for _, s := range p.stored {
		in.publish(s)
	}
	for _, c := range p.chunks {
		c.q.inFlight -= c.n
		if !c.q.gone && c.yields {
			in.receive(c.q, p.endMs)
		}
	}
}

// publish makes computed blocks known, and puts those of the prompt into host
// memory, the last one first. One of which every copy was taken away meanwhile is lost.
func (in *instance) publish(s stored) {
	prompt := s.q.call.Prompt / in.s.Engine.BlockSize
	for i, name := range slices.Backward(s.names) {
		if name == "" {
			continue
		}
		in.pool.ready[name] = true
		in.bucket.store.publish(name, in.id, in.bucket.nowMs)
		if in.host.size > 0 && s.from+i < prompt {
			in.host.keep(name)
		}
	}
}

// receive is a token that arrives.
func (in *instance) receive(q *request, atMs float64) {
	q.row.TokenMs = append(q.row.TokenMs, atMs)
	running := slices.Index(in.running, q)
	if q.onWay > 0 {
		q.onWay--
		q.received++
	}
	if running >= 0 && in.depth > 1 { // its content is known from now on
		in.publish(in.register(q, min(q.computed-q.onWay, q.known())))
	}
	if len(q.row.TokenMs) < q.limit {
		return
	}
	if running >= 0 {
		in.running = slices.Delete(in.running, running, running+1)
		in.pool.release(q.blocks)
	} else {
		in.waiting = slices.DeleteFunc(in.waiting, func(r *request) bool { return r == q })
	}
	in.end(q, "completed", atMs)
}
