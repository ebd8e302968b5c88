package mooncake

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
)

// counts are what is worth a note.
type counts struct {
	withIDs, withoutIDs int  // requests
	pauses              int  // between turns
	inferred            int  // of them, from start times
	split               int  // sessions with rows in several files
	flat                int  // rows without a session
	alike               *row // a row whose session has the name of a flat row's task
}

// flatTask is the name of the task of a row without a session:
// [trace.Place.AppendTaskID].
var flatTask = regexp.MustCompile(`^(file[0-9]+:)?request_[0-9]+$`)

// Build makes a task of a row or of a session.
func (r *reader) Build(rows []row, t *trace.Task, slab *trace.Slab) error {
	t.Nodes = slab.Nodes(len(rows))
	if rows[0].session == "" {
		w := &rows[0]
		t.ID = slab.Text(w.at.AppendTaskID(r.name[:0]))
		t.ReleaseMs = w.timeMs
		r.node(w, &t.Nodes[0], t.ID, 0, slab)
		r.counts.flat++
		return nil
	}
	r.sort(rows)
	first := &rows[r.order[0]]
	if first.delayMs > 0 {
		return first.at.Fault("delay", number(first.delayMs), "none on the first turn of a session")
	}
	t.ID, t.ReleaseMs = first.session, first.timeMs
	if flatTask.MatchString(t.ID) {
		r.counts.alike = &row{at: first.at, session: t.ID}
	}
	edges := slab.Edges(len(rows) - 1)
	lastMs := math.NaN() // last known start
	for turn, i := range r.order {
		w, n := &rows[i], &t.Nodes[turn]
		r.node(w, n, t.ID, turn, slab)
		if turn > 0 {
			pause, inferred, err := r.pause(w, lastMs)
			if err != nil {
				return err
			}
			n.After = edges[turn-1 : turn : turn]
			n.After[0] = trace.Edge{From: int32(turn) - 1, DelayMs: pause, Inferred: inferred}
			r.record(w, n, slab)
		}
		if !math.IsNaN(w.timeMs) {
			lastMs = w.timeMs
		}
	}
	r.countSession(rows)
	return nil
}

// sort finds the order of a session's turns: by time, where times are known; a turn
// without follows the row above it.
func (r *reader) sort(rows []row) {
	r.order, r.times = r.order[:0], r.times[:0]
	ms := math.Inf(-1)
	for i := range rows {
		if t := rows[i].timeMs; !math.IsNaN(t) {
			ms = t
		}
		r.order = append(r.order, i)
		r.times = append(r.times, ms)
	}
	slices.SortStableFunc(r.order, func(a, b int) int { return cmp.Compare(r.times[a], r.times[b]) })
}

// pause is the time between the end of the turn before and a turn: its delay or, if
// only starts are known, the difference of starts (spec/replay.md 3.2).
func (r *reader) pause(w *row, lastMs float64) (ms float64, inferred bool, err error) {
	r.counts.pauses++
	switch {
	case !math.IsNaN(w.delayMs):
		return w.delayMs, false, nil
	case math.IsNaN(w.timeMs):
		return 0, false, nil
	case math.IsNaN(lastMs):
		return 0, false, w.at.Fault("delay", "nothing", "a delay, or a timestamp on a turn before this one")
	}
	r.counts.inferred++
	return w.timeMs - lastMs, true, nil
}

// node fills in the node of a row.
func (r *reader) node(w *row, n *trace.Node, task string, turn int, slab *trace.Slab) {
	n.ID, n.Session, n.Turn, n.Line = r.id(w, turn, slab), w.session, int32(turn), w.at.Line
	n.InputTokens, n.OutputTokens, n.Priority = w.input, w.output, w.priority
	n.Input = r.prompt(w, n.ID, task, slab)
	if w.outputIDs != nil {
		n.Output = slab.Seq(token.IDs(w.outputIDs))
	}
	if w.strict != 0 || w.class != "" {
		n.Details = slab.Details()
		n.Details.StrictPriority, n.Details.Class = w.strict, w.class
	}
}

// id is the id of a row's node (spec/replay.md 10.3, V-33).
func (r *reader) id(w *row, turn int, slab *trace.Slab) string {
	switch {
	case w.request != "":
		return w.request
	case w.session != "":
		r.name = append(append(r.name[:0], w.session...), ':')
		r.name = strconv.AppendInt(r.name, int64(turn), 10)
	default:
		r.name = w.at.AppendNodeID(r.name[:0])
	}
	return slab.Text(r.name)
}

// prompt is the content of a row's prompt, nil if nothing is known of it.
func (r *reader) prompt(w *row, id, task string, slab *trace.Slab) *token.Seq {
	if w.ids == nil {
		r.counts.withoutIDs++
		return nil
	}
	r.counts.withIDs++
	size, length := r.format.blockSize, int(w.input)
	covered := length
	if r.format.cover == trace.CoverFull {
		covered = len(w.ids) * size
	}
	prompt := slab.Seq(token.Blocks(w.ids, size, covered, r.scope(w, task)))
	if covered < length {
		return prompt.Extend(covered, trace.PrivatePrompt(id, length-covered))
	}
	return prompt
}

// scope is where a row's ids are valid.
func (r *reader) scope(w *row, task string) uint64 {
	switch r.format.ids {
	case trace.IDsFile:
		return w.at.File.Scope()
	case trace.IDsSession:
		return trace.SessionScope(w.at.File, task)
	}
	return 0
}

// record keeps the start of a turn that is not the first.
func (r *reader) record(w *row, n *trace.Node, slab *trace.Slab) {
	if math.IsNaN(w.timeMs) {
		return
	}
	if n.Details == nil {
		n.Details = slab.Details()
	}
	n.Details.Recorded = slab.Recorded()
	*n.Details.Recorded = trace.Recorded{StartMs: w.timeMs, FirstTokenMs: math.NaN(), EndMs: math.NaN()}
}

func (r *reader) countSession(rows []row) {
	for i := range rows {
		if rows[i].at.File != rows[0].at.File {
			r.counts.split++
			return
		}
	}
}

// Describe says how much is known of the prompts, and what a user should know.
func (r *reader) Describe(h *trace.Header, report *trace.Report) error {
	f, c := r.format, &r.counts
	note := func(format string, args ...any) {
		report.Notes = append(report.Notes, fmt.Sprintf(format, args...))
	}
	switch {
	case c.withIDs > 0:
		h.Depth, h.BlockSize, h.IDs, h.IDsCover = trace.Blocks, f.blockSize, f.ids, f.cover
		if c.withoutIDs > 0 {
			note("%d of %d requests have no hash_ids: they share nothing", c.withoutIDs, c.withIDs+c.withoutIDs)
		}
	default:
		if err := f.asked.idle(); err != nil {
			return err
		}
	}
	if c.flat > 0 && c.alike != nil {
		return c.alike.at.Fault("session_id", c.alike.session, "another name: tasks of rows without a session are called like that")
	}
	if c.inferred > 0 {
		note("%d of %d pauses come from start times and include the service time of the turn before", c.inferred, c.pauses)
	}
	if c.split > 0 {
		note("%s with rows in several files: each was put together", jsonrow.Plural(c.split, "session"))
	}
	return nil
}

// number is a number as faults show it.
func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
