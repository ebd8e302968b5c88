package serve

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/reprise-sim/reprise/cluster"
)

// meters are the figures of /metrics, under vLLM's names (spec/live.md A.10). An
// instance is an engine; times are those of the simulation. It implements [Listener]
// and, for what is read off the instances when somebody looks, [prometheus.Collector].
type meters struct {
	backend  *Backend
	registry *prometheus.Registry
	model    string

	running, waiting, byReason, usage *prometheus.Desc

	promptTokens, outputTokens, preemptions *prometheus.CounterVec
	queries, hits, cached                   *prometheus.CounterVec
	success                                 *prometheus.CounterVec
	ttft, tpot, e2e, queue, prefill, decode *prometheus.HistogramVec
	inference, itl, computed                *prometheus.HistogramVec
	bySource, cachedBySource                *prometheus.CounterVec
	perPass                                 *prometheus.HistogramVec

	iterations map[iteration]int // tokens of passes that are not counted yet
}

// latencyBuckets are vLLM's for latencies of requests, firstBuckets those for the time
// to first token, tokenBuckets those for the time per output token, in s; countBuckets
// are for tokens of a request, passBuckets for those of a pass.
var (
	latencyBuckets = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	firstBuckets   = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	passBuckets    = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	countBuckets   = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000}
	tokenBuckets   = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
)

func newMeters(b *Backend, o *Options) *meters {
	m := &meters{backend: b, registry: prometheus.NewRegistry(), model: o.Model, iterations: map[iteration]int{}}
	fixed := []string{"model_name", "engine"}
	gauge := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("vllm:"+name, help, fixed, nil)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "vllm:" + name, Help: help}, append(fixed[:2:2], labels...))
		m.registry.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "vllm:" + name, Help: help, Buckets: buckets}, fixed)
		m.registry.MustRegister(h)
		return h
	}
	m.running = gauge("num_requests_running", "Number of requests in model execution batches.")
	m.waiting = gauge("num_requests_waiting", "Number of requests waiting to be processed.")
	m.byReason = prometheus.NewDesc("vllm:num_requests_waiting_by_reason", "Number of waiting requests by reason.", append(fixed[:2:2], "reason"), nil)
	m.usage = gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.")
	m.promptTokens = counter("prompt_tokens_total", "Number of prefill tokens processed.")
	m.outputTokens = counter("generation_tokens_total", "Number of generation tokens processed.")
	m.preemptions = counter("num_preemptions_total", "Cumulative number of preemptions.")
	m.queries = counter("prefix_cache_queries_total", "Prefix cache queries, in terms of number of queried tokens.")
	m.hits = counter("prefix_cache_hits_total", "Prefix cache hits, in terms of number of cached tokens.")
	m.cached = counter("prompt_tokens_cached_total", "Number of cached prompt tokens.")
	m.bySource = counter("prompt_tokens_by_source_total", "Number of prompt tokens by source.", "source")
	m.cachedBySource = counter("prompt_tokens_cached_by_source_total", "Number of cached prompt tokens by source.", "source")
	m.success = counter("request_success_total", "Count of successfully processed requests.", "finished_reason")
	m.ttft = histogram("time_to_first_token_seconds", "Histogram of time to first token in seconds.", firstBuckets)
	m.tpot = histogram("request_time_per_output_token_seconds", "Histogram of time per output token per request in seconds.", tokenBuckets)
	m.itl = histogram("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", tokenBuckets)
	m.computed = histogram("request_prefill_kv_computed_tokens", "Histogram of new KV tokens computed during prefill.", countBuckets)
	m.perPass = histogram("iteration_tokens_total", "Histogram of number of tokens per engine_step.", passBuckets)
	m.e2e = histogram("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", latencyBuckets)
	m.queue = histogram("request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", latencyBuckets)
	m.prefill = histogram("request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", latencyBuckets)
	m.decode = histogram("request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", latencyBuckets)
	m.inference = histogram("request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", latencyBuckets)
	m.registry.MustRegister(m, cacheInfo(o))
	return m
}

// cacheInfo is vllm:cache_config_info.
func cacheInfo(o *Options) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "vllm:cache_config_info", Help: "Information of the LLMEngine CacheConfig.",
		ConstLabels: prometheus.Labels{
			"model_name": o.Model, "block_size": strconv.Itoa(o.BlockSize), "num_gpu_blocks": strconv.Itoa(o.Blocks),
			"kv_cache_size_tokens": strconv.Itoa(o.BlockSize * o.Blocks),
		},
	})
	g.Set(1)
	return g
}

func (m *meters) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Describe implements [prometheus.Collector].
func (m *meters) Describe(to chan<- *prometheus.Desc) {
	to <- m.running
	to <- m.waiting
	to <- m.byReason
	to <- m.usage
}

// Collect implements [prometheus.Collector]: instances are looked at as they are now. A
// cluster that has stopped has none.
func (m *meters) Collect(to chan<- prometheus.Metric) {
	var found []prometheus.Metric
	engine := 0
	m.backend.Look(func(in *cluster.Instance, nowMs float64) {
		l := in.Load(nowMs)
		used := float64(l.BlocksUsed) / float64(max(1, l.BlocksTotal))
		// Whatever waits, waits for room: nothing is put off for other reasons.
		for reason, n := range map[string]int{"capacity": l.Waiting, "deferred": 0} {
			found = append(found, prometheus.MustNewConstMetric(m.byReason, prometheus.GaugeValue, float64(n), m.model, strconv.Itoa(engine), reason))
		}
		for _, v := range []struct {
			what  *prometheus.Desc
			value float64
		}{{m.running, float64(l.Running)}, {m.waiting, float64(l.Waiting)}, {m.usage, used}} {
			found = append(found, prometheus.MustNewConstMetric(v.what, prometheus.GaugeValue, v.value, m.model, strconv.Itoa(engine)))
		}
		engine++
	})
	for _, f := range found {
		to <- f
	}
}
