//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
)

// The routing shape of tiny-moe.
const (
	moeLayers = 4
	moeTopK   = 4
	moeCount  = 16
)

// routedCall is a call with fixed tokens whose experts are looked at.
type routedCall struct{ prompt, output []int }

func routedCalls(n int) []routedCall {
	calls := make([]routedCall, n)
	for i := range calls {
		d := seeded(uint64(500 + i))
		calls[i] = routedCall{d.ids(10 + d.IntN(200)), d.output(1 + d.IntN(16))}
	}
	return calls
}

// positions that a call computes: the last output token never is.
func (c routedCall) positions() int { return len(c.prompt) + len(c.output) - 1 }

// way is how a server is asked to fix the tokens, force routes by name ("" for
// native ones), and show the routes used.
type way func(s *Server, c routedCall, routes, label string) (*result, *npy, error)

// byPlugin has the V1 runner force tokens and keep the routes.
func byPlugin(s *Server, c routedCall, routes, label string) (*result, *npy, error) {
	xargs := fields{"reprise_tokens": c.output, "reprise_record": label}
	if routes != "" {
		xargs["reprise_routes"] = routes
	}
	r, err := s.must(completions, fields{"prompt": c.prompt, "max_tokens": len(c.output), "temperature": 0.8,
		"logprobs": 0, "cache_salt": label, "vllm_xargs": xargs})
	if err != nil {
		return nil, nil, err
	}
	used, err := recorded(s, label)
	return r, used, err
}

// byServer has the V2 runner replay the tokens natively and return the routes, which
// the plug-in's own recording must agree with.
func byServer(s *Server, c routedCall, routes, label string) (*result, *npy, error) {
	xargs := fields{"reprise_record": label}
	if routes != "" {
		xargs["reprise_routes"] = routes
	}
	r, err := s.must(generate, fields{"token_ids": c.prompt, "cache_salt": label, "sampling_params": fields{
		"max_tokens": len(c.output), "temperature": 0.8, "logprobs": 0, "trace_decode_token_ids": c.output, "extra_args": xargs}})
	if err != nil {
		return nil, nil, err
	}
	own, err := recorded(s, label)
	if err == nil && (r.routes == nil || !own.equal(r.routes)) {
		err = fmt.Errorf("%s: the routes returned are not those recorded", label)
	}
	return r, own, err
}

func TestExpertsOnV1(t *testing.T) { testExperts(t, MoEV1, byPlugin) }
func TestExpertsOnV2(t *testing.T) { testExperts(t, MoEV2, byServer) }

// testExperts records routes, forces them, and forces random ones, several calls in
// flight and prompts in chunks.
func testExperts(t *testing.T, s *Server, ask way) {
	start(t, s)
	calls := routedCalls(6)
	native := make([]*npy, len(calls))
	plain := make([]*result, len(calls))
	each(t, len(calls), 4, func(i int) (err error) {
		if plain[i], native[i], err = ask(s, calls[i], "", fmt.Sprintf("native%d", i)); err != nil {
			return err
		}
		if want := [3]int{calls[i].positions(), moeLayers, moeTopK}; native[i].shape != want {
			return fmt.Errorf("call %d: routes of shape %v, want %v", i, native[i].shape, want)
		}
		return nil
	})
	if t.Failed() {
		return
	}

	t.Run("recorded routes forced are the same routes and change no logprob", func(t *testing.T) {
		before := s.status(t)
		want := 0
		each(t, len(calls), 3, func(i int) error {
			name := fmt.Sprintf("recorded%d", i)
			if err := native[i].write(s, name); err != nil {
				return err
			}
			r, used, err := ask(s, calls[i], name, fmt.Sprintf("same%d", i))
			if err != nil {
				return err
			}
			if !used.equal(native[i]) || !slices.Equal(r.ids, calls[i].output) {
				return fmt.Errorf("call %d: routes or ids differ from those recorded", i)
			}
			if !slices.Equal(r.logprobs, plain[i].logprobs) {
				return fmt.Errorf("call %d: logprobs moved from %v to %v", i, plain[i].logprobs, r.logprobs)
			}
			return nil
		})
		for _, c := range calls {
			want += c.positions() * moeLayers
		}
		checkGrowth(t, before, s.status(t), map[string]int{
			"calls_routed": len(calls), "experts_forced": want, "experts_unrouted": 0, "calls_lost": 0,
		})
	})

	t.Run("random routes are used in every position, native ones elsewhere", func(t *testing.T) {
		each(t, len(calls), 4, func(i int) error {
			forced := seeded(uint64(i)).routes(calls[i].positions(), moeLayers, moeTopK, moeCount, 0.2)
			name := fmt.Sprintf("random%d", i)
			if err := forced.write(s, name); err != nil {
				return err
			}
			r, used, err := ask(s, calls[i], name, fmt.Sprintf("used%d", i))
			if err != nil {
				return err
			}
			if !slices.Equal(r.ids, calls[i].output) {
				return fmt.Errorf("call %d: ids differ", i)
			}
			if slices.Equal(r.logprobs, plain[i].logprobs) {
				return fmt.Errorf("call %d: other experts, yet the same logprobs", i)
			}
			return compareForced(i, forced, used)
		})
	})
}

