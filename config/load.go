package config

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/reprise-sim/reprise/config/keys"
	"github.com/reprise-sim/reprise/rundir"
)

// Sources say what a configuration is read from, the later over the earlier.
type Sources struct {
	File  string   // YAML, or the run.json of a run to be repeated; "": defaults
	Trace []string // in place of trace.path; none: leave it
	Out   string   // in place of output.dir; "": leave it
	Set   []string // key=value arguments, from left to right
	// OnUnroutable in place of cluster.on_unroutable; "": leave it.
	OnUnroutable string
	// Served: the configuration is for a server, which needs no trace.
	Served bool
}

// repeated is the run that a run.json tells to repeat.
type repeated struct {
	file   string
	digest string // of its trace
}

// Load reads a configuration and resolves it. The error lists all that is wrong
// with it, as [keys.Problems], or says why the file cannot be read.
func Load(s Sources) (*Config, error) {
	c := Defaults()
	c.served = s.Served
	c.reading = keys.Read(&c, isPlanned)
	if s.File != "" {
		if err := c.load(s.File); err != nil {
			return nil, err
		}
	}
	if len(s.Trace) > 0 {
		c.reading.Give("--trace", "trace.path", s.Trace)
	}
	if s.Out != "" {
		c.reading.Give("--out", "output.dir", s.Out)
	}
	if s.OnUnroutable != "" {
		c.reading.Give("--on-unroutable", "cluster.on_unroutable", s.OnUnroutable)
	}
	for _, argument := range s.Set {
		c.reading.Set(argument)
	}
	c.reading.Check(c.Resolve())
	if err := c.reading.Err(); err != nil {
		return nil, err
	}
	c.anchor()
	return &c, nil
}

// maxFile is the largest configuration, in bytes: larger files are something else,
// and the time that the parser takes for a block of keys grows with its square.
const maxFile = 1 << 18

// load lays a file over the configuration.
func (c *Config) load(path string) error {
	text, err := readFile(path)
	if err != nil {
		return err
	}
	d, err := keys.Parse(path, text)
	if err != nil {
		return err
	}
	if d.Text("schema") != rundir.InfoSchema {
		c.reading.Document(d)
		return nil
	}
	if c.repeats, err = readRun(path, text); err != nil {
		return err
	}
	c.reading.Document(d.Section("config"))
	return nil
}

// readRun is what a run.json says beside its configuration.
func readRun(path string, text []byte) (*repeated, error) {
	var info rundir.Info
	if err := json.Unmarshal(text, &info); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case info.Version != rundir.InfoVersion:
		return nil, fmt.Errorf("%s: version: %d: want %d", path, info.Version, rundir.InfoVersion)
	case len(info.Traces) != 1:
		return nil, fmt.Errorf("%s: traces: %d: want 1", path, len(info.Traces))
	case len(info.Config) == 0:
		return nil, fmt.Errorf("%s: config: missing: want the configuration of the run", path)
	}
	return &repeated{file: path, digest: info.Traces[0].Digest}, nil
}

// readFile reads a file that is not too large.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s: is a folder: want a configuration", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: more than %d bytes: want a configuration (a trace is given by --trace)", path, maxFile)
	}
	return text, nil
}

// anchor makes paths relative to the working directory instead of the file that
// they stand in. Another trace than that of the run to be repeated is not the
// same run any more.
func (c *Config) anchor() {
	for i, path := range c.Trace.Path {
		o, _ := c.reading.Origin(fmt.Sprintf("trace.path.%d", i))
		c.Trace.Path[i] = relativeTo(o.Dir, path)
		if o.Dir == "" {
			c.repeats = nil
		}
	}
	if c.Output.Dir != nil {
		o, _ := c.reading.Origin("output.dir")
		dir := relativeTo(o.Dir, *c.Output.Dir)
		c.Output.Dir = &dir
	}
	c.anchorLatency()
}

// relativeTo is a path that is relative to a folder, seen from where that folder's
// own path is. "-" is standard input.
func relativeTo(dir, path string) string {
	if path == "-" || dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}
