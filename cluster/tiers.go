package cluster

import (
	"fmt"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/kvcache"
	"github.com/reprise-sim/reprise/metrics"
)

// TierSettings say what lies below the pools of a bucket's instances and how long
// others see what an instance holds (spec/buckets.md 6).
type TierSettings struct {
	BlockSize  int
	HostBlocks int // host memory of an instance; 0: none
	Wires      Wires
	Remote     bool // instances fetch from one another
	// Cheaper loads a run only if that is faster than computing it.
	Cheaper    bool
	Visibility kvcache.Visibility
}

// on is whether requests may wait for loads.
func (s *TierSettings) on() bool { return s.HostBlocks > 0 || s.Remote }

// tiers is what the instances of a bucket hold and how it gets from one to the
// other: the meta store, host memories and lanes.
type tiers struct {
	TierSettings
	dir       *kvcache.Directory
	net       *network
	instances []*Instance
	ledger    *metrics.Ledger
	price     func(tokens int64) (float64, bool)
	loads     map[int32]*load // by row
	blocks    BlockObserver   // nil: nobody
}

func newTiers(instances []*Instance, s *Setup) (*tiers, error) {
	t := &tiers{
		TierSettings: *s.Tiers,
		dir:          kvcache.NewDirectory(len(instances), s.Tiers.HostBlocks, s.Tiers.Visibility),
		net:          newNetwork(len(instances), s.Tiers.Wires, s.Transfers),
		instances:    instances, ledger: s.Ledger, price: s.Price, loads: map[int32]*load{}, blocks: s.Blocks,
	}
	t.net.holds = t.holds
	for i, in := range instances {
		rank, ok := in.rank.(engine.Tiered)
		if !ok {
			return nil, fmt.Errorf("this engine has no tiers below its pool")
		}
		in.tiers, in.tiered = t, rank
		rank.Attach(&lower{t: t, in: in, finder: t.finder(int32(i), in)})
	}
	return t, nil
}

func (t *tiers) finder(i int32, in *Instance) kvcache.Finder {
	return kvcache.Finder{
		Instance: i, Host: t.HostBlocks > 0, Remote: t.Remote,
		Usable:  func(owner int32) bool { return !t.instances[owner].draining },
		Backlog: func(owner int32) float64 { return t.net.backlog(owner, in.nowMs) },
	}
}

// sync brings what is known of all instances' blocks up to nowMs. If one of them asks,
// in the midst of its decisions, those before it have made theirs of that instant;
// else asker is nil.
func (t *tiers) sync(nowMs float64, asker *Instance) error {
	decided := asker != nil
	for _, in := range t.instances {
		if in == asker {
			in.look(in.decided, in.nowMs)
			decided = false
			continue
		}
		if err := in.bring(nowMs, decided); err != nil {
			return err
		}
	}
	return nil
}

// holds is what an owner really has at the moment at which a transfer starts: all
// decisions have been made.
func (t *tiers) holds(owner int32, words []uint64, from, to int32, nowMs float64) int32 {
	t.instances[owner].bring(nowMs, true) // its error stays
	return t.dir.Holds(owner, words, from, to)
}

// bring takes in what happened to an instance's blocks up to nowMs, with or without
// its decisions of that instant. If it has made them already, it stays where it is:
// a pass that takes no time is over in the next round of the instant.
func (in *Instance) bring(nowMs float64, decided bool) error {
	var err error
	if in.nowMs < nowMs || in.due {
		err = in.AdvanceTo(nowMs)
		if err == nil && decided {
			err = in.Start(nowMs)
		}
	}
	in.look(in.decided, in.nowMs)
	return err
}

// note takes in what happened to blocks of an instance.
func (t *tiers) note(in *Instance, e *engine.BlockEvent, atMs float64) {
	if t.blocks != nil {
		t.blocks(in, e, atMs)
	}
	switch e.Kind {
	case engine.Stored:
		t.dir.Store(in.id, e.Words, e.From, e.To, atMs)
		t.dir.Keep(in.id, e.Words, e.From, min(e.To, e.Prompt), atMs)
	case engine.Evicted:
		t.dir.Evict(in.id, e.Words, e.From, e.To, atMs)
	case engine.Used:
		t.dir.Use(in.id, e.Words, e.To, e.Found, atMs)
	}
}

