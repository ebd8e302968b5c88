// Package accuracy compares latency models with measurements.
//
// A measured serving run ([Case]) is run again on simulated instances, with the load
// generator that made it and the real scheduler's rules, priced by the model in
// question; a measured pass or block count is computed. What comes out beside what
// was measured is an [Outcome]; [Report] sums outcomes up by source, engine, model and
// GPU. Nothing here fits anything (package calibrate does) and nothing prints.
package accuracy
