// Package work is what a pass computes: FLOPs, bytes and messages, operator by
// operator.
//
// A [Deployment] is a model spread over GPUs by a [Layout]; asked for a
// [latency.Pass] it lists the operators ([Op]) that one GPU executes, in closed form
// from the sums of the pass (spec/latency.md 1.1 to 1.11). All arithmetic is exact
// counting. How long an operator takes, on which GPU and with whose kernels, is not
// known here.
package work
