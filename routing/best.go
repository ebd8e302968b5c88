package routing

import "fmt"

// Best keeps the best of the targets that it is offered: the one with the smallest
// score; if they tie, the one with the smaller load, then the smaller id
// (spec/buckets.md 5). Loads are looked at only to break a tie.
type Best struct {
	view      View
	loadAlpha float64

	found   bool
	target  int
	score   float64
	load    float64 // of target, if weighed
	weighed bool
}

// NewBest is for the targets of a view; loadAlpha is the weight of a request in
// [Load].
func NewBest(v View, loadAlpha float64) Best { return Best{view: v, loadAlpha: loadAlpha} }

// Offer offers a target with its score, which must not be NaN.
func (b *Best) Offer(target int, score float64) {
	switch {
	case !b.found || score < b.score:
		b.found, b.target, b.score, b.weighed = true, target, score, false
	case score == b.score:
		if !b.weighed {
			b.load, b.weighed = Load(b.view.Load(b.target), b.loadAlpha), true
		}
		load := Load(b.view.Load(target), b.loadAlpha)
		if load < b.load || load == b.load && target < b.target {
			b.target, b.load = target, load
		}
	}
}

// Choice sends r to the best target. It is an error if none was offered.
func (b *Best) Choice(r *Request, reason string) (Choice, error) {
	if !b.found {
		return Choice{}, nowhere(r)
	}
	return Choice{Row: r.Row, Target: int32(b.target), Reason: reason}, nil
}

// nowhere is the error of a request that no target takes.
func nowhere(r *Request) error {
	return fmt.Errorf("request %d: no instance takes requests", r.Row)
}
