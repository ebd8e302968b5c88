package wire

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// API is one of the APIs that are recorded.
type API string

const (
	Completions API = "completions" // OpenAI /v1/completions
	Chat        API = "chat"        // OpenAI /v1/chat/completions
	Responses   API = "responses"   // OpenAI /v1/responses
	Messages    API = "messages"    // Anthropic /v1/messages
	Generate    API = "generate"    // vLLM /inference/v1/generate
)

// dialect is how an API speaks.
type dialect struct {
	path string // what the path of a call ends in
	// request reads what only this API says.
	request func(body gjson.Result, r *Request)
	// whole reads an answer in one piece, event one event of a stream.
	whole func(body gjson.Result, a *Reply)
	event func(name string, data gjson.Result, a *Reply)
}

var dialects = map[API]*dialect{
	Completions: &completions,
	Chat:        &chat,
	Responses:   &responses,
	Messages:    &anthropic,
	Generate:    &generate,
}

// Of is the API that a request calls, "" if it is none that is recorded.
func Of(method, path string) API {
	if method != http.MethodPost {
		return ""
	}
	for _, api := range []API{Chat, Completions, Responses, Messages, Generate} {
		if strings.HasSuffix(path, dialects[api].path) {
			return api
		}
	}
	return ""
}

// Path is the path of an API's calls below the server's root.
func (a API) Path() string { return dialects[a].path }
