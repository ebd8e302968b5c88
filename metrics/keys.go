package metrics

import (
	"encoding/json"
	"fmt"
)

// MarshalJSON writes the keys of summary.json, always in the same order.
func (s *Summary) MarshalJSON() ([]byte, error) { return writeFields(s.fields()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Summary) UnmarshalJSON(b []byte) error {
	head := struct {
		Schema  string
		Version int
		SLA     *SLA
	}{}
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	if head.Schema != SummarySchema || head.Version != SummaryVersion {
		return fmt.Errorf("schema %q version %d: want %q version %d", head.Schema, head.Version, SummarySchema, SummaryVersion)
	}
	if *s = (Summary{}); head.SLA != nil {
		s.Goodput = new(Goodput)
	}
	return readFields(b, s.fields())
}

// fields are the keys of a summary, in order, and where their values are. Those
// that are no fields of Summary follow from those that are.
func (s *Summary) fields() []field {
	schema, version, rule := SummarySchema, SummaryVersion, SaturationRule
	accounting := s.Accounting
	tokens, hours := s.InputTokens+s.OutputTokens, s.GPUHours()
	noBucket := accounting.Reasons[Rejected.String()][NoBucket]
	fields := []field{
		{"schema", &schema},
		{"version", &version},
		{"latency_model", &s.LatencyModel},
		{"accounting", &s.Accounting},
		{"num_requests", &accounting.Offered},
		{"completed_requests", &accounting.Completed},
		{"rejected_no_bucket", &noBucket},
		{"total_input_tokens", &s.InputTokens},
		{"total_output_tokens", &s.OutputTokens},
		{"processed_tokens", &tokens},
		{"duration_ms", &s.DurationMs},
		{"request_throughput_rps", &s.RequestRate},
		{"input_throughput_tok_s", &s.InputRate},
		{"output_throughput_tok_s", &s.OutputRate},
		{"total_throughput_tok_s", &s.TotalRate},
		{"prefill_worker_seconds", &s.PrefillFleet.WorkerSeconds},
		{"decode_worker_seconds", &s.DecodeFleet.WorkerSeconds},
		{"prefill_gpus_per_worker", &s.PrefillFleet.GPUs},
		{"decode_gpus_per_worker", &s.DecodeFleet.GPUs},
		{"gpu_hours", &hours},
	}
	if g := s.Goodput; g != nil {
		fields = append(fields,
			field{"sla", &g.SLA},
			field{"goodput_completed_requests", &g.Completed},
			field{"goodput_request_throughput_rps", &g.RequestRate},
			field{"goodput_output_throughput_tok_s", &g.OutputRate})
	}
	fields = append(fields,
		field{"prefix_cache_reused_ratio", &s.ReuseRatio},
		field{"first_admission_prefix_cache_reused_ratio", &s.FirstReuse})
	fields = append(fields, s.Latencies.fields()...)
	return append(fields,
		field{"preemptions", &s.Preemptions},
		field{"saturated", &s.Saturation},
		field{"saturation_rule", &rule},
		field{"per_bucket", &s.PerBucket},
		field{"per_instance", &s.PerInstance})
}

// fields are the keys of the distributions.
func (l *Latencies) fields() []field {
	var fields []field
	for _, d := range l.named() {
		fields = append(fields, d.fields(d.key, d.unit)...)
	}
	return fields
}

// namedDistribution is a distribution and the name that its keys contain.
type namedDistribution struct {
	key, unit string
	*Distribution
}

// named lists the distributions.
func (l *Latencies) named() []namedDistribution {
	return []namedDistribution{
		{"ttft", "_ms", &l.TTFT},
		{"ttst", "_ms", &l.TTST},
		{"tpot", "_ms", &l.TPOT},
		{"itl", "_ms", &l.ITL},
		{"e2e_latency", "_ms", &l.E2E},
		{"output_token_throughput_per_user", "", &l.Rate},
	}
}

// fields are the keys of one distribution.
func (d *Distribution) fields(name, unit string) []field {
	samples := "num_" + name + "_samples"
	name += unit
	return []field{
		{samples, &d.N},
		{"mean_" + name, &d.Mean},
		{"min_" + name, &d.Min},
		{"max_" + name, &d.Max},
		{"median_" + name, &d.Median},
		{"p75_" + name, &d.P75},
		{"p90_" + name, &d.P90},
		{"p95_" + name, &d.P95},
		{"p99_" + name, &d.P99},
		{"std_" + name, &d.Std},
	}
}

// MarshalJSON implements [json.Marshaler].
func (s *Saturation) MarshalJSON() ([]byte, error) { return writeFields(s.fields()) }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Saturation) UnmarshalJSON(b []byte) error { return readFields(b, s.fields()) }

func (s *Saturation) fields() []field {
	return []field{{"state", &s.State}, {"reason", &s.Reason}, {"queue_growth_share", &s.Growth}}
}

// MarshalJSON implements [json.Marshaler].
func (s *BucketSummary) MarshalJSON() ([]byte, error) { return writeFields(s.fields()) }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *BucketSummary) UnmarshalJSON(b []byte) error { return readFields(b, s.fields()) }

func (s *BucketSummary) fields() []field {
	fields := []field{
		{"bucket", &s.Bucket},
		{"name", &s.Name},
		{"instances", &s.Instances},
		{"requests", &s.Requests},
		{"completed", &s.Completed},
		{"rejected", &s.Rejected},
		{"input_tokens", &s.InputTokens},
		{"output_tokens", &s.OutputTokens},
	}
	fields = append(fields, s.Latencies.fields()...)
	return append(fields,
		field{"l0_blocks", &s.L0Blocks},
		field{"l1_blocks", &s.L1Blocks},
		field{"remote_blocks", &s.RemoteBlocks},
		field{"miss_blocks", &s.MissBlocks},
		field{"remote_stale_blocks", &s.RemoteStaleBlocks},
		field{"load_wait_ms", &s.LoadWaitMs},
		field{"length_match_rate", &s.LengthMatchRate},
		field{"preemptions", &s.Preemptions},
		field{"passes", &s.Passes},
		field{"busy_ms", &s.BusyMs},
		field{"utilisation", &s.Utilisation},
		field{"saturated", &s.Saturation})
}

// MarshalJSON implements [json.Marshaler].
func (s *InstanceSummary) MarshalJSON() ([]byte, error) { return writeFields(s.fields()) }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *InstanceSummary) UnmarshalJSON(b []byte) error { return readFields(b, s.fields()) }

func (s *InstanceSummary) fields() []field {
	return []field{
		{"bucket", &s.Bucket},
		{"instance", &s.Instance},
		{"requests", &s.Requests},
		{"completed", &s.Completed},
		{"input_tokens", &s.InputTokens},
		{"output_tokens", &s.OutputTokens},
		{"preemptions", &s.Preemptions},
		{"mean_ttft_ms", &s.MeanTTFTMs},
		{"passes", &s.Passes},
		{"busy_ms", &s.BusyMs},
		{"busy_share", &s.BusyShare},
	}
}
