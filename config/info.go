package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// info is run.json, its real time apart.
func (s *Simulation) info(end simulate.End) (*rundir.Info, error) {
	c := s.config
	text, err := c.portable()
	if err != nil {
		return nil, err
	}
	return &rundir.Info{
		Tool:         s.options.Tool,
		Interrupted:  end.Reason == workload.Interrupted,
		Seed:         c.Seed,
		Rules:        c.Engine.Rules,
		LatencyModel: s.model.Name(), LatencySource: source(s.model, s.shares()),
		Traces: s.traceInfos(),
		Config: text,
	}, nil
}

// portable is the configuration as run.json has it: paths seen from the folder of
// the run, and without that folder, so that repeating the run overwrites nothing.
func (c *Config) portable() (json.RawMessage, error) {
	p := *c
	p.Output.Dir = nil
	p.Trace.Path = nil
	for _, path := range c.Trace.Path {
		if c.Output.Dir != nil && path != "-" {
			path = seenFrom(*c.Output.Dir, path)
		}
		p.Trace.Path = append(p.Trace.Path, path)
	}
	for _, f := range latencyFiles(&p.Latency) {
		if c.Output.Dir != nil && f.names("") {
			*f.path = seenFrom(*c.Output.Dir, *f.path)
		}
	}
	return json.Marshal(&p)
}

// seenFrom is a path relative to a folder; absolute if there is no such path.
func seenFrom(dir, path string) string {
	from, err := filepath.Abs(dir)
	if err != nil {
		return path
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if relative, err := filepath.Rel(from, to); err == nil {
		return filepath.ToSlash(relative)
	}
	return to
}

// traceInfos are what run.json says of the input; a served run has none.
func (s *Simulation) traceInfos() []rundir.Trace {
	if s.trace == nil {
		return []rundir.Trace{}
	}
	return []rundir.Trace{rundir.TraceOf(s.trace)}
}

// traceNotes are remarks on a trace.
func traceNotes(t trace.Trace) []string {
	var notes []string
	r := t.Report()
	if r.OutOfOrder > 0 {
		notes = append(notes, fmt.Sprintf("trace: %s out of order: brought in order of time", count(r.OutOfOrder, "row")))
	}
	for _, l := range r.LeftOut {
		notes = append(notes, fmt.Sprintf("trace: %s left out: %s", count(l.Rows, "row"), l.Reason))
	}
	for _, n := range r.Notes {
		notes = append(notes, "trace: "+n)
	}
	return notes
}

// count is n things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
