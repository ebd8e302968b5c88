package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/reprise-sim/reprise/metrics"
)

// Options are how a client talks.
type Options struct {
	// HTTP2 allows HTTP/2. It is off by default: streams that share a connection wait
	// for one another.
	HTTP2 bool
	// Stall is the longest time without a byte of the answer, Timeout the longest time
	// of a call as a whole; 0: no limit.
	Stall, Timeout time.Duration
	// Dial connects to a server; nil: over the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Now is the clock, in ms.
	Now func() float64
}

// Client sends requests. It is safe for concurrent use and keeps connections open for
// as many calls as there are at once.
type Client struct {
	http    *http.Client
	options Options
}

// idleConnections is how many connections to a server are kept for later calls.
const idleConnections = 1 << 16

// NewClient makes a client, which has to be closed.
func NewClient(o Options) *Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(o.HTTP2)
	protocols.SetUnencryptedHTTP2(o.HTTP2)
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	return &Client{
		http: &http.Client{Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dial,
			Protocols:           protocols,
			DisableCompression:  true, // its buffers would hold tokens back
			MaxIdleConns:        idleConnections,
			MaxIdleConnsPerHost: idleConnections,
			IdleConnTimeout:     10 * time.Minute,
			TLSHandshakeTimeout: 10 * time.Second,
			WriteBufferSize:     64 << 10,
		}},
		options: o,
	}
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Request is one call.
type Request struct {
	URL    string
	Header http.Header // JSON in both directions is understood
	Body   []byte      // not modified
	// Tokens is told, in the goroutine of Do, how many output tokens have come by now
	// whenever there are more; nil: nobody.
	Tokens func(n int32, atMs float64)
}

var (
	errStalled  = errors.New("nothing came for too long")
	errTimedOut = errors.New("the call took too long")
)

// Do sends a request and waits for the end of the answer. If ctx is cancelled, the
// failure is of kind interrupted.
func (c *Client) Do(ctx context.Context, q *Request) *Answer {
	a := &Answer{SendMs: c.options.Now()}
	if f := c.do(ctx, q, a); f != nil {
		a.Failure = f
	}
	a.LastByteMs = c.options.Now()
	return a
}

func (c *Client) do(ctx context.Context, q *Request, a *Answer) *Failure {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.options.Timeout > 0 {
		defer time.AfterFunc(c.options.Timeout, func() { cancel(errTimedOut) }).Stop()
	}
	watch := newWatch(c.options.Stall, func() { cancel(errStalled) })
	defer watch.stop()

	moments := newMoments(c.options.Now)
	defer moments.into(a)
	response, err := c.http.Do(c.request(ctx, q, moments))
	if err != nil {
		return broken(ctx, err, metrics.Unreachable, 0)
	}
	defer response.Body.Close()
	a.Status = response.StatusCode
	if response.StatusCode != http.StatusOK {
		return refusal(ctx, response)
	}
	watch.touch()
	r := &receiver{answer: a, request: q, watch: watch, now: c.options.Now}
	read := r.whole
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err == nil && kind == "text/event-stream" {
		read = r.stream
	}
	return r.end(ctx, read(response.Body))
}

// maxPage is how much of a page is read: descriptions of an API are large.
const maxPage = 64 << 20

// Get is what a server answers to a plain question, and its status.
func (c *Client) Get(ctx context.Context, url string, header http.Header) (text []byte, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, maxPage))
	return text, response.StatusCode, err
}

// request is the request as the HTTP client takes it.
func (c *Client) request(ctx context.Context, q *Request, m *moments) *http.Request {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              m.gotConn,
		WroteRequest:         m.wroteRequest,
		GotFirstResponseByte: m.gotFirstByte,
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, q.URL, bytes.NewReader(q.Body))
	if err != nil {
		panic(err) // URLs have been parsed when a target was made
	}
	for name, values := range q.Header {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	return r
}

// moments are what happens inside the HTTP client, in goroutines of its own.
type moments struct {
	now            func() float64
	written, first atomic.Uint64 // bits of a time, those of NaN before it
	usedBefore     atomic.Bool
}

func newMoments(now func() float64) *moments {
	m := &moments{now: now}
	m.written.Store(math.Float64bits(math.NaN()))
	m.first.Store(math.Float64bits(math.NaN()))
	return m
}

func (m *moments) gotConn(i httptrace.GotConnInfo) { m.usedBefore.Store(i.Reused) }
func (m *moments) gotFirstByte()                   { m.first.Store(math.Float64bits(m.now())) }
func (m *moments) wroteRequest(i httptrace.WroteRequestInfo) {
	if i.Err == nil {
		m.written.Store(math.Float64bits(m.now()))
	}
}

// into writes the moments down.
func (m *moments) into(a *Answer) {
	a.Reused = m.usedBefore.Load()
	a.WrittenMs = math.Float64frombits(m.written.Load())
	a.FirstByteMs = math.Float64frombits(m.first.Load())
}

// watch cancels a call when nothing has come for too long.
type watch struct {
	timer *time.Timer
	limit time.Duration
}

func newWatch(limit time.Duration, expire func()) *watch {
	if limit <= 0 {
		return &watch{}
	}
	return &watch{time.AfterFunc(limit, expire), limit}
}

func (w *watch) touch() {
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// maxRefusal is how much of the text of an error is read.
const maxRefusal = 1 << 16

// refusal is the failure of an answer that is not 200.
func refusal(ctx context.Context, r *http.Response) *Failure {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxRefusal))
	if err != nil {
		return broken(ctx, err, metrics.BrokenStream, r.StatusCode)
	}
	f := statusFailure(r.StatusCode, string(bytes.TrimSpace(text)))
	if m, err := parse(text); err == nil {
		if inner := m.failure(r.StatusCode); inner != nil {
			f.Detail = inner.Detail
		} else if m.Detail != "" {
			f.Detail = string(m.Detail)
		}
	}
	if seconds, err := strconv.ParseFloat(r.Header.Get("Retry-After"), 64); err == nil && seconds > 0 && seconds < 3600 {
		f.RetryAfter = time.Duration(seconds * float64(time.Second))
	}
	return f
}

// broken is the failure of an error of the network: the kind, unless the call was
// ended on purpose.
func broken(ctx context.Context, err error, kind metrics.Reason, status int) *Failure {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStalled):
		kind, err = metrics.Stalled, cause
	case errors.Is(cause, errTimedOut):
		kind, err = metrics.TimedOut, cause
	case cause != nil:
		kind, err = metrics.Interrupted, cause
	}
	return &Failure{Kind: kind, Status: status, Detail: fmt.Sprint(err)}
}
