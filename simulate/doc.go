// Package simulate is the event loop: it lets a workload driver and a simulated
// service meet on a virtual clock.
//
// One instant is: what ends, ends; calls that are due are released and placed, in
// order; decisions are made; repeated until nothing changes (DESIGN.md 3). The
// loop knows neither engines nor policies. Where no call waits for another and
// the placement looks at nothing, the calls of a while are placed ahead of time
// and the instances run on in parallel; results are the same.
package simulate
