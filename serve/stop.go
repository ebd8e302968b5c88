package serve

import (
	"encoding/json"
	"slices"
	"strings"
)

// stops are texts at which an answer ends: one, or a list.
type stops []string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *stops) UnmarshalJSON(raw []byte) error {
	var one *string
	if json.Unmarshal(raw, &one) == nil {
		if one != nil {
			*s = stops{*one}
		}
		return nil
	}
	if json.Unmarshal(raw, (*[]string)(s)) != nil {
		return refuse("stop", "stop: want a string or a list of strings")
	}
	return nil
}

// stopped is how an answer ended at what its request named.
type stopped struct {
	reason    any // the text or the id
	textBytes int // of the text that is shown
}

// stopping ends an answer where the request wants it to end: behind the token that
// completes one of its texts, or behind one of its ids, but not within the first
// MinTokens.
func (s *Server) stopping(c *call, q *sampling) {
	text, seen := s.decoder(c), ""
	for i, id := range c.output {
		before := len(seen)
		seen += text.next([]uint32{id})
		if i < q.MinTokens {
			continue
		}
		end, found := q.stopIn(seen, before, id)
		if found {
			c.output, c.finish, c.stopped = c.output[:i+1], "stop", &end
			return
		}
	}
}

// stopIn is what ends an answer at its last token, id, before which its text had some
// bytes. Of several texts it is the first in the request, as in vLLM.
func (q *sampling) stopIn(text string, bytesBefore int, id uint32) (end stopped, found bool) {
	if slices.Contains(q.StopTokenIDs, int64(id)) {
		end = stopped{id, bytesBefore}
		if q.IncludeStop {
			end.textBytes = len(text)
		}
		return end, true
	}
	for _, stop := range q.Stop {
		from := max(0, bytesBefore-len(stop)+1)
		at := strings.Index(text[from:], stop)
		if at < 0 {
			continue
		}
		end = stopped{stop, from + at}
		if q.IncludeStop {
			end.textBytes += len(stop)
		}
		return end, true
	}
	return end, false
}

// stopReason is what ended an answer, with its last piece; nil if nothing special did.
func (c *call) stopReason(p *piece) any {
	if p.finish == nil || c.stopped == nil {
		return nil
	}
	return c.stopped.reason
}
