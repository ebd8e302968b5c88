package cluster

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
)

// Service is what a loop runs: it takes requests at their arrival and is asked
// when it has to be looked at next.
type Service interface {
	// Place decides where a request goes and hands it over; nowMs is its arrival.
	Place(r *routing.Request, e *engine.Request, nowMs float64) error
	// NextMs is the next instant at which the service has to be settled, +Inf if
	// nothing will happen by itself.
	NextMs() float64
	// Settle lets everything end that ends at nowMs and tells who has ended.
	Settle(nowMs float64, ended func(Ended)) error
	// Start makes the decisions of nowMs.
	Start(nowMs float64) error
	// Cancel ends a request that is open, wherever it is, at nowMs: an instant that has
	// been settled and whose decisions have not been made.
	Cancel(row int32, status metrics.Status, reason string, nowMs float64) error
	// Kept is the number of requests that wait in the placement.
	Kept() int

	// Relax says whether nobody waits for the end of a request, so that an instance
	// may be left behind until somebody looks at it. Gather brings all instances to
	// nowMs, the end of an instant.
	Relax(on bool)
	Gather(nowMs float64) error

	// Blind is whether Place may be asked ahead of time: it looks at nothing and
	// wants to be told nothing.
	Blind() bool
	// Instances are all instances, by (bucket, instance).
	Instances() []*Instance
}

// Cluster is a pool of aggregated instances behind one placement: what a bucket
// consists of.
type Cluster struct {
	instances []*Instance
	placement routing.Placement
	tiers     *tiers    // nil: nobody asks who holds what
	nextMs    []float64 // of each instance, if it is not stale
	stale     []bool    // nextMs has to be asked for again
	touched   []bool    // may have decisions to make, or something to tell
	seen      []seen
	relaxed   bool
	settledMs float64 // the instant that was settled last
	view      view
	kept      map[int32]engine.Request // requests that the placement keeps
	released  []routing.Choice
	onWay     onWay
	frontMs   float64
}

var _ Service = (*Cluster)(nil)

// Setup is what a cluster is made of besides its instances.
type Setup struct {
	Placement routing.Placement
	BlockSize int // tokens in a KV block
	// Tiers is nil if nobody asks which instance holds what.
	Tiers  *TierSettings
	Ledger *metrics.Ledger
	// Price is price(tokens) of spec/buckets.md 3; nil: the latency model cannot say.
	Price func(tokens int64) (float64, bool)
	// FrontMs is the time that every request takes from its routing to its instance,
	// beside what the router takes.
	FrontMs float64
	// Blocks is told what happens to the blocks of instances, if there are Tiers (of any
	// size, none at all included); nil: nobody.
	Blocks BlockObserver
	// Transfers is told each transfer between tiers that starts; nil: nobody.
	Transfers func(*Transfer)
}

// New is a cluster of idle instances without tiers; see [NewBucket].
func New(instances []*Instance, p routing.Placement) *Cluster {
	c, err := NewBucket(instances, Setup{Placement: p})
	if err != nil {
		panic(err) // only tiers can be refused
	}
	return c
}

// NewBucket is a cluster of idle instances, which are announced to the placement
// in order.
func NewBucket(instances []*Instance, s Setup) (*Cluster, error) {
	n := len(instances)
	c := &Cluster{
		instances: instances, placement: s.Placement,
		nextMs: make([]float64, n), stale: make([]bool, n), touched: make([]bool, n), seen: make([]seen, n),
		kept: map[int32]engine.Request{}, settledMs: math.Inf(-1), frontMs: s.FrontMs,
	}
	if s.Price == nil {
		s.Price = func(int64) (float64, bool) { return 0, false }
	}
	if s.Tiers != nil {
		t, err := newTiers(instances, &s)
		if err != nil {
			return nil, err
		}
		c.tiers = t
	}
	c.view = view{c: c, blockSize: s.BlockSize, price: s.Price, prefix: make([]int32, n)}
	p := s.Placement
	for i := range instances {
		c.nextMs[i], c.seen[i].untilMs = math.Inf(1), math.Inf(-1)
		instances[i].tells = p.Needs()
		p.Topology(routing.Change{State: routing.Ready, Worker: int32(i), Targets: []int32{int32(i)}}, 0, nil)
	}
	p.Settled(0, nil)
	return c, nil
}

