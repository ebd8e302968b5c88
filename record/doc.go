// Package record turns the traffic between an agent and a server into a trace.
//
// A [Recorder] is an HTTP handler that passes everything on, byte for byte, and looks
// at a copy: of calls to the usual APIs it keeps token ids, times, tool calls and who
// waited for whom. What it sees goes into a journal at once ([journal.Writer]);
// [Finish] makes a native trace of a journal, also of one whose recorder was killed.
// Nothing that goes wrong with the recording may stop or change the traffic.
package record
