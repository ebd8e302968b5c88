package live

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/reprise-sim/reprise/rundir"
)

// scrapes writes server_metrics.csv: what the servers' /metrics say, over time. Each
// server is asked in a goroutine of its own; one that does not answer has no lines.
type scrapes struct {
	stop  context.CancelFunc
	asked sync.WaitGroup

	mu   sync.Mutex
	file *csv.Writer
}

// scrape starts asking; without a draft nothing is asked.
func (r *Replay) scrape(ctx context.Context, d *rundir.Draft) (*scrapes, error) {
	s := &scrapes{stop: func() {}}
	if d == nil || r.settings.ScrapeMs == 0 {
		return s, nil
	}
	f, err := d.File(rundir.ScrapesFile)
	if err != nil {
		return nil, err
	}
	s.file = csv.NewWriter(f)
	s.file.Write([]string{"time_ms", "target", "name", "labels", "value"}) // the first error stays
	ctx, s.stop = context.WithCancel(ctx)
	for _, c := range r.servers {
		s.asked.Go(func() {
			ticker := time.NewTicker(duration(r.settings.ScrapeMs))
			defer ticker.Stop()
			for {
				r.look(ctx, s, c.URL)
				select {
				case <-ticker.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return s, nil
}

// look asks a server once.
func (r *Replay) look(ctx context.Context, s *scrapes, url string) {
	atMs := r.clock.now()
	text, status, err := r.client.Get(ctx, url+"/metrics", r.header)
	if err != nil || status != http.StatusOK {
		return
	}
	families, err := parseMetrics(text)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if ofProcess(name) {
			continue
		}
		for _, v := range valuesOf(families[name]) {
			s.file.Write([]string{cell(atMs), url, v.name, v.labels, cell(v.value)})
		}
	}
}

// end stops asking. The error is the first of the file.
func (s *scrapes) end() error {
	s.stop()
	s.asked.Wait()
	if s.file == nil {
		return nil
	}
	s.file.Flush()
	return s.file.Error()
}

// parseMetrics reads the text format of Prometheus.
func parseMetrics(text []byte) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, errors.Join(errors.New("metrics"), err)
	}
	return families, nil
}

// ofProcess is whether a metric is about the server's process and not about serving.
func ofProcess(name string) bool {
	for _, prefix := range []string{"python_", "process_", "http_", "go_", "promhttp_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// value is one number of a metric.
type value struct {
	name, labels string
	value        float64
}

// valuesOf are the numbers of a family. Of histograms and summaries they are the count
// and the sum, from which means over any stretch of time follow.
func valuesOf(f *dto.MetricFamily) (list []value) {
	name := f.GetName()
	for _, m := range f.GetMetric() {
		labels := labelsOf(m)
		switch {
		case m.Counter != nil:
			list = append(list, value{name, labels, m.Counter.GetValue()})
		case m.Gauge != nil:
			list = append(list, value{name, labels, m.Gauge.GetValue()})
		case m.Untyped != nil:
			list = append(list, value{name, labels, m.Untyped.GetValue()})
		case m.Histogram != nil:
			list = append(list, value{name + "_count", labels, float64(m.Histogram.GetSampleCount())}, value{name + "_sum", labels, m.Histogram.GetSampleSum()})
		case m.Summary != nil:
			list = append(list, value{name + "_count", labels, float64(m.Summary.GetSampleCount())}, value{name + "_sum", labels, m.Summary.GetSampleSum()})
		}
	}
	return list
}

// labelsOf are the labels of a metric as the text format writes them.
func labelsOf(m *dto.Metric) string {
	var pairs []string
	for _, l := range m.GetLabel() {
		pairs = append(pairs, l.GetName()+"="+strconv.Quote(l.GetValue()))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}
