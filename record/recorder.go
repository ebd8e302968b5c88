package record

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"math"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-sim/reprise/record/internal/journal"
)

// Recorder passes requests on to a server and records them. It serves any number of
// requests at once.
type Recorder struct {
	opts    Options
	proxy   *httputil.ReverseProxy
	journal *journal.Writer
	began   time.Time
	salt    uint64 // of digests; never written
	seq     atomic.Int64
	ask     asking
	ids     *resolver
	codes   *codes
	mu      sync.Mutex // guards counts
	counts  Counts
	calls   sync.WaitGroup // in flight
}

// Counts say what has passed so far.
type Counts struct {
	Calls      int `json:"calls"`      // to recorded endpoints, ended
	InFlight   int `json:"in_flight"`  // begun and not ended
	Failed     int `json:"failed"`     // without a whole answer
	Cancelled  int `json:"cancelled"`  // by the client
	WithIDs    int `json:"with_ids"`   // token ids of prompt and output came with the answer
	Marks      int `json:"marks"`      // of the agent
	PassedOn   int `json:"passed_on"`  // requests to other endpoints
	Lost       int `json:"lost"`       // entries that could not be written
	PromptIDs  int `json:"prompt_ids"` // tokens
	OutputIDs  int `json:"output_ids"` // tokens
	Unresolved int `json:"unresolved"` // calls whose ids are still being looked for
}

// New starts a recording. Its journal is created at once.
func New(o Options) (*Recorder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Transport == nil {
		o.Transport = transport()
	}
	start := &journal.Start{Upstream: public(o.Upstream), Started: time.Now().UTC().Format(time.RFC3339), Redacted: o.Redact}
	if o.Tokenizer != nil {
		start.Tokenizer, start.Template = o.Tokenizer.Digest(), o.Tokenizer.TemplateDigest()
	}
	w, err := journal.Create(o.Journal, start)
	if err != nil {
		return nil, err
	}
	r := &Recorder{opts: o, journal: w, began: time.Now(), salt: random(), codes: newCodes()}
	r.ask.open(&o)
	r.ids = newResolver(r)
	r.proxy = r.newProxy()
	return r, nil
}

// transport passes on what it gets: it neither compresses nor unpacks, follows no
// proxy settings and keeps enough idle connections for many streams.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.DisableCompression = true
	t.ForceAttemptHTTP2 = false
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1024
	t.ResponseHeaderTimeout = 0
	return t
}

// public is a URL without what gives access: user, password and query.
func public(u *url.URL) string {
	v := *u
	v.User, v.RawQuery, v.Fragment = nil, "", ""
	return v.String()
}

// random is a number that nobody can guess.
func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.LittleEndian.Uint64(b[:])
}

// now is ms since the recording began, in whole microseconds.
func (r *Recorder) now() float64 {
	return math.Round(float64(time.Since(r.began))/float64(time.Microsecond)) / 1000
}

// Counts are what has passed so far.
func (r *Recorder) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.Lost, _ = r.journal.Lost()
	c.Unresolved = r.ids.pending()
	return c
}

// count changes the counts.
func (r *Recorder) count(change func(c *Counts)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.counts)
}

// append writes an entry without secrets, and is whether it could. The first one that
// cannot be written is told.
func (r *Recorder) append(e *journal.Entry, secrets ...string) bool {
	before, _ := r.journal.Lost()
	if r.journal.Append(e, secrets...) {
		return true
	}
	if lost, why := r.journal.Lost(); before == 0 && lost > 0 {
		r.opts.Log("the recording is incomplete from now on; traffic passes as before: " + why.Error())
	}
	return false
}

// Close ends the recording: calls that are still in flight are waited for until ctx
// ends, then ids that are still being looked for. What is left then is missing in the
// trace, which says so. The server in front must have stopped to take new requests.
func (r *Recorder) Close(ctx context.Context) error {
	idle := make(chan struct{})
	go func() {
		r.calls.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	r.ids.close(ctx)
	c := r.Counts()
	r.append(&journal.Entry{End: &journal.End{Ms: r.now(), Unrecorded: c.PassedOn, Interrupted: c.InFlight}})
	return r.journal.Close()
}
