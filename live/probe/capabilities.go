package probe

import (
	"fmt"
	"strings"

	"github.com/reprise-sim/reprise/live/force"
)

// Capabilities are what a server can do.
type Capabilities struct {
	URL         string
	Server      string // its version, "" if it does not say
	Model       string
	MaxModelLen int // 0: not known
	Vocabulary  int // 0: not known
	Ways        []Way
	// CachedTokens is whether it says how many tokens of a prompt came from its cache,
	// and finds them there when a prompt comes again.
	CachedTokens, PrefixCache bool
	Package                   *Package // nil: the package of integrations/vllm is not there
}

// Way is one way of forcing, tried.
type Way struct {
	Mode  force.Mode
	Works bool
	Why   string // it does not work
	// Advice is what would make it work, "" if that is not known.
	Advice  string
	Times   bool // it says how long the call took it
	IDs     bool // it says which tokens came out
	Experts bool // it says which experts were used
}

// Package is what the package inside a server says of itself.
type Package struct {
	Version string `json:"version"`
	Runner  string `json:"runner"`
	Armed   struct {
		Tokens  bool `json:"tokens"`
		Experts bool `json:"experts"`
	} `json:"armed"`
	MoE           *MoE      `json:"moe"` // nil: the model has no experts
	ReturnsRoutes bool      `json:"returns_routes"`
	MaxModelLen   int       `json:"max_model_len"`
	Vocabulary    int       `json:"vocabulary"`
	Counters      *Counters `json:"counters"`
}

// MoE is the experts of a model.
type MoE struct {
	Layers       int  `json:"layers"`        // that have experts
	HiddenLayers int  `json:"hidden_layers"` // all of them: what tables of experts have
	TopK         int  `json:"top_k"`
	Experts      int  `json:"experts"`
	Modular      bool `json:"modular"`
}

// Counters are what the package has done since the server was started.
type Counters struct {
	CallsForced    int64 `json:"calls_forced"`
	TokensForced   int64 `json:"tokens_forced"`
	TokensVerified int64 `json:"tokens_verified"`
	TokensWrong    int64 `json:"tokens_wrong"`
	CallsRouted    int64 `json:"calls_routed"`
	ExpertsForced  int64 `json:"experts_forced"` // positions × layers
	CallsLost      int64 `json:"calls_lost"`
}

// Since is what was counted after an earlier reading.
func (c Counters) Since(before Counters) Counters {
	return Counters{
		CallsForced:    c.CallsForced - before.CallsForced,
		TokensForced:   c.TokensForced - before.TokensForced,
		TokensVerified: c.TokensVerified - before.TokensVerified,
		TokensWrong:    c.TokensWrong - before.TokensWrong,
		CallsRouted:    c.CallsRouted - before.CallsRouted,
		ExpertsForced:  c.ExpertsForced - before.ExpertsForced,
		CallsLost:      c.CallsLost - before.CallsLost,
	}
}

// Way is what was found for a mode.
func (c *Capabilities) Way(m force.Mode) *Way {
	for i := range c.Ways {
		if c.Ways[i].Mode == m {
			return &c.Ways[i]
		}
	}
	return nil
}

// Lines say what the server can do, for people.
func (c *Capabilities) Lines() []string {
	about := []string{"model " + c.Model}
	if c.Server != "" {
		about = append([]string{"version " + c.Server}, about...)
	}
	about = append(about, known("context", c.MaxModelLen), known("vocabulary", c.Vocabulary))
	lines := []string{c.URL + ": " + strings.Join(about, ", ")}
	for i := range c.Ways {
		lines = append(lines, "  "+c.Ways[i].line())
	}
	lines = append(lines, "  experts  "+c.experts(), "  cache    "+c.cache())
	return lines
}

// known is a number of tokens, if there is one.
func known(what string, n int) string {
	if n == 0 {
		return what + " not known"
	}
	return fmt.Sprintf("%s %d", what, n)
}

func (w *Way) line() string {
	line := fmt.Sprintf("%-8s ", w.Mode.Name())
	if w.Works {
		line += "yes: " + w.Mode.Level().String()
		if !w.Times {
			line += "; no times of its own"
		}
		return line
	}
	line += "no: " + w.Why
	if w.Advice != "" {
		line += " (" + w.Advice + ")"
	}
	return line
}

func (c *Capabilities) experts() string {
	returned := false
	for i := range c.Ways {
		returned = returned || c.Ways[i].Experts
	}
	switch p := c.Package; {
	case p == nil && returned:
		return "returned, not forced (the package of integrations/vllm forces them)"
	case p == nil || p.MoE == nil:
		return "none that are known of"
	case !p.Armed.Experts:
		return p.MoE.String() + ", not forced (start the server with REPRISE_ROUTES_DIR)"
	case !returned:
		return p.MoE.String() + ", forced, not returned (--enable-return-routed-experts lets them be verified)"
	default:
		return p.MoE.String() + ", forced and returned"
	}
}

func (m *MoE) String() string {
	return fmt.Sprintf("top %d of %d in %d layers", m.TopK, m.Experts, m.Layers)
}

func (c *Capabilities) cache() string {
	switch {
	case !c.CachedTokens:
		return "hits are not reported (--enable-prompt-tokens-details)"
	case !c.PrefixCache:
		return "hits are reported, but a prompt that came again had none"
	}
	return "hits are reported"
}
