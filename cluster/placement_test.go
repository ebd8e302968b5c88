package cluster

import (
	"math"

	"github.com/reprise-sim/reprise/routing"
)

// doubles are placements of tests, by name.
var doubles = map[string]func() routing.Placement{
	"one_each":    func() routing.Placement { return &oneEach{busy: map[int32]bool{}} },
	"hoard":       func() routing.Placement { return &hoard{} },
	"astray":      func() routing.Placement { return &wrong{target: 4242} },
	"below_zero":  func() routing.Placement { return &wrong{target: -1} },
	"impostor":    func() routing.Placement { return &wrong{otherRow: true} },
	"releases_it": func() routing.Placement { return &wrong{releases: true} },
	"shortest":    func() routing.Placement { return routing.Immediate(shortest{}, routing.Views) },
	"far_away":    func() routing.Placement { return routing.Immediate(farAway{}, 0) },
	"gossip":      func() routing.Placement { return &gossip{} },
}

// mute is what the doubles do not care for.
type mute struct{}

func (mute) Needs() routing.Needs { return 0 }
func (mute) Tell(_ routing.Notice, _ float64, released []routing.Choice) []routing.Choice {
	return released
}
func (mute) Topology(_ routing.Change, _ float64, released []routing.Choice) []routing.Choice {
	return released
}
func (mute) Settled(_ float64, released []routing.Choice) []routing.Choice { return released }
func (mute) Cancel(int32) bool                                             { return false }
func (mute) Pending() int                                                  { return 0 }

// oneEach sends one request to each target at a time and keeps the others, first
// come first served, until one has ended.
type oneEach struct {
	mute
	targets []int32
	busy    map[int32]bool
	queue   []int32
}

func (p *oneEach) Needs() routing.Needs { return routing.Ends }
func (p *oneEach) Pending() int         { return len(p.queue) }

func (p *oneEach) Topology(c routing.Change, _ float64, released []routing.Choice) []routing.Choice {
	p.targets = append(p.targets, c.Targets...)
	return released
}

func (p *oneEach) Place(r *routing.Request, _ routing.View, _ float64) (routing.Choice, bool, error) {
	for _, t := range p.targets {
		if !p.busy[t] {
			p.busy[t] = true
			return routing.Choice{Row: r.Row, Target: t}, false, nil
		}
	}
	p.queue = append(p.queue, r.Row)
	return routing.Choice{}, true, nil
}

func (p *oneEach) Tell(n routing.Notice, _ float64, released []routing.Choice) []routing.Choice {
	if len(p.queue) == 0 {
		p.busy[n.Target] = false
		return released
	}
	row := p.queue[0]
	p.queue = p.queue[1:]
	return append(released, routing.Choice{Row: row, Target: n.Target})
}

// hoard keeps everything for ever.
type hoard struct {
	mute
	pending int
}

func (p *hoard) Pending() int { return p.pending }
func (p *hoard) Place(*routing.Request, routing.View, float64) (routing.Choice, bool, error) {
	p.pending++
	return routing.Choice{}, true, nil
}

// wrong breaks the contract: it names a target that does not exist, answers for
// another request, or releases one that it does not keep.
type wrong struct {
	mute
	target             int32
	otherRow, releases bool
}

func (p *wrong) Needs() routing.Needs { return routing.Ends }
func (p *wrong) Place(r *routing.Request, _ routing.View, _ float64) (routing.Choice, bool, error) {
	c := routing.Choice{Row: r.Row, Target: p.target}
	if p.otherRow {
		c.Row++
	}
	return c, false, nil
}

func (p *wrong) Tell(n routing.Notice, _ float64, released []routing.Choice) []routing.Choice {
	if p.releases {
		released = append(released, routing.Choice{Row: n.Row})
	}
	return released
}

// shortest looks at all targets and takes the one with the fewest requests.
type shortest struct{}

func (shortest) RouteInstance(r *routing.Request, v routing.View, _ float64) (routing.Choice, error) {
	best, fewest := 0, math.MaxInt
	for i := range v.Len() {
		if l := v.Load(i); l.Waiting+l.Running < fewest {
			best, fewest = i, l.Waiting+l.Running
		}
	}
	return routing.Choice{Row: r.Row, Target: int32(best)}, nil
}

// farAway needs 3 ms to get a request to its target.
type farAway struct{}

func (farAway) RouteInstance(r *routing.Request, _ routing.View, _ float64) (routing.Choice, error) {
	return routing.Choice{Row: r.Row, DelayMs: 3}, nil
}

// gossip wants to be told everything and remembers it. It sends to all targets in
// turn.
type gossip struct {
	mute
	placed int32
	heard  []rumour
}

// rumour is a notice and when it was heard.
type rumour struct {
	routing.Notice
	atMs float64
}

func (p *gossip) Needs() routing.Needs {
	return routing.Ends | routing.FirstToken | routing.Admission
}

func (p *gossip) Place(r *routing.Request, v routing.View, _ float64) (routing.Choice, bool, error) {
	p.placed++
	return routing.Choice{Row: r.Row, Target: p.placed % int32(v.Len())}, false, nil
}

func (p *gossip) Tell(n routing.Notice, nowMs float64, released []routing.Choice) []routing.Choice {
	p.heard = append(p.heard, rumour{n, nowMs})
	return released
}
