package main

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/reprise-sim/reprise/live"
)

// liveProgress is a bar for a live run on a terminal; nothing elsewhere.
type liveProgress struct {
	progress
	last atomic.Pointer[live.Progress]
}

func newLiveProgress(w io.Writer, quiet bool) *liveProgress {
	return &liveProgress{progress: *newProgress(w, quiet)}
}

// update tells how the run stands.
func (p *liveProgress) update(now live.Progress) {
	if p.container == nil {
		return
	}
	p.last.Store(&now)
	if p.bar == nil {
		p.bar = p.container.AddBar(int64(now.Calls),
			mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return p.last.Load().Title() })),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return standing(p.last.Load()) })))
	}
	p.bar.SetTotal(int64(now.Calls), false)
	p.bar.SetCurrent(int64(now.Ended))
}

// standing is how a run stands, in a line.
func standing(p *live.Progress) string {
	return fmt.Sprintf("%d of %d calls, %d in flight, %.0f tokens/s, lag %.1f ms, %d faithful, %d not, %d failed",
		p.Ended, p.Calls, p.InFlight, p.TokensPerS, p.LagMs, p.Faithful, p.Unfaithful, p.Failed)
}
