package routing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/reprise-sim/reprise/setting"
)

// Settings are the keys of `cluster.router:` (DESIGN.md 6).
type Settings struct {
	Mode string `yaml:"mode" json:"mode" doc:"policy that chooses the instance" enum:"round_robin"`
}

// Defaults are the defaults of DESIGN.md 6.
func Defaults() Settings { return Settings{Mode: "round_robin"} }

// Validate checks the settings.
func (s Settings) Validate() error {
	_, err := find(s.Mode)
	return err
}

// Policy is a routing policy by name.
type Policy struct {
	Mode string
	Doc  string // one line for `reprise catalog routers`
	New  func(Settings) Placement
}

var policies []Policy

// Register adds a policy. It is called from init functions.
func Register(p Policy) {
	policies = append(policies, p)
	slices.SortFunc(policies, func(a, b Policy) int { return cmp.Compare(a.Mode, b.Mode) })
}

// Policies lists the policies by name.
func Policies() []Policy { return slices.Clone(policies) }

// New makes the placement that valid settings name.
func New(s Settings) Placement {
	p, err := find(s.Mode)
	if err != nil {
		panic(err)
	}
	return p.New(s)
}

func find(mode string) (*Policy, error) {
	var known []string
	for i := range policies {
		if policies[i].Mode == mode {
			return &policies[i], nil
		}
		known = append(known, policies[i].Mode)
	}
	return nil, &setting.Error{Field: "mode", Value: mode, Want: fmt.Sprintf("one of %v", known)}
}
