package literal

import (
	"cmp"
	"math"
	"slices"

	"github.com/reprise-sim/reprise/engine"
)

// request is a call at an instance. Its tokens are those of the prompt and then
// those that it will generate.
type request struct {
	row       *Row
	call      *Call
	names     []string // of the full blocks of prompt and output
	limit     int      // outputs it may generate
	received  int      // outputs
	onWay     int      // outputs of passes in flight
	computed  int
	inFlight  int // tokens of passes in flight that are computed
	blocks    []*block
	preempted bool
	gone      bool
	load      *load // its last one
}

// known is the number of tokens that are there.
func (q *request) known() int { return q.call.Prompt + q.received }

// all counts those on their way too.
func (q *request) all() int { return q.known() + q.onWay }

// pass is a pass that is being put together, or in flight.
type pass struct {
	chunks []chunk
	endMs  float64
	stored []stored
	left   int // tokens of the budget
	most   int // tokens that one request may get
}

// chunk is a request's share of a pass.
type chunk struct {
	q         *request
	n, before int
	yields    bool
}

// stored are blocks of a request that the schedule call of a pass has registered.
type stored struct {
	q     *request
	from  int
	names []string // "" for what is lost
}

// instance is a scheduler with its pool and host memory (spec/vllm-real.md 4 to 7,
// spec/buckets.md 6).
type instance struct {
	s      *Settings
	bucket *bucket
	id     int
	pool   *pool
	host   host

	waiting []*request
	running []*request
	loading []*load
	loaded  []*load
	open    *pass // the one that was put together last
	flight  []*pass
	endMs   float64 // of the last pass

	due    bool // something has happened since the last call of schedule
	sealed bool // an empty step stands behind the passes in flight
	depth  int
}

func newInstance(s *Settings, b *bucket, id int) *instance {
	in := &instance{s: s, bucket: b, id: id, open: &pass{}, pool: newPool(s.Engine.NumGPUBlocks - 1), depth: 1, endMs: -inf}
	if s.Engine.VLLM.AsyncScheduling {
		in.depth = 2
	}
	in.host = host{size: s.HostBlocks, pins: map[string]int{}}
	in.host.lost = func(name string) {
		if len(in.pool.named[name]) == 0 {
			b.store.withdraw(name, id, b.nowMs)
		}
	}
	in.pool.lost = func(name string) {
		if !in.host.has(name) {
			b.store.withdraw(name, id, b.nowMs)
		}
		for _, p := range append(slices.Clone(in.flight), in.open) {
			for _, s := range p.stored {
				if i := slices.Index(s.names, name); i >= 0 {
					s.names[i] = ""
				}
			}
		}
	}
	return in
}

func (in *instance) ceil(tokens int) int {
	return (tokens + in.s.Engine.BlockSize - 1) / in.s.Engine.BlockSize
}

// watermark is the number of blocks kept free at an admission.
func (in *instance) watermark() int {
	if len(in.running) == 0 {
		return 0
	}
	return int(in.s.Engine.VLLM.Watermark * float64(in.s.Engine.NumGPUBlocks))
}

// threshold is how many tokens a request may get in a pass (spec/vllm-real.md 4.1).
func (in *instance) threshold() int {
	v, others := &in.s.Engine.VLLM, len(in.running)+len(in.waiting)
	switch {
	case v.LongPrefillTokenThreshold == 0 || others <= 1:
		return math.MaxInt
	case v.LongPrefillAdaptive:
		return max(v.LongPrefillTokenThreshold, in.s.Engine.MaxNumBatchedTokens/others)
	}
	return v.LongPrefillTokenThreshold
}

// decide calls schedule until a pass starts that fills the device, or the call
// changes nothing. It is whether anything changed.
func (in *instance) decide() bool {
	changed := false
	for in.due && !in.sealed && len(in.flight) < in.depth {
		p, did := in.schedule()
		changed = changed || did || len(p.chunks) > 0
		if len(p.chunks) > 0 {
			in.start(p)
			continue
		}
		in.sealed = len(in.flight) > 0
		if !did {
			break
		}
	}
	in.due = false
	return changed || in.unstick()
}

