package mooncake

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-sim/reprise/setting"
	"github.com/reprise-sim/reprise/trace"
	"github.com/reprise-sim/reprise/trace/internal/jsonrow"
)

// Name is the format's name.
const Name = "mooncake"

// DefaultBlockSize is how many tokens a block id stands for (spec/formats.md 1.2).
const DefaultBlockSize = 512

// Options say what a file does not say itself.
type Options struct {
	BlockSize int    // tokens of a block; 0: DefaultBlockSize
	IDs       string // where equal ids are equal content; "" or "auto": trace.IDsGlobal
	IDsCover  string // which blocks have ids; "" or "auto": trace.CoverStarted
}

// Open checks the files and makes a trace of them.
func Open(inputs []*trace.Input, o Options) (trace.Trace, error) {
	f := &format{asked: o, blockSize: o.BlockSize, ids: o.IDs, cover: o.IDsCover}
	if f.blockSize == 0 {
		f.blockSize = DefaultBlockSize
	}
	if f.blockSize < 0 {
		return nil, fmt.Errorf("block_size: found %d, expected a number of tokens above 0", o.BlockSize)
	}
	if auto(o.IDs) {
		f.ids = trace.IDsGlobal
	}
	if auto(o.IDsCover) {
		f.cover = trace.CoverStarted
	}
	if err := oneOf("ids", f.ids, trace.IDsGlobal, trace.IDsFile, trace.IDsSession); err != nil {
		return nil, err
	}
	if err := oneOf("ids_cover", f.cover, trace.CoverStarted, trace.CoverFull); err != nil {
		return nil, err
	}
	return trace.OpenRows(inputs, f)
}

// idle refuses, as setting errors, what says something of ids where there are none.
func (o *Options) idle() error {
	const want = "nothing: no row has hash_ids"
	var p setting.Problems
	p.Check(o.BlockSize == 0, "block_size", o.BlockSize, want)
	p.Check(auto(o.IDs), "ids", o.IDs, want)
	p.Check(auto(o.IDsCover), "ids_cover", o.IDsCover, want)
	return p.Err()
}

func auto(word string) bool { return word == "" || word == "auto" }

func oneOf(key, value string, known ...string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s: found %q, expected auto, %s", key, value, strings.Join(known, ", "))
}

// format is Mooncake's format with everything decided.
type format struct {
	asked      Options
	blockSize  int
	ids, cover string
}

func (f *format) Name() string { return Name }

// Begin finds no header: every line is a row.
func (f *format) Begin([]byte, trace.Place) (bool, error) { return false, nil }

func (f *format) NewReader() trace.RowReader[row] { return &reader{format: f} }

// foreign are fields of formats that look alike and mean something else: another
// unit of time, another block size, prompts that accumulate, dependencies.
var foreign = []string{"schema", "chat_id", "parent_chat_id", "block_size", "wait_for", "dependencies", "play_id"}

// Sniff is whether head, the beginning of a file, looks like this format: a row
// with an output length and a prompt. A line that is cut or bad does not matter as
// long as another one is seen; if there is none, one that names both will do, so that
// the check can say what is wrong with it.
func Sniff(head []byte) bool {
	var s jsonrow.Scanner
	bad := false
	for line := range bytes.Lines(head) {
		prompt, output := false, false
		s.Reset(bytes.TrimSpace(line))
		for s.Open(); ; {
			key, ok := s.Key()
			if !ok {
				break
			}
			switch name := string(key); name {
			case "input_length", "input_tokens", "hash_ids":
				prompt = true
			case "output_length", "output_tokens":
				output = true
			default:
				if slices.Contains(foreign, name) {
					return false
				}
			}
			s.Skip()
		}
		if prompt && output {
			return true
		}
		bad = bad || s.Fault() != nil && namesBoth(line)
	}
	return bad
}

// namesBoth is whether a line that cannot be read has the names of an output length
// and a prompt in quotes.
func namesBoth(line []byte) bool {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(line, []byte(`"`+name+`"`)) })
	}
	return has("input_length", "input_tokens", "hash_ids") && has("output_length", "output_tokens")
}
