package routing

import "github.com/reprise-sim/reprise/arrival"

func init() {
	Register(LocalPolicy{
		Mode: "session_affinity",
		Doc:  "the instance that owns the session, for as long as it takes requests",
		New: func(Settings, *arrival.Rand) Placement {
			return Immediate(&SessionAffinity{}, 0)
		},
	})
}

// SessionAffinity sends all requests of a session to one instance, so that each
// turn finds the blocks of those before it. The owner is the first of a rendezvous
// ranking: the instance with the largest
//
//	weight = XXH3-64 (seed 1337) of (key, id)    key = XXH3-64 (seed 1337) of the session's UTF-8 bytes
//
// 8 bytes little-endian each (spec/buckets.md 5, 5.1). When an instance goes, only its
// own sessions move. It looks at nothing, so long sessions can pile up.
type SessionAffinity struct{ order rendezvous }

// RouteInstance implements [LocalRouter].
func (p *SessionAffinity) RouteInstance(r *Request, v View, _ float64) (Choice, error) {
	ranked := p.order.of(v, sessionKey(r.Session))
	if len(ranked) == 0 {
		return Choice{}, nowhere(r)
	}
	r.Decision.Consider(ranked)
	return Choice{Row: r.Row, Target: ranked[0], Reason: "session_owner"}, nil
}