// schedule is one call of it; changed is whether requests lost their blocks or began
// to load.
func (in *instance) schedule() (p *pass, changed bool) {
	p = &pass{left: in.s.budget(), most: in.threshold()}
	in.open = p
	if in.serve(p) {
		return p, true
	}
	for p.left > 0 && len(in.waiting)+len(in.loaded) > 0 && len(in.running) < in.s.seqs() {
		if len(in.loaded) > 0 {
			if !in.admitLoaded(p) {
				break
			}
			continue
		}
		began, ok := in.admitHead(p)
		if !ok {
			break
		}
		changed = changed || began
	}
	return p, changed
}

// serve gives running requests their tokens, in order (spec/vllm-real.md 4.2, 4.3).
func (in *instance) serve(p *pass) (preempted bool) {
	for i := 0; i < len(in.running) && p.left > 0; i++ {
		q := in.running[i]
		want := min(q.all()-q.computed, p.most, p.left)
		if q.received+q.onWay >= q.limit {
			want = 0 // its last token is on its way
		}
		if want == 0 {
			continue
		}
		for in.ceil(q.computed+want)-len(q.blocks) > in.pool.free() {
			victim := in.victim()
			in.takeBack(p, victim)
			in.preempt(victim)
			preempted = true
			if victim == q {
				return true
			}
			i = slices.Index(in.running, q)
			want = min(want, p.left)
		}
		in.give(p, q, want)
	}
	return preempted
}

// victim is who loses its blocks (spec/vllm-real.md 4.3, 10).
func (in *instance) victim() *request {
	if !in.s.byPriority() {
		return in.running[len(in.running)-1]
	}
	return slices.MaxFunc(in.running, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.call.Priority, b.call.Priority), cmp.Compare(a.call.Arrival, b.call.Arrival))
	})
}

// takeBack takes a request out of a pass that is being put together.
func (in *instance) takeBack(p *pass, q *request) {
	i := slices.IndexFunc(p.chunks, func(c chunk) bool { return c.q == q })
	if i < 0 {
		return
	}
	c := p.chunks[i]
	p.left += c.n
	q.inFlight -= c.n
	if c.yields {
		q.onWay--
	}
	p.chunks = slices.Delete(p.chunks, i, i+1)
}

// preempt takes all blocks from a request. Tokens on their way still arrive.
func (in *instance) preempt(q *request) {
	in.running = slices.DeleteFunc(in.running, func(r *request) bool { return r == q })
	in.pool.release(q.blocks)
	q.received, q.onWay = q.received+q.onWay, 0
	q.blocks, q.computed, q.preempted = nil, 0, true
	q.row.Preemptions++
	in.wait(q, 0)
}

// wait puts a request at a place of the queue, or, under the priority policy, at its
// own (spec/vllm-real.md 10).
func (in *instance) wait(q *request, at int) {
	if in.s.byPriority() {
		for at = 0; at < len(in.waiting) && in.waiting[at].urgency(q) < 0; at++ {
		}
	}
	in.waiting = slices.Insert(in.waiting, at, q)
}

func (q *request) urgency(than *request) int {
	a, b := q.call, than.call
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.ID, b.ID))
}

// give lets a running request compute n more tokens.
func (in *instance) give(p *pass, q *request, n int) {
	if need := in.ceil(q.computed+n) - len(q.blocks); need > 0 {
		q.blocks = append(q.blocks, in.pool.take(need)...)
	}
	yields := q.computed+n == q.all() && q.received+q.onWay < q.limit
	p.chunks = append(p.chunks, chunk{q, n, q.computed, yields})
	q.computed += n
	q.inFlight += n
	p.left -= n
	if s := in.register(q, min(q.computed, q.known())); len(s.names) > 0 {
		p.stored = append(p.stored, s)
	}
	if yields {
		q.onWay++
	}
}

// register gives the full blocks among the first n tokens their names.
func (in *instance) register(q *request, n int) stored {
	s := stored{q: q}
	if !in.s.Engine.EnablePrefixCaching {
		return s
	}
	for i := range n / in.s.Engine.BlockSize {
		b := q.blocks[i]
		if b.name != "" {
			continue
		}
		if len(s.names) == 0 {
			s.from = i
		}
		in.pool.register(b, q.names[i])
		s.names = append(s.names, q.names[i])
	}
	return s
}

