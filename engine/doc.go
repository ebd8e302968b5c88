// Package engine is the contract of a rank: one scheduler with its KV pool.
//
// A rank takes requests and decides passes; input in, effects out. It knows
// neither clock nor router nor other instances: passes are numbered, whoever
// drives the rank says when they happen. Deciding a pass and learning its results
// are two steps ([Rank.Schedule], [Rank.Complete]), up to [Rank.Depth] passes may
// be decided ahead (asynchronous scheduling).
//
// While nothing but decoding goes on, passes are described and committed in bulk
// ([Rank.Stretch], [Rank.Skip]): results are those of scheduling them one by one,
// to the bit.
//
// Engines register nothing here; packages below this one (paged, …) implement
// the contract.
package engine