// Instances implements [Service].
func (c *Cluster) Instances() []*Instance { return c.instances }

// Blind implements [Service]. Requests that are on their way are submitted at an
// instant of their own.
func (c *Cluster) Blind() bool {
	return c.placement.Needs() == 0 && c.tiers == nil && c.frontMs == 0
}

// Kept implements [Service].
func (c *Cluster) Kept() int { return len(c.kept) }

// Place implements [Service].
func (c *Cluster) Place(r *routing.Request, e *engine.Request, nowMs float64) error {
	c.view.turnTo(r, nowMs)
	choice, queued, err := c.choose(r, nowMs)
	if err != nil {
		return err
	}
	if queued {
		c.kept[e.Row] = *e
		return nil
	}
	c.submit(choice, e, nowMs)
	return nil
}

// choose asks the placement, whose view has been turned to r.
func (c *Cluster) choose(r *routing.Request, nowMs float64) (routing.Choice, bool, error) {
	choice, queued, err := c.placement.Place(r, &c.view, nowMs)
	if err == nil {
		err = c.view.err
	}
	switch {
	case err != nil || queued:
	case choice.Row != r.Row:
		err = fmt.Errorf("request row %d: the placement answered for row %d", r.Row, choice.Row)
	default:
		err = c.check(choice)
	}
	return choice, queued, err
}

// check refuses the choice of a target that does not exist.
func (c *Cluster) check(choice routing.Choice) error {
	if choice.Target >= 0 && int(choice.Target) < len(c.instances) {
		return nil
	}
	return fmt.Errorf("request row %d: the placement of bucket %d chose target %d of %d",
		choice.Row, c.instances[0].bucket, choice.Target, len(c.instances))
}

// submit hands a placed request to its instance.
func (c *Cluster) submit(choice routing.Choice, e *engine.Request, nowMs float64) {
	row := c.instances[choice.Target].ledger.Row(e.Row)
	row.Bucket, row.Instance = c.instances[choice.Target].bucket, choice.Target
	if delayMs := choice.DelayMs + c.frontMs; delayMs > 0 {
		c.onWay.push(underway{dueMs: nowMs + delayMs, target: choice.Target, request: *e})
		c.instances[choice.Target].expect(e, 1)
		c.seen[choice.Target].untilMs = math.Inf(-1)
		return
	}
	c.instances[choice.Target].Submit(e, nowMs)
	c.touch(int(choice.Target))
}

// arrive submits the requests that have been on their way until nowMs.
func (c *Cluster) arrive(nowMs float64) {
	for c.onWay.nextMs() <= nowMs {
		u := c.onWay.pop()
		c.instances[u.target].expect(&u.request, -1)
		c.instances[u.target].Submit(&u.request, u.dueMs)
		c.touch(int(u.target))
	}
}

// touch notes that an instance has changed.
func (c *Cluster) touch(i int) {
	c.touched[i], c.stale[i], c.seen[i].untilMs = true, true, math.Inf(-1)
}

// next is the next instant at which instance i has to be looked at.
func (c *Cluster) next(i int) float64 {
	if !c.stale[i] {
		return c.nextMs[i]
	}
	c.stale[i] = false
	switch in := c.instances[i]; {
	case c.relaxed && c.alone(in):
		c.nextMs[i] = math.Inf(1)
	case len(in.ended) > 0 && !c.relaxed: // somebody has to be told
		c.nextMs[i] = in.nowMs
	default:
		c.nextMs[i] = in.NextMs()
	}
	return c.nextMs[i]
}

