package main

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress is a bar on a terminal; nothing elsewhere. Its zero value is silent.
type progress struct {
	container *mpb.Progress
	bar       *mpb.Bar
}

// newProgress makes a bar if w is a terminal and nobody wants silence.
func newProgress(w io.Writer, quiet bool) *progress {
	f, ok := w.(*os.File)
	if quiet || !ok || !isatty.IsTerminal(f.Fd()) {
		return &progress{}
	}
	return &progress{container: mpb.New(mpb.WithOutput(w), mpb.WithWidth(48))}
}

// update tells how many calls have ended.
func (p *progress) update(ended, calls int) {
	if p.container == nil {
		return
	}
	if p.bar == nil {
		p.bar = p.container.AddBar(int64(calls),
			mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name("simulating ")),
			mpb.AppendDecorators(decor.CountersNoUnit("%d of %d requests")))
	}
	p.bar.SetCurrent(int64(ended))
}

// stop takes the bar away. It may be called again.
func (p *progress) stop() {
	if p.container == nil {
		return
	}
	if p.bar != nil {
		p.bar.Abort(true)
	}
	p.container.Wait()
	p.container = nil
}
