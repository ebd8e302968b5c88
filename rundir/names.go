package rundir

import (
	"slices"
	"strings"
)

// The files of a run.
const (
	InfoFile     = "run.json"
	SummaryFile  = "summary.json"
	RequestsFile = "per_request.csv"
	SamplesFile  = "instances.csv"
	TokensFile   = "tokens.jsonl"
	RoutingFile  = "routing_log.jsonl"

	// Of runs on real servers.
	LiveFile    = "live.json"
	CallsFile   = "calls.jsonl"
	ToolsFile   = "tools.jsonl"
	TasksFile   = "tasks.csv"
	ScrapesFile = "server_metrics.csv"
)

// fileNames are all names that a run's file can have. Those without a constant
// are made by others through [Draft.File].
var fileNames = []string{InfoFile, SummaryFile, RequestsFile, SamplesFile, TokensFile, RoutingFile,
	"passes.jsonl", "timeline.json.gz",
	"trace.jsonl", "trace.jsonl.gz", "trace.jsonl.zst",
	"per_request.parquet", "instances.parquet",
	LiveFile, CallsFile, ToolsFile, TasksFile, ScrapesFile}

// isRunFile is whether a file of that name belongs to a run, complete or not.
func isRunFile(name string) bool {
	return slices.Contains(fileNames, name) || isTemporary(name)
}

// isTemporary is whether name is one that a file has while it is written:
// ".run.json.0.tmp".
func isTemporary(name string) bool {
	inner, hidden := strings.CutPrefix(name, ".")
	inner, tmp := strings.CutSuffix(inner, ".tmp")
	dot := strings.LastIndexByte(inner, '.')
	return hidden && tmp && dot > 0 && slices.Contains(fileNames, inner[:dot])
}
