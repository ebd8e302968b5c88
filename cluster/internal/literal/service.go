package literal

import (
	"math"
	"slices"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/token"
)

var inf = math.Inf(1)

// Settings are a service: the keys of a configuration that it knows. Tiers are off
// with a capacity or a bandwidth of 0.
type Settings struct {
	Engine engine.Settings // rules vllm
	Model  latency.Model
	HostMs float64

	HostBlocks      int
	BlockBytes      float64
	HostGBps        float64
	RemoteGBps      float64
	RemoteLatencyUs float64
	Cheaper         bool
	TTLMs           float64 // +Inf: never
	WithdrawMs      float64 // +Inf: never

	Local   routing.Settings
	Global  routing.GlobalSettings
	Seed    uint64
	Buckets []routing.Bucket // in order of their ids
	Sizes   []int            // instances
}

func (s *Settings) hostOn() bool   { return s.HostBlocks > 0 && s.HostGBps > 0 }
func (s *Settings) remoteOn() bool { return s.RemoteGBps > 0 }

func (s *Settings) byPriority() bool { return s.Engine.VLLM.Policy == "priority" }

// budget is the number of tokens in a pass, seqs that of running requests
// (spec/vllm-real.md 2).
func (s *Settings) budget() int {
	if n := s.Engine.VLLM.MaxNumScheduledTokens; n != nil {
		return *n
	}
	return s.Engine.MaxNumBatchedTokens
}

func (s *Settings) seqs() int {
	if n := s.Engine.VLLM.MaxNumActiveSeqs; n != nil {
		return *n
	}
	return s.Engine.MaxNumSeqs
}

// price is the time to prefill so many tokens (spec/buckets.md 3).
func (s *Settings) price(tokens int64) float64 {
	ms, budget := 0.0, int64(s.Engine.MaxNumBatchedTokens)
	for at := int64(0); at < tokens; at += budget {
		var p latency.Pass
		p.AddPrefill(min(budget, tokens-at), at)
		d, err := s.Model.Cost(&p)
		if err != nil {
			panic(err)
		}
		ms += d.PrefillMs
	}
	return ms
}

// Call is a request that is offered.
type Call struct {
	Row         int
	ID, Session string
	AtMs        float64
	Priority    int     // smaller is more urgent
	Arrival     float64 // orders calls of a priority
	Prompt      int     // tokens
	Output      int
	Tokens      []uint64   // those of the prompt and then, if others may ask for them, of the output; nil: unknown
	Content     *token.Seq // of the prompt, for routers; nil: unknown
}

// Row is what became of a call. Times are NaN where there is none, counts of blocks
// −1 where nobody knows.
type Row struct {
	Status      string
	Reason      string
	Bucket      int
	Instance    int
	SubmitMs    float64
	AdmitMs     float64
	EndMs       float64
	TokenMs     []float64
	Cached      int
	CachedMax   int
	Preemptions int
	admissions  int

	Predicted            int
	L0, L1, Remote, Miss int
	RemoteStale          int
	LoadWaitMs           float64
}

// Transfer is a run of blocks that has started on its way.
type Transfer struct {
	Row, Instance           int
	Host                    bool
	Owner                   int
	From, Blocks, Moved     int
	AskedMs, StartMs, EndMs float64
}

// Service is buckets that share nothing.
type Service struct {
	Rows      []Row
	Decisions []string // as in routing_log.jsonl

	s       *Settings
	buckets []*bucket
	router  routing.GlobalRouter
	nowMs   float64
	calls   []Call // not yet offered
}

// bucket is a cluster and what it remembers.
type bucket struct {
	routing.Bucket
	s         *Settings
	nowMs     float64
	instances []*instance
	store     *store
	placement routing.Placement
	probing   []probing
	runs      []*run // queued or moving, in the order in which they were asked for
	asked     int
	past      []snapshot
	Account
}

// probing is a request that is on its way to its instance.
type probing struct {
	q     *request
	to    int
	dueMs float64
}

// New is an idle service.
func New(s *Settings) *Service {
	v := &Service{s: s, router: routing.NewGlobal(s.Global)}
	for i, n := range s.Sizes {
		b := &bucket{
			Bucket: s.Buckets[i], s: s, placement: routing.New(s.Local, s.Seed), Account: Account{Passes: make([][]float64, n)},
			store: &store{s.TTLMs, s.WithdrawMs, map[string]map[int]entry{}},
		}
		for k := range n {
			b.instances = append(b.instances, newInstance(s, b, k))
			b.placement.Topology(routing.Change{State: routing.Ready, Worker: int32(k), Targets: []int32{int32(k)}}, 0, nil)
		}
		b.placement.Settled(0, nil)
		v.buckets = append(v.buckets, b)
	}
	return v
}

// Run plays calls, which stand in order of their times, to the end.
func (v *Service) Run(calls []Call) error {
	v.calls = calls
	v.Rows = make([]Row, len(calls))
	for {
		v.nowMs = v.next()
		if v.nowMs == inf {
			return nil
		}
		for changed := true; changed; {
			var err error
			if changed, err = v.round(); err != nil {
				return err
			}
		}
		for _, b := range v.buckets {
			b.remember()
		}
	}
}

// next is the next instant at which anything happens.
func (v *Service) next() float64 {
	next := inf
	if len(v.calls) > 0 {
		next = v.calls[0].AtMs
	}
	for _, b := range v.buckets {
		for _, in := range b.instances {
			if len(in.flight) > 0 {
				next = min(next, in.flight[0].endMs)
			}
		}
		for _, r := range b.runs {
			if r.state == moving {
				next = min(next, r.endMs)
			}
		}
		for _, p := range b.probing {
			next = min(next, p.dueMs)
		}
	}
	return next
}

// round goes once through the steps of an instant (spec/buckets.md 7).
func (v *Service) round() (changed bool, err error) {
	for _, b := range v.buckets {
		b.nowMs = v.nowMs
		for _, in := range b.instances {
			if len(in.flight) > 0 && in.flight[0].endMs <= v.nowMs {
				in.finish()
				changed = true
			}
		}
	}
	for _, b := range v.buckets {
		changed = b.endTransfers() || changed
	}
	for _, b := range v.buckets {
		changed = b.submitProbed() || changed
	}
	for len(v.calls) > 0 && v.calls[0].AtMs <= v.nowMs {
		if err := v.place(&v.calls[0]); err != nil {
			return false, err
		}
		v.calls = v.calls[1:]
		changed = true
	}
	for _, b := range v.buckets {
		for _, in := range b.instances {
			changed = in.decide() || changed
		}
	}
	for _, b := range v.buckets {
		changed = b.startTransfers() || changed
	}
	return changed, nil
}

// submitProbed submits those whose probes are over, in order of arrival.
func (b *bucket) submitProbed() bool {
	before := len(b.probing)
	b.probing = slices.DeleteFunc(b.probing, func(p probing) bool {
		if p.dueMs > b.nowMs {
			return false
		}
		b.instances[p.to].submit(p.q, p.dueMs)
		return true
	})
	return len(b.probing) < before
}

// Account is what happened in a bucket.
type Account struct {
	Transfers []Transfer
	Passes    [][]float64 // ends of the passes of each instance
}

// Accounts are those of all buckets.
func (v *Service) Accounts() []Account {
	var all []Account
	for _, b := range v.buckets {
		all = append(all, b.Account)
	}
	return all
}
