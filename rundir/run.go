package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reprise-sim/reprise/metrics"
)

// Run is the folder of a run that is complete.
type Run struct {
	Dir     string
	Info    Info
	Summary metrics.Summary
}

// Open reads what a run is and its summary.
func Open(dir string) (*Run, error) {
	r := &Run{Dir: dir}
	if err := readJSON(filepath.Join(dir, InfoFile), &r.Info); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: want the folder of a run", err)
		}
		return nil, err
	}
	if i := &r.Info; i.Schema != InfoSchema || i.Version != InfoVersion {
		return nil, fmt.Errorf("%s: schema %q version %d: want %q version %d",
			filepath.Join(dir, InfoFile), i.Schema, i.Version, InfoSchema, InfoVersion)
	}
	return r, readJSON(filepath.Join(dir, SummaryFile), &r.Summary)
}

// readJSON reads one value from a file.
func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Requests reads per_request.csv. The reader has to be closed.
func (r *Run) Requests() (*RequestReader, error) {
	f, err := os.Open(filepath.Join(r.Dir, RequestsFile))
	if err != nil {
		return nil, err
	}
	var buckets []string
	for _, b := range r.Summary.PerBucket {
		buckets = append(buckets, b.Name)
	}
	reader, err := NewRequestReader(f, f.Name(), buckets)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	reader.close = f.Close
	return reader, nil
}
