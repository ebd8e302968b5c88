package force

import "github.com/reprise-sim/reprise/live/wire"

func init() { register(native{}) }

// native lets vLLM replay its own way: sampling_params.trace_decode_token_ids on the
// endpoint that takes tokens and gives tokens (spec/live.md A.1, A.2). The server
// samples as always and then replaces what it sampled.
//
// It cuts a trace to max_tokens, 16 by default in some versions, so max_tokens is
// always sent.
type native struct{}

func (native) Name() string { return "native" }
func (native) Level() Level { return Tokens }
func (native) Path() string { return "/inference/v1/generate" }

// Refuses implements [Mode].
func (native) Refuses(s *Sampling) string { return s.refuseForced() }

// Append implements [Mode] (spec/live.md F.2).
func (native) Append(dst []byte, c *Call) []byte {
	o := begin(dst)
	o.string("model", c.Model)
	o.ids("token_ids", c.Prompt)
	p := o.open("sampling_params")
	p.int("n", 1)
	c.Sampling.append(&p, shape)
	p.int("max_tokens", c.N)
	p.bool("ignore_eos", true)
	p.bool("detokenize", false)
	p.ids("trace_decode_token_ids", c.Output)
	if c.Routes != "" {
		x := p.open("extra_args")
		x.string("reprise_routes", c.Routes)
		p.shut(x)
	}
	o.shut(p)
	o.form(c)
	return o.end()
}

// Differences implements [Mode].
func (native) Differences(c *Call, a *wire.Answer) []Difference { return exactly(c, a) }
