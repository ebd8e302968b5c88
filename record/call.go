package record

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/record/internal/wire"
	"github.com/reprise-sim/reprise/sse"
)

// call is a call that is being watched.
type call struct {
	r       *Recorder
	api     wire.API
	seq     int64
	who     journal.Who
	retry   int32
	startMs float64
	body    []byte
	header  http.Header // of the request, for /tokenize; never written
	secrets []string
	request *wire.Request
	parsed  chan struct{} // closed when request is there
	once    sync.Once     // the call ends once
	fault   atomic.Bool   // of the recorder: what is known of the call may be wrong
	// What has come of the answer. One goroutine reads it.
	reply   *wire.Reply
	status  int
	stream  bool
	coding  string // Content-Encoding
	events  sse.Parser
	whole   []byte // of an answer that is no stream of events, or that is encoded
	tooBig  bool
	pending []byte // passed on and not looked at
	atMs    float64
	lastMs  float64 // of the last byte
	broken  string  // why the answer ended early, one word
	done    bool    // the answer has ended as it should
}

// begin notes a call that is about to be passed on. The request is read while the
// server works.
func (r *Recorder) begin(api wire.API, req *http.Request, body []byte, pathSession string) *call {
	c := &call{
		r: r, api: api, seq: r.seq.Add(1), body: body, header: req.Header.Clone(), secrets: secretsOf(req),
		startMs: r.now(), reply: wire.NewReply(api), parsed: make(chan struct{}),
	}
	c.who, c.retry = identify(req.Header, pathSession)
	r.calls.Add(1)
	r.count(func(n *Counts) { n.InFlight++ })
	begun := &journal.Begin{Seq: c.seq, Ms: c.startMs}
	go func() {
		defer close(c.parsed)
		c.guard(func() {
			c.r.append(&journal.Entry{Begin: begun})
			c.request = wire.ParseRequest(c.api, c.body, c.r.salt)
		})
	}()
	return c
}

// sent notes that the request goes out now.
func (c *call) sent() { c.startMs = c.r.now() }

// guard keeps a fault of the recorder away from the traffic.
func (c *call) guard(work func()) {
	defer func() {
		if recover() != nil {
			c.fault.Store(true)
			c.r.opts.Log("a call could not be recorded (a fault of the recorder)")
		}
	}()
	work()
}

// unreachable notes that the server gave no answer.
func (c *call) unreachable(err error) {
	c.lastMs = c.r.now()
	if !errors.Is(err, context.Canceled) {
		c.broken = "unreachable"
	}
}

// end ends the call, if it has not ended. If the answer neither ended nor broke off,
// the client has gone.
func (c *call) end() {
	c.settle()
	c.finish()
}

// finish writes the call into the journal, once.
func (c *call) finish() {
	c.once.Do(func() {
		defer c.r.calls.Done()
		<-c.parsed
		c.guard(c.write)
		c.r.count(func(n *Counts) { n.InFlight-- })
	})
}
