// Package precision is how numbers are stored and multiplied.
//
// A [Format] says how many bytes an element of a weight or a cache takes, its
// scales included, and which [Unit] of a GPU multiplies it. Formats are looked up
// by the names that engines and checkpoints use. The package knows neither GPUs nor
// models.
package precision
