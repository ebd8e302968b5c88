package trace_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/reprise-sim/reprise/trace"
)

// A format of one row a line: a header, then ms,input,output. Rows without output
// are left out, and counted.
type commaFormat struct{}

func (commaFormat) Name() string { return "commas" }

func (commaFormat) Begin(first []byte, at trace.Place) (header bool, err error) {
	if string(first) != "ms,input,output" {
		return false, at.Fault("", string(first), "ms,input,output")
	}
	return true, nil
}

func (commaFormat) NewReader() trace.RowReader[commaRow] { return commaReader{} }

type commaRow struct {
	at            trace.Place
	ms            float64
	input, output int32
}

type commaReader struct{}

var errNoOutput = trace.LeaveOut("no output tokens")

func (commaReader) Parse(line []byte, at trace.Place, row *commaRow, _ *trace.Slab) error {
	fields := bytes.Split(line, []byte(","))
	if len(fields) != 3 {
		return at.Fault("", fmt.Sprintf("%d fields", len(fields)), "3")
	}
	ms, err := strconv.ParseFloat(string(fields[0]), 64)
	if err != nil || ms < 0 {
		return at.Fault("ms", string(fields[0]), "milliseconds, 0 or more")
	}
	var counts [2]int32
	for i, name := range []string{"input", "output"} {
		n, err := strconv.ParseInt(string(fields[i+1]), 10, 32)
		if err != nil || n < 0 {
			return at.Fault(name, string(fields[i+1]), "a number of tokens")
		}
		counts[i] = int32(n)
	}
	*row = commaRow{at, ms, counts[0], counts[1]}
	if row.output == 0 {
		return errNoOutput
	}
	return nil
}

func (commaReader) Label(row *commaRow) trace.Label { return trace.Label{TimeMs: row.ms} }

func (commaReader) Build(rows []commaRow, t *trace.Task, slab *trace.Slab) error {
	r := &rows[0]
	t.ID, t.ReleaseMs = slab.Text(r.at.AppendTaskID(nil)), r.ms
	t.Nodes = slab.Nodes(1)
	n := &t.Nodes[0]
	n.ID, n.Line = slab.Text(r.at.AppendNodeID(nil)), r.at.Line
	n.InputTokens, n.OutputTokens = r.input, r.output
	return nil
}

func (commaReader) Describe(*trace.Header, *trace.Report) error { return nil }

func ExampleOpenRows() {
	path := filepath.Join(os.TempDir(), "commas.csv")
	defer os.Remove(path)
	for _, content := range []string{"ms,input,output\n500,100,10\n0,200,20\n700,300,0\n", "ms,input,output\nabc,1,1\n5,1\n"} {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			fmt.Println(err)
		}
		inputs, err := trace.OpenInputs(path)
		if err != nil {
			fmt.Println(err)
			return
		}
		tr, err := trace.OpenRows(inputs, commaFormat{})
		if err != nil {
			fmt.Println(string(bytes.ReplaceAll([]byte(err.Error()), []byte(path), []byte("commas.csv"))))
			return
		}
		r := tr.Report()
		fmt.Printf("%d rows, %d used, %d left out: %s\n", r.Rows, r.Tasks, r.LeftOut[0].Rows, r.LeftOut[0].Reason)
		src, err := tr.Tasks()
		if err != nil {
			fmt.Println(err)
			return
		}
		defer src.Close()
		for t, err := src.Next(); err == nil; t, err = src.Next() {
			fmt.Printf("%s at %v: %d tokens in\n", t.ID, t.ReleaseMs, t.Nodes[0].InputTokens)
		}
	}
	// Output:
	// 3 rows, 2 used, 1 left out: no output tokens
	// request_3 at 0: 200 tokens in
	// request_2 at 500: 100 tokens in
	// 2 bad rows:
	//   commas.csv:2: ms: found abc, expected milliseconds, 0 or more
	//   commas.csv:3: row: found 2 fields, expected 3
}
