// Package linefile opens, reads and writes files of lines.
//
// A [File] is plain or compressed (gzip, zstd; known by its first bytes), a path
// or standard input. It is read from the start as often as needed, through
// [Lines], or at the offsets of single lines, through [Window]; for that a
// compressed file is unpacked into an unnamed temporary file first. An [Output]
// is written under a temporary name and appears complete or not at all. What
// stands on a line is not known here.
package linefile
