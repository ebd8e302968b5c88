package metrics

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// request is a row in short: it was admitted at its arrival unless said
// otherwise, and ended with its last token.
type request struct {
	arrival     float64
	tokens      []float64
	end         float64 // 0: with the last token
	input       int32
	cached      int32
	status      Status // Open: Completed
	reason      Reason
	bucket      int32
	instance    int32
	preemptions int32
	tiers       *Tiers
}

// tallied counts requests of which all came from one trace.
func tallied(t *testing.T, setup Setup, run Run, requests ...request) *Summary {
	t.Helper()
	s, err := tally(setup, run, requests...)
	must(t, err)
	return s
}

func tally(setup Setup, run Run, requests ...request) (*Summary, error) {
	if setup.Buckets == nil {
		setup.Buckets = []string{"default"}
	}
	gaps := map[[2]int32]*Gaps{}
	if run.Uses == nil {
		run.Uses = []Use{{}}
	}
	for i := range run.Uses {
		u := &run.Uses[i]
		u.Gaps = new(Gaps)
		gaps[[2]int32{u.Bucket, u.Instance}] = u.Gaps
	}
	var l Ledger
	for _, q := range requests {
		r := l.Row(l.Open(Label{Request: "q", Line: 3}, q.arrival, q.input, int32(len(q.tokens))))
		r.Bucket, r.Instance, r.Preemptions = q.bucket, q.instance, q.preemptions
		if q.tiers != nil {
			r.Tiers = *q.tiers
		}
		r.Admit(q.arrival, q.cached)
		if q.end == 0 && len(q.tokens) > 0 {
			q.end = q.tokens[len(q.tokens)-1]
		}
		if q.status == Open {
			q.status = Completed
		}
		r.EndAt(q.status, q.reason, q.end, q.tokens, gaps[[2]int32{q.bucket, q.instance}], false)
	}
	tally := NewTally(setup)
	defer tally.Close()
	l.HandOut(func(_ int32, r *Row) { tally.Add(r) })
	if run.InTrace == 0 {
		run.InTrace = int64(len(requests))
	}
	return tally.Summary(run)
}

