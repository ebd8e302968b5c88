package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/reprise-sim/reprise/record/internal/journal"
)

// maxMarks bounds a request with marks: results of tools may be long.
const maxMarks = 64 << 20

// serveOwn answers requests to the recorder itself: POST marks, GET status.
func (r *Recorder) serveOwn(w http.ResponseWriter, req *http.Request, path string) {
	switch {
	case path == "marks" && req.Method == http.MethodPost:
		ms := r.now()
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxMarks))
		if err == nil {
			err = r.mark(body, ms, secretsOf(req))
		}
		if err != nil {
			reply(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case path == "status" && req.Method == http.MethodGet:
		reply(w, http.StatusOK, r.Counts())
	default:
		reply(w, http.StatusNotFound, map[string]string{"error": "expected POST " + ownPaths + "marks or GET " + ownPaths + "status"})
	}
}

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}

// mark writes one mark or a list of them, all or none.
func (r *Recorder) mark(body []byte, ms float64, secrets []string) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '[' {
		body = append(append([]byte{'['}, body...), ']')
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var marks []journal.Mark
	if err := d.Decode(&marks); err != nil {
		return fmt.Errorf("marks: %w", err)
	}
	for i := range marks {
		if err := checkMark(&marks[i]); err != nil {
			return fmt.Errorf("mark %d: %w", i, err)
		}
	}
	for i := range marks {
		m := &marks[i]
		m.Ms = ms
		if r.opts.Redact {
			m.Args, m.Result = nil, nil
		}
		r.append(&journal.Entry{Mark: m}, secrets...)
	}
	r.count(func(c *Counts) { c.Marks += len(marks) })
	return nil
}

// checkMark makes sure that a mark says what it has to.
func checkMark(m *journal.Mark) error {
	want := ""
	switch m.Kind {
	case journal.Invocation:
		want = missing("call", m.Call)
	case journal.ToolStart, journal.ToolEnd:
		want = missing("tool", m.Tool)
	case journal.Spawn:
		want = missing("session", m.Session)
	case journal.Join:
		want = missing("session", m.Session)
		if len(m.Of) == 0 {
			want = "of"
		}
	default:
		return fmt.Errorf("mark: %q: want %s, %s, %s, %s or %s", m.Kind,
			journal.Invocation, journal.ToolStart, journal.ToolEnd, journal.Spawn, journal.Join)
	}
	if want != "" {
		return errors.New(m.Kind + ": " + want + " is missing")
	}
	return nil
}

// missing is the field if it is empty.
func missing(field, value string) string {
	if value == "" {
		return field
	}
	return ""
}
