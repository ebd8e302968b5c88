package metrics

// SummarySchema and SummaryVersion stand in front of a summary in JSON.
const (
	SummarySchema  = "reprise.summary"
	SummaryVersion = 1
)

// Summary is the figures of a run: summary.json. Names, units and definitions are
// those of spec/replay.md 6.2 and 6.5. It differs from the reference simulator's
// report in three ways: what is undefined is NaN here and null in JSON (the
// reference prints 0), percentiles of gaps and rates are exact (the reference's
// are up to 0.1 % off), and nothing depends on real time.
type Summary struct {
	LatencyModel string // which model priced the passes

	Accounting   Accounting
	InputTokens  int64 // of completed requests
	OutputTokens int64
	DurationMs   float64 // from 0 to the last end of a completed request
	RequestRate  float64 // completed requests per second of DurationMs
	InputRate    float64 // tokens per second
	OutputRate   float64
	TotalRate    float64
	PrefillFleet Fleet // empty unless prefill has instances of its own
	DecodeFleet  Fleet
	Goodput      *Goodput // nil without an SLA
	ReuseRatio   float64  // cached / input tokens; cached: most of all admissions of a request
	FirstReuse   float64  // the same; cached: at the first admission
	Latencies    Latencies
	Preemptions  int64 // of all requests
	Saturation   Saturation
	PerBucket    []BucketSummary
	PerInstance  []InstanceSummary
}

// Accounting says where every request of the trace is:
//
//	InTrace = Offered + NotReleased
//	Offered = Completed + Rejected + Failed + Cancelled + Unfinished
type Accounting struct {
	InTrace     int64 `json:"in_trace"`
	NotReleased int64 `json:"not_released"` // never offered
	Offered     int64 `json:"offered"`      // released by the driver
	Completed   int64 `json:"completed"`
	Rejected    int64 `json:"rejected"`
	Failed      int64 `json:"failed"`
	Cancelled   int64 `json:"cancelled"`
	Unfinished  int64 `json:"unfinished"`
	// Reasons counts each kind, by its name above, by [Reason].
	Reasons map[string]map[Reason]int64 `json:"reasons"`
}

// notReleased is the kind of Reasons for requests that were never offered.
const notReleased = "not_released"

// Fleet is the instances of one role.
type Fleet struct {
	WorkerSeconds float64 // live instances × time, over the whole run
	GPUs          int     // of one instance
}

// Goodput counts completed requests that keep an SLA.
type Goodput struct {
	SLA         SLA
	Completed   int64
	RequestRate float64 // per second of DurationMs
	OutputRate  float64 // their output tokens per second
}

// BucketSummary is the figures of one bucket (spec/buckets.md 8). Tokens are those
// of completed requests; block counts are sums over its requests, NaN if no
// request says where its blocks came from.
type BucketSummary struct {
	Bucket       int
	Name         string
	Instances    int
	Requests     int64 // sent here
	Completed    int64
	Rejected     int64
	InputTokens  int64
	OutputTokens int64
	Latencies    Latencies

	L0Blocks, L1Blocks, RemoteBlocks, MissBlocks float64
	RemoteStaleBlocks                            float64
	LoadWaitMs                                   float64

	LengthMatchRate float64 // of the requests that have a bucket by length, those in it
	Preemptions     int64
	Passes          int64
	BusyMs          float64 // passes of all its instances
	Utilisation     float64 // BusyMs / (instances × DurationMs)
	Saturation      Saturation
}

// InstanceSummary is the figures of one instance.
type InstanceSummary struct {
	Bucket       string
	Instance     int
	Requests     int64 // sent here
	Completed    int64
	InputTokens  int64 // of completed requests
	OutputTokens int64
	Preemptions  int64
	MeanTTFTMs   float64
	Passes       int64
	BusyMs       float64
	BusyShare    float64 // BusyMs / DurationMs
}

// GPUHours is the GPU time that the fleet was held for.
func (s *Summary) GPUHours() float64 {
	prefill := float64(s.PrefillFleet.WorkerSeconds * float64(s.PrefillFleet.GPUs))
	return (prefill + float64(s.DecodeFleet.WorkerSeconds*float64(s.DecodeFleet.GPUs))) / 3600
}
