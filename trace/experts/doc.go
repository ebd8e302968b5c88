// Package experts is which experts served the tokens of a trace's calls: a
// safetensors file beside the trace with one tensor a call (DESIGN.md 4).
//
// A [Table] holds the ids of consecutive positions. Servers return one as an .npy
// file ([DecodeNPY]); a [Writer] puts those of a whole trace into one file, a [File]
// reads them back, and [File.Whole] joins a call's own rows with those of the calls
// that its prompt extends. Ids are logical, as routers choose them: where an expert
// lives, and how a server is told, is not known here.
package experts
