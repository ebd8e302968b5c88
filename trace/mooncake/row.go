package mooncake

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
)

// row is what one line says.
type row struct {
	at        trace.Place
	timeMs    float64 // NaN if there is none
	delayMs   float64 // NaN if there is none
	input     int32
	output    int32
	ids       []uint64 // nil if there are none
	outputIDs []uint32 // nil if there are none
	session   string
	request   string
	priority  int32
	strict    uint32
	class     string
}

// What is expected of a field, as faults say it.
const (
	wantTime    = "milliseconds, 0 or more"
	wantTokens  = "a whole number of tokens, from 0 to 2147483647"
	wantBlockID = "a block id, from 0 to 18446744073709551615"
	wantTokenID = "a token id, from 0 to 4294967295"
	wantText    = "text in quotes"
	wantInt32   = "a whole number of 32 bits"
	wantUint32  = "a whole number from 0 to 4294967295"
)

// fields are the fields of a row that must not appear twice, under whatever name.
type fields uint16

const (
	timeField fields = 1 << iota
	inputField
	outputField
	idsField
	outputIDsField
	sessionField
	requestField
	delayField
	priorityField
	strictField
	classField
)

// field is the field of a name, aliases included (spec/replay.md 3.2).
func field(key []byte) fields {
	switch string(key) {
	case "timestamp", "created_time":
		return timeField
	case "input_length", "input_tokens":
		return inputField
	case "output_length", "output_tokens":
		return outputField
	case "hash_ids":
		return idsField
	case "output_token_ids":
		return outputIDsField
	case "session_id":
		return sessionField
	case "request_id":
		return requestField
	case "delay", "delay_ms":
		return delayField
	case "priority":
		return priorityField
	case "strict_priority":
		return strictField
	case "policy_class":
		return classField
	}
	return 0
}

// Parse reads one line.
func (r *reader) Parse(line []byte, at trace.Place, w *row, slab *trace.Slab) error {
	w.at, w.timeMs, w.delayMs = at, trace.Untimed(), math.NaN()
	s := &r.scan
	s.Reset(line)
	seen := fields(0)
	for s.Open(); ; {
		key, ok := s.Key()
		if !ok {
			break
		}
		f := field(key)
		if seen&f != 0 {
			s.Duplicate()
		}
		seen |= f
		r.value(f, w, slab)
	}
	s.Close()
	r.complete(seen, w)
	if f := s.Fault(); f != nil {
		return at.Fault(f.Field, f.Value, f.Want)
	}
	return nil
}

// value reads the value of field f into w.
func (r *reader) value(f fields, w *row, slab *trace.Slab) {
	switch s := &r.scan; f {
	case timeField:
		w.timeMs = s.Time(wantTime)
	case inputField:
		w.input = s.Count(wantTokens)
	case outputField:
		w.output = s.Count(wantTokens)
	case idsField:
		r.ids = s.Uint64s(r.ids[:0], wantBlockID)
		w.ids = slab.IDs(r.ids)
	case outputIDsField:
		r.tokens = s.Uint32s(r.tokens[:0], wantTokenID)
		w.outputIDs = slab.Tokens(r.tokens)
	case sessionField:
		w.session = slab.Text(s.Text(wantText))
	case requestField:
		w.request = slab.Text(s.Text(wantText))
	case delayField:
		w.delayMs = s.Time(wantTime)
	case priorityField:
		w.priority = int32(s.Int(math.MinInt32, math.MaxInt32, wantInt32))
	case strictField:
		w.strict = uint32(s.Int(0, math.MaxUint32, wantUint32))
	case classField:
		w.class = slab.Text(s.Text(wantText))
	default:
		s.Skip()
	}
}

// complete makes sure that nothing is missing and that lengths and ids fit.
func (r *reader) complete(seen fields, w *row) {
	s := &r.scan
	if seen&outputField == 0 {
		s.Missing("output_length", wantTokens)
	}
	if seen&outputIDsField != 0 && len(w.outputIDs) != int(w.output) {
		s.Fail("output_token_ids", jsonrow.Plural(len(w.outputIDs), "id"), fmt.Sprintf("%d: the output_length", w.output))
	}
	if seen&inputField == 0 {
		if len(w.ids) == 0 {
			s.Missing("input_length", wantTokens+", or hash_ids")
			return
		}
		tokens := int64(len(w.ids)) * int64(r.format.blockSize) // spec/replay.md 10.3, V-24
		if tokens > math.MaxInt32 {
			s.Fail("hash_ids", jsonrow.Plural(len(w.ids), "id"), "a prompt of at most 2147483647 tokens")
			return
		}
		w.input = int32(tokens)
	}
	if seen&idsField != 0 {
		r.fit(w)
	}
}

// fit makes sure that there are exactly as many ids as the prompt has blocks. The
// format does not know an empty list, so an empty prompt may have one that means
// nothing.
func (r *reader) fit(w *row) {
	size := int64(r.format.blockSize)
	blocks, which := (int64(w.input)+size-1)/size, "started"
	if r.format.cover == trace.CoverFull {
		blocks, which = int64(w.input)/size, "full"
	}
	if w.input == 0 && len(w.ids) == 1 {
		w.ids = w.ids[:0]
	}
	if int64(len(w.ids)) != blocks {
		r.scan.Fail("hash_ids", jsonrow.Plural(len(w.ids), "id"),
			fmt.Sprintf("%d: one for each %s block of %d tokens in %d", blocks, which, size, w.input))
	}
}

// Label says which session a row belongs to.
func (r *reader) Label(w *row) trace.Label {
	return trace.Label{Task: w.session, Named: w.request != "", TimeMs: w.timeMs}
}

// reader reads the rows of one pass.
type reader struct {
	format *format
	scan   jsonrow.Scanner
	ids    []uint64
	tokens []uint32
	name   []byte
	order  []int
	times  []float64
	counts counts
}
