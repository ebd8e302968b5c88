package arrival

import (
	"math"

	"github.com/reprise-sim/reprise/setting"
)

func init() {
	processes["burst"] = kind[ProcessSettings, Process]{
		about: "everything at once",
		make:  func(ProcessSettings, *setting.Problems) Process { return Burst{} },
	}
}

// Burst is everything at once:
//
//	arrival n = 0 ms
//
// Burst{} prints 0 0 0 0.
type Burst struct{}

// Next implements [Process].
func (Burst) Next(_ int64, previousMs float64, _ *Rand) float64 { return previousMs }

// Rate is +Inf.
func (Burst) Rate() float64 { return math.Inf(1) }
