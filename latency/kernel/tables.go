package kernel

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/internal/table"
	"github.com/reprise-sim/reprise/latency/precision"
	"github.com/reprise-sim/reprise/latency/work"
)

//go:embed efficiency.csv
var efficiency []byte

//go:embed messages.csv
var messages []byte

// Tables are the constants of all laws. The zero value has none; start from BuiltIn.
type Tables struct {
	laws     []lawRow
	messages []messageRow
}

// lawRow is a row of efficiency.csv.
type lawRow struct {
	class               work.Class
	gpu, format, family string // "*": any
	law                 Law
}

// messageRow is a row of messages.csv.
type messageRow struct {
	class  work.Class
	gpu    string
	custom bool // the engine's own kernel
	ranks  int
	law    Message
}

var builtIn = func() *Tables {
	t := &Tables{}
	laws, err := readLaws("efficiency.csv", efficiency)
	if err == nil {
		t.laws = laws
		t.messages, err = readMessages("messages.csv", messages)
	}
	if err != nil {
		panic(err)
	}
	return t
}()

// BuiltIn are the embedded constants.
func BuiltIn() *Tables { return builtIn }

// Over is t with the laws of a file in the format of the embedded efficiency.csv in
// front of its own.
func (t *Tables) Over(file string, text []byte) (*Tables, error) {
	laws, err := readLaws(file, text)
	if err != nil {
		return nil, err
	}
	return &Tables{append(laws, t.laws...), t.messages}, nil
}

