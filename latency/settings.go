package latency

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/setting"
)

// Settings are the keys of `latency:` (DESIGN.md 6). Zero values are not defaults;
// start from [Defaults].
type Settings struct {
	Model         string  `yaml:"model" json:"model" doc:"what prices a pass: polynomial, or fixed with prefill_ms and decode_ms"`
	Speedup       float64 `yaml:"speedup" json:"speedup" doc:"divides the price of every pass; 0 is the same as 1"`
	DecodeSpeedup float64 `yaml:"decode_speedup" json:"decode_speedup" doc:"divides the price of decodes once more; 0: neither speed-up applies to them"`
	// HostUs is applied by whoever runs the passes, not by a model: when it starts
	// and what it overlaps with is known there.
	HostUs float64 `yaml:"host_us" json:"host_us" doc:"host time added to each pass, µs"`

	PrefillMs *float64 `yaml:"prefill_ms,omitempty" json:"prefill_ms,omitempty" doc:"model fixed: price of the prefills of a pass, ms"`
	DecodeMs  *float64 `yaml:"decode_ms,omitempty" json:"decode_ms,omitempty" doc:"model fixed: price of the decodes of a pass, ms"`
}

// Defaults are the defaults of DESIGN.md 6.
func Defaults() Settings {
	return Settings{Model: "polynomial", Speedup: 1, DecodeSpeedup: 1}
}

// Validate reports every wrong setting as a [setting.Error].
func (s Settings) Validate() error {
	var p setting.Problems
	p.Check(notNegative(s.Speedup), "speedup", s.Speedup, wantNotNegative)
	p.Check(notNegative(s.DecodeSpeedup), "decode_speedup", s.DecodeSpeedup, wantNotNegative)
	p.Check(notNegative(s.HostUs), "host_us", s.HostUs, wantNotNegative)
	p.Check(s.Speedup*s.DecodeSpeedup <= math.MaxFloat64 || p.Err() != nil,
		"decode_speedup", s.DecodeSpeedup, "a finite product with speedup")
	k, known := kinds[s.Model]
	p.Check(known, "model", s.Model, "one of "+strings.Join(Names(), ", "))
	if known {
		for _, o := range s.optional() {
			p.Check(!o.given || slices.Contains(k.keys, o.key), o.key, "set", "nothing: model "+s.Model+" does not use it")
		}
		k.check(s, &p)
	}
	return p.Err()
}

// optional lists the settings that belong to some models only.
func (s Settings) optional() []optional {
	return []optional{
		{"prefill_ms", s.PrefillMs != nil},
		{"decode_ms", s.DecodeMs != nil},
	}
}

type optional struct {
	key   string
	given bool
}

const wantNotNegative = "a finite number, at least 0"

func notNegative(v float64) bool { return v >= 0 && v <= math.MaxFloat64 }

// kind is a registered model.
type kind struct {
	about string                            // one line for a catalogue
	keys  []string                          // optional settings it uses
	check func(Settings, *setting.Problems) // its own settings
	make  func(Settings) (Model, error)     // in raw ms, of settings that are right
}

// kinds are the registered models by name. Only init functions write it.
var kinds = map[string]kind{}

func register(name string, k kind) { kinds[name] = k }

// Names lists the models that [New] can make, sorted.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }

// About is one line on the model of that name, "" if there is none.
func About(name string) string { return kinds[name].about }

// New makes the model that s describes, speed-ups and rounding included.
func New(s Settings) (Model, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	raw, err := kinds[s.Model].make(s)
	if err != nil {
		return nil, err
	}
	return Scale(raw, s.Speedup, s.DecodeSpeedup)
}
