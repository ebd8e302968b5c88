package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/wire"
	"github.com/reprise-sim/reprise/metrics"
)

// Prober asks one server.
type Prober struct {
	Client *wire.Client
	URL    string // without a slash at the end
	Header http.Header
	// Models are the names that are wanted, the first that is served counts; with none
	// the server must have a single one.
	Models []string
	// Salt keeps what is tried out of the cache that a replay will see.
	Salt string
}

// Ask finds out what the server can do. The error says that there is no server, or
// none with the model; a way of forcing that does not work is none.
func (p *Prober) Ask(ctx context.Context) (*Capabilities, error) {
	c := &Capabilities{URL: p.URL}
	if err := p.model(ctx, c); err != nil {
		return nil, err
	}
	var version struct {
		Version string `json:"version"`
	}
	if p.get(ctx, "/version", &version) == nil {
		c.Server = version.Version
	}
	if err := p.inside(ctx, c); err != nil {
		return nil, err
	}
	for _, m := range force.Modes() {
		if m.Level() > force.Floating {
			c.Ways = append(c.Ways, p.try(ctx, c.Model, m))
		}
	}
	p.floating(c)
	p.cache(ctx, c)
	return c, ctx.Err()
}

// get asks for a JSON object.
func (p *Prober) get(ctx context.Context, path string, into any) error {
	text, status, err := p.Client.Get(ctx, p.URL+path, p.Header)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", p.URL, err)
	case status != http.StatusOK:
		return fmt.Errorf("%s%s: status %d: want 200", p.URL, path, status)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s%s: %w", p.URL, path, err)
	}
	return nil
}

// model finds the model that is to be used.
func (p *Prober) model(ctx context.Context, c *Capabilities) error {
	var list struct {
		Data []struct {
			ID          string `json:"id"`
			MaxModelLen int    `json:"max_model_len"`
		} `json:"data"`
	}
	if err := p.get(ctx, "/v1/models", &list); err != nil {
		return err
	}
	var served []string
	for _, m := range list.Data {
		served = append(served, m.ID)
	}
	at := -1
	for _, name := range p.Models {
		if at = slices.Index(served, name); at >= 0 {
			break
		}
	}
	switch {
	case len(served) == 0:
		return fmt.Errorf("%s: it serves no model", p.URL)
	case at < 0 && len(served) > 1:
		return fmt.Errorf("%s: it serves %s: want the name of one of them", p.URL, strings.Join(served, ", "))
	}
	at = max(at, 0)
	c.Model, c.MaxModelLen = served[at], list.Data[at].MaxModelLen
	return nil
}

// inside asks the package inside the server.
func (p *Prober) inside(ctx context.Context, c *Capabilities) error {
	for _, path := range packagePaths {
		about := &Package{}
		if p.get(ctx, path, about) != nil {
			continue
		}
		c.Package, c.Vocabulary = about, about.Vocabulary
		if c.MaxModelLen == 0 {
			c.MaxModelLen = about.MaxModelLen
		}
		return nil
	}
	return ctx.Err()
}

// packagePaths are where the package inside a server may be asked.
var packagePaths = []string{"/reprise/v1/capabilities", "/reprise/v1/status"}

// Counters asks the package inside the server what it has done; nil if it is not
// there.
func (p *Prober) Counters(ctx context.Context) *Counters {
	counters := &Counters{}
	if p.get(ctx, "/reprise/v1/counters", counters) == nil {
		return counters
	}
	about := &Package{}
	for _, path := range packagePaths {
		if p.get(ctx, path, about) == nil && about.Counters != nil {
			return about.Counters
		}
	}
	return nil
}

// The ids of trials: those of a few single bytes, which every model has.
var (
	trialPrompt = []uint32{11, 12, 13, 14, 15, 16, 17, 18}
	trialOutput = []uint32{31, 22, 27}
)

// try makes a short call in one way.
func (p *Prober) try(ctx context.Context, model string, m force.Mode) Way {
	w := Way{Mode: m}
	call := p.call(model, trialPrompt, trialOutput)
	a := p.send(ctx, m, call)
	if a.Failure != nil {
		w.Why = a.Failure.Detail
		if a.Failure.Status > 0 {
			w.Why = fmt.Sprintf("%d: %s", a.Failure.Status, w.Why)
		}
		w.Advice = advice(m, a.Failure)
		return w
	}
	w.Times, w.IDs, w.Experts = a.Times != nil, len(a.IDs) > 0, a.Experts != ""
	for _, d := range m.Differences(call, a) {
		w.Why, w.Advice = d.String(), advice(m, nil)
		return w
	}
	w.Works = true
	return w
}

// call is a call for a trial.
func (p *Prober) call(model string, prompt, output []uint32) *force.Call {
	s, err := force.ParseSampling(nil)
	if err != nil {
		panic(err) // there is nothing to parse
	}
	return &force.Call{Model: model, Prompt: prompt, Output: output, N: len(output), Sampling: s, Salt: p.Salt, Stream: true}
}

func (p *Prober) send(ctx context.Context, m force.Mode, c *force.Call) *wire.Answer {
	return p.Client.Do(ctx, &wire.Request{URL: p.URL + m.Path(), Header: p.Header, Body: m.Append(nil, c)})
}

// floating is the way that forces nothing: it works if the endpoint answers.
func (p *Prober) floating(c *Capabilities) {
	for _, m := range force.Modes() {
		if m.Level() > force.Floating {
			continue
		}
		w := Way{Mode: m}
		for _, other := range c.Ways {
			if other.Mode.Path() == m.Path() {
				w.Works = w.Works || other.Works || other.IDs || strings.HasPrefix(other.Why, "finish_reason")
				w.Why, w.Times, w.IDs, w.Experts = other.Why, w.Times || other.Times, w.IDs || other.IDs, w.Experts || other.Experts
			}
		}
		c.Ways = append(c.Ways, w)
	}
}

// cache sends a prompt twice that is longer than any block.
func (p *Prober) cache(ctx context.Context, c *Capabilities) {
	m := c.weakest()
	if m == nil {
		return
	}
	const longer = 300
	var prompt []uint32
	for len(prompt) < longer && (c.MaxModelLen == 0 || len(prompt) < c.MaxModelLen-len(trialOutput)) {
		prompt = append(prompt, trialPrompt[len(prompt)%7], trialPrompt[len(prompt)/7%8])
	}
	for range 2 {
		a := p.send(ctx, m, p.call(c.Model, prompt, trialOutput))
		cached, reported := a.Usage.Cached()
		c.CachedTokens, c.PrefixCache = reported, cached > 0
	}
}

// weakest is the last mode that works, nil if none does.
func (c *Capabilities) weakest() force.Mode {
	for _, w := range slices.Backward(c.Ways) {
		if w.Works {
			return w.Mode
		}
	}
	return nil
}

// Knows asks whether the model has a token id. A server that does not say counts as
// one that has it.
func (p *Prober) Knows(ctx context.Context, c *Capabilities, id uint32) bool {
	m := c.weakest()
	if m == nil {
		return true
	}
	a := p.send(ctx, m, p.call(c.Model, []uint32{id}, trialOutput[:1]))
	return a.Failure == nil || a.Failure.Kind != metrics.ServerRefused || !strings.Contains(a.Failure.Detail, "vocabulary")
}
