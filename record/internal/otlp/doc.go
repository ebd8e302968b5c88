// Package otlp makes a journal of OpenTelemetry spans that follow the GenAI
// conventions (spec/live.md D.4).
//
// [Read] takes a file of OTLP/JSON or protobuf and gives spans; [Journal] makes of
// them what a recorder would have written: a call of each inference, a tool run of each
// execute_tool, a session of each agent. Spans have no token ids, so the calls have
// lengths only. It concludes no dependencies: that is done where journals become
// tasks.
package otlp
