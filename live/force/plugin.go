package force

import "github.com/reprise-sim/reprise/live/wire"

func init() { register(plugin{}) }

// plugin uses the package of integrations/vllm, which replaces what was sampled on
// servers that cannot do so themselves: vllm_xargs on the completions endpoint
// (spec/vllm-cpu-live.md 5).
type plugin struct{}

func (plugin) Name() string { return "plugin" }
func (plugin) Level() Level { return Tokens }
func (plugin) Path() string { return completions }

// Refuses implements [Mode].
func (plugin) Refuses(s *Sampling) string { return s.refuseForced() }

// Append implements [Mode].
func (plugin) Append(dst []byte, c *Call) []byte {
	o := completion(dst, c)
	c.Sampling.append(&o, shape)
	o.int("max_tokens", c.N)
	x := o.open("vllm_xargs")
	x.ids("reprise_tokens", c.Output)
	if c.Routes != "" {
		x.string("reprise_routes", c.Routes)
	}
	o.shut(x)
	return o.end()
}

// Differences implements [Mode].
func (plugin) Differences(c *Call, a *wire.Answer) []Difference { return exactly(c, a) }

// completions is the endpoint of three modes.
const completions = "/v1/completions"

// completion begins the body of a completion.
func completion(dst []byte, c *Call) object {
	o := begin(dst)
	o.string("model", c.Model)
	o.ids("prompt", c.Prompt)
	o.bool("add_special_tokens", false)
	o.bool("return_token_ids", true)
	o.form(c)
	return o
}
