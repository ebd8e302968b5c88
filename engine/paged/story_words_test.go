package paged_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/token"
)

// settingNames are the short names of settings in stories.
var settingNames = map[string]func(*story, *testing.T, datadriven.CmdArg){
	"rules":            text(func(s *story) *string { return &s.settings.Rules }),
	"blocks":           number(func(s *story) *int { return &s.settings.NumGPUBlocks }),
	"block_size":       number(func(s *story) *int { return &s.settings.BlockSize }),
	"budget":           number(func(s *story) *int { return &s.settings.MaxNumBatchedTokens }),
	"seqs":             number(func(s *story) *int { return &s.settings.MaxNumSeqs }),
	"max_model_len":    number(func(s *story) *int { return made(&s.settings.MaxModelLen) }),
	"caching":          flag(func(s *story) *bool { return &s.settings.EnablePrefixCaching }),
	"chunking":         flag(func(s *story) *bool { return &s.settings.EnableChunkedPrefill }),
	"dp_size":          number(func(s *story) *int { return &s.settings.DPSize }),
	"interval":         number(func(s *story) *int { return &s.settings.PrefillScheduleInterval }),
	"cadence":          number(func(s *story) *int { return &s.cadence }),
	"preemption":       text(func(s *story) *string { return &s.settings.AISimulate.PreemptionMode }),
	"async":            flag(func(s *story) *bool { return &s.async }),
	"policy":           text(func(s *story) *string { return &s.settings.VLLM.Policy }),
	"watermark":        func(s *story, t *testing.T, a datadriven.CmdArg) { a.Scan(t, 0, &s.settings.VLLM.Watermark) },
	"reserve":          flag(func(s *story) *bool { return &s.settings.VLLM.ReserveFullISL }),
	"threshold":        number(func(s *story) *int { return &s.settings.VLLM.LongPrefillTokenThreshold }),
	"adaptive":         flag(func(s *story) *bool { return &s.settings.VLLM.LongPrefillAdaptive }),
	"active_seqs":      number(func(s *story) *int { return made(&s.settings.VLLM.MaxNumActiveSeqs) }),
	"scheduled_tokens": number(func(s *story) *int { return made(&s.settings.VLLM.MaxNumScheduledTokens) }),
}

func number(of func(*story) *int) func(*story, *testing.T, datadriven.CmdArg) {
	return func(s *story, t *testing.T, a datadriven.CmdArg) { a.Scan(t, 0, of(s)) }
}

func text(of func(*story) *string) func(*story, *testing.T, datadriven.CmdArg) {
	return func(s *story, t *testing.T, a datadriven.CmdArg) { a.Scan(t, 0, of(s)) }
}

// flag is on or off.
func flag(of func(*story) *bool) func(*story, *testing.T, datadriven.CmdArg) {
	return func(s *story, t *testing.T, a datadriven.CmdArg) {
		word := a.SingleVal(t)
		if word != "on" && word != "off" {
			t.Fatalf("%s is %q, want on or off", a.Key, word)
		}
		*of(s) = word == "on"
	}
}

// made makes room for a setting that is absent by default.
func made(setting **int) *int {
	*setting = new(int)
	return *setting
}

// line is a request as it is told.
type line struct {
	request engine.Request
	atMs    float64
}

// parseLine reads "A 0..8 out=2 priority=1".
func parseLine(text string) (l line, err error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return l, fmt.Errorf("%q: want a name, a prompt and how much to generate", text)
	}
	r := &l.request
	r.ID = words[0]
	prompt, n, err := parseTokens(words[1])
	if err != nil {
		return l, err
	}
	r.Prompt, r.InputTokens = prompt, int32(n)
	for _, word := range words[2:] {
		if err := l.option(word); err != nil {
			return l, fmt.Errorf("%q: %w", text, err)
		}
	}
	return l, nil
}

func (l *line) option(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	r := &l.request
	switch key {
	case "out":
		r.MaxTokens, err = int32Of(value)
	case "priority":
		r.Priority, err = int32Of(value)
	case "at":
		l.atMs, err = strconv.ParseFloat(value, 64)
	case "output":
		var n int
		r.Output, n, err = parseTokens(value)
		r.MaxTokens = int32(n)
	default:
		err = fmt.Errorf("unknown option %q", key)
	}
	return err
}

func int32Of(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err
}

// parseTokens reads token ids: 0..8 are 0 to 7, 1x4 is four times 1, 7,9 are two;
// + puts such pieces together. 8? is eight tokens that nobody else has.
func parseTokens(text string) (seq *token.Seq, n int, err error) {
	if own, ok := strings.CutSuffix(text, "?"); ok {
		n, err = strconv.Atoi(own)
		return nil, n, err
	}
	var ids []uint32
	for piece := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '+' || c == ',' }) {
		var from, to, times uint32
		if _, err := fmt.Sscanf(piece, "%d..%d", &from, &to); err == nil {
			for id := from; id < to; id++ {
				ids = append(ids, id)
			}
			continue
		}
		if _, err := fmt.Sscanf(piece, "%dx%d", &from, &times); err != nil {
			times = 1
			if _, err := fmt.Sscanf(piece, "%d", &from); err != nil {
				return nil, 0, fmt.Errorf("%q in %q is no token", piece, text)
			}
		}
		for range times {
			ids = append(ids, from)
		}
	}
	return token.IDs(ids), len(ids), nil
}
