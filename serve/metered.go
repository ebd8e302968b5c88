package serve

import (
	"math"
	"strconv"

	"github.com/reprise-sim/reprise/metrics"
)

// Tokens implements [Listener].
func (m *meters) Tokens(r *metrics.Row, tokenMs []float64, lastMs float64) {
	engine := m.engine(r)
	m.outputTokens.WithLabelValues(m.model, engine).Add(float64(len(tokenMs)))
	gaps := m.itl.WithLabelValues(m.model, engine)
	first := math.IsNaN(lastMs)
	for _, ms := range tokenMs {
		m.iterations[iteration{engine, ms}]++
		if !math.IsNaN(lastMs) {
			gaps.Observe((ms - lastMs) / 1000)
		}
		lastMs = ms
	}
	if !first {
		return
	}
	m.iterations[iteration{engine, tokenMs[0]}] += int(r.InputTokens - r.CachedTokens)
	m.promptTokens.WithLabelValues(m.model, engine).Add(float64(r.InputTokens))
	m.queries.WithLabelValues(m.model, engine).Add(float64(r.InputTokens))
	m.hits.WithLabelValues(m.model, engine).Add(float64(r.CachedTokens))
	m.cached.WithLabelValues(m.model, engine).Add(float64(r.CachedTokens))
	m.cachedBySource.WithLabelValues(m.model, engine, "local_cache_hit").Add(float64(r.CachedTokens))
	m.bySource.WithLabelValues(m.model, engine, "local_cache_hit").Add(float64(r.CachedTokens))
	m.bySource.WithLabelValues(m.model, engine, "local_compute").Add(float64(r.InputTokens - r.CachedTokens))
}

// Ended implements [Listener].
func (m *meters) Ended(r *metrics.Row, finish string) {
	engine := m.engine(r)
	m.preemptions.WithLabelValues(m.model, engine).Add(float64(r.Preemptions))
	if r.Status != metrics.Completed {
		return
	}
	m.success.WithLabelValues(m.model, engine, finish).Inc()
	m.computed.WithLabelValues(m.model, engine).Observe(float64(r.InputTokens - r.CachedTokens))
	m.ttft.WithLabelValues(m.model, engine).Observe(r.TTFTMs() / 1000)
	if r.OutputTokens > 1 {
		m.tpot.WithLabelValues(m.model, engine).Observe(r.TPOTMs() / 1000)
	}
	m.e2e.WithLabelValues(m.model, engine).Observe(r.E2EMs() / 1000)
	m.queue.WithLabelValues(m.model, engine).Observe(r.QueueMs() / 1000)
	m.prefill.WithLabelValues(m.model, engine).Observe(r.PrefillMs() / 1000)
	m.decode.WithLabelValues(m.model, engine).Observe((r.LastMs - r.FirstMs) / 1000)
	m.inference.WithLabelValues(m.model, engine).Observe((r.LastMs - r.AdmitMs) / 1000)
}

// iteration is a pass of an engine that brought tokens, by its end.
type iteration struct {
	engine string
	endMs  float64
}

// Settled implements [Listener]: passes that have ended are counted. A prompt counts in
// the pass that ends it, without what was cached, as in vLLM.
func (m *meters) Settled() {
	for i, tokens := range m.iterations {
		m.perPass.WithLabelValues(m.model, i.engine).Observe(float64(tokens))
	}
	clear(m.iterations)
}

// engine is the label of the instance that a call is on.
func (m *meters) engine(r *metrics.Row) string {
	for i, in := range m.backend.stepper.Instances() {
		if in.Bucket() == r.Bucket && in.ID() == r.Instance {
			return strconv.Itoa(i)
		}
	}
	return ""
}
