package paged

import (
	"math"
	"slices"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
)

// plain is the test double of Rank: the same rules written down once more the
// plain way, one loop per request and pass over blocks with names, following the
// words of spec/vllm-real.md 3-7, 9-11 and spec/engine.md 5-6. It shares no code
// with Rank but its settings.
type plain struct {
	s          engine.Settings
	aisimulate bool
	async      bool
	bs, size   int
	budget     int
	cap        int

	free    int
	idle    []*block // released first comes first
	known   map[string][]*block
	waiting []*job
	running []*job
	flight  []plainPass // decided, not complete
	bound   bool
}

type block struct {
	key  string
	refs int
}

type job struct {
	row, prompt, max  int
	priority          int
	arrival           float64
	id                string
	tokens            []uint32 // all it will ever have
	received          int      // outputs received
	placeholders      int      // outputs on their way
	computed          int
	blocks            []*block
	preempted, served bool
	prefilling        bool // more was known than computed when it was last served
	chunk             int  // tokens given in this step
	gone              bool
}

type plainPass struct {
	shares  []engine.Share
	jobs    []*job // by share
	refused []*job
	cost    latency.Pass
}

func newPlain(s engine.Settings) *plain {
	p := &plain{
		s: s, aisimulate: s.Rules == "aisimulate-0.13", bs: s.BlockSize, size: s.NumGPUBlocks,
		budget: s.MaxNumBatchedTokens, cap: s.MaxNumSeqs, known: map[string][]*block{},
	}
	if !p.aisimulate {
		p.size--
		p.async = s.VLLM.AsyncScheduling
		if n := s.VLLM.MaxNumScheduledTokens; n != nil {
			p.budget = *n
		}
		if n := s.VLLM.MaxNumActiveSeqs; n != nil {
			p.cap = *n
		}
	}
	p.free = p.size
	return p
}

func (p *plain) used() int { return p.size - p.free - len(p.idle) }

func (p *plain) ceil(n int) int { return (n + p.bs - 1) / p.bs }

// all is the number of tokens that exist or are on their way.
func (q *job) all() int { return q.prompt + q.received + q.placeholders }

func (p *plain) submit(q *job) {
	p.waiting = append(p.waiting, q)
	p.sortWaiting()
}

func (p *plain) byPriority() bool { return !p.aisimulate && p.s.VLLM.Policy == "priority" }

func (p *plain) sortWaiting() {
	if p.byPriority() {
		slices.SortStableFunc(p.waiting, func(a, b *job) int {
			switch {
			case a.priority != b.priority:
				return a.priority - b.priority
			case a.arrival != b.arrival:
				return int(math.Copysign(1, a.arrival-b.arrival))
			case a.id < b.id:
				return -1
			}
			return 1
		})
	}
}

// --- blocks

func (p *plain) key(q *job, i int) string {
	var b []byte
	for _, t := range q.tokens[:(i+1)*p.bs] {
		b = append(b, byte(t), byte(t>>8), byte(t>>16), byte(t>>24))
	}
	return string(b)
}

func (p *plain) lookUp(q *job, limit int) (hit []*block, idle int) {
	if !p.s.EnablePrefixCaching {
		return nil, 0
	}
	for i := range limit {
		c := p.known[p.key(q, i)]
		if len(c) == 0 {
			break
		}
		hit = append(hit, c[0])
		if c[0].refs == 0 {
			idle++
		}
	}
	return hit, idle
}

func (p *plain) touch(hit []*block) {
	for _, b := range hit {
		if b.refs++; b.refs == 1 {
			i := slices.Index(p.idle, b)
			p.idle = slices.Delete(p.idle, i, i+1)
		}
	}
}

func (p *plain) take(q *job, n int) {
	for range n {
		if p.free > 0 {
			p.free--
		} else {
			b := p.idle[0]
			p.idle = p.idle[1:]
			c := p.known[b.key]
			i := slices.Index(c, b)
			p.known[b.key] = slices.Delete(c, i, i+1)
		}
		q.blocks = append(q.blocks, &block{refs: 1})
	}
}

// register names the full blocks among the first n tokens.
func (p *plain) register(q *job, n int) {
	if !p.s.EnablePrefixCaching {
		return
	}
	for i := range n / p.bs {
		if b := q.blocks[i]; b.key == "" {
			b.key = p.key(q, i)
			p.known[b.key] = append(p.known[b.key], b)
		}
	}
}

