package config

import (
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/config/keys"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/setting"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/formats"
	"github.com/reprise-sim/reprise/workload"

	_ "github.com/reprise-sim/reprise/engine/paged" // the engines there are
)

// Config is a configuration: the keys of DESIGN.md 6 that do something today. Zero
// values are not defaults; start from [Defaults] or [Load].
type Config struct {
	Trace   Trace             `yaml:"trace" json:"trace" doc:"what is replayed"`
	Arrival workload.Settings `yaml:"arrival" json:"arrival" doc:"when calls start"`
	Engine  engine.Settings   `yaml:"engine" json:"engine" doc:"the serving engine of an instance"`
	Latency latency.Settings  `yaml:"latency" json:"latency" doc:"what a pass costs"`
	Cluster Cluster           `yaml:"cluster" json:"cluster" doc:"the instances and who chooses among them"`
	SLA     *metrics.SLA      `yaml:"sla" json:"sla" doc:"bounds that a request has to keep to count as goodput; null: none"`
	Limits  workload.Limits   `yaml:"limits" json:"limits" doc:"what ends a run early; 0 is a limit of 0"`
	Seed    int64             `yaml:"seed" json:"seed" doc:"seed of every random choice"`
	Output  Output            `yaml:"output" json:"output" doc:"the files of a run"`

	repeats *repeated     // set if the configuration is that of an earlier run
	memory  string        // what followed from the memory of the GPU, in a line; "" if nothing did
	served  bool          // calls come from outside, not from a trace
	reading *keys.Reading // nil if nobody wrote the configuration down
}

// Trace are the keys of `trace:`.
type Trace struct {
	Path      []string `yaml:"path" json:"path" doc:"the trace: a file or a list of files, plain, .gz or .zst; - is standard input"`
	Format    string   `yaml:"format" json:"format" doc:"format of the files; auto: found by their content"`
	BlockSize *int     `yaml:"block_size" json:"block_size" doc:"tokens of a block id; null: as the format says"`
	IDs       string   `yaml:"ids" json:"ids" doc:"where equal block ids are equal content; auto: as the format says" enum:"auto,global,file,session"`
	IDsCover  string   `yaml:"ids_cover" json:"ids_cover" doc:"which blocks of a prompt have ids: all that it starts or only those it fills; auto: as the format says" enum:"auto,started,full"`
}

// Output are the keys of `output:`.
type Output struct {
	rundir.Settings `yaml:",inline"`
	Passes          bool `yaml:"passes" json:"passes" doc:"write passes.jsonl, a line for each pass, which reprise fit reads"`
	Trace           bool `yaml:"trace" json:"trace" doc:"write trace.jsonl, the run as a native trace with simulated times"`
}

// Defaults are the defaults of DESIGN.md 6.
func Defaults() Config {
	return Config{
		Trace:   Trace{Format: "auto", IDs: "auto", IDsCover: "auto"},
		Arrival: workload.Defaults(),
		Engine:  engine.Defaults(),
		Latency: latency.Defaults(),
		Cluster: clusterDefaults(),
		Seed:    42,
		Output:  Output{Settings: rundir.Defaults()},
	}
}

// Resolve checks a configuration and fills in what follows from others (the full
// name of the engine's rule set). Every wrong setting is a [setting.Error] with the
// whole path of its key.
func (c *Config) Resolve() error {
	var p setting.Problems
	if !c.served {
		under(&p, "trace", c.Trace.Validate())
	} else {
		p.Check(!c.Output.Trace, "output.trace", true, "false: a served run has no trace that it could write with other times")
	}
	under(&p, "arrival", c.Arrival.Validate())
	add(&p, c.fitMemory())
	under(&p, "engine", engine.Resolve(&c.Engine))
	under(&p, "latency", c.Latency.Validate())
	under(&p, "cluster", c.Cluster.resolve())
	add(&p, c.checkCluster())
	if c.SLA != nil {
		under(&p, "sla", c.SLA.Validate())
	}
	under(&p, "limits", c.Limits.Validate())
	under(&p, "output", c.Output.Settings.Validate())
	return p.Err()
}

// under adds the problems of a section. One about the section as a whole has its
// name.
func under(p *setting.Problems, section string, err error) {
	for _, e := range setting.All(err) {
		if e.Field != section {
			e.Field = section + "." + e.Field
		}
		p.Check(false, e.Field, e.Value, e.Want)
	}
}

// inSection is err with the whole paths of the settings that it names; they are
// those of a section.
func inSection(section string, err error) error {
	var p setting.Problems
	under(&p, section, err)
	if wrong := p.Err(); wrong != nil {
		return wrong
	}
	return err
}

// Validate reports every wrong setting as a [setting.Error].
func (t *Trace) Validate() error {
	var p setting.Problems
	p.Check(len(t.Path) > 0 && !slices.Contains(t.Path, ""), "path", "not set", "the file of a trace, here or by --trace FILE")
	known := append([]string{"auto"}, formats.Names()...)
	p.Check(slices.Contains(known, t.Format), "format", t.Format, oneOf(known))
	if t.BlockSize != nil {
		p.Check(*t.BlockSize > 0, "block_size", *t.BlockSize, "a number of tokens above 0, or null")
	}
	ids := []string{"auto", trace.IDsGlobal, trace.IDsFile, trace.IDsSession}
	p.Check(slices.Contains(ids, t.IDs), "ids", t.IDs, oneOf(ids))
	cover := []string{"auto", trace.CoverStarted, trace.CoverFull}
	p.Check(slices.Contains(cover, t.IDsCover), "ids_cover", t.IDsCover, oneOf(cover))
	return p.Err()
}

func oneOf(words []string) string { return "one of " + strings.Join(words, ", ") }

// located is err with the places of the settings that it names.
func (c *Config) located(err error) error {
	found := setting.All(err)
	if c.reading == nil || len(found) == 0 {
		return err
	}
	var problems keys.Problems
	for _, e := range found {
		problems = append(problems, c.reading.Locate(e))
	}
	return problems
}
