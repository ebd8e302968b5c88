package live

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/reprise-sim/reprise/setting"
)

// Kinds of [Pace].
const (
	PaceRecorded = "recorded" // as long as recorded
	PaceNone     = "none"     // no time
	PaceScaled   = "scaled"   // the recorded time × X
	PaceFixed    = "fixed"    // X ms
	PaceExecute  = "execute"  // the tool is run
)

// Pace says how long tools take, or waits. It is written as recorded, none, scaled:2,
// fixed:100 or execute.
type Pace struct {
	Kind string
	X    float64
}

// ParsePace reads a pace.
func ParsePace(text string) (Pace, error) {
	kind, number, has := strings.Cut(text, ":")
	p := Pace{Kind: kind}
	if has {
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return p, fmt.Errorf("%q: want a number behind the colon", text)
		}
		p.X = x
	}
	takes := kind == PaceScaled || kind == PaceFixed
	known := takes || kind == PaceRecorded || kind == PaceNone || kind == PaceExecute
	if !known || takes != has {
		return p, fmt.Errorf("%q: want one of recorded, none, scaled:FACTOR, fixed:MS, execute", text)
	}
	return p, nil
}

func (p Pace) String() string {
	if p.Kind == PaceScaled || p.Kind == PaceFixed {
		return p.Kind + ":" + strconv.FormatFloat(p.X, 'g', -1, 64)
	}
	return p.Kind
}

// MarshalJSON writes the pace as text.
func (p Pace) MarshalJSON() ([]byte, error) { return json.Marshal(p.String()) }

// Validate says what is wrong; only tools can be executed.
func (p Pace) Validate(tools bool) error {
	var problems setting.Problems
	kinds := []string{PaceRecorded, PaceNone, PaceScaled, PaceFixed}
	if tools {
		kinds = append(kinds, PaceExecute)
	}
	oneOf(&problems, "kind", p.Kind, kinds...)
	problems.Check(p.X >= 0 && p.X <= math.MaxFloat64, "value", p.X, "a finite number, at least 0")
	return problems.Err()
}

// ms is how long something takes that was recorded to take so long.
func (p Pace) ms(recordedMs float64) float64 {
	switch p.Kind {
	case PaceNone:
		return 0
	case PaceScaled:
		return recordedMs * p.X
	case PaceFixed:
		return p.X
	}
	return recordedMs
}