func (p *plain) release(q *job) {
	for _, b := range slices.Backward(q.blocks) {
		if b.refs--; b.refs > 0 {
			continue
		}
		if b.key != "" {
			p.idle = append(p.idle, b)
		} else {
			p.free++
		}
	}
	q.blocks = nil
}

// --- schedule

func (p *plain) schedule(throttled bool) (decided bool, events []engine.Event) {
	left := p.budget
	threshold := 0
	if n := len(p.running) + len(p.waiting); !p.aisimulate && p.s.VLLM.LongPrefillTokenThreshold > 0 && n > 1 {
		threshold = p.s.VLLM.LongPrefillTokenThreshold
		if p.s.VLLM.LongPrefillAdaptive {
			threshold = max(threshold, p.s.MaxNumBatchedTokens/n)
		}
	}
	capped := func(n int) int {
		if threshold > 0 {
			return min(n, threshold)
		}
		return n
	}
	deferring := throttled && !p.bound && slices.ContainsFunc(p.running, func(q *job) bool { return !q.prefilling })
	pass := plainPass{}
	preempted := false
	for _, q := range p.running {
		q.served, q.chunk = false, 0
	}

	for i := 0; i < len(p.running) && left > 0; {
		q := p.running[i]
		want := min(capped(q.all()-q.computed), left)
		if q.max > 0 && q.received+q.placeholders >= q.max {
			want = 0 // its last token is on its way
		}
		if deferring && q.prefilling {
			want = 0
		}
		if want == 0 {
			i++
			continue
		}
		self := false
		for p.ceil(q.computed+want)-len(q.blocks) > p.size-p.used() {
			v := p.victim()
			at := slices.Index(p.running, v)
			p.running = slices.Delete(p.running, at, at+1)
			if v.served {
				left += v.chunk
				j := slices.Index(pass.jobs, v)
				pass.jobs = slices.Delete(pass.jobs, j, j+1)
				pass.shares = slices.Delete(pass.shares, j, j+1)
			}
			if at < i {
				i--
			}
			p.release(v)
			v.computed, v.preempted, v.served = 0, true, false
			// What is on its way still arrives.
			v.received, v.placeholders = v.received+v.placeholders, 0
			p.waiting = append([]*job{v}, p.waiting...)
			p.sortWaiting()
			events = append(events, engine.Event{Kind: engine.Preempted, Row: int32(v.row)})
			preempted = true
			if v == q {
				self = true
				break
			}
		}
		if self {
			if !p.aisimulate {
				break
			}
			continue
		}
		p.give(q, want, &pass)
		left -= want
		i++
	}

	for !preempted && len(p.waiting) > 0 && len(p.running) < p.cap && (left > 0 || p.aisimulate) {
		q := p.waiting[0]
		if p.aisimulate {
			tooLong := p.s.MaxModelLen != nil && q.prompt >= *p.s.MaxModelLen
			if tooLong || !q.preempted && p.ceil(q.all()) > p.size {
				p.waiting = p.waiting[1:]
				pass.refused = append(pass.refused, q)
				continue
			}
		}
		limit := q.all() / p.bs
		if q.received < q.max {
			limit = (q.all() - 1) / p.bs
		}
		hit, idle := p.lookUp(q, limit)
		cached := len(hit) * p.bs
		rest := q.all() - cached
		if deferring && rest > 1 {
			break
		}
		want := capped(rest)
		if !p.s.EnableChunkedPrefill {
			must := want
			if p.aisimulate {
				must = q.prompt - cached
			}
			if must > left {
				break
			}
		}
		want = min(want, left)
		if want == 0 && rest > 0 {
			break
		}
		fresh := p.ceil(cached+want) - len(hit)
		watermark, whole := 0, true
		if !p.aisimulate {
			whole = p.s.VLLM.ReserveFullISL
			if len(p.running) > 0 {
				watermark = int(math.Floor(p.s.VLLM.Watermark * float64(p.s.NumGPUBlocks)))
			}
		}
		if fresh+idle+watermark > p.size-p.used() || whole && p.ceil(q.all())-len(hit)+idle+watermark > p.size-p.used() {
			break
		}
		p.waiting = p.waiting[1:]
		p.touch(hit)
		q.blocks = slices.Clone(hit)
		q.computed = cached
		p.running = append(p.running, q)
		events = append(events, engine.Event{Kind: engine.Admitted, Row: int32(q.row), N: int32(cached), Again: q.preempted})
		p.give(q, want, &pass)
		left -= want
	}
	if !deferring && !preempted {
		p.bound = len(p.waiting) > 0
	}
	if len(pass.jobs)+len(pass.refused) == 0 {
		return false, events
	}
	p.price(&pass)
	for i, q := range pass.jobs {
		if pass.shares[i].Yields {
			q.placeholders++
		}
	}
	p.flight = append(p.flight, pass)
	return true, events
}

