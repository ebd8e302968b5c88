package rundir

import (
	"encoding/json"
	"time"
)

// InfoSchema and InfoVersion stand in front of run.json.
const (
	InfoSchema  = "reprise.run"
	InfoVersion = 1
)

// Info is run.json: what was run, on what, by which program. Nothing but Wall
// depends on real time.
type Info struct {
	Schema  string `json:"schema"`  // set by [Draft.Close]
	Version int    `json:"version"` // of the schema; set by [Draft.Close]

	// Kind is [KindLive] for a run on real servers, "" for a simulation.
	Kind string `json:"kind,omitempty"`

	Tool        Tool  `json:"tool"`
	Interrupted bool  `json:"interrupted"` // somebody stopped the run: its files are complete, its requests are not
	Seed        int64 `json:"seed"`
	// Rules is the resolved rule set of the engine, such as "vllm-0.32".
	Rules string `json:"rules"`
	// LatencyModel is the model that priced the passes, LatencySource where its
	// numbers are from.
	LatencyModel  string  `json:"latency_model"`
	LatencySource string  `json:"latency_source,omitempty"`
	Live          *Live   `json:"live,omitempty"` // of a live run
	Traces        []Trace `json:"traces"`
	// Config is the configuration as resolved: running it again repeats the run.
	Config json.RawMessage `json:"config"`
	Wall   Wall            `json:"wall"`
}

// Tool is the program.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
}

// Trace is one input: Rows = Used + all of LeftOut.
type Trace struct {
	Path    string           `json:"path"`
	Format  string           `json:"format"`
	Digest  string           `json:"digest"` // "sha256:…"
	Rows    int64            `json:"rows"`
	Used    int64            `json:"used"`
	LeftOut map[string]int64 `json:"left_out,omitempty"` // by reason
}

// Wall is real time.
type Wall struct {
	Started  time.Time `json:"started"`
	LoopMs   float64   `json:"loop_ms"`   // the event loop, without output
	OutputMs float64   `json:"output_ms"` // counting and writing down what the loop hands out
	TotalMs  float64   `json:"total_ms"`  // the whole run
}
