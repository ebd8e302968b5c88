package live

import (
	"encoding/json"

	"github.com/reprise-sim/reprise/live/probe"
	"github.com/reprise-sim/reprise/rundir"
)

// LiveSchema and LiveVersion stand in front of live.json.
const (
	LiveSchema  = "reprise.live"
	LiveVersion = 1
)

// liveFile is live.json.
type liveFile struct {
	Schema   string     `json:"schema"`
	Version  int        `json:"version"`
	Faithful bool       `json:"faithful"`
	Force    string     `json:"force"`
	Exact    string     `json:"exact"` // what is, if no call differs
	Fidelity Fidelity   `json:"fidelity"`
	Failures Failures   `json:"failures"`
	Lag      Lag        `json:"lag"`
	Servers  []liveView `json:"servers"`
}

// liveView is a server in live.json.
type liveView struct {
	URL      string          `json:"url"`
	About    []string        `json:"about"`    // what it can do, as it was printed
	Counters *probe.Counters `json:"counters"` // of the package inside, during the run; null: it is not there
}

// write completes the files of a repetition.
func (r *Repetition) write(d *rundir.Draft, of *Replay, counters []*probe.Counters) error {
	out := liveFile{Schema: LiveSchema, Version: LiveVersion, Faithful: r.Faithful(), Force: of.mode.Name(), Exact: of.level().String(),
		Fidelity: r.Fidelity, Failures: r.Failures, Lag: r.Lag}
	for i, c := range of.servers {
		out.Servers = append(out.Servers, liveView{c.URL, c.Lines(), counters[i]})
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	f, err := d.File(rundir.LiveFile)
	if err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		return err
	}
	tasks, err := d.File(rundir.TasksFile)
	if err != nil {
		return err
	}
	if err := writeTasks(tasks, r.Tasks); err != nil {
		return err
	}
	return d.Close(r.Info, r.Summary)
}
