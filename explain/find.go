package explain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/setting"
)

// Story is one routing decision of a run and what became of the request.
type Story struct {
	Decision routing.Decision
	// Record is the request's line of per_request.csv; nil if the run wrote none.
	Record *rundir.Record

	line     []byte // the decision, as the log has it
	settings settings
}

// settings are the keys of a configuration that the story tells of.
type settings struct {
	Engine struct {
		BlockSize int32 `json:"block_size"`
	} `json:"engine"`
	Cluster struct {
		Router       routing.Settings       `json:"router"`
		GlobalRouter routing.GlobalSettings `json:"global_router"`
	} `json:"cluster"`
}

// Find looks a request up in the folder of a run.
func Find(dir, request string) (*Story, error) {
	run, err := rundir.Open(dir)
	if err != nil {
		return nil, err
	}
	s := &Story{}
	if err := s.findDecision(dir, request); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(run.Info.Config, &s.settings); err != nil {
		return nil, fmt.Errorf("%s: config: %w", filepath.Join(dir, rundir.InfoFile), err)
	}
	if err := s.findRecord(run, request); err != nil {
		return nil, err
	}
	return s, nil
}

// findDecision reads the log up to the decision on a request.
func (s *Story) findDecision(dir, request string) error {
	path := filepath.Join(dir, rundir.RoutingFile)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: no %s: want a run with output.routing_log: true (auto leaves it out for round robin in one bucket)\n"+
			"To repeat this one with a log: reprise simulate %s --set output.routing_log=true --out DIR",
			dir, rundir.RoutingFile, filepath.Join(dir, rundir.InfoFile))
	}
	if err != nil {
		return err
	}
	defer f.Close()
	s.line, err = search(f, request, &s.Decision)
	var none *notFound
	switch {
	case errors.As(err, &none):
		return fmt.Errorf("%s: %w", dir, err)
	case err != nil:
		return fmt.Errorf("%s:%w", path, err)
	}
	return nil
}

// findRecord reads per_request.csv up to a request; without that file there is none.
func (s *Story) findRecord(run *rundir.Run, request string) error {
	rows, err := run.Requests()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		r := &rundir.Record{}
		switch err := rows.Next(r); {
		case err == io.EOF:
			return fmt.Errorf("%s: no request %q, which %s has", filepath.Join(run.Dir, rundir.RequestsFile), request, rundir.RoutingFile)
		case err != nil:
			return err
		}
		if r.Request == request {
			s.Record = r
			return nil
		}
	}
}

// nearest is how many names of other requests a refusal offers.
const nearest = 3

// notFound is that a log has no decision on a request.
type notFound struct {
	request string
	near    []string
}

func (e *notFound) Error() string {
	if len(e.near) == 0 {
		return fmt.Sprintf("no request %q: no request was routed", e.request)
	}
	return fmt.Sprintf("no request %q: did you mean %s?", e.request, strings.Join(e.near, ", "))
}

// search finds the decision on a request among the lines of a log and returns its
// line. Lines that do not have the name in them, as a run writes it, are not parsed
// before it is clear that none has. Errors begin with the number of a line, but for
// [notFound].
func search(log io.ReadSeeker, request string, d *routing.Decision) ([]byte, error) {
	name, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	line, err := eachLine(log, func(line []byte) (bool, error) {
		if !bytes.Contains(line, name) {
			return false, nil
		}
		*d = routing.Decision{}
		return json.Unmarshal(line, d) == nil && d.RequestID == request, nil
	})
	if line != nil || err != nil {
		return line, err
	}
	if _, err := log.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	none := &notFound{request: request}
	line, err = eachLine(log, func(line []byte) (bool, error) {
		*d = routing.Decision{}
		if err := json.Unmarshal(line, d); err != nil {
			return false, err
		}
		near := setting.Nearest(request, append(none.near, d.RequestID))
		none.near = near[:min(len(near), nearest)]
		return d.RequestID == request, nil
	})
	if line != nil || err != nil {
		return line, err
	}
	return nil, none
}

// eachLine shows lines until one is the one; nil if none is. A blank line is none.
func eachLine(r io.Reader, is func(line []byte) (bool, error)) ([]byte, error) {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, end := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			found, err := is(line)
			if err != nil {
				return nil, fmt.Errorf("%d: %w", n, err)
			}
			if found {
				return line, nil
			}
		}
		switch {
		case end == io.EOF:
			return nil, nil
		case end != nil:
			return nil, fmt.Errorf("%d: %w", n, end)
		}
	}
}

// MarshalJSON writes the decision as the log has it and the request's line.
func (s *Story) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Decision json.RawMessage `json:"decision"`
		Request  *rundir.Record  `json:"request"`
	}{s.line, s.Record})
}
