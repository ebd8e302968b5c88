// Package jsonrow reads and writes files of one JSON object a line.
//
// A [Scanner] walks over one line and hands out exactly what it is asked for:
// block ids as 64-bit numbers that never pass through a float, token counts as
// integers, raw values untouched. What is not exactly as expected ends the walk
// with a [Fault] that names field, value and expectation. Nothing is allocated on
// the way. The package knows no field of any format and no file.
package jsonrow
