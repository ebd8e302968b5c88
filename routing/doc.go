// Package routing decides where a request goes, in two steps that can be exchanged
// alone: a [GlobalRouter] chooses the bucket, a [Placement] the target inside it
// (one rank of one instance), at once or later. Most placements are a [LocalRouter],
// which answers at once.
//
// A router sees the service through read-only views ([BucketView], [View]) at the
// instant of the decision and never drives it. It declares what it looks at
// ([Needs]), so that nothing is computed in vain and a run that cannot show it is
// refused before it starts. When somebody asks, everything that was weighed goes
// into a [Decision]. Policies register by name next to their code: one file each.
//
// Nothing here knows engines, caches, clocks or how many tokens a request will
// generate.
package routing
