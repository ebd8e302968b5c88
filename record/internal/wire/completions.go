package wire

import (
	"strings"

	"github.com/tidwall/gjson"
)

// completions is OpenAI's completions API with vLLM's fields (spec/live.md A.3,
// spec/vllm-cpu-live.md 7).
var completions = dialect{
	path: "/v1/completions",
	request: func(body gjson.Result, r *Request) {
		switch prompt := body.Get("prompt"); {
		case prompt.Type == gjson.String:
			r.Prompt = strings.Clone(prompt.Str)
		case prompt.IsArray():
			r.promptList(prompt)
		}
	},
	whole: func(body gjson.Result, a *Reply) { completionPiece(body, a) },
	event: func(_ string, data gjson.Result, a *Reply) { completionPiece(data, a) },
}

// promptList reads a prompt of ids, or of several prompts.
func (r *Request) promptList(prompt gjson.Result) {
	list := prompt.Array()
	switch {
	case len(list) == 0:
	case list[0].Type == gjson.Number:
		r.IDs = appendIDs([]uint32{}, prompt.Raw)
	case len(list) > 1:
		r.Batched = true
	case list[0].Type == gjson.String:
		r.Prompt = strings.Clone(list[0].Str)
	case list[0].IsArray():
		r.IDs = appendIDs([]uint32{}, list[0].Raw)
	}
}

// completionPiece reads an answer or an event of one.
func completionPiece(body gjson.Result, a *Reply) {
	a.head(body)
	a.openAIUsage(body.Get("usage"))
	choice := firstChoice(body)
	if !choice.Exists() {
		return
	}
	a.say(choice.Get("text"))
	keep(&a.Finish, choice.Get("finish_reason"))
	a.choiceIDs(choice)
}

// firstChoice is the choice with index 0: the one that a trace has room for.
func firstChoice(body gjson.Result) (found gjson.Result) {
	body.Get("choices").ForEach(func(_, c gjson.Result) bool {
		if c.Get("index").Int() == 0 {
			found = c
		}
		return !found.Exists()
	})
	return found
}

// choiceIDs reads the ids of a choice.
func (a *Reply) choiceIDs(choice gjson.Result) {
	a.promptIDs(choice.Get("prompt_token_ids"))
	a.outputIDs(choice.Get("token_ids"))
	keep(&a.Experts, choice.Get("routed_experts"))
}