// alone is whether an instance asks nothing of the others, and tells nobody
// anything, before a request is submitted to it.
func (c *Cluster) alone(in *Instance) bool {
	return c.tiers == nil || !c.tiers.on() || in.inbox.len() == 0 && in.tiered.Secure() && !in.flashes()
}

// keepUp makes the decisions of the rounds of the instant nowMs that are over, for
// instances that have been left behind.
func (c *Cluster) keepUp(nowMs float64) error {
	for i, in := range c.instances {
		if in.nowMs == nowMs {
			continue
		}
		if err := in.AdvanceTo(nowMs); err != nil {
			return err
		}
		if err := in.Start(nowMs); err != nil {
			return err
		}
		c.touch(i)
	}
	return nil
}

// Relax implements [Service].
func (c *Cluster) Relax(on bool) {
	c.relaxed = on && c.placement.Needs()&(routing.Ends|routing.FirstToken|routing.Admission) == 0
	for i := range c.stale {
		c.stale[i] = true
	}
}

// Gather implements [Service].
func (c *Cluster) Gather(nowMs float64) error {
	for i, in := range c.instances {
		if err := in.AdvanceTo(nowMs); err != nil {
			return err
		}
		c.touch(i)
	}
	return nil
}

// NextMs implements [Service].
func (c *Cluster) NextMs() float64 {
	next := c.onWay.nextMs()
	if c.tiers != nil {
		next = min(next, c.tiers.net.nextMs())
	}
	for i := range c.instances {
		next = min(next, c.next(i))
	}
	return next
}

// Settle implements [Service].
func (c *Cluster) Settle(nowMs float64, ended func(Ended)) error {
	if c.relaxed && c.settledMs == nowMs && c.tiers != nil && c.tiers.on() {
		if err := c.keepUp(nowMs); err != nil {
			return err
		}
	}
	c.settledMs = nowMs
	for i, in := range c.instances {
		if c.next(i) <= nowMs {
			if err := in.AdvanceTo(nowMs); err != nil {
				return err
			}
			c.touch(i)
		}
		if c.touched[i] {
			in.Ended(ended)
			if err := c.tell(i, nowMs); err != nil {
				return err
			}
		}
	}
	if c.tiers != nil {
		c.tiers.net.finish(nowMs, func(l *load) {
			c.tiers.loaded(l, nowMs)
			c.touch(int(l.instance))
		})
	}
	c.arrive(nowMs)
	return nil
}

// tell tells the placement what happened on an instance, and hands over the
// requests that it releases.
func (c *Cluster) tell(i int, nowMs float64) error {
	in := c.instances[i]
	for k := 0; k < len(in.told); k++ { // what is released may end at once, and be told too
		e := in.told[k]
		c.released = c.placement.Tell(routing.Notice{Kind: e.Kind, Row: e.Row, Target: int32(i)}, nowMs, c.released[:0])
		for _, choice := range c.released {
			r, ok := c.kept[choice.Row]
			if !ok {
				return fmt.Errorf("request row %d: the placement released it and does not keep it", choice.Row)
			}
			delete(c.kept, choice.Row)
			if err := c.check(choice); err != nil {
				return err
			}
			c.submit(choice, &r, nowMs)
		}
	}
	in.told = in.told[:0]
	return nil
}

// Start implements [Service].
func (c *Cluster) Start(nowMs float64) error {
	for i, in := range c.instances {
		if !c.touched[i] {
			continue
		}
		if err := in.AdvanceTo(nowMs); err != nil {
			return err
		}
		if err := in.Start(nowMs); err != nil {
			return err
		}
		if err := c.tell(i, nowMs); err != nil {
			return err
		}
		c.touched[i], c.stale[i] = len(in.ended) > 0, true
	}
	if c.tiers != nil {
		c.tiers.net.start(nowMs)
	}
	return nil
}
