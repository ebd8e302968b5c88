package rundir

import (
	"slices"

	"github.com/reprise-sim/reprise/metrics"
)

// MarshalJSON writes a line of per_request.csv as an object, its columns in order;
// an empty cell is null.
func (r *Record) MarshalJSON() ([]byte, error) {
	whole := *r
	whole.complete()
	all := columns
	if whole.Live != nil {
		all = slices.Concat(columns, liveColumns)
	}
	text := []byte{'{'}
	for i := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(appendJSONString(text, all[i].name), ':')
		text = appendJSONCell(text, all[i].value(&whole))
	}
	return append(text, '}'), nil
}

// appendJSONCell appends the value of a cell. Numbers and truth values are written
// alike in CSV and JSON.
func appendJSONCell(text []byte, field any) []byte {
	var c cells
	c.begin()
	c.append(field)
	cell := c.text[:len(c.text)-1] // without the comma
	switch v := field.(type) {
	case *metrics.Status:
		return appendJSONString(text, v.String())
	case *string:
		if *v != "" {
			return appendJSONString(text, *v)
		}
	}
	if len(cell) == 0 {
		return append(text, "null"...)
	}
	return append(text, cell...)
}