// give lets q compute n tokens.
func (p *plain) give(q *job, n int, pass *plainPass) {
	p.take(q, p.ceil(q.computed+n)-len(q.blocks))
	known := q.prompt + q.received // without tokens on their way
	pass.jobs = append(pass.jobs, q)
	yields := q.computed+n == q.all() && q.received+q.placeholders < q.max
	pass.shares = append(pass.shares, engine.Share{Row: int32(q.row), New: int32(n), Before: int32(q.computed), Yields: yields})
	q.computed += n
	q.served, q.chunk = true, n
	q.prefilling = q.computed < q.all()
	if p.aisimulate {
		q.prefilling = q.computed < q.prompt
	}
	p.register(q, min(q.computed, known))
}

func (p *plain) victim() *job {
	switch {
	case p.byPriority():
		worst := p.running[0]
		for _, q := range p.running[1:] {
			if q.priority > worst.priority || q.priority == worst.priority && q.arrival > worst.arrival {
				worst = q
			}
		}
		return worst
	case p.aisimulate && p.s.AISimulate.PreemptionMode == "fifo":
		return p.running[0]
	}
	return p.running[len(p.running)-1]
}

func (p *plain) price(pass *plainPass) {
	c := &pass.cost
	c.PoolTokens = int64(p.s.NumGPUBlocks * p.bs)
	for i, q := range pass.jobs {
		sh := pass.shares[i]
		n, before := int(sh.New), int(sh.Before)
		if sh.Yields {
			c.Sampled++
		}
		if !p.aisimulate {
			if before < q.prompt || n > 1 {
				c.AddPrefill(int64(n), int64(before))
			} else {
				c.AddDecode(int64(before + 1))
			}
			continue
		}
		own := min(before+n, q.prompt) - min(before, q.prompt)
		if own > 0 {
			c.AddPrefill(int64(own), int64(min(before, q.prompt)))
		}
		if sh.Yields && (own == 0 || q.received > 0) {
			c.AddDecode(int64(q.prompt + q.received))
		}
	}
}

// complete applies the oldest pass.
func (p *plain) complete() (events []engine.Event) {
	pass := p.flight[0]
	p.flight = p.flight[1:]
	for i, q := range pass.jobs {
		if q.gone || !pass.shares[i].Yields && q.max > 0 {
			continue
		}
		if !pass.shares[i].Yields && q.computed < q.all() {
			continue
		}
		if pass.shares[i].Yields && q.placeholders > 0 {
			q.placeholders--
			q.received++
		}
		running := slices.Index(p.running, q)
		if running >= 0 && p.async {
			p.register(q, min(q.computed-q.placeholders, q.prompt+q.received))
		}
		if q.received == q.max && q.placeholders == 0 {
			if running >= 0 {
				p.running = slices.Delete(p.running, running, running+1)
				p.release(q)
			} else {
				w := slices.Index(p.waiting, q)
				p.waiting = slices.Delete(p.waiting, w, w+1)
			}
			q.gone = true
			events = append(events, engine.Event{Kind: engine.Finished, Row: int32(q.row)})
		}
	}
	for _, q := range pass.refused {
		if !q.gone {
			q.gone = true
			events = append(events, engine.Event{Kind: engine.Rejected, Row: int32(q.row)})
		}
	}
	return events
}

func (p *plain) cancel(row int) bool {
	for i, q := range p.running {
		if q.row == row {
			p.running = slices.Delete(p.running, i, i+1)
			p.release(q)
			q.gone = true
			return true
		}
	}
	for i, q := range p.waiting {
		if q.row == row {
			p.waiting = slices.Delete(p.waiting, i, i+1)
			q.gone = true
			return true
		}
	}
	return false
}
