package trace

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
)

var (
	expertFields   = []string{"key", "from", "holes"}
	recordedFields = []string{"start_ms", "first_token_ms", "end_ms", "ids"}
)

// detail reads one of the rarer fields.
func (r *nativeReader) detail(name string, d *Details, slab *Slab) {
	s := &r.scan
	switch name {
	case "model":
		d.Model = slab.Text(s.Text(wantText))
	case "attempt":
		d.Attempt = s.Count(wantCount)
	case "strict_priority":
		d.StrictPriority = uint32(s.Int(0, math.MaxUint32, "a whole number from 0 to 4294967295"))
	case "class":
		d.Class = slab.Text(s.Text(wantText))
	case "accepted":
		r.counts = r.counts[:0]
		for s.OpenArray("an array in []"); s.More(); {
			r.counts = append(r.counts, s.Count(wantCount))
		}
		d.Accepted = slab.Counts(r.counts)
	case "experts":
		d.Experts = r.experts()
	case "sampling":
		d.Sampling = r.raw(slab)
	case "messages":
		d.Messages = r.raw(slab)
	case "args":
		d.Args = r.raw(slab)
	case "result":
		d.Result = r.raw(slab)
	case "recorded":
		d.Recorded = r.recorded(slab)
	}
}

// raw reads a value that is kept as it stands.
func (r *nativeReader) raw(slab *Slab) json.RawMessage { return slab.Bytes(r.scan.Raw()) }

// experts reads where expert ids are kept.
func (r *nativeReader) experts() *Experts {
	s, e := &r.scan, &Experts{}
	m := jsonrow.Members{Names: expertFields}
	for s.Open(); s.Member(&m); {
		switch m.Name {
		case "key":
			e.Key = string(s.Text(wantName))
		case "from":
			e.From = s.Count(wantCount)
		case "holes":
			for s.OpenArray("an array in []"); s.More(); {
				e.Holes = append(e.Holes, r.hole())
			}
		}
	}
	if !m.Has("key") {
		s.Missing("key", wantName)
	}
	return e
}

// hole reads one range of positions.
func (r *nativeReader) hole() (h [2]int32) {
	s, n := &r.scan, 0
	for s.OpenArray("[first, last+1]"); s.More(); n++ {
		p := s.Count(wantCount)
		if n < len(h) {
			h[n] = p
		}
	}
	if n != len(h) || h[0] >= h[1] {
		s.Fail("", fmt.Sprintf("%d positions from %d", n, h[0]), "[first, last+1]")
	}
	return h
}

// recorded reads what the recording saw.
func (r *nativeReader) recorded(slab *Slab) *Recorded {
	s, rec := &r.scan, slab.Recorded()
	*rec = Recorded{StartMs: math.NaN(), FirstTokenMs: math.NaN(), EndMs: math.NaN()}
	m := jsonrow.Members{Names: recordedFields}
	for s.Open(); s.Member(&m); {
		switch m.Name {
		case "start_ms":
			rec.StartMs = s.Time(wantMs)
		case "first_token_ms":
			rec.FirstTokenMs = s.Time(wantMs)
		case "end_ms":
			rec.EndMs = s.Time(wantMs)
		case "ids":
			rec.IDs = slab.Text(s.Text(wantText))
		}
	}
	return rec
}
