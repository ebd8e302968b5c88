package serve

import (
	"strconv"

	"github.com/reprise-sim/reprise/metrics"
)

// Tokens implements [Listener].
func (m *meters) Tokens(r *metrics.Row, n int, first bool) {
	engine := m.engine(r)
	m.outputTokens.WithLabelValues(m.model, engine).Add(float64(n))
	if !first {
		return
	}
	m.promptTokens.WithLabelValues(m.model, engine).Add(float64(r.InputTokens))
	m.queries.WithLabelValues(m.model, engine).Add(float64(r.InputTokens))
	m.hits.WithLabelValues(m.model, engine).Add(float64(r.CachedTokens))
	m.cached.WithLabelValues(m.model, engine).Add(float64(r.CachedTokens))
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

// engine is the label of the instance that a call is on.
func (m *meters) engine(r *metrics.Row) string {
	for i, in := range m.backend.stepper.Instances() {
		if in.Bucket() == r.Bucket && in.ID() == r.Instance {
			return strconv.Itoa(i)
		}
	}
	return ""
}
