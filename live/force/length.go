package force

import "github.com/reprise-sim/reprise/live/wire"

func init() { register(length{}) }

// length forces how many tokens come out, not which: min_tokens = max_tokens and no
// end token. This is what other load tools do (spec/live.md A.3, C.1). Later prompts are
// the recorded ones all the same, so what the server wrote is not found in its cache.
type length struct{}

func (length) Name() string { return "length" }
func (length) Level() Level { return Lengths }
func (length) Path() string { return completions }

// Refuses implements [Mode].
func (length) Refuses(s *Sampling) string { return s.refuseForced() }

// Append implements [Mode].
func (length) Append(dst []byte, c *Call) []byte {
	o := completion(dst, c)
	c.Sampling.append(&o, shape|seed)
	o.int("max_tokens", c.N)
	o.int("min_tokens", c.N)
	o.bool("ignore_eos", true)
	return o.end()
}

// Differences implements [Mode].
func (length) Differences(c *Call, a *wire.Answer) []Difference {
	d := counted(c, a)
	if got := int(a.Tokens()); got != c.N {
		d = append(d, differs("output length", -1, c.N, got))
	}
	return d
}
