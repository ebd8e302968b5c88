package force

import (
	"fmt"

	"github.com/reprise-sim/reprise/live/wire"
)

// Difference is something that a server did otherwise than it was recorded.
type Difference struct {
	What     string `json:"what"`
	Position int    `json:"position"` // from 0 in the output (of experts: in the whole call); −1: none
	Want     string `json:"want"`
	Got      string `json:"got"`
}

func (d Difference) String() string {
	if d.Position < 0 {
		return fmt.Sprintf("%s: expected %s, got %s", d.What, d.Want, d.Got)
	}
	return fmt.Sprintf("%s %d: expected %s, got %s", d.What, d.Position, d.Want, d.Got)
}

func differs(what string, position int, want, got any) Difference {
	return Difference{what, position, fmt.Sprint(want), fmt.Sprint(got)}
}

// exactly compares an answer whose tokens were forced: every id, how many there are,
// why they end, and what the server says that it has read and written
// (spec/live.md F.2).
func exactly(c *Call, a *wire.Answer) []Difference {
	var d []Difference
	if at := firstWrong(c.Output, a.IDs); at >= 0 {
		d = append(d, differs("output token", at, c.Output[at], a.IDs[at]))
	}
	if len(a.IDs) != c.N {
		d = append(d, differs("output ids", -1, c.N, len(a.IDs)))
	}
	return append(d, counted(c, a)...)
}

// firstWrong is the first position at which both have an id and these differ, −1 if
// there is none.
func firstWrong(want []uint32, got []int32) int {
	for i := range min(len(want), len(got)) {
		if int64(want[i]) != int64(got[i]) {
			return i
		}
	}
	return -1
}

// Verified is how many of the recorded output tokens came back where they should.
func Verified(c *Call, a *wire.Answer) (n int) {
	for i := range min(len(c.Output), len(a.IDs)) {
		if int64(c.Output[i]) == int64(a.IDs[i]) {
			n++
		}
	}
	return n
}

// counted compares an answer whose length was forced, but for its ids. A server that
// sends no usage has not contradicted anything.
func counted(c *Call, a *wire.Answer) []Difference {
	d := prompt(c, a)
	if a.Usage != nil && int(a.Usage.CompletionTokens) != c.N {
		d = append(d, differs("usage.completion_tokens", -1, c.N, a.Usage.CompletionTokens))
	}
	if a.Finish != "length" {
		d = append(d, differs("finish_reason", -1, "length", a.Finish))
	}
	return d
}

// prompt compares what the server says that it has read.
func prompt(c *Call, a *wire.Answer) []Difference {
	if a.Usage == nil || int(a.Usage.PromptTokens) == len(c.Prompt) {
		return nil
	}
	return []Difference{differs("usage.prompt_tokens", -1, len(c.Prompt), a.Usage.PromptTokens)}
}
