package record

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-sim/reprise/record/internal/journal"
	"github.com/reprise-sim/reprise/record/internal/wire"
	"github.com/reprise-sim/reprise/tokenize"
)

const (
	resolverQueue    = 1024             // calls that wait for their ids; more keep their lengths only
	resolverWorkers  = 2                // requests to /tokenize at a time
	resolverPatience = 30 * time.Second // of one request
)

// resolver finds the ids of calls whose answers had none, while the traffic goes on.
type resolver struct {
	r       *Recorder
	queue   chan unresolved
	open    atomic.Int64
	workers sync.WaitGroup
	ctx     context.Context // of requests to the server
	stop    context.CancelFunc
	absent  atomic.Bool // the server has no /tokenize
	mu      sync.Mutex  // guards closed
	closed  bool        // nothing is taken any more
}

// unresolved is a call and what is known of its ids.
type unresolved struct {
	call    *call
	session string
	found   ids
	coded   *journal.IDs // as they were written; nil if none were
}

func newResolver(r *Recorder) *resolver {
	s := &resolver{r: r}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.absent.Store(r.opts.IDs == IDsAnswer || r.opts.IDs == IDsLocal)
	s.queue = make(chan unresolved, resolverQueue)
	for range resolverWorkers {
		s.workers.Go(func() {
			for u := range s.queue {
				u.call.guard(func() { s.find(u) })
				s.open.Add(-1)
			}
		})
	}
	return s
}

func (s *resolver) pending() int { return int(s.open.Load()) }

// resolve takes a call whose ids are to be found, if there is room.
func (s *resolver) resolve(c *call, session string, found ids, coded *journal.IDs) {
	if s.absent.Load() && s.local() == nil || c.request == nil || c.request.Broken || c.request.Batched {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	select {
	case s.queue <- unresolved{c, session, found, coded}:
		s.open.Add(1)
	default:
	}
}

// local is the local tokenizer, nil if it is not to be used.
func (s *resolver) local() *tokenize.Model {
	if s.r.opts.IDs == IDsAnswer {
		return nil
	}
	return s.r.opts.Tokenizer
}

// close waits until all ids are found or ctx ends. Nothing is taken any more.
func (s *resolver) close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	close(s.queue)
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		s.workers.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	s.stop()
	<-idle
}

// find looks for the ids of a call and writes what it finds.
func (s *resolver) find(u unresolved) {
	c, found := u.call, u.found
	if found.inputFrom == "" {
		if prompt, from := s.tokens(c, wire.TokenizePrompt(c.api, c.body)); agrees(prompt, c.reply.PromptTokens) {
			found.input, found.inputFrom = prompt, from
		}
	}
	if found.outputFrom == "" && c.request.Choices == 1 {
		if output, from := s.output(c, found.input); output != nil {
			found.output, found.outputFrom = output, from
		}
	}
	if found.inputFrom == u.found.inputFrom && found.outputFrom == u.found.outputFrom {
		return
	}
	k := s.r.codes
	k.mu.Lock()
	defer k.mu.Unlock()
	if u.coded != nil && u.found.inputFrom != "" { // others may go on from the prompt already
		coded := *u.coded
		coded.Seq, coded.Output, coded.OutputFrom = c.seq, journal.Pack(found.output), found.outputFrom
		if s.r.append(&journal.Entry{IDs: &coded}, c.secrets...) {
			k.tree.Extend(c.seq, found.output)
		}
		return
	}
	coded := k.code(u.session, found)
	coded.Seq = c.seq
	if s.r.append(&journal.Entry{IDs: coded}, c.secrets...) {
		k.learn(c.seq, u.session, found, coded)
	}
}

// agrees is whether ids may be those that the server has counted.
func agrees(ids []uint32, count int32) bool {
	return len(ids) > 0 && (count < 0 || len(ids) == int(count))
}

// output finds the ids of an answer: what the conversation has behind the prompt once
// the answer is in it, as far as the server has counted; that includes the token that
// ended it, which no text shows. Without a count it is the text.
func (s *resolver) output(c *call, prompt []uint32) (ids []uint32, from string) {
	a := c.reply
	if n := int(a.OutputTokens); n > 0 && prompt != nil {
		whole, from := s.tokens(c, wire.TokenizeWhole(c.api, c.body, a.ChatMessage()))
		if len(whole) >= len(prompt)+n && slices.Equal(whole[:len(prompt)], prompt) {
			return whole[len(prompt) : len(prompt)+n], from
		}
	}
	if a.Text() == "" || len(a.Tools) > 0 {
		return nil, ""
	}
	if text, from := s.tokens(c, wire.TokenizeText(c.request.Model, a.Text())); agrees(text, a.OutputTokens) {
		return text, from
	}
	return nil, ""
}

// tokens asks the server's /tokenize, else the local tokenizer, and says which.
func (s *resolver) tokens(c *call, body []byte) (ids []uint32, from string) {
	if body == nil {
		return nil, ""
	}
	if !s.absent.Load() {
		if ids := s.served(c, body); ids != nil {
			return ids, journal.FromTokenize
		}
	}
	if m := s.local(); m != nil {
		return localTokens(m, body), journal.FromLocal
	}
	return nil, ""
}

// served asks the server's /tokenize, in the name of the client.
func (s *resolver) served(c *call, body []byte) []uint32 {
	ctx, cancel := context.WithTimeout(s.ctx, resolverPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.r.upstream("/tokenize").String(), bytes.NewReader(body))
	if err != nil {
		return nil
	}
	for _, name := range secretHeaders {
		if v := c.header.Values(name); v != nil {
			req.Header[name] = v
		}
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.r.opts.Transport.RoundTrip(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		if !s.absent.Swap(true) {
			s.r.opts.Log("the server has no /tokenize: token ids that answers lack are those of the local tokenizer, if there is one")
		}
		return nil
	default:
		return nil
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil
	}
	return wire.Tokens(answer)
}
