// Package journal is what a recorder leaves while it runs: one JSON object a line,
// appended as things happen and never changed, so that whatever ends the recorder,
// what it has written is there.
//
// An [Entry] is a call that began or ended, ids found later, a mark of the agent, or
// a remark about the recording itself. A [Writer] appends entries and goes on when
// the disk is full; [Read] gives back all whole lines. What the entries mean
// together is package graph's business.
package journal
