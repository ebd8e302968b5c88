package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reprise-sim/reprise/live/force"
	"github.com/reprise-sim/reprise/live/probe"
	"github.com/reprise-sim/reprise/live/wire"
	"github.com/reprise-sim/reprise/rundir"
	"github.com/reprise-sim/reprise/trace"
)

// Options are what a replay needs beside its settings. Secrets are here: none of them
// is written down.
type Options struct {
	Tool      rundir.Tool // the program, for run.json
	Out       string      // folder of the files; "": none are written
	Overwrite bool        // an earlier run in the folder may be replaced
	Header    http.Header // for every request
	Key       string      // of the API, "" for none
	Experts   string      // file of the trace's experts, for experts: exact
	// Dial connects to a server; nil: over the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Begun is told, before anything that may take long, how to drop what is written.
	Begun func(abort func() error)
	// Progress is told how the run stands, some times a second. It is called from the
	// goroutine of Run.
	Progress func(Progress)
}

// Replay is a live run that is ready to go. It has to be run once or aborted.
type Replay struct {
	settings Settings
	options  Options
	header   http.Header
	clock    *clock
	client   *wire.Client

	trace   trace.Trace // as it is replayed
	source  trace.Trace // as it was given
	servers []*probe.Capabilities
	mode    force.Mode
	limits  force.Limits
	filler  force.Filler
	found   *findings
	notes   []string
	guide   *guide // nil: experts are those that the model chooses

	mu     sync.Mutex      // of drafts, which anybody may abort
	drafts []*rundir.Draft // by repetition; nil if no files are written
	dirs   []string
}

// Prepare asks the servers what they can do, chooses how outputs are forced and checks
// every call of the trace. Nothing of the trace has been sent then. What the servers
// cannot do is an [*Unable]; another error is a mistake of the settings or the trace.
func Prepare(ctx context.Context, s Settings, t trace.Trace, o Options) (*Replay, error) {
	for i := range s.Targets {
		s.Targets[i] = strings.TrimRight(s.Targets[i], "/")
	}
	r := &Replay{settings: s, options: o, source: t, clock: newClock(), header: header(o.Header, o.Key)}
	if o.Begun != nil {
		o.Begun(r.Abort)
	}
	r.client = wire.NewClient(wire.Options{
		HTTP2: s.HTTP2, Dial: o.Dial, Now: r.clock.now,
		Stall: duration(s.StallMs), Timeout: duration(s.TimeoutMs),
	})
	err := r.prepare(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(err, r.Abort())
	}
	return r, nil
}

func (r *Replay) prepare(ctx context.Context) error {
	s := &r.settings
	if err := s.Validate(); err != nil {
		return err
	}
	if err := s.Router.Without(unseen); err != nil {
		return fmt.Errorf("router: %w", err)
	}
	if err := r.create(); err != nil {
		return err
	}
	if err := r.ask(ctx); err != nil {
		return err
	}
	c, err := s.choose(r.servers, r.source.Header())
	if err != nil {
		return err
	}
	r.mode, r.notes = c.mode, append(r.notes, c.notes...)
	if err := r.check(ctx); err != nil {
		return err
	}
	if s.Experts == ExpertsExact {
		if r.guide, err = newGuide(r.options.Experts, s.RoutesDir, r.mode, r.servers); err != nil {
			return err
		}
	}
	r.trace, err = s.timed(s.paced(r.source))
	return err
}

// level is what of a call is exact if nothing differs.
func (r *Replay) level() force.Level {
	if r.guide != nil {
		return force.Experts
	}
	return r.mode.Level()
}

// close frees what a replay holds.
func (r *Replay) close() error {
	r.client.Close()
	if r.guide != nil {
		return r.guide.file.Close()
	}
	return nil
}

// create starts the folders, one for each repetition.
func (r *Replay) create() error {
	if r.options.Out == "" {
		return nil
	}
	for i := range r.settings.Repetitions {
		dir := r.options.Out
		if r.settings.Repetitions > 1 {
			dir = filepath.Join(dir, "repetition-"+strconv.Itoa(i+1))
		}
		d, err := rundir.Create(dir, r.options.Overwrite)
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.drafts, r.dirs = append(r.drafts, d), append(r.dirs, dir)
		r.mu.Unlock()
	}
	return nil
}

// askWithin is how long a server may take to say what it can do.
const askWithin = 2 * time.Minute

// ask asks all servers.
func (r *Replay) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	for _, url := range r.settings.Targets {
		c, err := r.prober(url).Ask(ctx)
		if err != nil {
			return &Unable{err}
		}
		if first := r.servers; len(first) > 0 && first[0].Model != c.Model {
			return &Unable{fmt.Errorf("%s serves %s and %s serves %s: want one model", first[0].URL, first[0].Model, c.URL, c.Model)}
		}
		r.servers = append(r.servers, c)
	}
	if h := r.source.Header(); h.Model != "" && h.Model != r.servers[0].Model {
		r.notes = append(r.notes, fmt.Sprintf("the trace was recorded from model %s, this is %s: ids are only right if their tokenizers are the same", h.Model, r.servers[0].Model))
	}
	return nil
}

// prober asks one server.
func (r *Replay) prober(url string) *probe.Prober {
	p := &probe.Prober{Client: r.client, URL: url, Header: r.header, Salt: salt(r.settings.Run, "probe")}
	for _, name := range []string{r.settings.Model, r.source.Header().Model} {
		if name != "" {
			p.Models = append(p.Models, name)
		}
	}
	return p
}

// check looks for what a server would cut without a word, and asks whether it knows
// the largest id that it would get.
func (r *Replay) check(ctx context.Context) (err error) {
	r.limits = r.settings.limits(r.servers)
	r.filler = force.NewFiller(r.limits.Vocabulary)
	if r.found, err = check(ctx, r.source, r.mode, r.limits); err != nil {
		return err
	}
	r.notes = append(r.notes, r.found.notes()...)
	if len(r.found.refused) > 0 && r.settings.OnRefused == Refuse {
		return r.found.err()
	}
	largest := r.found.largest
	if r.source.Header().Depth < trace.Tokens {
		largest = max(largest, int64(r.filler.Largest()))
	}
	if r.limits.Vocabulary > 0 || largest < 0 {
		return nil
	}
	for i, c := range r.servers {
		if !r.prober(r.settings.Targets[i]).Knows(ctx, c, uint32(largest)) {
			return fmt.Errorf("%s: it has no token %d, which would be sent: want a trace for this model, or its vocabulary (--vocabulary) where ids are made up", c.URL, largest)
		}
	}
	return nil
}

// Servers are what the servers can do, in lines for people.
func (r *Replay) Servers() (lines []string) {
	for _, c := range r.servers {
		lines = append(lines, c.Lines()...)
	}
	return lines
}

// Notes are remarks that a user should see.
func (r *Replay) Notes() []string { return r.notes }

// Abort drops the files of all repetitions that are not complete. It may be called by
// any goroutine while Run goes on, which then fails.
func (r *Replay) Abort() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for _, d := range r.drafts {
		err = errors.Join(err, d.Abort())
	}
	return err
}