// readLaws reads the rows of efficiency.csv.
func readLaws(file string, text []byte) ([]lawRow, error) {
	t, err := table.Read(file, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var rows []lawRow
	for r := range t.Rows() {
		row := lawRow{
			class: readClass(r), gpu: r.Text("gpu"), format: r.Text("format"), family: r.Text("family"),
			law: Law{
				LaunchMs: r.Number("launch_us") / 1e3, Compute: fraction(r, "compute"), Memory: fraction(r, "memory"),
				Side: r.Number("side"), Source: r.Text("source"),
			},
		}
		if row.law.LaunchMs < 0 || row.law.Side < 0 {
			r.Fail("launch_us", r.Text("launch_us"), "a number, at least 0, as side")
		}
		rows = append(rows, row)
	}
	return rows, t.Err()
}

// readMessages reads the rows of messages.csv.
func readMessages(file string, text []byte) ([]messageRow, error) {
	t, err := table.Read(file, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var rows []messageRow
	for r := range t.Rows() {
		rows = append(rows, messageRow{
			class: readClass(r), gpu: r.Text("gpu"), custom: r.Text("kernel") == "custom", ranks: r.Int("ranks"),
			law: Message{LaunchMs: r.Number("launch_us") / 1e3, Efficiency: fraction(r, "efficiency"), Source: r.Text("source")},
		})
	}
	return rows, t.Err()
}

// readClass is the class that a row names.
func readClass(r *table.Row) work.Class {
	name := r.Text("class")
	for c := range work.Classes {
		if c.String() == name {
			return c
		}
	}
	r.Fail("class", strconv.Quote(name), "a class of operators, such as gemm")
	return 0
}

// fraction is a cell from 0 to 1: nothing is faster than the speed of light.
func fraction(r *table.Row, column string) float64 {
	v := r.Number(column)
	if v < 0 || v > 1 {
		r.Fail(column, r.Text(column), "a fraction from 0 to 1")
	}
	return v
}

// alike lists the formats whose kernels are most like those of another, the best
// first.
var alike = map[string][]string{
	"fp8-block": {"fp8", "bf16"},
	"fp8":       {"fp8-block", "bf16"},
	"nvfp4":     {"fp8", "bf16"},
	"mxfp4":     {"int4", "bf16"},
	"mxfp4-fp8": {"mxfp4", "int4", "bf16"},
	"int4":      {"mxfp4", "bf16"},
	"fp32":      {"bf16"},
}

// nearest lists, for GPUs of a generation without any table, those to borrow from.
var nearest = map[string][]string{
	"volta":     {"a100-sxm-80"},
	"ampere":    {"a100-sxm-80"},
	"ada":       {"l40s"},
	"hopper":    {"h100-sxm"},
	"blackwell": {"b200-sxm"},

	"blackwell-consumer": {"rtx-pro-6000", "l40s"},

	"cdna2": {"mi300x"}, "cdna3": {"mi300x"}, "cdna4": {"mi300x"},
}

// fallback is where what nobody measured is borrowed at last.
const fallback = "h100-sxm"

// Law is the law of a class of kernels on a GPU for a format; a family names the
// kernels where there are several, "" takes the first. What is missing is borrowed:
// first from GPUs of the same generation, then from a similar format, then from
// another generation.
func (t *Tables) Law(class work.Class, g *hardware.GPU, format precision.Format, family string) (Law, error) {
	formats := append([]string{format.Name}, alike[format.Name]...)
	near := append(slices.Clone(nearest[g.Generation]), fallback)
	for _, gpus := range [][]string{{g.Name, near[0]}, near} {
		for _, f := range formats {
			for _, name := range gpus {
				if row := t.find(class, name, f, family); row != nil {
					law := row.law
					law.Borrowed = row.gpu != "*" && (row.gpu != g.Name || row.format != format.Name)
					return law, nil
				}
			}
		}
	}
	return Law{}, fmt.Errorf("no law for %s in %s on %s, and none to borrow", class, format.Name, g.Name)
}

// find is the row for a class, a GPU and a format, nil if there is none.
func (t *Tables) find(class work.Class, gpu, format, family string) *lawRow {
	var best *lawRow
	for i := range t.laws {
		r := &t.laws[i]
		if r.class != class || r.gpu != gpu && r.gpu != "*" || r.format != format && r.format != "*" {
			continue
		}
		if r.family == family || r.gpu == "*" {
			return r
		}
		if best == nil || apart(r.family, family) < apart(best.family, family) {
			best = r
		}
	}
	return best
}

// apart is how unlike two families are: kernels of attention by the size of a head,
// "d64", others not at all.
func apart(a, b string) float64 {
	x, errX := strconv.ParseFloat(strings.TrimPrefix(a, "d"), 64)
	y, errY := strconv.ParseFloat(strings.TrimPrefix(b, "d"), 64)
	if errX != nil || errY != nil {
		return 0
	}
	return max(x/y, y/x)
}

// Message is the law of a collective over a number of GPUs; custom asks for the
// engine's own kernel where there is one. Between the numbers of GPUs that were
// measured the next larger one is taken, beyond them the largest, its launch grown by
// as many doublings.
func (t *Tables) Message(class work.Class, g *hardware.GPU, ranks int, custom bool) (Message, error) {
	class = standIn(class)
	for _, name := range append([]string{g.Name}, append(slices.Clone(nearest[g.Generation]), fallback)...) {
		var best *messageRow
		for i := range t.messages {
			r := &t.messages[i]
			if r.class != class || r.gpu != name || r.custom && !custom {
				continue
			}
			if best == nil || closer(r, best, ranks, custom) {
				best = r
			}
		}
		if best != nil {
			law := best.law
			law.Borrowed = name != g.Name || best.ranks < ranks
			for n := best.ranks; n < ranks; n *= 2 {
				law.LaunchMs *= 1.5 // as from 4 to 8 ranks
			}
			return law, nil
		}
	}
	return Message{}, fmt.Errorf("no law for %s on %s, and none to borrow", class, g.Name)
}

// standIn is the class that was measured in place of another: a message to the next
// stage is a collective of two.
func standIn(c work.Class) work.Class {
	if c == work.Send {
		return work.AllToAll
	}
	return c
}

// closer is whether a row fits a number of ranks better than another.
func closer(r, best *messageRow, ranks int, custom bool) bool {
	if (r.custom == custom) != (best.custom == custom) {
		return r.custom == custom
	}
	if enough := r.ranks >= ranks; enough != (best.ranks >= ranks) {
		return enough
	}
	if r.ranks >= ranks {
		return r.ranks < best.ranks
	}
	return r.ranks > best.ranks
}
