package routing

import (
	"strings"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/token"
)

// Request is what a router may know of a call: never its output length.
type Request struct {
	Row         int32
	InputTokens int32
	Session     string     // conversation it belongs to; by default its task is one
	Prompt      *token.Seq // nil if the content is unknown
	Rank        int32      // preferred rank inside an instance, −1: none

	// Decision is where routers note what they weigh, nil if nobody asks.
	Decision *Decision
}

// Choice is where a request goes.
type Choice struct {
	Row     int32
	Target  int32
	Reason  string
	DelayMs float64 // between the decision and the submission
}

// Needs is what a router looks at, and what a placement has to be told at the
// instant it happens. Whoever needs nothing can be asked ahead of time.
type Needs uint8

const (
	Views      Needs = 1 << iota // loads of instances, counts of buckets
	Ends                         // Tell when a request has ended
	FirstToken                   // Tell when a request has got its first token
	Admission                    // Tell when a request has been admitted
	Keys                         // block keys of the prompt
	Prefixes                     // what instances hold of the prompt, by the meta store
	Probes                       // what instances hold of it in truth
	Prices                       // what prefills cost

	// Content is what a trace of nothing but lengths cannot give.
	Content = Keys | Prefixes | Probes
)

// words names what a run may lack.
func (n Needs) words() string {
	var words []string
	if n&Content != 0 {
		words = append(words, "the content of prompts")
	}
	if n&Prices != 0 {
		words = append(words, "prices of prefills")
	}
	return strings.Join(words, " and ")
}

// Notice is something a placement is told. The kinds are Admitted, First and
// Finished; Finished stands for any end.
type Notice struct {
	Kind   engine.Kind
	Row    int32
	Target int32
}

// State of a worker (an instance with its ranks) in the topology.
type State uint8

const (
	Ready    State = iota // takes requests from now on
	Draining              // takes no more
	Removed               // is gone
)

// Change is a change of the topology.
type Change struct {
	State   State
	Worker  int32
	Targets []int32 // of the worker, by rank
}

// Placement is the full contract of a routing policy (spec/replay.md 5.1). Calls
// come in order of time; a placement is not safe for concurrent use. Choices for
// requests that it had kept are appended to released.
type Placement interface {
	Needs() Needs
	// Place decides where r goes. queued means later: the placement keeps r and
	// releases it from a later call.
	Place(r *Request, v View, nowMs float64) (c Choice, queued bool, err error)
	Tell(n Notice, nowMs float64, released []Choice) []Choice
	// Topology tells a change. Settled is called once after each group of changes.
	Topology(c Change, nowMs float64, released []Choice) []Choice
	Settled(nowMs float64, released []Choice) []Choice
	// Cancel forgets a request that is kept; it is false if there is none.
	Cancel(row int32) bool
	// Pending is the number of requests kept.
	Pending() int
}

// LocalRouter is a policy that answers at once and remembers nothing of the
// requests it has placed. It chooses among the targets that take requests
// ([Candidates]); none is an error.
type LocalRouter interface {
	RouteInstance(r *Request, v View, nowMs float64) (Choice, error)
}

// Follower is a [LocalRouter] that wants to be told changes of the topology. The
// others see in the view who takes requests.
type Follower interface {
	Worker(c Change)
}

// Immediate makes a placement of a router that answers at once and looks at what
// needs says.
func Immediate(r LocalRouter, needs Needs) Placement { return &immediate{r, needs} }

type immediate struct {
	router LocalRouter
	needs  Needs
}

func (i *immediate) Needs() Needs { return i.needs }

func (i *immediate) Place(r *Request, v View, nowMs float64) (Choice, bool, error) {
	c, err := i.router.RouteInstance(r, v, nowMs)
	return c, false, err
}

func (i *immediate) Topology(c Change, _ float64, released []Choice) []Choice {
	if f, ok := i.router.(Follower); ok {
		f.Worker(c)
	}
	return released
}

func (i *immediate) Tell(_ Notice, _ float64, released []Choice) []Choice { return released }
func (i *immediate) Settled(_ float64, released []Choice) []Choice        { return released }
func (i *immediate) Cancel(int32) bool                                    { return false }
func (i *immediate) Pending() int                                         { return 0 }
