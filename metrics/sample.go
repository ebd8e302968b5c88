package metrics

// Sample is an instance at one moment: a line of instances.csv (spec/buckets.md 8).
type Sample struct {
	TimeMs           float64
	Bucket, Instance int32
	Queue            int32   // requests sent to it that are not running
	Running          int32   // requests in the engine's running list
	KVUsed, KVTotal  int32   // blocks with a reference; blocks that can be handed out
	L1Used           int32   // blocks in host memory
	BusyFraction     float64 // share of the time since the last sample spent in passes
}
