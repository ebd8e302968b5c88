// Package profile answers from tables of measurements.
//
// A [Table] is measurements at points of a grid, which may have holes; between points
// it interpolates, beyond them it holds the efficiency of the last one (the rules of
// spec/latency.md 4.3). [Sites] are curves of matrix products of some shapes that lend
// each other their efficiency. [Operators] reads a folder of such tables and answers
// for operators of package work, [Passes] are tables of whole passes. Every answer
// says where it is from.
//
// What no table knows is for package roofline to say.
package profile
