package paged_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/latency"
)

// tellSettings lists settings that both rule sets share.
func tellSettings(s *engine.Settings) string {
	return fmt.Sprintf(`backend %s, rules %s
blocks %d, block_size %d, seqs %d, budget %d
caching %v, chunking %v, preemption %s
`, s.Backend, s.Rules, s.NumGPUBlocks, s.BlockSize, s.MaxNumSeqs, s.MaxNumBatchedTokens,
		s.EnablePrefixCaching, s.EnableChunkedPrefill, s.AISimulate.PreemptionMode)
}

func (s *story) share(sh engine.Share) string {
	yields := ""
	if sh.Yields {
		yields = "*"
	}
	return fmt.Sprintf("%s %d+%d%s", s.names[sh.Row], sh.Before, sh.New, yields)
}

func passes(n int) string {
	if n == 1 {
		return "1 pass"
	}
	return fmt.Sprintf("%d passes", n)
}

// events tells the effects of the last call, one line for what happens to a request.
func (s *story) events() string {
	var b strings.Builder
	for i, e := range s.fx.Events {
		if i > 0 && e.Row == s.fx.Events[i-1].Row {
			fmt.Fprintf(&b, ", %s", s.event(&e))
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  %s %s", s.names[e.Row], s.event(&e))
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

func (s *story) event(e *engine.Event) string {
	switch e.Kind {
	case engine.Admitted:
		if e.Again {
			return fmt.Sprintf("admitted again, %d cached", e.N)
		}
		return fmt.Sprintf("admitted, %d cached", e.N)
	case engine.Preempted:
		return "preempted"
	case engine.First:
		return "gets its first token"
	case engine.Tokens:
		if e.N == 1 {
			return fmt.Sprintf("got 1 token in pass %d", e.Pass)
		}
		return fmt.Sprintf("got %d tokens in passes %d to %d", e.N, e.Pass, e.Pass+int(e.N)-1)
	case engine.Finished:
		return "has finished"
	}
	return "is rejected: " + e.Reason
}

func (s *story) state() string {
	l := s.rank.Load()
	return fmt.Sprintf("%d running, %d waiting; blocks: %d used, %d cached, %d free",
		l.Running, l.Waiting, l.BlocksUsed, l.BlocksCached, l.BlocksTotal-l.BlocksUsed-l.BlocksCached)
}

// prices tells what a pass is priced by.
func prices(c *latency.Pass) string {
	switch {
	case c.PrefillSeqs > 0 && c.DecodeSeqs > 0:
		return fmt.Sprintf("prefill %s, decode %s", prefill(c), decode(c))
	case c.PrefillSeqs > 0:
		return "prefill " + prefill(c)
	case c.DecodeSeqs > 0:
		return "decode " + decode(c)
	}
	return "costs nothing"
}

func prefill(c *latency.Pass) string {
	if c.PrefillSeqs == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d/%d", c.PrefillSeqs, c.PrefillNew, c.PrefillBefore)
}

func decode(c *latency.Pass) string {
	if c.DecodeSeqs == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", c.DecodeSeqs, c.DecodeContext)
}

func (s *story) resident(t *testing.T, td *datadriven.TestData) string {
	seq, n, err := parseTokens(td.CmdArgs[0].Key)
	if err != nil {
		td.Fatalf(t, "%v", err)
	}
	return fmt.Sprintf("%d of %d tokens", s.rank.Resident(seq), n)
}

func (s *story) ask(*testing.T, *datadriven.TestData) string {
	l := s.rank.Load()
	answer := fmt.Sprintf("quiet: %v; prefill tokens: %d", s.rank.Quiet(), l.PrefillTokens)
	if p, ok := s.rank.NextEffect(false); ok {
		answer += fmt.Sprintf("; next end: pass %d", p)
	}
	if row, reason, ok := s.rank.Stuck(); ok && s.idle {
		answer += fmt.Sprintf("; %s waits for ever: %s", s.names[row], reason)
	}
	return answer
}
