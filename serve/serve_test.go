package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/config"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/serve"
	"github.com/reprise-sim/reprise/simulate"
	"github.com/reprise-sim/reprise/tokenize"
)

// small is two instances of 8 blocks of 4 tokens, 10 ms for a prefill and 2 for a
// decode.
var small = []string{
	"engine.block_size=4", "engine.num_gpu_blocks=17", "engine.max_model_len=48", "engine.max_num_seqs=4",
	"engine.vllm.async_scheduling=false", "latency.model=fixed", "latency.prefill_ms=10", "latency.decode_ms=2",
}

// running is a server that runs.
type running struct {
	*serve.Server
	backend *serve.Backend
	serving *config.Serving
	halt    context.CancelFunc
	ended   chan simulate.End
}

// prepare makes the cluster of a server.
func prepare(t testing.TB, c *config.Config) *config.Serving {
	t.Helper()
	v, err := config.PrepareServing(c, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// smallWith is the configuration of a small cluster.
func smallWith(t testing.TB, set ...string) *config.Config {
	t.Helper()
	c, err := config.Load(config.Sources{Set: append(append([]string{}, small...), set...), Served: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start starts a server of a small cluster.
func start(t testing.TB, speed float64, set ...string) *running {
	t.Helper()
	return begin(t, speed, smallWith(t, set...), serve.Options{
		Model: "m", OutputTokens: 6, Seed: 42, Version: "test", BlockSize: 4, Blocks: 17,
	})
}

// begin starts a server.
func begin(t testing.TB, speed float64, c *config.Config, o serve.Options) *running {
	t.Helper()
	v := prepare(t, c)
	r := &running{serving: v, ended: make(chan simulate.End, 1)}
	r.backend = serve.NewBackend(speed, v.Stepper)
	o.ContextTokens = v.ContextTokens()
	r.Server = serve.NewServer(r.backend, o)
	ctx, halt := context.WithCancel(context.Background())
	r.halt = halt
	go func() {
		end, err := r.backend.Run(ctx)
		if err != nil {
			t.Error(err)
		}
		r.ended <- end
	}()
	return r
}

// stop ends the server and returns the summary of what it did.
func (r *running) stop(t testing.TB) *metrics.Summary {
	t.Helper()
	r.halt()
	result, err := r.serving.Finish(<-r.ended)
	if err != nil {
		t.Fatal(err)
	}
	return result.Summary
}

// ask sends a request and waits for the whole answer.
func (r *running) ask(ctx context.Context, method, path, body string, header http.Header) *httptest.ResponseRecorder {
	q := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	for name, values := range header {
		q.Header[name] = values
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, q)
	return w
}

// The stories of testdata: every answer that the API gives, to the byte.
//
//	post /v1/completions [id=NAME] [session=NAME]
//	{"prompt": …}
//	get /v1/models
//
// Those of words.txt are given by a model's tokenizer, the others by [serve.Bytes]. Each
// is sent when the one before has been answered. In a bubble time passes
// only where somebody waits, so a chunk has the tokens of one instant.
func TestAnswersAreThoseOfVLLM(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			o := serve.Options{Model: "m", OutputTokens: 6, Seed: 42, Version: "test", BlockSize: 4, Blocks: 17}
			if filepath.Base(path) == "words.txt" {
				m, err := tokenize.Open("../tokenize/testdata")
				if err != nil {
					t.Fatal(err)
				}
				o.Tokenizer = m
			}
			r := begin(t, 1, smallWith(t), o)
			defer r.stop(t)
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				header := http.Header{}
				for key, name := range map[string]string{"id": "X-Request-Id", "session": "X-Session-Id"} {
					var value string
					if d.MaybeScanArgs(t, key, &value) {
						header.Set(name, value)
					}
				}
				began := time.Now()
				w := r.ask(t.Context(), strings.ToUpper(d.Cmd), d.CmdArgs[0].Key, d.Input, header)
				took := time.Since(began).Microseconds() / 1000
				return strings.TrimSpace(fmt.Sprintf("%d %s after %v ms\n%s", w.Code, w.Header().Get("Content-Type"), took, page(w))) + "\n"
			})
		})
	})
}

// page is an answer without the empty lines between events and the inner life of
// histograms.
func page(w *httptest.ResponseRecorder) string {
	text := strings.ReplaceAll(strings.TrimSpace(w.Body.String()), "\n\n", "\n")
	return regexp.MustCompile("(?m)^vllm:[a-z_]*_bucket.*\n").ReplaceAllString(text, "")
}

