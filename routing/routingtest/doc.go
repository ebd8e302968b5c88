// Package routingtest has buckets that are made of numbers, to try routers on
// without a cluster: [View] is what a local router sees of one, [Bucket] what a
// global router sees.
package routingtest