// admitHead looks at the head of waiting (spec/vllm-real.md 4.4, spec/buckets.md 6.1).
// began is whether it left for a load.
func (in *instance) admitHead(p *pass) (began, ok bool) {
	q := in.waiting[0]
	whole := in.ceil(q.known())
	names := q.names[:(q.known()-1)/in.s.Engine.BlockSize]
	var hits []*block
	if in.s.Engine.EnablePrefixCaching {
		hits = in.pool.find(names)
	}
	owed := in.owed()
	if runs := in.lookFor(names, len(hits)); len(runs) > 0 {
		if whole-len(hits)+idle(hits)+in.watermark()+owed > in.pool.free() {
			return false, false
		}
		in.waiting = in.waiting[1:]
		in.beginLoad(q, hits, runs)
		return true, true
	}
	n, ok := in.first(p, q, len(hits)*in.s.Engine.BlockSize)
	need := in.ceil(len(hits)*in.s.Engine.BlockSize+n) - len(hits)
	if in.s.Engine.VLLM.ReserveFullISL {
		need = max(need, whole-len(hits))
	}
	if !ok || need+idle(hits)+in.watermark()+owed > in.pool.free() {
		return false, false
	}
	in.waiting = in.waiting[1:]
	in.use(q, hits, len(hits))
	in.pool.hit(hits)
	q.blocks = slices.Clone(hits)
	in.admit(p, q, len(hits)*in.s.Engine.BlockSize, n)
	return false, true
}

// admitLoaded admits the first request that has loaded.
func (in *instance) admitLoaded(p *pass) bool {
	l := in.loaded[0]
	q := l.q
	cached := l.usable * in.s.Engine.BlockSize
	n, ok := in.first(p, q, cached)
	need := in.ceil(cached+n) - len(q.blocks)
	if in.s.Engine.VLLM.ReserveFullISL {
		need = max(need, in.ceil(q.known())-len(q.blocks))
	}
	if !ok || max(need, 0)+in.watermark() > in.pool.free() {
		return false
	}
	in.loaded = in.loaded[1:]
	in.admit(p, q, cached, n)
	return true
}

// first is how many tokens a request gets at its admission that has cached ones.
func (in *instance) first(p *pass, q *request, cached int) (n int, ok bool) {
	n = min(q.known()-cached, p.most)
	if !in.s.Engine.EnableChunkedPrefill && n > p.left {
		return 0, false
	}
	return min(n, p.left), true
}

// admit makes a request run.
func (in *instance) admit(p *pass, q *request, cached, n int) {
	in.running = append(in.running, q)
	q.computed = cached
	q.row.admit(in.bucket.nowMs, cached, in.s.Engine.BlockSize, q)
	in.give(p, q, n)
}

// unstick ends a request that can never be admitted though nothing runs. The
// schedulers themselves would let it wait for ever.
func (in *instance) unstick() bool {
	if len(in.flight)+len(in.running)+len(in.loading) > 0 || len(in.waiting)+len(in.loaded) == 0 {
		return false
	}
	var q *request
	if len(in.loaded) > 0 {
		q = in.loaded[0].q
		in.loaded = in.loaded[1:]
		in.pool.release(q.blocks)
	} else {
		q = in.waiting[0]
		in.waiting = in.waiting[1:]
	}
	in.end(q, "failed", in.bucket.nowMs)
	in.due = true
	return true
}

func (in *instance) end(q *request, status string, atMs float64) {
	q.gone = true
	q.row.Status, q.row.EndMs = status, atMs
}

// load is the instance as routers see it (spec/buckets.md 3, 5).
func (in *instance) view() engine.Load {
	l := engine.Load{
		Waiting: len(in.waiting) + len(in.loading) + len(in.loaded), Running: len(in.running),
		BlocksUsed: in.pool.used(), BlocksTotal: in.pool.size,
	}
	for _, q := range in.waiting {
		l.PrefillTokens += q.call.Prompt
	}
	for _, w := range append(slices.Clone(in.loading), in.loaded...) {
		l.PrefillTokens += w.q.call.Prompt
	}
	for _, q := range in.running {
		l.PrefillTokens += max(0, q.call.Prompt-(q.computed-q.inFlight))
	}
	return l
}
