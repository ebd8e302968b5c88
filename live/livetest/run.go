package livetest

import (
	"hash/fnv"
	"net/http"
	"time"
)

// eos is the token that ends a native answer.
const eos = 2

// run serves a job.
func (s *Server) run(w http.ResponseWriter, r *http.Request, j *job) {
	s.mu.Lock()
	s.running++
	j.cached = s.look(j)
	if j.forced != nil && !s.options.TraceReplay {
		s.counters.CallsForced++
	}
	if j.routes != nil {
		s.counters.CallsRouted++
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.running--
		s.mu.Unlock()
	}()
	began := time.Now()
	if !sleep(r, time.Duration(len(j.prompt)-j.cached)*s.options.PerInput) {
		return
	}
	first := time.Now()
	ids := s.outputs(j)
	a := &answer{server: s, job: j, began: began, first: first}
	if !j.stream {
		if sleep(r, time.Duration(len(ids))*s.options.PerOutput) {
			writeJSON(w, http.StatusOK, a.whole(ids))
		}
	} else if !s.stream(w, r, a, ids) {
		return
	}
	s.mu.Lock()
	s.keep(j, ids)
	s.mu.Unlock()
}

// stream writes the tokens as they come. It is false if the stream was not completed.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, a *answer, ids []int32) bool {
	f := &a.job.faults
	o := newOutput(w, *f)
	if f.InStream != "" {
		o.event(errorObject(http.StatusBadRequest, f.InStream))
		o.done()
		return false
	}
	step := max(1, f.IDsPerChunk)
	for at := 0; at < len(ids); at += step {
		end := min(at+step, len(ids))
		if !sleep(r, time.Duration(end-at)*s.options.PerOutput) {
			return false
		}
		o.event(a.piece(ids[at:end], end == len(ids)))
		if f.Comments {
			o.text(": keep-alive\n\n")
		}
		switch {
		case reached(f.ErrorAfter, at, end):
			o.event(errorObject(http.StatusInternalServerError, "the engine died"))
			o.done()
			return false
		case reached(f.Garbage, at, end):
			o.text("data: {\"choices\":[\n\n")
		case reached(f.BreakAfter, at, end):
			panic(http.ErrAbortHandler)
		case reached(f.StallAfter, at, end):
			<-r.Context().Done()
			return false
		}
	}
	if a.job.usage && !f.NoUsage {
		o.event(a.last())
	}
	if !f.NoDone {
		o.done()
	}
	return true
}

// reached is whether a piece from at to end holds token n, counted from 1.
func reached(n, at, end int) bool { return at < n && n <= end }

// sleep waits; it is false if the client has gone.
func sleep(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return r.Context().Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

// outputs are the tokens of a job, and why they end.
func (s *Server) outputs(j *job) []int32 {
	ids := j.forced
	j.finished = "length"
	if ids == nil {
		for k := range j.most {
			id := s.native(j.prompt, k)
			ids = append(ids, id)
			if id == eos && !j.noEOS {
				j.finished = "stop"
				break
			}
		}
	} else if f := &j.faults; f.WrongToken > 0 && f.WrongToken <= len(ids) {
		ids = append([]int32(nil), ids...)
		ids[f.WrongToken-1] = (ids[f.WrongToken-1] + 1) % int32(s.options.Vocabulary)
	}
	if cut := j.faults.CutTo; cut > 0 && cut < len(ids) {
		ids = ids[:cut]
	}
	if j.faults.Finish != "" {
		j.finished = j.faults.Finish
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters.Passes += len(ids)
	if j.forced != nil && !s.options.TraceReplay {
		s.counters.TokensForced += len(ids)
		s.counters.TokensVerified += len(ids)
	}
	return ids
}

// native is what the model writes at position k: a hash of all before it. Now and then
// it is the token that ends an answer.
func (s *Server) native(prompt []int32, k int) int32 {
	h := fnv.New64a()
	for _, id := range prompt {
		h.Write([]byte{byte(id), byte(id >> 8), byte(id >> 16)})
	}
	h.Write([]byte{byte(k), byte(k >> 8), byte(k >> 16)})
	return int32(h.Sum64() % uint64(s.options.Vocabulary))
}

// blocks calls visit with the key of each full block of tokens, salted, until it says
// no.
func (s *Server) blocks(salt string, tokens []int32, visit func(key uint64) bool) {
	h := fnv.New64a()
	h.Write([]byte(salt))
	size := s.options.BlockSize
	for at := 0; at+size <= len(tokens); at += size {
		for _, id := range tokens[at : at+size] {
			h.Write([]byte{byte(id), byte(id >> 8), byte(id >> 16)})
		}
		if !visit(h.Sum64()) {
			return
		}
	}
}

// look is how many tokens of a prompt are cached; one is always computed.
func (s *Server) look(j *job) (tokens int) {
	s.blocks(j.salt, j.prompt[:len(j.prompt)-1], func(key uint64) bool {
		if !s.cached[key] {
			return false
		}
		tokens += s.options.BlockSize
		return true
	})
	return tokens
}

// keep caches the blocks of a call that has ended; its last token was never computed.
func (s *Server) keep(j *job, output []int32) {
	all := append(append([]int32(nil), j.prompt...), output[:max(0, len(output)-1)]...)
	s.blocks(j.salt, all, func(key uint64) bool {
		s.cached[key] = true
		return true
	})
}