// compareForced wants the forced experts where there are any, and some elsewhere.
func compareForced(call int, forced, used *npy) error {
	if used.shape != forced.shape {
		return fmt.Errorf("call %d: routes of shape %v, want %v", call, used.shape, forced.shape)
	}
	for p := range forced.shape[0] {
		for l := range forced.shape[1] {
			want, got := forced.row(p, l), used.row(p, l)
			if want[0] >= 0 && !slices.Equal(got, want) || slices.Min(got) < 0 {
				return fmt.Errorf("call %d, position %d, layer %d: experts %v, want %v", call, p, l, got, want)
			}
		}
	}
	return nil
}

// A cached prefix is not computed again: the plug-in's recording has holes there, and
// forcing works all the same.
func TestCachedPositionsAreHolesInARecording(t *testing.T) {
	s := start(t, MoEV1)
	d := seeded(77)
	prefix := d.ids(128)
	ask := func(c routedCall, label string, xargs fields) (*result, *npy) {
		xargs["reprise_tokens"], xargs["reprise_record"] = c.output, label
		r := s.call(t, completions, fields{"prompt": c.prompt, "max_tokens": len(c.output), "cache_salt": "holes", "vllm_xargs": xargs})
		used, err := recorded(s, label)
		if err != nil {
			t.Fatal(err)
		}
		return r, used
	}
	ask(routedCall{prefix, d.output(2)}, "holes-first", fields{})
	next := routedCall{slices.Concat(prefix, d.ids(30)), d.output(6)}
	r, holed := ask(next, "holes-second", fields{})
	if r.usage.Details.Cached == 0 {
		t.Fatal("nothing was cached: the call does not test holes")
	}
	for p := range holed.shape[0] {
		if hole := slices.Max(holed.row(p, 0)) < 0; hole != (p < r.usage.Details.Cached) {
			t.Fatalf("position %d of %d cached: experts %v", p, r.usage.Details.Cached, holed.row(p, 0))
		}
	}
	_, again := ask(next, "holes-third", fields{"reprise_routes": "holes-second"})
	if !again.equal(holed) {
		t.Error("the forced run used other experts")
	}
}

// The two ways to force tokens are one thing to a client.
func TestNativeAndPluginForceTheSameIDs(t *testing.T) {
	v1, v2 := start(t, MoEV1), start(t, MoEV2)
	each(t, 4, 4, func(i int) error {
		c := routedCalls(4)[i]
		salt := fmt.Sprintf("both%d", i)
		plugin, err := v1.must(completions, fields{"prompt": c.prompt, "max_tokens": len(c.output), "stream": i%2 == 0,
			"cache_salt": salt, "vllm_xargs": fields{"reprise_tokens": c.output}})
		if err != nil {
			return err
		}
		native, err := v2.must(generate, fields{"token_ids": c.prompt, "stream": i%2 == 0, "cache_salt": salt,
			"sampling_params": fields{"max_tokens": len(c.output), "trace_decode_token_ids": c.output}})
		if err != nil {
			return err
		}
		if !slices.Equal(plugin.ids, c.output) || !slices.Equal(native.ids, c.output) {
			return fmt.Errorf("call %d: plug-in %v, native %v, want %v", i, plugin.ids, native.ids, c.output)
		}
		if plugin.finish != "length" || native.finish != "length" || plugin.usage.Completion != native.usage.Completion {
			return fmt.Errorf("call %d: plug-in %s %+v, native %s %+v", i, plugin.finish, plugin.usage, native.finish, native.usage)
		}
		return nil
	})
}