// TestVectors are the vectors of spec/replay.md 10.6 about a run's report.
func TestVectors(t *testing.T) {
	abc := []request{
		{tokens: []float64{100, 150, 200}}, {tokens: []float64{100, 120, 140}}, {tokens: []float64{100}},
	}
	samples := []float64{0, 1, 1, 2.5, 4, 4, 7.25, 9.5, 15, 22, 22, 100}
	var v85 []request
	for _, i := range []int{11, 3, 0, 7, 1, 9, 4, 2, 8, 10, 6, 5} {
		v85 = append(v85, request{tokens: []float64{samples[i]}, end: 100})
	}
	for _, c := range []struct {
		id       string
		sla      *SLA
		run      Run
		requests []request
		want     string // figures that the summary holds
	}{
		{"V-71", nil, Run{DecodeFleet: Fleet{0.025, 4}}, []request{{input: 32, cached: 8, end: 25}},
			`"duration_ms":25 "decode_worker_seconds":0.025 "gpu_hours":0.00002777777777777778 "num_ttft_samples":0 "mean_e2e_latency_ms":null "num_itl_samples":0 "completed_requests":1`},
		{"V-72", nil, Run{}, []request{{tokens: []float64{5, 6}, status: Unfinished, reason: TimeCap}}, `"num_requests":1 "completed_requests":0 "duration_ms":null "num_ttft_samples":0`},
		{"V-73", nil, Run{}, []request{{tokens: []float64{50, 60, 75, 95}}}, `"mean_ttft_ms":50 "mean_ttst_ms":10 "mean_tpot_ms":15 "mean_e2e_latency_ms":95`},
		{"V-74", bounds(150, 30, 0), Run{}, abc, `"goodput_completed_requests":2 "goodput_request_throughput_rps":10 "goodput_output_throughput_tok_s":20`},
		{"V-75 at the bound", bounds(0, 50, 0), Run{}, []request{{tokens: []float64{100, 160, 200}}}, `"goodput_completed_requests":1`},
		{"V-75 above it", bounds(0, 50, 0), Run{}, []request{{tokens: []float64{100, 160, 201}}}, `"goodput_completed_requests":0`},
		{"V-76 late", bounds(0, 0, 150), Run{}, []request{{tokens: []float64{1, 200}}}, `"goodput_completed_requests":0`},
		{"V-76", bounds(0, 0, 150), Run{}, []request{{tokens: []float64{1, 120}}}, `"goodput_completed_requests":1`},
		{"V-77 end to end", bounds(0, 0, 100), Run{}, []request{{end: 100}}, `"goodput_completed_requests":1 "num_e2e_latency_samples":0`},
		{"V-77 first token", bounds(100, 0, 0), Run{}, []request{{end: 100}}, `"goodput_completed_requests":0`},
		{"V-78", nil, Run{}, []request{{input: 60, cached: 20, end: 1}, {input: 40, end: 1}}, `"prefix_cache_reused_ratio":0.2 "first_admission_prefix_cache_reused_ratio":0.2`},
		{"V-80", nil, Run{PrefillFleet: Fleet{10, 2}, DecodeFleet: Fleet{5, 4}}, nil, `"gpu_hours":0.011111111111111112`},
		{"V-85", nil, Run{}, v85, `"mean_ttft_ms":15.6875 "median_ttft_ms":7.25 "p75_ttft_ms":15 "p90_ttft_ms":22 "p95_ttft_ms":22 "p99_ttft_ms":100 "std_ttft_ms":26.49353793`},
		{"V-86", nil, Run{}, []request{{tokens: []float64{5, 15}}, {tokens: []float64{5, 35, 65, 95}}}, `"mean_tpot_ms":20 "mean_itl_ms":25`},
	} {
		t.Run(c.id, func(t *testing.T) {
			s := tallied(t, Setup{SLA: c.sla}, c.run, c.requests...)
			text, err := json.Marshal(s)
			must(t, err)
			for _, want := range strings.Fields(c.want) {
				if !strings.Contains(string(text), want) {
					key, _, _ := strings.Cut(want, ":")
					_, found, _ := strings.Cut(string(text), key)
					t.Errorf("want %s, got %s%.30s", want, key, found)
				}
			}
		})
	}
}

// TestWhatIsUndefinedIsNull is case 8 of the public reports: no request at all, one
// token, one request.
func TestWhatIsUndefinedIsNull(t *testing.T) {
	for name, requests := range map[string][]request{
		"nothing":      nil,
		"one token":    {{tokens: []float64{12}, input: 100}},
		"at time 0":    {{tokens: []float64{0, 0}}},
		"all rejected": {{status: Rejected, reason: NeedsBlocks + ": 65 of 64"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := asJSON(t, tallied(t, Setup{}, Run{}, requests...))
			var back Summary
			must(t, json.Unmarshal([]byte(text), &back))
			if again := asJSON(t, &back); again != text {
				a, b := firstDifference(text, again)
				t.Errorf("%s came back as %s", a, b)
			}
		})
	}
	s := tallied(t, Setup{}, Run{}, request{tokens: []float64{12}, input: 100})
	l := s.Latencies
	for _, d := range []Distribution{l.TPOT, l.ITL, l.TTST, l.Rate} {
		if d.N != 0 || !math.IsNaN(d.Mean) || !math.IsNaN(d.P99) || !math.IsNaN(d.Std) || !math.IsNaN(d.Min) {
			t.Errorf("no second token: %+v", d)
		}
	}
	if l.TTFT != l.E2E || l.TTFT != (Distribution{1, 12, 12, 12, 12, 12, 12, 12, 12, 0}) {
		t.Errorf("TTFT %+v, E2E %+v", l.TTFT, l.E2E)
	}
}

