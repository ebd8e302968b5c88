package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-sim/reprise/record"
	"github.com/reprise-sim/reprise/tokenize"
)

// recordFlags are the flags of `reprise record`.
type recordFlags struct {
	upstream    string
	listen      string
	out         string
	ask         string
	ids         string
	tokenizer   string
	redact      bool
	overwrite   bool
	keepJournal bool
	quiet       bool
}

// grace is how long calls in flight are waited for when a recording ends.
const grace = 10 * time.Second

func newRecord() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record --upstream URL --out FILE",
		Short: "Record what an agent asks a server, as a trace",
		Long: `Record what an agent asks a server, as a trace: a proxy between the two that passes
everything on and keeps token ids, times, tool calls and who waited for whom.

  reprise record --upstream http://localhost:8000 --listen :8080 --out agent.jsonl.zst
  OPENAI_BASE_URL=http://localhost:8080/v1 python agent.py

Calls to /v1/completions, /v1/chat/completions, /v1/responses, /v1/messages and
/inference/v1/generate are recorded, streamed or not; all else just passes.

Nothing is changed on the way but one thing: where the server says that it can return
token ids, it is asked for them (--return-token-ids). Ids that an answer lacks are
taken from the server's /tokenize afterwards (--ids). Keys never reach the disk.

Ctrl-C ends the recording and makes the trace. What has been seen is in FILE.journal all
the while; if the recorder is killed, or does not wait for calls in flight because of a
second Ctrl-C, "reprise record finish FILE.journal" makes the trace of it. docs/record.md tells more: headers, marks of the agent, what is inferred.

Exit codes: 0 success, 1 the recording failed, 2 bad command line.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.upstream, "upstream", "", "`URL` of the server")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "`ADDRESS` to listen at; port 0: any that is free")
	flags.StringVarP(&f.out, "out", "o", "", "`FILE` for the trace; .gz and .zst are compressed")
	flags.StringVar(&f.ask, "return-token-ids", record.AskAuto, "ask the server for token ids, `auto|always|never`; auto: if its /openapi.json has the field")
	flags.StringVar(&f.ids, "ids", record.IDsAuto, "ids that answers lack, `auto|local|answer`; auto: from the server's /tokenize, else as local; local: from --tokenizer; answer: none")
	flags.StringVar(&f.tokenizer, "tokenizer", "", "`DIR` of a model, with its tokenizer.json")
	flags.BoolVar(&f.redact, "redact", false, "keep no text: no messages, no arguments and results of tools")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the file if it exists")
	flags.BoolVar(&f.keepJournal, "keep-journal", false, "keep the journal when the trace is there")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no remarks")
	complete(cmd, "return-token-ids", oneOf(record.AskAuto, record.AskAlways, record.AskNever))
	complete(cmd, "ids", oneOf(record.IDsAuto, record.IDsLocal, record.IDsAnswer))
	cmd.AddCommand(newRecordFinish(), newRecordOTLP())
	return cmd
}

func newRecordFinish() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "finish JOURNAL --out FILE",
		Short: "Make the trace of a recording whose recorder was killed",
		Long: `Make the trace of a recording whose recorder was killed: of all calls that had ended by
then. The journal stays.

  reprise record finish agent.jsonl.zst.journal --out agent.jsonl.zst`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checkOut(); err != nil {
				return err
			}
			result, err := record.Finish(args[0], f.out)
			if err != nil {
				return err
			}
			f.tell(cmd.ErrOrStderr(), result)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "`FILE` for the trace; .gz and .zst are compressed")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the file if it exists")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no remarks")
	return cmd
}

// checkOut makes sure that the trace may be written.
func (f *recordFlags) checkOut() error {
	if f.out == "" {
		return errors.New("--out: want a file for the trace")
	}
	if _, err := os.Stat(f.out); err == nil && !f.overwrite {
		return fmt.Errorf("%s: exists: want a new name, or --overwrite", f.out)
	}
	return nil
}

// options checks the flags.
func (f *recordFlags) options(stderr io.Writer) (record.Options, error) {
	o := record.Options{Journal: f.out + ".journal", Ask: f.ask, IDs: f.ids, Redact: f.redact}
	if !f.quiet {
		o.Log = func(line string) { remark(stderr, line) }
	}
	if f.upstream == "" {
		return o, errors.New("--upstream: want the URL of the server, such as http://localhost:8000")
	}
	u, err := url.Parse(f.upstream)
	if err != nil {
		return o, fmt.Errorf("--upstream: %w", err)
	}
	o.Upstream = u
	if f.tokenizer != "" {
		if o.Tokenizer, err = tokenize.Open(f.tokenizer); err != nil {
			return o, fmt.Errorf("--tokenizer: %w", err)
		}
	}
	if err := o.Validate(); err != nil {
		return o, fmt.Errorf("--%w", err)
	}
	if err := f.checkOut(); err != nil {
		return o, err
	}
	if _, err := os.Stat(o.Journal); err == nil {
		return o, fmt.Errorf("%s: exists: an earlier recording was stopped; reprise record finish %[1]s --out FILE makes its trace, then remove it", o.Journal)
	}
	return o, nil
}

func (f *recordFlags) run(cmd *cobra.Command) error {
	stderr := cmd.ErrOrStderr()
	o, err := f.options(stderr)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	r, err := record.New(o)
	if err != nil {
		return errors.Join(fail(err), listener.Close())
	}
	stopped := aborter{left: fmt.Sprintf("interrupted: all calls that had ended are in %s; reprise record finish %[1]s --out %s makes the trace", o.Journal, f.out)}
	stopped.running.Store(true)
	ctx, stop := onInterrupt(cmd.Context(), &stopped)
	defer stop()
	// A second Ctrl-C does not wait for the calls in flight; the journal stays.
	if err := serveUntil(ctx, listener, r, func(address string) {
		remark(stderr, fmt.Sprintf("recording http://%s, which passes on to %s; Ctrl-C ends it", address, o.Upstream.Redacted()))
	}); err != nil {
		return fail(err)
	}
	result, err := record.Finish(o.Journal, f.out)
	if err != nil {
		return fail(err)
	}
	f.tell(stderr, result)
	if f.keepJournal || len(result.Incomplete) > 0 {
		return nil
	}
	return fail(record.Discard(o.Journal))
}

// serveUntil serves until ctx ends, then waits a while for the calls in flight.
func serveUntil(ctx context.Context, l net.Listener, r *record.Recorder, ready func(address string)) error {
	server := &http.Server{Handler: r, ErrorLog: log.New(io.Discard, "", 0)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	ready(l.Addr().String())
	var served error
	select {
	case served = <-failed:
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_ = server.Shutdown(last) // calls that are left then are named in the trace
	err := r.Close(last)
	_ = server.Close()
	return errors.Join(served, err)
}

// tell says what a recording holds.
func (f *recordFlags) tell(w io.Writer, r *record.Result) {
	if f.quiet {
		return
	}
	line := fmt.Sprintf("%s: %s, %s (%d with token ids", f.out, count(r.Tasks, "task"), count(r.Calls, "call"), r.WithIDs)
	if r.Experts > 0 {
		line += fmt.Sprintf(", %d with expert ids", r.Experts)
	}
	remark(w, line+"), "+count(r.Tools, "tool run"))
	for _, why := range sortedKeys(r.LeftOut) {
		remark(w, fmt.Sprintf("%s left out: %s", count(r.LeftOut[why], "call"), why))
	}
	remark(w, r.Notes...)
	for _, why := range r.Incomplete {
		remark(w, "the recording is incomplete: "+why)
	}
}
