package config

import (
	"errors"

	"github.com/reprise-sim/reprise/cluster"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/rundir"
)

// observer is told what a run brings and passes it on.
type observer struct {
	tally    *metrics.Tally
	record   *record      // nil if no files are written
	flush    func() error // writes the passes that are complete
	progress func(ended, calls int)
	calls    int
}

// reportEvery is how many requests end between two reports of progress.
const reportEvery = 512

// Row implements [simulate.Observer].
func (o *observer) Row(n int32, r *metrics.Row) error {
	if err := o.tally.Add(r); err != nil {
		return err
	}
	if ended := int(n) + 1; o.progress != nil && (ended%reportEvery == 0 || ended == o.calls) {
		o.progress(ended, o.calls)
	}
	if o.record == nil {
		return nil
	}
	return o.record.row(r)
}

// Gaps implements [simulate.Observer].
func (o *observer) Gaps(in *cluster.Instance, g *metrics.Gaps) error {
	if err := o.flush(); err != nil {
		return err
	}
	return o.tally.Take(in.Bucket(), g)
}

// Sample implements [simulate.Observer].
func (o *observer) Sample(s metrics.Sample) error {
	return o.record.samples.Add(s)
}

// record writes the files of a run as it goes on.
type record struct {
	requests *rundir.Requests // nil: not wanted, as all below
	samples  *rundir.Samples
	tokens   *rundir.Tokens
	routing  *rundir.Lines[routing.Decision]
	trace    *retrace
	passes   *rundir.File
}

// newRecord starts the files that the configuration wants; nil if it wants none.
func (s *Simulation) newRecord() (*record, error) {
	d, o, buckets := s.draft.Load(), &s.config.Output, bucketNames(s.ranges)
	if d == nil {
		return nil, nil
	}
	r := &record{}
	var errs [6]error
	if o.PerRequest {
		r.requests, errs[0] = d.Requests(rundir.Routing{
			Buckets: buckets, BucketPolicy: s.config.Cluster.GlobalRouter.Mode, LocalPolicy: s.config.Cluster.Router.Mode,
		})
	}
	if o.Samples {
		r.samples, errs[1] = d.Samples(buckets)
	}
	if o.Tokens {
		r.tokens, errs[2] = d.Tokens()
	}
	if o.Trace {
		r.trace, errs[3] = newRetrace(s.config, s.trace, d)
	}
	if o.Passes {
		r.passes, errs[5] = d.File(passesFile)
	}
	if s.logsRouting() {
		r.routing, errs[4] = rundir.NewLines(d, rundir.RoutingFile, func(text []byte, d *routing.Decision) []byte {
			return append(d.AppendJSON(text), '\n')
		})
	}
	return r, errors.Join(errs[:]...)
}

// row writes down a request that has ended.
func (r *record) row(row *metrics.Row) error {
	if r.trace != nil {
		r.trace.see(row)
	}
	if r.requests != nil {
		if err := r.requests.Add(row); err != nil {
			return err
		}
	}
	if r.tokens != nil {
		return r.tokens.Add(row)
	}
	return nil
}

// decision writes down a routing decision.
func (r *record) decision(d *routing.Decision) error { return r.routing.Add(d.Clone()) }

// finish writes what can only be written at the end.
func (r *record) finish() error {
	if r.trace != nil {
		return r.trace.write()
	}
	return nil
}
