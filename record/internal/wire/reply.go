package wire

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/tidwall/gjson"
)

// Reply collects an answer.
type Reply struct {
	ID, Model string
	Finish    string
	// PromptIDs and OutputIDs are the token ids that the server returned.
	PromptIDs, OutputIDs []uint32
	hasOutputIDs         bool
	// Counts of tokens as the server says them, -1 if it does not.
	PromptTokens, OutputTokens, Cached int32
	Tools                              []ToolCall
	Experts                            string // base64 of an .npy file
	Metrics                            json.RawMessage
	// Ended is whether the end of the answer has been seen. Failure and Message are
	// set if it is an error.
	Ended            bool
	Failure, Message string
	// ChunkMs are the times of the pieces that held content, ChunkIDs how many ids
	// each held.
	ChunkMs  []float64
	ChunkIDs []int32
	text     strings.Builder
	thoughts strings.Builder
	open     map[int64]int // tool calls that are being written, by their index
	nowMs    float64
	content  bool // the current piece holds content
	dialect  *dialect
	ids      int // output ids when the current piece began
}

// ToolCall is a tool call in an answer, whole at Ms, when Output ids had come.
type ToolCall struct {
	ID, Name, Args string
	Ms             float64
	Output         int32
}

// NewReply is an answer of which nothing has come.
func NewReply(api API) *Reply {
	return &Reply{PromptTokens: -1, OutputTokens: -1, Cached: -1, dialect: dialects[api], open: map[int64]int{}}
}

// Text is what the model said.
func (a *Reply) Text() string { return a.text.String() }

// HasIDs is whether the server returned the ids of the output.
func (a *Reply) HasIDs() bool { return a.hasOutputIDs }

// FirstMs is when the first content came, NaN if none did.
func (a *Reply) FirstMs() float64 {
	if len(a.ChunkMs) == 0 {
		return math.NaN()
	}
	return a.ChunkMs[0]
}

// Whole reads an answer in one piece that was complete at ms.
func (a *Reply) Whole(body []byte, ms float64) {
	if !gjson.ValidBytes(body) {
		a.Fail("unreadable", "the answer is no JSON")
		return
	}
	a.take(ms, func() {
		root := gjson.ParseBytes(body)
		if a.refused(root) {
			return
		}
		a.dialect.whole(root, a)
		a.Ended = true
	})
}

// Event reads an event of a stream that came at ms.
func (a *Reply) Event(name, data []byte, ms float64) {
	if string(data) == "[DONE]" {
		a.Ended = true
		return
	}
	if !gjson.ValidBytes(data) {
		a.Fail("unreadable", "an event is no JSON")
		return
	}
	a.take(ms, func() {
		root := gjson.ParseBytes(data)
		if !a.refused(root) {
			a.dialect.event(string(name), root, a)
		}
	})
}

// take notes the time of a piece if it holds content.
func (a *Reply) take(ms float64, read func()) {
	a.nowMs, a.content, a.ids = ms, false, len(a.OutputIDs)
	read()
	if n := len(a.OutputIDs) - a.ids; a.content || n > 0 {
		a.ChunkMs = append(a.ChunkMs, ms)
		a.ChunkIDs = append(a.ChunkIDs, int32(n))
	}
}

// refused is whether a piece is an error. Servers put it into streams, too, behind
// a status of 200 (spec/vllm-cpu-live.md 5).
func (a *Reply) refused(root gjson.Result) bool {
	e := root.Get("error")
	if !e.Exists() || e.Type == gjson.Null {
		return false
	}
	message := e.Get("message").Str
	if e.Type == gjson.String {
		message = e.Str
	}
	a.Fail("error_in_answer", message)
	return true
}

// Fail notes that the answer is an error. The first one counts.
func (a *Reply) Fail(why, message string) {
	if a.Failure == "" {
		a.Failure, a.Message = why, strings.Clone(message)
	}
}

