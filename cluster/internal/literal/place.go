package literal

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
)

// place routes a call: views, global router, local router, submission.
func (v *Service) place(c *Call) error {
	row := &v.Rows[c.Row]
	nan := math.NaN()
	*row = Row{Bucket: -1, Instance: -1, SubmitMs: nan, AdmitMs: nan, EndMs: nan, Predicted: -1, L0: -1, L1: -1, Remote: -1, Miss: -1}
	d := &routing.Decision{
		TimeMs: v.nowMs, RequestID: c.ID, SessionID: c.Session, InputLength: int32(c.Prompt), GlobalMode: v.s.Global.Mode, LocalMode: v.s.Local.Mode,
	}
	r := &routing.Request{Row: int32(c.Row), InputTokens: int32(c.Prompt), Session: c.Session, Prompt: c.Content, Rank: -1, Decision: d}
	q := v.s.request(c, row)
	var views []routing.BucketView
	for _, b := range v.buckets {
		views = append(views, b.seen(q, v.nowMs))
	}
	d.SeeBuckets(r, views)
	home, err := routing.Home(r.InputTokens, views)
	if err != nil {
		return err
	}
	to, err := v.router.RouteBucket(r, views)
	if err != nil {
		return err
	}
	d.ChooseBucket(to, home)
	if to.Bucket < 0 {
		row.Status, row.Reason, row.EndMs = "rejected", to.Reason, v.nowMs
	} else if err := v.placeIn(v.buckets[to.Bucket], views[to.Bucket], r, q); err != nil {
		return err
	}
	v.Decisions = append(v.Decisions, string(d.AppendJSON(nil)))
	return nil
}

func (v *Service) placeIn(b *bucket, seen routing.BucketView, r *routing.Request, q *request) error {
	q.row.Bucket, q.row.Predicted = int(b.ID), int(seen.Predicted())
	view := &view{b: b, q: q}
	r.Decision.SeeInstances(view, v.s.Local.LoadAlpha)
	c, _, err := b.placement.Place(r, view, v.nowMs)
	if err != nil {
		return err
	}
	best := int32(0)
	for _, o := range v.buckets {
		for _, n := range (&lookup{b: o, q: q}).prefix() {
			best = max(best, n)
		}
	}
	r.Decision.ChooseInstance(c, best)
	q.row.Instance = int(c.Target)
	if c.DelayMs > 0 {
		b.probing = append(b.probing, probing{q, int(c.Target), v.nowMs + c.DelayMs})
		return nil
	}
	b.instances[c.Target].submit(q, v.nowMs)
	return nil
}

// request names the blocks of a call.
func (s *Settings) request(c *Call, row *Row) *request {
	q := &request{row: row, call: c, limit: c.Output}
	if m := s.Engine.MaxModelLen; m != nil {
		q.limit = max(0, min(q.limit, *m-c.Prompt))
	}
	name := ""
	for i := range c.Prompt + c.Output {
		if i < len(c.Tokens) {
			name += fmt.Sprint(c.Tokens[i], " ")
		} else {
			name += fmt.Sprint("r", c.Row, ":", i, " ")
		}
		if (i+1)%s.Engine.BlockSize == 0 {
			q.names = append(q.names, name)
		}
	}
	return q
}

// submit is the arrival at the instance, which goes through the front end.
func (in *instance) submit(q *request, atMs float64) {
	if reason := in.refuse(q); reason != "" {
		q.row.Reason = reason
		in.end(q, "rejected", atMs)
		return
	}
	q.row.SubmitMs = atMs
	in.wait(q, len(in.waiting))
	in.due = true
}

// refuse is why a request can never be served (spec/vllm-real.md 11, DESIGN.md 7).
func (in *instance) refuse(q *request) string {
	e := &in.s.Engine
	last := in.ceil(q.call.Prompt + q.limit - 1) // the last token is never computed
	switch {
	case q.call.Prompt == 0:
		return "empty_prompt"
	case q.call.Output == 0:
		return "empty_output"
	case e.MaxModelLen != nil && q.call.Prompt >= *e.MaxModelLen:
		return metrics.MaxModelLen
	case last > in.pool.size:
		return metrics.NeedsBlocks
	case !e.EnableChunkedPrefill && q.call.Prompt > in.s.budget():
		return "needs_budget"
	}
	return ""
}

// admit notes an admission; at the first one, where the prompt's blocks came from.
func (r *Row) admit(nowMs float64, cached, blockSize int, q *request) {
	r.CachedMax = max(r.CachedMax, cached)
	if r.admissions++; r.admissions > 1 {
		return
	}
	r.AdmitMs, r.Cached = nowMs, cached
	r.L0, r.L1, r.Remote = cached/blockSize, 0, 0
	if l := q.load; l != nil {
		r.L0 = l.hits
		for _, run := range l.runs {
			n := max(0, min(run.from+run.n, l.usable)-run.from)
			if run.host {
				r.L1 += n
			} else {
				r.Remote += n
			}
		}
	}
	r.Miss = q.call.Prompt/blockSize - r.L0 - r.L1 - r.Remote
}
