package live

import (
	"fmt"
	"strings"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/probe"
	"github.com/reprise-sim/reprise/trace"
)

// Unable is why the servers cannot do what was asked for. It is no mistake of the
// settings or the trace.
type Unable struct{ Err error }

func (u *Unable) Error() string { return u.Err.Error() }
func (u *Unable) Unwrap() error { return u.Err }

// choice is how the outputs are forced, and what to say of it.
type choice struct {
	mode  force.Mode
	notes []string
}

// choose takes the strongest way that is asked for and works on every server. Less
// than what was asked for is an error; less than everything is said, with what would
// give more.
func (s *Settings) choose(servers []*probe.Capabilities, h trace.Header) (choice, error) {
	if s.Force != Auto {
		m, err := force.Find(s.Force)
		if err != nil {
			return choice{}, err
		}
		if err := s.honours(m); err != nil {
			return choice{}, err
		}
		for _, c := range servers {
			if w := c.Way(m); !w.Works {
				return choice{}, &Unable{fmt.Errorf("%s: force %s: %s", c.URL, m.Name(), because(w))}
			}
		}
		return choice{mode: m}, nil
	}
	most := force.Tokens
	switch {
	case s.Tokens == TokensLength:
		most = force.Lengths
	case s.Tokens == TokensNone:
		most = force.Floating
	case h.Depth < trace.Tokens && s.Tokens == TokensExact:
		return choice{}, fmt.Errorf("tokens: exact: the trace has no token ids (%s only): want a trace of tokens, or --tokens length", h.Depth)
	case h.Depth < trace.Tokens:
		most = force.Lengths
	}
	return s.strongest(servers, most)
}

// honours refuses a way of forcing beside another wish.
func (s *Settings) honours(m force.Mode) error {
	want := map[string]force.Level{TokensExact: force.Tokens, TokensLength: force.Lengths, TokensNone: force.Floating}
	if least, asked := want[s.Tokens]; asked && m.Level() != least {
		return fmt.Errorf("force: %s: it gives %s: want another one with tokens: %s", m.Name(), m.Level(), s.Tokens)
	}
	return nil
}

// strongest is the first way, up to a level, that works everywhere.
func (s *Settings) strongest(servers []*probe.Capabilities, most force.Level) (choice, error) {
	var weaker []string
	for _, m := range force.Modes() {
		if m.Level() > most {
			continue
		}
		missing := ""
		for _, c := range servers {
			if w := c.Way(m); !w.Works && missing == "" {
				missing = fmt.Sprintf("%s: %s: %s", c.URL, m.Name(), because(w))
			}
		}
		if missing != "" {
			weaker = append(weaker, missing)
			continue
		}
		if asked := s.Tokens != Auto; asked && m.Level() < most {
			break
		}
		c := choice{mode: m}
		if m.Level() < most {
			c.notes = append([]string{fmt.Sprintf("forcing %s only; for more:", m.Level())}, weaker...)
		}
		return c, nil
	}
	return choice{}, &Unable{fmt.Errorf("no server can be made to repeat %s:\n  %s", most, strings.Join(weaker, "\n  "))}
}

// because is why a way does not work, and what would help.
func because(w *probe.Way) string {
	if w.Advice == "" {
		return w.Why
	}
	return fmt.Sprintf("%s (%s)", w.Why, w.Advice)
}
