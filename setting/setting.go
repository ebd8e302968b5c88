// Package setting is how a part of the program says that one of its settings is
// wrong, so that whoever read the setting from a file can add where it stood.
package setting

import (
	"errors"
	"fmt"
)

// Error is one wrong setting.
type Error struct {
	Field string // path of the key below the part's own, such as "vllm.watermark"
	Value any    // what was found
	Want  string // what was expected
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %v: want %s", e.Field, e.Value, e.Want)
}

// Problems collects wrong settings.
type Problems struct{ errs []error }

// Check notes a problem unless ok.
func (p *Problems) Check(ok bool, field string, value any, want string) {
	if !ok {
		p.errs = append(p.errs, &Error{field, value, want})
	}
}

// Under adds the problems of a part whose keys stand below a prefix.
func (p *Problems) Under(prefix string, err error) {
	for _, e := range All(err) {
		e.Field = prefix + "." + e.Field
		p.errs = append(p.errs, e)
	}
}

// Err is nil if there were none.
func (p *Problems) Err() error { return errors.Join(p.errs...) }

// All lists the setting errors in err.
func All(err error) []*Error {
	var one *Error
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*Error
		for _, e := range many.Unwrap() {
			out = append(out, All(e)...)
		}
		return out
	}
	if errors.As(err, &one) {
		c := *one
		return []*Error{&c}
	}
	return nil
}
