package force

import "github.com/reprise-sim/reprise/live/wire"

func init() { register(none{}) }

// none forces nothing: the recorded prompts with the recorded parameters, their stops
// and their seed included. Outputs are what the model makes of them.
type none struct{}

func (none) Name() string { return "none" }
func (none) Level() Level { return Floating }
func (none) Path() string { return completions }

// Refuses implements [Mode].
func (none) Refuses(s *Sampling) string { return s.refuseFree() }

// Append implements [Mode]. Without a recorded limit a call may be as long as it was.
func (none) Append(dst []byte, c *Call) []byte {
	o := completion(dst, c)
	c.Sampling.append(&o, shape|seed|end|grammar)
	o.int("max_tokens", c.Sampling.maxTokens(c.N))
	return o.end()
}

// Differences implements [Mode].
func (none) Differences(c *Call, a *wire.Answer) []Difference { return prompt(c, a) }
