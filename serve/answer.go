package serve

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/reprise-sim/reprise/metrics"
)

// dialect is how an endpoint writes answers.
type dialect interface {
	// begin is what a stream says before the first token; nil: nothing.
	begin(c *call) any
	// chunk is a piece of a stream; the first one, the last one with its finish reason.
	chunk(c *call, p *piece) any
	// bill is the last word of a stream, with the usage.
	bill(c *call, s *State) any
	// whole is an answer in one.
	whole(c *call, p *piece, s *State) any
}

// piece is some tokens of an answer.
type piece struct {
	ids    []uint32
	text   string
	first  bool
	finish *string // set if it is the last one
}

// serve hands a call over and writes what comes.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, c *call, d dialect) {
	if e := s.options.Events; e != nil {
		defer e.blocks.open(c)()
	}
	ticket, err := s.backend.Submit(c.offer(), c.finish)
	if err != nil {
		outOfService().answer(w)
		return
	}
	if c.Stream {
		s.stream(w, r, c, d, ticket)
		return
	}
	state, err := ticket.End(r.Context())
	if err != nil { // the client went away
		s.backend.Cancel(ticket)
		return
	}
	if f := ended(&state); f != nil {
		f.answer(w)
		return
	}
	ids, text := c.output[:state.Tokens], s.decoder(c)
	send(w, d.whole(c, &piece{ids: ids, text: text.next(ids) + text.rest(), first: true, finish: &c.finish}, &state))
}

// stream writes tokens as they come: those that came while the client was not reading
// share a chunk.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, c *call, d dialect, ticket *Ticket) {
	e := newEvents(w)
	text := s.decoder(c)
	for seen := 0; ; {
		state, err := ticket.Wait(r.Context(), seen)
		if err != nil {
			s.backend.Cancel(ticket)
			return
		}
		if f := ended(&state); f != nil && state.Tokens == seen {
			e.fail(f)
			return
		}
		if seen == 0 {
			e.send(d.begin(c))
		}
		p := piece{ids: c.output[seen:state.Tokens], first: seen == 0}
		p.text = text.next(p.ids)
		seen = state.Tokens
		if state.Status != metrics.Completed {
			e.send(d.chunk(c, &p))
			continue
		}
		p.text += text.rest()
		p.finish = &c.finish
		e.send(d.chunk(c, &p))
		if c.StreamOptions.IncludeUsage {
			e.send(d.bill(c, &state))
		}
		e.done()
		return
	}
}

// decoder turns the tokens of a call into text.
func (s *Server) decoder(c *call) *decoder {
	d := &decoder{tokenizer: s.options.Tokenizer, marks: c.marks, left: -1}
	if c.stopped != nil {
		d.left = c.stopped.textBytes
	}
	return d
}

// reject answers a request that is not handed over. With stream, what vLLM finds late
// comes inside the stream.
func reject(w http.ResponseWriter, f *failure, stream bool) {
	if f.late && stream {
		newEvents(w).fail(f)
		return
	}
	f.answer(w)
}

// events writes server-sent events.
type events struct {
	w     http.ResponseWriter
	flush func()
}

// newEvents begins a stream.
func newEvents(w http.ResponseWriter) *events {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	return &events{w, func() { control.Flush() }} // an error is a client that went away
}

// send sends a value as an event; nil: nothing.
func (e *events) send(v any) {
	if v == nil {
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and finite numbers
	}
	e.data(text)
}

func (e *events) data(text []byte) {
	fmt.Fprintf(e.w, "data: %s\n\n", text)
	e.flush()
}

// fail ends the stream with a failure.
func (e *events) fail(f *failure) {
	e.data(f.body())
	e.done()
}

// done ends the stream.
func (e *events) done() { e.data([]byte("[DONE]")) }
