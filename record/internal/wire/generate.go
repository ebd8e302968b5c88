package wire

import "github.com/tidwall/gjson"

// generate is vLLM's tokens in, tokens out (spec/live.md A.2).
var generate = dialect{
	path: "/inference/v1/generate",
	request: func(body gjson.Result, r *Request) {
		r.IDs = appendIDs([]uint32{}, body.Get("token_ids").Raw)
		if n := body.Get("sampling_params.n"); n.Exists() {
			r.Choices = int(n.Int())
		}
	},
	whole: func(body gjson.Result, a *Reply) { generatePiece(body, a) },
	event: func(_ string, data gjson.Result, a *Reply) { generatePiece(data, a) },
}

// generatePiece reads an answer or an event of one.
func generatePiece(body gjson.Result, a *Reply) {
	a.head(body)
	keep(&a.ID, body.Get("request_id"))
	a.openAIUsage(body.Get("usage"))
	a.promptIDs(body.Get("prompt_token_ids"))
	choice := firstChoice(body)
	if !choice.Exists() {
		return
	}
	a.choiceIDs(choice)
	a.say(choice.Get("text"))
	keep(&a.Finish, choice.Get("finish_reason"))
}
