package main

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"
	"text/template"

	"github.com/reprise-sim/reprise/accuracy"
	"github.com/reprise-sim/reprise/latency/fit"
	"github.com/reprise-sim/reprise/latency/roofline"
)

//go:embed accuracy.md.tmpl
var page string

// text fills in the page.
func text(r *accuracy.Report, recorded []accuracy.Outcome, leaveOut []byte) ([]byte, error) {
	kernels, err := kernelTable(leaveOut)
	if err != nil {
		return nil, err
	}
	t, err := template.New("accuracy.md").Parse(page)
	if err != nil {
		return nil, err
	}
	served := groups(r.Groups, func(g *accuracy.Group) bool { return g.Metric == "tpot mean" || g.Metric == "ttft mean" })
	var b bytes.Buffer
	err = t.Execute(&b, map[string]string{
		"HeldOut": heldOutTable(), "Cells": cellTable(), "Totals": totalTable(r.Totals), "Served": served,
		"Blocks":   groups(r.Groups, func(g *accuracy.Group) bool { return g.Metric == "kv_blocks value" }),
		"Recorded": recordedTable(recorded), "Kernels": kernels, "LeftOut": leftOutTable(r.LeftOut),
	})
	return b.Bytes(), err
}

// rows is a table of markdown.
func rows(header string, lines []string) string {
	columns := strings.Count(header, "|") - 1
	return header + "\n|" + strings.Repeat("---|", columns) + "\n" + strings.Join(lines, "\n")
}

func kind(experts bool) string {
	if experts {
		return "experts"
	}
	return "dense"
}

// numbers are the columns of an error.
func numbers(e *fit.Errors) string {
	return fmt.Sprintf("%d | %.1f | %.1f | %.1f | %+.1f", e.Count, e.MAPE, e.Median, e.P90, e.Bias)
}

// heldOutTable is the errors of each engine as a whole.
func heldOutTable() string {
	var lines []string
	for _, c := range roofline.Calibrations() {
		if c.GPU == "*" {
			lines = append(lines, fmt.Sprintf("| %s | %s | %d | %d | %.1f | %.1f | %.1f |", c.Engine, kind(c.Experts), c.Runs, c.Deployments, c.MAPE, c.Median, c.P90))
		}
	}
	return rows("| preset | models | runs | deployments | mean % | median % | P90 % |", lines)
}

// cellTable is the errors of each GPU and number format.
func cellTable() string {
	var lines []string
	for _, c := range roofline.Calibrations() {
		if c.GPU != "*" {
			lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %d | %d | %.1f | %.1f | %.1f |",
				c.Engine, c.GPU, c.Weights, kind(c.Experts), c.Runs, c.Deployments, c.MAPE, c.Median, c.P90))
		}
	}
	return rows("| preset | GPU | weights | models | runs | deployments | mean % | median % | P90 % |", lines)
}

func totalTable(list []accuracy.Group) string {
	var lines []string
	for i := range list {
		g := &list[i]
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s |", g.Metric, g.Source, kind(g.Experts), g.Trust, numbers(&g.Errors)))
	}
	return rows("| figure | source | models | trust | figures | mean % | median % | P90 % | bias % |", lines)
}

// groups is the groups that are wanted, by engine, model and GPU.
func groups(list []accuracy.Group, wanted func(*accuracy.Group) bool) string {
	var lines []string
	for i := range list {
		if g := &list[i]; wanted(g) {
			lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", g.Metric, g.Engine, g.Model, g.GPU, g.Source, numbers(&g.Errors)))
		}
	}
	return rows("| figure | engine | model | GPU | source | figures | mean % | median % | P90 % | bias % |", lines)
}

func recordedTable(outcomes []accuracy.Outcome) string {
	var lines []string
	for i := range outcomes {
		o := &outcomes[i]
		lines = append(lines, fmt.Sprintf("| %s | %.1f | %.1f | %+.1f |", o.Value.Name(), o.Value.Value, o.Predicted, 100*o.Error()))
	}
	return rows("| figure | measured, ms | simulated, ms | error % |", lines)
}

// kernelTable is the errors of interpolated tables on what was left out of them.
func kernelTable(leaveOut []byte) (string, error) {
	c := csv.NewReader(bytes.NewReader(leaveOut))
	c.Comment = '#'
	all, err := c.ReadAll()
	if err != nil {
		return "", fmt.Errorf("leaveout.csv: %w", err)
	}
	var lines []string
	for _, r := range all[1:] { // table, operator, format, points, median, p90
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s |", r[0], r[2], r[3], r[4], r[5]))
	}
	return rows("| table | format | points | median % | P90 % |", lines), nil
}

func leftOutTable(list []accuracy.LeftOut) string {
	var lines []string
	for _, l := range list {
		lines = append(lines, fmt.Sprintf("| %d | %s |", l.Figures, l.Reason))
	}
	return rows("| figures | why |", lines)
}
