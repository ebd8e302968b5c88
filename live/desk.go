package live

import (
	"runtime"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/experts"
)

// leadMs is how long before a call is due its body is made. Encoding 100,000 ids takes
// some ms, which must not be added to the call (spec/live.md F.2).
const leadMs = 1000

// desk makes the bodies of calls before they are due. It belongs to the goroutine of
// the loop; bodies are made in others.
type desk struct {
	make   func(place, *sheet) error
	mode   force.Mode
	sheets map[place]*sheet
	gone   map[*trace.Task]bool // nothing more of them is sent
	busy   chan struct{}        // as many bodies are made at once
}

// place is a call of a task.
type place struct {
	task *trace.Task
	node int32
}

// sheet is a call that is being written down. Its other fields may be read when ready
// is closed.
type sheet struct {
	ready chan struct{}
	call  *force.Call
	table *experts.Table // of experts to be forced, nil if there is none
	body  []byte
	err   error
}

func newDesk(m force.Mode, write func(place, *sheet) error) *desk {
	return &desk{write, m, map[place]*sheet{}, map[*trace.Task]bool{}, make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// begin starts making the body of a call, unless that has been done.
func (d *desk) begin(p place) *sheet {
	s := d.sheets[p]
	if s != nil {
		return s
	}
	s = &sheet{ready: make(chan struct{})}
	d.sheets[p] = s
	go func() {
		d.busy <- struct{}{}
		defer func() { <-d.busy; close(s.ready) }()
		if s.err = d.make(p, s); s.err == nil {
			s.body = d.mode.Append(nil, s.call)
		}
	}()
	return s
}

// take is the sheet of a call that is due; the desk forgets it.
func (d *desk) take(p place) *sheet {
	s := d.begin(p)
	delete(d.sheets, p)
	return s
}

// offer begins a call unless its task has been dropped.
func (d *desk) offer(p place) {
	if !d.gone[p.task] {
		d.begin(p)
	}
}

// drop forgets what was made for a task of which nothing more is sent.
func (d *desk) drop(t *trace.Task) {
	d.gone[t] = true
	for i := range t.Nodes {
		delete(d.sheets, place{t, int32(i)})
	}
}
