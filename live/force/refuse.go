package force

import (
	"fmt"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/trace"
)

// Limits are what a server can do, and what the user lets pass.
type Limits struct {
	MaxModelLen int // tokens of a prompt and its output together; 0: not known
	Vocabulary  int // ids are below; 0: not known
	// IgnoreGrammar leaves out what outputs have to look like: its cost is lost then.
	IgnoreGrammar bool
}

// Refusal is why a call is not sent: the server would do something else without a
// word, or could not do it at all.
type Refusal struct {
	Node   string // id of the invocation
	Line   int32  // of the trace
	Reason metrics.Reason
	Detail string // what was found and what is wanted
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("line %d: invocation %s: %s: %s", r.Line, r.Node, r.Reason, r.Detail)
}

// Refuse checks a call before anything is sent, by what the trace says of it. The
// error is a [*Refusal]. Every silent cut that servers are known for is caught here
// (spec/live.md A.1; spec/vllm-cpu-live.md 4, 5).
func Refuse(m Mode, n *trace.Node, l Limits) error {
	refuse := func(why metrics.Reason, format string, args ...any) error {
		return &Refusal{n.ID, n.Line, why, fmt.Sprintf(format, args...)}
	}
	sum := int64(n.InputTokens) + int64(n.OutputTokens)
	switch {
	case n.InputTokens == 0:
		return refuse(metrics.EmptyPrompt, "0 tokens: want at least 1")
	case n.OutputTokens == 0:
		return refuse(metrics.EmptyOutput, "0 tokens: want at least 1")
	case l.MaxModelLen > 0 && sum > int64(l.MaxModelLen):
		return refuse(metrics.MaxModelLen, "%d + %d tokens: want at most %d", n.InputTokens, n.OutputTokens, l.MaxModelLen)
	case m.Level() >= Tokens && !Known(n.Input):
		return refuse(metrics.UnknownTokens, "the ids of the prompt are not in the trace: want them, or less than exact tokens")
	case m.Level() >= Tokens && !Known(n.Output):
		return refuse(metrics.UnknownTokens, "the ids of the output are not in the trace: want them, or less than exact tokens")
	}
	if l.Vocabulary > 0 {
		if id := Largest(n); id >= int64(l.Vocabulary) {
			return refuse(metrics.OutsideVocabulary, "token id %d: want less than %d", id, l.Vocabulary)
		}
	}
	s, err := SamplingOf(n, l)
	if err != nil {
		return refuse(metrics.Unsupported, "%v", err)
	}
	if why := m.Refuses(s); why != "" {
		return refuse(metrics.Unsupported, "%s", why)
	}
	return nil
}

// SamplingOf is the sampling parameters of a node as they are to be sent.
func SamplingOf(n *trace.Node, l Limits) (*Sampling, error) {
	if n.Details == nil {
		return ParseSampling(nil)
	}
	s, err := ParseSampling(n.Details.Sampling)
	if err == nil && l.IgnoreGrammar {
		s = s.WithoutGrammar()
	}
	return s, err
}