// TestThreeRequestsFarApart is case 8 (d) of the public reports.
func TestThreeRequestsFarApart(t *testing.T) {
	arrivals, firsts := []float64{0, 1e5, 2e5}, []float64{10.1, 1e5 + 20.2, 2e5 + 40.4}
	var requests []request
	var ttft [3]float64
	for i, at := range arrivals {
		requests = append(requests, request{arrival: at, tokens: []float64{firsts[i], firsts[i] + 1}})
		ttft[i] = firsts[i] - at
	}
	d := tallied(t, Setup{}, Run{}, requests...).Latencies.TTFT
	if d.Min != ttft[0] || d.Median != ttft[1] || d.Max != ttft[2] || d.Mean != (ttft[0]+ttft[1]+ttft[2])/3 {
		t.Errorf("%+v", d)
	}
	if !(d.Min <= d.Median && d.Median <= d.P75 && d.P75 <= d.P90 && d.P90 <= d.P95 && d.P95 <= d.P99 && d.P99 <= d.Max) {
		t.Errorf("a higher percentile is smaller: %+v", d)
	}
}

func TestAccountingAddsUp(t *testing.T) {
	requests := []request{
		{tokens: []float64{1}, end: 1},
		{tokens: []float64{1}, reason: ContextClipped, end: 1},
		{status: Rejected, reason: NeedsBlocks + ": 75 of 63"},
		{status: Rejected, reason: NeedsBlocks + ": 80 of 63"},
		{status: Rejected, reason: NoBucket, bucket: -1, instance: -1},
		{status: Cancelled, reason: ClientCancelled},
		{status: Failed, reason: PredecessorFailed},
		{status: Unfinished, reason: Interrupted},
	}
	run := Run{InTrace: 18, NotReleased: map[Reason]int64{Interrupted: 7, PredecessorFailed: 3}}
	s := tallied(t, Setup{}, run, requests...)
	text, err := json.Marshal(s.Accounting)
	must(t, err)
	want := `{"in_trace":18,"not_released":10,"offered":8,"completed":2,"rejected":3,"failed":1,"cancelled":1,"unfinished":1,"reasons":{` +
		`"cancelled":{"client_cancelled":1},"completed":{"context_clipped":1},"failed":{"predecessor_failed":1},` +
		`"not_released":{"interrupted":7,"predecessor_failed":3},"rejected":{"needs_blocks":2,"no_bucket":1},"unfinished":{"interrupted":1}}}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if b := s.PerBucket[0]; b.Requests != 7 || b.Rejected != 2 || s.PerInstance[0].Requests != 7 {
		t.Errorf("bucket %+v, instance %+v", b, s.PerInstance[0])
	}
}

func TestAWrongAccountIsAnError(t *testing.T) {
	one := request{tokens: []float64{1}}
	for _, c := range []struct {
		name    string
		run     Run
		request request
		want    string
	}{
		{"requests are lost", Run{InTrace: 3}, one, "3 requests in the trace, but 1 offered and 0 not released"},
		{"unknown reason", Run{}, request{status: Failed, reason: "bad luck: 3"}, `request q (line 3): reason "bad luck"`},
		{"unknown reason of the driver", Run{NotReleased: map[Reason]int64{"tired": 1}}, one, `reason "tired"`},
		{"no reason", Run{}, request{status: Failed}, "it is failed without a reason"},
		{"no such bucket", Run{Uses: []Use{{Bucket: 0}}}, request{bucket: 1, status: Failed, reason: TimeCap}, "bucket 1: there are 1"},
		{"completed nowhere", Run{}, request{tokens: []float64{1}, bucket: -1, instance: -1}, "without a bucket or instance"},
		{"instance not listed", Run{Uses: []Use{{Instance: 4}}}, request{status: Failed, reason: TimeCap}, "1 requests were sent to instances, 0 of them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tally(Setup{}, c.run, c.request)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestBucketsSumToTheWhole has two buckets of different traffic.
func TestBucketsSumToTheWhole(t *testing.T) {
	run := Run{Uses: []Use{{Bucket: 0, BusyMs: 20, Passes: 2}, {Bucket: 0, Instance: 1, BusyMs: 60, Passes: 3}, {Bucket: 1, BusyMs: 50, Passes: 9}}}
	s := tallied(t, Setup{Buckets: []string{"short", "long"}}, run,
		request{tokens: []float64{10, 20, 30}, input: 5, tiers: &Tiers{L0: 1, L1: 2, Remote: 3, Miss: 4, RemoteStale: 1, LoadWaitMs: 0.5, LengthMatch: Matched}},
		request{tokens: []float64{12}, input: 6, instance: 1, preemptions: 2, tiers: &Tiers{L0: 2, Miss: 1, LengthMatch: Strayed}},
		request{tokens: []float64{40, 41, 100}, input: 7, bucket: 1, preemptions: 1},
		request{status: Rejected, reason: NoBucket, bucket: -1, instance: -1, input: 1e6},
		request{status: Rejected, reason: EmptyPrompt, bucket: 1},
	)
	short, long := s.PerBucket[0], s.PerBucket[1]
	if short.Requests+long.Requests+s.Accounting.Reasons["rejected"][NoBucket] != s.Accounting.Offered ||
		short.Completed+long.Completed != s.Accounting.Completed || short.InputTokens+long.InputTokens != s.InputTokens ||
		short.OutputTokens+long.OutputTokens != s.OutputTokens || short.Preemptions+long.Preemptions != s.Preemptions || s.Preemptions != 3 {
		t.Errorf("short %+v\nlong %+v\nall %+v", short, long, s)
	}
	if short.Instances != 2 || short.Utilisation != 0.4 || long.Utilisation != 0.5 || short.LengthMatchRate != 0.5 || !math.IsNaN(long.LengthMatchRate) {
		t.Errorf("short %+v\nlong %+v", short, long)
	}
	if short.L0Blocks != 3 || short.L1Blocks != 2 || short.RemoteBlocks != 3 || short.MissBlocks != 5 || short.RemoteStaleBlocks != 1 || short.LoadWaitMs != 0.5 || !math.IsNaN(long.L0Blocks) {
		t.Errorf("short %+v\nlong %+v", short, long)
	}
	if a := s.Latencies; a.TTFT.N != 3 || a.TTFT.Median != 12 || a.TTFT.Max != 40 || a.ITL.N != 4 || a.ITL.Max != 59 || a.ITL.Mean != 20 || long.Latencies.ITL.Mean != 30 {
		t.Errorf("all %+v", a)
	}
	if i := s.PerInstance[2]; i.Bucket != "long" || i.Requests != 2 || i.Completed != 1 || i.BusyShare != 0.5 || i.MeanTTFTMs != 40 || i.Passes != 9 {
		t.Errorf("instance %+v", i)
	}
}

func FuzzReadSummary(f *testing.F) {
	s, err := tally(Setup{SLA: bounds(3, 4, 0)}, Run{}, request{tokens: []float64{1, 2, 4}})
	must(f, err)
	text, err := json.Marshal(s)
	must(f, err)
	f.Add(string(text))
	f.Add(strings.Replace(string(text), `"version":1`, `"version":2`, 1))
	f.Add(`{"schema":"reprise.summary","version":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s Summary
		if json.Unmarshal([]byte(text), &s) != nil {
			return
		}
		again := asJSON(t, &s)
		var back Summary
		must(t, json.Unmarshal([]byte(again), &back))
		if a, b := firstDifference(again, asJSON(t, &back)); a != b {
			t.Fatalf("%s came back as %s", a, b)
		}
	})
}