// A client that hangs up gives its place and its blocks to the next one.
func TestAHangUpCancelsTheRequest(t *testing.T) {
	for _, body := range []string{
		`{"prompt":[1,2,3,4,5],"max_tokens":40,"stream":true}`,
		`{"prompt":[1,2,3,4,5],"max_tokens":40}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, 1, "engine.max_num_seqs=1")
			ctx, hangUp := context.WithCancel(context.Background())
			go r.ask(ctx, "POST", "/v1/completions", body, nil)
			time.Sleep(15 * time.Millisecond)
			began := time.Now()
			go func() {
				time.Sleep(2 * time.Millisecond)
				hangUp()
			}()
			w := r.ask(t.Context(), "POST", "/v1/completions", `{"prompt":[6,7],"max_tokens":1}`, nil)
			// The hang-up at 2 ms, at most the rest of a decode, and a prefill.
			if took := time.Since(began); w.Code != 200 || took > 14*time.Millisecond {
				t.Errorf("%d after %v: %s", w.Code, took, w.Body)
			}
			if s := r.stop(t).Accounting; s.Cancelled != 1 || s.Completed != 1 {
				t.Errorf("%d cancelled, %d completed", s.Cancelled, s.Completed)
			}
		})
	}
}

// A server that is ended while calls are open says so to their clients, and counts them
// as unfinished.
func TestTheEndOfTheServerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 1)
		answers := make(chan *httptest.ResponseRecorder)
		for _, stream := range []bool{false, true} {
			body := fmt.Sprintf(`{"prompt":[1,2,3],"max_tokens":40,"stream":%v}`, stream)
			go func() { answers <- r.ask(context.Background(), "POST", "/v1/completions", body, nil) }()
		}
		time.Sleep(20 * time.Millisecond)
		s := r.stop(t).Accounting
		for range 2 {
			w := <-answers
			if !strings.Contains(w.Body.String(), "has stopped") || w.Code != 503 && w.Code != 200 {
				t.Errorf("%d: %s", w.Code, w.Body)
			}
		}
		if s.Unfinished != 2 {
			t.Errorf("%d unfinished", s.Unfinished)
		}
		if w := r.ask(t.Context(), "POST", "/v1/completions", `{"prompt":[1]}`, nil); w.Code != 503 {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		if w := r.ask(t.Context(), "GET", "/health", "", nil); w.Code != 503 {
			t.Errorf("health: %d", w.Code)
		}
	})
}

// A client that reads slowly gets several tokens in a chunk, and all of them.
func TestTokensThatWaitShareAChunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, 1)
		defer r.stop(t)
		q := httptest.NewRequest("POST", "/v1/completions", strings.NewReader(`{"prompt":[1,2,3],"max_tokens":20,"stream":true,"return_token_ids":true}`))
		w := &slow{ResponseRecorder: httptest.NewRecorder()}
		r.ServeHTTP(w, q)
		chunks, ids := bytes.Count(w.Body.Bytes(), []byte(`"token_ids":`)), 0
		for _, part := range strings.Split(w.Body.String(), `"token_ids":[`)[1:] {
			list, _, _ := strings.Cut(part, "]")
			ids += strings.Count(list, ",") + 1
		}
		if chunks >= 20 || ids != 20 {
			t.Errorf("%d chunks, %d ids: %s", chunks, ids, w.Body)
		}
	})
}

// slow takes 7 ms for each write.
type slow struct{ *httptest.ResponseRecorder }

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(7 * time.Millisecond)
	return s.ResponseRecorder.Write(p)
}

// Speed changes when an answer comes and nothing about it.
func TestSpeedScalesTime(t *testing.T) {
	for speed, want := range map[float64]time.Duration{1: 28 * time.Millisecond, 0.5: 56 * time.Millisecond, 10: 2800 * time.Microsecond, 0: 0} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, speed)
			began := time.Now()
			w := r.ask(t.Context(), "POST", "/v1/completions", `{"prompt":[1,2,3],"max_tokens":10}`, nil)
			if took := time.Since(began); w.Code != 200 || took.Round(time.Microsecond) != want {
				t.Errorf("speed %v: %d after %v, want %v", speed, w.Code, took, want)
			}
			if s := r.stop(t); s.DurationMs != 28 {
				t.Errorf("speed %v: %v ms of simulated time", speed, s.DurationMs)
			}
		})
	}
}

// After the first Ctrl-C a server takes no more requests and serves those that are
// open; the second ends them.
func TestAServerClosesInTwoSteps(t *testing.T) {
	for _, hurry := range []bool{false, true} {
		v := prepare(t, smallWith(t, "latency.decode_ms=20"))
		backend := serve.NewBackend(1, v.Stepper)
		server := serve.NewServer(backend, serve.Options{Model: "m", ContextTokens: 48})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		closing, first := context.WithCancel(t.Context())
		now, second := context.WithCancel(t.Context())
		over := make(chan error)
		go func() {
			_, err := serve.Listen(l, server, backend, closing, now)
			over <- err
		}()
		answer, err := http.Post("http://"+l.Addr().String()+"/v1/completions", "application/json", strings.NewReader(`{"prompt":[1],"max_tokens":10,"stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		first()
		if hurry {
			second()
		}
		text, err := io.ReadAll(answer.Body)
		if whole := strings.Contains(string(text), `"finish_reason":"length"`); err != nil || whole == hurry {
			t.Errorf("hurry %v: %v: %s", hurry, err, text)
		}
		if err := <-over; err != nil {
			t.Error(err)
		}
		if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
			t.Error("it still listens")
		}
		second()
		result, err := v.Finish(simulate.End{})
		if err != nil || (result.Summary.Accounting.Unfinished == 1) != hurry {
			t.Errorf("hurry %v: %+v, %v", hurry, result.Summary.Accounting, err)
		}
	}
}
