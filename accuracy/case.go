package accuracy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Case is one measured configuration with everything that was measured of it.
type Case struct {
	Line   int    // of its first row
	Group  string // deployment; groups are kept together when data are split
	Source string
	Trust  string // A, B or C: how completely the configuration is stated

	Hardware, Model, Engine, Version string
	Mode, Arrival                    string
	Weights, Cache                   string // number formats, "" or unspecified: not stated
	Spread                           string // of lengths
	GPUs                             int
	TP, PP, DP, ExpertTP, ExpertEP   int // 0: not stated
	Input, Output                    int // nominal tokens
	Concurrency, Batch               int
	MaxSeqs, MaxTokens               int
	Utilization                      float64
	Rate                             string            // requests per second, stages joined by +
	Extra                            map[string]string // further settings

	Values []Value
}

// Value is one figure.
type Value struct {
	ID           string
	Metric, Stat string
	Value        float64
	Unit         string
}

// Name names a figure: "ttft mean".
func (v *Value) Name() string { return v.Metric + " " + v.Stat }

// columns that differ between the figures of one configuration.
var perValue = []string{"id", "metric", "stat", "value", "unit"}

//go:embed measured.csv.gz
var bundled []byte

// Bundled are the measured cases that come with the program: those whose licence lets
// them be passed on (see NOTICE), of trust A and B, without disaggregated ones.
func Bundled() ([]*Case, error) { return Read("measured.csv.gz", bytes.NewReader(bundled)) }

// Read reads measured values in long format, one a row, plain or gzip, and joins the
// rows of a configuration; docs/accuracy.md explains the columns. The file's name is
// for errors.
func Read(file string, r io.Reader) ([]*Case, error) {
	buffered := bufio.NewReader(r)
	if magic, _ := buffered.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		buffered = bufio.NewReader(z)
	}
	c := csv.NewReader(buffered)
	header, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: want a header and rows: %w", file, err)
	}
	p := parser{file: file, columns: map[string]int{}}
	for i, name := range header {
		p.columns[name] = i
	}
	for _, name := range []string{"source", "hardware", "model", "engine", "mode", "metric", "stat", "value", "unit"} {
		if _, ok := p.columns[name]; !ok {
			return nil, fmt.Errorf("%s: no column %s", file, name)
		}
	}
	var cases []*Case
	known := map[string]*Case{}
	for {
		row, err := c.Read()
		if err == io.EOF {
			return cases, p.err
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		p.row = row
		p.line, _ = c.FieldPos(0)
		key := p.key(header)
		if known[key] == nil {
			known[key] = p.configuration()
			cases = append(cases, known[key])
		}
		known[key].Values = append(known[key].Values, p.value())
		if p.err != nil {
			return nil, p.err
		}
	}
}

// parser reads one row.
type parser struct {
	file    string
	line    int
	columns map[string]int
	row     []string
	err     error
}

// key is everything that makes rows one configuration.
func (p *parser) key(header []string) string {
	var b strings.Builder
	for i, name := range header {
		if !slices.Contains(perValue, name) {
			b.WriteString(p.row[i])
			b.WriteByte('|')
		}
	}
	return b.String()
}

// text is a cell, "" if there is no such column.
func (p *parser) text(column string) string {
	if i, ok := p.columns[column]; ok && i < len(p.row) {
		return p.row[i]
	}
	return ""
}

// number is a cell that is a number or empty.
func (p *parser) number(column string) float64 {
	text := p.text(column)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("%s:%d: %s: %q: want a number", p.file, p.line, column, text)
	}
	return v
}

func (p *parser) int(column string) int { return int(p.number(column)) }

// configuration is the case of a row, without its figure.
func (p *parser) configuration() *Case {
	c := &Case{
		Line: p.line, Group: p.text("group"), Source: p.text("source"), Trust: p.text("trust"),
		Hardware: p.text("hardware"), Model: p.text("model"), Engine: p.text("engine"), Version: p.text("engine_version"),
		Mode: p.text("mode"), Arrival: p.text("arrival"), Weights: p.text("weight_dtype"), Cache: p.text("kv_dtype"),
		Spread: p.text("length_spread"), GPUs: p.int("n_gpus"),
		TP: p.int("tp"), PP: p.int("pp"), DP: p.int("attn_dp"), ExpertTP: p.int("moe_tp"), ExpertEP: p.int("moe_ep"),
		Input: p.int("isl"), Output: p.int("osl"), Concurrency: p.int("concurrency"), Batch: p.int("batch_size"),
		MaxSeqs: p.int("max_num_seqs"), MaxTokens: p.int("max_num_batched_tokens"), Utilization: p.number("gpu_mem_util"),
		Rate: p.text("rate_rps"), Extra: map[string]string{},
	}
	for _, pair := range strings.Split(p.text("extra"), ";") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			c.Extra[key] = value
		}
	}
	return c
}

// value is the figure of a row.
func (p *parser) value() Value {
	return Value{ID: p.text("id"), Metric: p.text("metric"), Stat: p.text("stat"), Value: p.number("value"), Unit: p.text("unit")}
}

// closed is whether a case has a fixed number of requests in flight, open whether
// requests come by chance.
func (c *Case) closed() bool {
	return c.Mode == "agg" && c.Arrival == "closed-loop" && c.Concurrency > 0
}

func (c *Case) open() bool {
	return c.Mode == "agg" && c.Arrival == "poisson (inference-perf stages)"
}
