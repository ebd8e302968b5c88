package force

import (
	"fmt"
	"strings"

	"github.com/reprise-sim/reprise/live/wire"
)

// Level says what of a call is exact (spec/live.md B.4). Experts that are forced add
// one to the level of tokens.
type Level int

const (
	Floating Level = iota // prompts only: outputs are as long as the model likes
	_                     // messages and lengths: Reprise sends token ids
	Lengths               // token ids of prompts, lengths of outputs
	Tokens                // token ids of prompts and outputs
	Experts               // and the experts of every token
)

var levelNames = [...]string{Floating: "prompts", Lengths: "prompts and output lengths",
	Tokens: "every token", Experts: "every token and its experts"}

func (l Level) String() string { return levelNames[l] }

// Mode is one way to make a server do what was recorded. Modes register by name next
// to their code.
type Mode interface {
	Name() string
	// Level is what is exact if no answer differs.
	Level() Level
	// Path is where requests go, below the URL of the server.
	Path() string
	// Append appends the JSON body of a call.
	Append(dst []byte, c *Call) []byte
	// Refuses is which recorded parameter the mode cannot honour: "" or what was found
	// and what is wanted.
	Refuses(s *Sampling) string
	// Differences are what a complete answer has that the recording has not, at most
	// one of a kind.
	Differences(c *Call, a *wire.Answer) []Difference
}

// Call is one call as a mode sees it.
type Call struct {
	Model    string
	Prompt   []uint32
	Output   []uint32 // recorded ids; nil if only their number is known
	N        int      // output tokens
	Sampling *Sampling
	Salt     string // of the prefix cache; "" for none
	Priority int32
	Routes   string // name of a table of experts to force; "" for none
	Stream   bool
}

// modes are all modes, the strongest first.
var modes []Mode

// register adds a mode behind those that are stronger. It is called from init
// functions.
func register(m Mode) {
	at := 0
	for at < len(modes) && stronger(modes[at], m) {
		at++
	}
	modes = append(modes[:at], append([]Mode{m}, modes[at:]...)...)
}

// stronger is whether a is to be preferred to b. Of two that force tokens, the one of
// the server itself is (spec/vllm-cpu-live.md 5).
func stronger(a, b Mode) bool {
	if a.Level() != b.Level() {
		return a.Level() > b.Level()
	}
	return a.Name() < b.Name() // native before plugin
}

// Modes are all modes, the strongest first.
func Modes() []Mode { return append([]Mode(nil), modes...) }

// Names are the names of all modes.
func Names() (names []string) {
	for _, m := range modes {
		names = append(names, m.Name())
	}
	return names
}

// Find is the mode of that name.
func Find(name string) (Mode, error) {
	for _, m := range modes {
		if m.Name() == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("force: %q: want one of %s", name, strings.Join(Names(), ", "))
}
