package live

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/reprise-sim/reprise/live/wire"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/token"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/workload"
)

// flight is a call between its release and its end.
type flight struct {
	workload.Call
	n     *trace.Node
	row   int32 // of the ledger
	sheet *sheet
	at    int32 // target

	attempts int32
	failures []attempt // all attempts that failed and were made again
	sentMs   float64   // the first attempt, NaN before it
	begun    bool      // a token has come
	// wants is the output position that somebody waits for, 1 for the first token,
	// MaxInt32 for nobody.
	wants atomic.Int32
}

// attempt is one that failed.
type attempt struct {
	SendMs number         `json:"send_ms"`
	EndMs  number         `json:"end_ms"`
	Kind   metrics.Reason `json:"kind"`
	Status int            `json:"status,omitempty"`
	Detail string         `json:"detail"`
}

// launch starts an attempt.
func (l *loop) launch(f *flight) {
	f.attempts++
	request := &wire.Request{
		URL: l.targets.list[f.at].url + l.mode.Path(), Header: l.headerOf(f),
		Tokens: func(n int32, atMs float64) {
			if n < f.wants.Load() {
				return
			}
			f.wants.Store(math.MaxInt32)
			l.events <- func() { l.progress(f, n, atMs) }
		},
	}
	go func() {
		<-f.sheet.ready
		if f.sheet.err != nil {
			l.events <- func() { l.fail(fmt.Errorf("call %s: %w", f.n.ID, f.sheet.err), f) }
			return
		}
		request.Body = f.sheet.body
		a := l.client.Do(l.sending, request)
		l.events <- func() { l.landed(f, a) }
	}()
}

// progress hears that a call has so many tokens.
func (l *loop) progress(f *flight, tokens int32, atMs float64) {
	if !f.begun {
		f.begun = true
		l.targets.first(f.at, f.n)
	}
	l.driver.Progress(f.Row, tokens, atMs)
	f.wants.Store(wanted(l.driver.WantsProgress(f.Row)))
}

// wanted is an output position that somebody waits for, MaxInt32 for none.
func wanted(position int32) int32 {
	if position == 0 {
		return math.MaxInt32
	}
	return position
}

// landed hears that an attempt has ended.
func (l *loop) landed(f *flight, a *wire.Answer) {
	if math.IsNaN(f.sentMs) {
		f.sentMs = a.SendMs
	}
	if a.Failure != nil && l.again(f, a) {
		return
	}
	l.end(f, a)
}

// again makes an attempt again if that is allowed and makes sense: no token has come,
// and the server or the way to it was at fault.
func (l *loop) again(f *flight, a *wire.Answer) bool {
	failure := a.Failure
	passing := failure.Kind == metrics.Unreachable || failure.Kind == metrics.ServerError || failure.Status == http.StatusTooManyRequests
	if int(f.attempts) > l.Retries || !passing || len(a.Chunks) > 0 || l.stopped {
		return false
	}
	f.failures = append(f.failures, attempt{number(a.SendMs), number(a.LastByteMs), failure.Kind, failure.Status, failure.Detail})
	l.book.failures.Retried++
	wait := math.Ldexp(l.RetryDelayMs, int(min(f.attempts-1, 20)))
	wait = max(wait, float64(failure.RetryAfter.Microseconds())/1000)
	l.agenda.add(a.LastByteMs+wait, func() { l.launch(f) })
	return true
}

// headerOf is the header of an attempt.
func (l *loop) headerOf(f *flight) http.Header {
	h := l.header.Clone()
	id := fmt.Sprintf("%s-%d-%s-%d", l.Run, l.repetition, word(f.n.ID), f.attempts)
	h.Set("X-Request-Id", id)
	session := sessionOf(f.Task, f.n)
	if l.SessionHeader != "" {
		h.Set(l.SessionHeader, word(session))
	}
	if l.DPRanks > 0 {
		h.Set("X-data-parallel-rank", strconv.FormatUint(token.Identity(session)%uint64(l.DPRanks), 10))
	}
	return h
}

// saltOf is what keeps a call's part of the prefix caches apart (spec/live.md A.4).
func (l *loop) saltOf(t *trace.Task) string {
	switch l.CacheSalt {
	case SaltTask:
		return salt(l.Run, strconv.Itoa(l.repetition), t.ID)
	case SaltRun:
		return salt(l.Run, strconv.Itoa(l.repetition))
	}
	return ""
}

// salt makes one word of parts. vLLM 0.32 refuses salts of more than 128 characters, and
// those with certain characters in them.
func salt(parts ...string) string {
	word := strings.Join(parts, ":")
	if len(word) > 128 || strings.ContainsAny(word, "@/\\\x00") {
		return fmt.Sprintf("%016x", token.Identity(word))
	}
	return word
}