// say adds text of the model.
func (a *Reply) say(v gjson.Result) {
	if v.Type == gjson.String && v.Str != "" {
		a.text.WriteString(v.Str)
		a.content = true
	}
}

// think adds a thought of the model.
func (a *Reply) think(v gjson.Result) {
	if v.Type == gjson.String && v.Str != "" {
		a.thoughts.WriteString(v.Str)
		a.content = true
	}
}

// head reads what all APIs say about the answer as a whole.
func (a *Reply) head(root gjson.Result) {
	keep(&a.ID, root.Get("id"))
	keep(&a.Model, root.Get("model"))
	if m := root.Get("metrics"); m.IsObject() {
		a.Metrics = raw(m)
	}
}

// keep sets a text that is said.
func keep(dst *string, v gjson.Result) {
	if v.Type == gjson.String && v.Str != "" && v.Str != *dst {
		*dst = strings.Clone(v.Str)
	}
}

// count sets a count that is said.
func count(dst *int32, v gjson.Result) {
	if v.Type == gjson.Number && v.Num >= 0 && v.Num <= math.MaxInt32 {
		*dst = int32(v.Num)
	}
}

// openAIUsage reads the usage of OpenAI's completions and chat.
func (a *Reply) openAIUsage(u gjson.Result) {
	if u.IsObject() {
		count(&a.PromptTokens, u.Get("prompt_tokens"))
		count(&a.OutputTokens, u.Get("completion_tokens"))
		count(&a.Cached, u.Get("prompt_tokens_details.cached_tokens"))
	}
}

// tool adds to the tool call with an index.
func (a *Reply) tool(index int64, id, name, args gjson.Result) {
	i, ok := a.open[index]
	if !ok {
		i = len(a.Tools)
		a.open[index] = i
		a.Tools = append(a.Tools, ToolCall{})
	}
	t := &a.Tools[i]
	keep(&t.ID, id)
	keep(&t.Name, name)
	switch {
	case args.Type == gjson.String:
		t.Args += args.Str
	case args.IsObject():
		t.Args = strings.Clone(args.Raw)
	}
	t.Ms, t.Output = a.nowMs, int32(len(a.OutputIDs))
	a.content = true
}

// Message is the answer as a chat message, to be kept.
func (a *Reply) ChatMessage() json.RawMessage {
	type function struct {
		Name string `json:"name"`
		Args string `json:"arguments"`
	}
	type call struct {
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	m := struct {
		Role      string `json:"role"`
		Reasoning string `json:"reasoning_content,omitempty"`
		Content   string `json:"content"`
		Calls     []call `json:"tool_calls,omitempty"`
	}{Role: "assistant", Reasoning: a.thoughts.String(), Content: a.Text()}
	for _, t := range a.Tools {
		m.Calls = append(m.Calls, call{t.ID, "function", function{t.Name, t.Args}})
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil // texts only: it cannot fail
	}
	return text
}

// outputIDs adds ids of the output.
func (a *Reply) outputIDs(v gjson.Result) {
	if v.IsArray() {
		a.OutputIDs = appendIDs(a.OutputIDs, v.Raw)
		a.hasOutputIDs = true
	}
}

// promptIDs notes the ids of the prompt.
func (a *Reply) promptIDs(v gjson.Result) {
	if v.IsArray() && a.PromptIDs == nil {
		a.PromptIDs = appendIDs([]uint32{}, v.Raw)
	}
}

// appendIDs adds the whole numbers in the text of an array.
func appendIDs(ids []uint32, text string) []uint32 {
	if n := strings.Count(text, ","); n > 0 && cap(ids)-len(ids) <= n {
		ids = append(make([]uint32, 0, len(ids)+n+1), ids...)
	}
	id, digits := uint32(0), false
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			id, digits = id*10+uint32(c-'0'), true
		case digits:
			ids = append(ids, id)
			id, digits = 0, false
		}
	}
	return ids
}
