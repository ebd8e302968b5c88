package predict

import (
	"os"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/profile"
	"github.com/reprise-sim/reprise/latency/roofline"
)

// newPasses makes a model of measured passes. Outside of what was measured the
// roofline answers if there is one.
func newPasses(s latency.Settings, d latency.Deployment) (latency.Model, error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, wrong("path", s.Path, err)
	}
	defer f.Close()
	options := profile.PassOptions{Strict: s.Outside == "error"}
	if Hardware(s) && s.Outside != "clamp" && s.Outside != "error" {
		setup, err := Setup(s, d)
		if err != nil {
			return nil, err
		}
		if options.Else, err = roofline.New(setup); err != nil {
			return nil, err
		}
	}
	m, err := profile.ReadPasses(s.Path, f, options)
	if err != nil {
		return nil, wrong("path", s.Path, err)
	}
	return m, nil
}
