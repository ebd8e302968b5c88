package wire

import (
	"fmt"
	"time"

	"github.com/reprise-sim/reprise/metrics"
)

// Answer is what came back for a request. Times are ms of the client's clock; NaN is
// what did not happen.
type Answer struct {
	SendMs      float64 // the request was handed to the HTTP client
	WrittenMs   float64 // its last byte was written
	FirstByteMs float64
	LastByteMs  float64 // the end of the answer, or of waiting for it
	Reused      bool    // it went over a connection that had been used before

	Status  int     // of HTTP, 0 if there was no answer
	Chunks  []Chunk // pieces that brought tokens, or text
	IDs     []int32 // ids of all tokens, as far as they were sent
	Finish  string  // finish_reason, "" if none came
	Usage   *Usage  // nil if it did not come
	Times   *ServerTimes
	Experts string // routed_experts: base64 of an .npy file, "" if none came

	Failure *Failure // nil: the answer is complete
}

// Chunk is a piece of a stream. Tokens that it holds together have no times of their
// own.
type Chunk struct {
	AtMs float64
	N    int32 // ids in it; 0: text without ids
}

// Tokens is the number of output tokens that were received: by their ids, else as the
// server counts them, else one a chunk.
func (a *Answer) Tokens() int32 {
	switch {
	case len(a.IDs) > 0:
		return int32(len(a.IDs))
	case a.Usage != nil:
		return a.Usage.CompletionTokens
	}
	return int32(len(a.Chunks))
}

// Failure is why a call did not end as it should.
type Failure struct {
	Kind   metrics.Reason
	Status int    // of HTTP or as the server says inside a stream; 0: there was none
	Detail string // what the server or the system says
	// RetryAfter is how long the server asks to wait, 0 if it does not.
	RetryAfter time.Duration
}

func (f *Failure) Error() string {
	if f.Status > 0 {
		return fmt.Sprintf("%s: %d: %s", f.Kind, f.Status, f.Detail)
	}
	return fmt.Sprintf("%s: %s", f.Kind, f.Detail)
}

// take adds a message that arrived at atMs.
func (a *Answer) take(m *message, atMs float64) *Failure {
	if f := m.failure(a.Status); f != nil {
		return f
	}
	for i := range m.Choices {
		c := &m.Choices[i]
		if c.Index != 0 {
			return &Failure{Kind: metrics.BrokenStream, Status: a.Status, Detail: fmt.Sprintf("choice %d, expected only 0", c.Index)}
		}
		if len(c.TokenIDs) > 0 || c.hasText() {
			a.IDs = append(a.IDs, c.TokenIDs...)
			a.Chunks = append(a.Chunks, Chunk{atMs, int32(len(c.TokenIDs))})
		}
		if c.FinishReason != "" {
			a.Finish = c.FinishReason
		}
		if c.RoutedExperts != "" {
			a.Experts = c.RoutedExperts
		}
	}
	if m.Usage != nil {
		a.Usage = m.Usage
	}
	if m.Times() != nil {
		a.Times = m.Times()
	}
	return nil
}

// Times are what the server says of the call, nil if it says nothing.
func (m *message) Times() *ServerTimes {
	if m.Metrics == nil || m.Metrics.PrefillMs == nil && m.Metrics.QueueMs == nil && m.Metrics.DecodeMs == nil {
		return nil
	}
	return m.Metrics
}
