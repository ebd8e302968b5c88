// Package wire reads what goes over the wire between an agent and a server of one of
// the usual APIs: OpenAI completions, chat and responses, Anthropic messages, and
// vLLM's tokens in, tokens out.
//
// [ParseRequest] makes a [Request] of a body: the conversation as messages that can
// be known again, tool results, sampling. A [Reply] collects an answer, whole or event
// by event: ids, text, tool calls, usage, times. Each API is one file. Nothing here
// touches the bytes that pass, and nothing is kept.
package wire