// loaded ends a load: what came is in the instance's pool, and what came from
// another instance in its host memory too.
func (t *tiers) loaded(l *load, nowMs float64) {
	if l.forgotten {
		return
	}
	in := t.instances[l.instance]
	in.AdvanceTo(nowMs) // its error stays
	delete(t.loads, l.row)
	t.unpin(l)
	in.tiered.Loaded(l.row, l.usable)
	in.plan.drop()
	t.dir.Store(l.instance, l.words, l.hits, l.usable, nowMs)
	for i := len(l.sources) - 1; i >= 0; i-- {
		if s := l.sources[i]; !s.Host {
			t.dir.Keep(l.instance, l.words, s.From, min(s.From+s.Blocks, l.usable), nowMs)
		}
	}
	row := t.ledger.Row(l.row)
	row.Tiers.RemoteStale += l.stale
	row.Tiers.LoadWaitMs += nowMs - l.beganMs
	if row.Admissions == 0 {
		row.Tiers.L0, row.Tiers.L1, row.Tiers.Remote = l.hits, 0, 0
		for _, s := range l.sources {
			n := max(0, min(s.From+s.Blocks, l.usable)-s.From)
			if s.Host {
				row.Tiers.L1 += n
			} else {
				row.Tiers.Remote += n
			}
		}
	}
	in.wake(nowMs)
}

func (t *tiers) pin(l *load) {
	for _, s := range l.sources {
		if s.Host {
			t.dir.Pin(l.instance, l.words, s.From, s.From+s.Blocks)
		}
	}
}

func (t *tiers) unpin(l *load) {
	for _, s := range l.sources {
		if s.Host {
			t.dir.Unpin(l.instance, l.words, s.From, s.From+s.Blocks)
		}
	}
}

// lower is the tiers as the rank of one instance sees them.
type lower struct {
	t       *tiers
	in      *Instance
	finder  kvcache.Finder
	sources []kvcache.Source
	found   *load
}

// Find implements [engine.Lower].
func (l *lower) Find(row int32, words []uint64, from, limit int32) int32 {
	if !l.t.on() {
		return 0
	}
	if err := l.t.sync(l.in.nowMs, l.in); err != nil {
		l.in.err = err
		return 0
	}
	l.sources = l.t.dir.Find(l.sources[:0], &l.finder, words, from, limit, l.in.nowMs)
	if l.t.Cheaper {
		l.sources = l.sources[:l.worth()]
	}
	if len(l.sources) == 0 {
		return 0
	}
	last := l.sources[len(l.sources)-1]
	l.found = &load{row: row, instance: l.in.id, words: words, hits: from, usable: last.From + last.Blocks}
	return l.found.usable - from
}

// worth is how many of the runs found, from the first on, take less time to load
// than to compute.
func (l *lower) worth() int {
	for i, s := range l.sources {
		ms := l.t.Wires.remoteMs(s.Blocks)
		if s.Host {
			ms = l.t.Wires.hostMs(s.Blocks)
		}
		if compute, ok := l.t.price(int64(s.Blocks) * int64(l.t.BlockSize)); ok && ms >= compute {
			return i
		}
	}
	return len(l.sources)
}

// Begin implements [engine.Lower].
func (l *lower) Begin(row int32) {
	f := l.found
	f.sources = append(f.sources, l.sources...)
	l.t.loads[row] = f
	l.t.pin(f)
	l.t.net.ask(f, l.in.nowMs)
}

// Forget implements [engine.Lower].
func (l *lower) Forget(row int32) {
	f := l.t.loads[row]
	delete(l.t.loads, row)
	l.t.net.giveUp(f)
	l.t.unpin(f)
	f.forgotten = true
}
