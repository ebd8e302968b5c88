package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// field is a key of a JSON object and a pointer to its value.
type field struct {
	key   string
	value any
}

// number is a float64 that is null in JSON where it is undefined.
type number float64

// MarshalJSON implements [json.Marshaler].
func (n number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// writeFields is the object of some fields, in their order.
func writeFields(fields []field) ([]byte, error) {
	var b bytes.Buffer
	for i, f := range fields {
		text, err := json.Marshal(f.pointer())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.key, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", f.key, text)
	}
	return append(append([]byte{'{'}, b.Bytes()...), '}'), nil
}

// readFields sets fields from an object. Every one of them must be there; other
// keys are ignored.
func readFields(object []byte, fields []field) error {
	var texts map[string]json.RawMessage
	if err := json.Unmarshal(object, &texts); err != nil {
		return err
	}
	for _, f := range fields {
		text, ok := texts[f.key]
		if !ok {
			return fmt.Errorf("%s: missing", f.key)
		}
		if err := json.Unmarshal(text, f.pointer()); err != nil {
			return fmt.Errorf("%s: %w", f.key, err)
		}
	}
	return nil
}

// pointer is the value's pointer, floats as numbers.
func (f field) pointer() any {
	if p, ok := f.value.(*float64); ok {
		return (*number)(p)
	}
	return f.value
}
