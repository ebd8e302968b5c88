package main

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// stopSignals are the signals that end a command: Ctrl-C, a request to end, and the
// end of its terminal, unless it was started to outlive that (nohup).
func stopSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// onInterrupt is a context that the first of stopSignals cancels. The second
// one aborts, and so does the first while the run is only being prepared: then
// there is nothing to report. stop ends the watch.
func onInterrupt(parent context.Context, a *aborter) (ctx context.Context, stop func()) {
	return onSignals(parent, a, a.now)
}

// whilePreparing ends the process at the first of stopSignals, as long as there is
// nothing to take away; from the call of writing on they cancel its context instead.
// stop ends the watch.
func whilePreparing(parent context.Context) (writing func() context.Context, stop func()) {
	var a aborter
	ctx, stop := onSignals(parent, &a, func() {})
	return func() context.Context { a.running.Store(true); return ctx }, stop
}

// onSignals is a context that the first of stopSignals cancels. If it comes before
// a's run goes on, it aborts; the second one does again.
func onSignals(parent context.Context, a *aborter, again func()) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)
	done := make(chan struct{})
	first := func() {
		if !a.running.Load() {
			a.now()
		}
		cancel()
	}
	go watch(signals, done, first, again)
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// watch calls first and again at the first and the second signal.
func watch(signals <-chan os.Signal, done <-chan struct{}, first, again func()) {
	for _, act := range []func(){first, again} {
		select {
		case <-signals:
			act()
		case <-done:
			return
		}
	}
}

// aborter drops the files of a run and ends the process.
type aborter struct {
	left    string // remark on what stays, "" if nothing does
	drop    atomic.Pointer[func() error]
	running atomic.Bool // the run goes on: it can end by itself
}

// arm says how the files are dropped.
func (a *aborter) arm(drop func() error) { a.drop.Store(&drop) }

func (a *aborter) now() {
	if drop := a.drop.Load(); drop != nil {
		if err := (*drop)(); err != nil {
			os.Exit(report(fail(err), os.Stderr))
		}
	}
	remark(os.Stderr, cmp.Or(a.left, noFile))
	os.Exit(interrupted)
}
