package cluster

import (
	"errors"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/engine/paged"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
)

// brittle has a price for prefills only.
type brittle struct{ latency.Fixed }

var errNoPrice = errors.New("no price for decodes")

func (b brittle) Cost(p *latency.Pass) (latency.Duration, error) {
	if p.DecodeSeqs > 0 {
		return latency.Duration{}, errNoPrice
	}
	return b.Fixed.Cost(p)
}

func (brittle) Decodes(*latency.Pass, []float64) error { return errNoPrice }

// A pass that has no price stops the instance; the error says where and when, and
// stays, however the instance is looked at.
func TestAPassWithoutAPriceIsAnErrorWithPlaceAndTime(t *testing.T) {
	looks := map[string]func(in *Instance) error{
		"look":   func(in *Instance) error { return in.AdvanceTo(100) },
		"start":  func(in *Instance) error { return errors.Join(in.AdvanceTo(15), in.Start(15)) },
		"finish": func(in *Instance) error { return in.Finish(100) },
		"sample": func(in *Instance) error { _, err := in.Sample(100); return err },
		"plan": func(in *Instance) error {
			err := in.AdvanceTo(10)
			in.NextMs()
			return errors.Join(err, in.AdvanceTo(20))
		},
	}
	for name, look := range looks {
		t.Run(name, func(t *testing.T) {
			s := engine.Defaults()
			s.Rules = "aisimulate"
			if err := paged.Resolve(&s); err != nil {
				t.Fatal(err)
			}
			ledger := &metrics.Ledger{}
			ledger.Open(metrics.Label{}, 5, 8, 3)
			in := NewInstance(3, 7, Equipment{Rank: paged.New(&s), Model: brittle{latency.Fixed{PrefillMs: 10}}, Ledger: ledger})
			in.Submit(&engine.Request{InputTokens: 8, MaxTokens: 3}, 5)
			err := look(in)
			if !errors.Is(err, errNoPrice) || !strings.Contains(err.Error(), "bucket 3, instance 7 at ") {
				t.Fatalf("error is %v", err)
			}
			if again := in.AdvanceTo(200); !errors.Is(again, errNoPrice) {
				t.Errorf("later the error is %v", again)
			}
		})
	}
}
