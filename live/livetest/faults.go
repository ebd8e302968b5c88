package livetest

import "net/http"

// Faults are what goes wrong with one call. Numbers count tokens from 1; 0 is never.
type Faults struct {
	// Silent cuts: the answer looks complete (spec/vllm-cpu-live.md 4).
	CutToDefault bool // a trace is cut to max_tokens, which is 16 where the request has none
	CutToContext bool // a trace is cut to the room that is left in the context
	CutTo        int  // to so many tokens

	WrongToken  int    // the token at this position is another one
	WrongExpert int    // the first expert at this position, in layer 0, is another one
	Finish      string // finish_reason, in place of the right one
	ExtraPrompt int32  // usage counts so many prompt tokens too many

	// Refusals.
	Unavailable int    // the first attempts of a call get a 503
	RetryAfter  string // and this header
	Refuse      string // status 400 with this text
	InStream    string // status 200 and then an error event with code 400 and this text

	// Ends.
	ErrorAfter int // an error event, code 500, behind so many tokens
	BreakAfter int // the connection ends
	StallAfter int // nothing more comes

	// Forms.
	IDsPerChunk int  // ids in one piece of a stream; 0: 1
	SplitFrames bool // events arrive in pieces of three bytes
	CRLF        bool // lines end in CR LF
	Comments    bool // comments between events
	NoUsage     bool // no usage
	NoDone      bool // no [DONE]
	NoFinish    bool // no finish_reason
	Garbage     int  // an event that is no JSON, behind so many tokens
}

// refuse answers a request that gets no tokens. It is false if there is no such fault.
func (f *Faults) refuse(w http.ResponseWriter, in *Received) bool {
	switch {
	case in.Attempt <= f.Unavailable:
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		refuse(w, http.StatusServiceUnavailable, "the server is overloaded")
	case f.Refuse != "":
		refuse(w, http.StatusBadRequest, f.Refuse)
	default:
		return false
	}
	return true
}

// refuse answers with an error object.
func refuse(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, errorObject(status, text))
}

func errorObject(status int, text string) map[string]any {
	return map[string]any{"error": map[string]any{"message": text, "type": http.StatusText(status), "code": status}}
}
