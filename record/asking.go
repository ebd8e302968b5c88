package record

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reprise-sim/reprise/record/internal/wire"
)

// askField is what makes vLLM and SGLang return token ids (spec/vllm-cpu-live.md 7).
const askField = "return_token_ids"

// askPatience is how long the first call waits for the server's description of itself.
// vLLM makes it when it is first asked, which takes seconds where others keep the
// machine busy.
const askPatience = 15 * time.Second

// askPause is how long a server that did not answer is left alone.
const askPause = 10 * time.Second

// maxDescription bounds that description.
const maxDescription = 16 << 20

// asking decides whether the server is asked for token ids.
type asking struct {
	mode string
	mu   sync.Mutex
	// known is whether the server has been asked what it takes; takes are the APIs
	// whose requests have the field.
	known bool
	takes map[wire.API]bool
	again time.Time // not before then, after a failure
}

func (a *asking) open(o *Options) {
	a.mode = o.Ask
	if a.mode == "" {
		a.mode = AskAuto
	}
}

// asked is the body of a request that asks for token ids as well, if the server takes
// that. It is the only change that is made to what passes.
func (r *Recorder) asked(api wire.API, req *http.Request, body []byte) []byte {
	if req.Header.Get("Content-Encoding") != "" || !r.asks(req.Context(), api) {
		return body
	}
	return withField(body)
}

// withField adds the field behind the first brace of an object that has no opinion on
// it.
func withField(body []byte) []byte {
	if !gjson.ValidBytes(body) || gjson.GetBytes(body, askField).Exists() {
		return body
	}
	open := len(body) - len(bytes.TrimLeft(body, " \t\r\n"))
	if body[open] != '{' {
		return body
	}
	field := `"` + askField + `":true`
	if bytes.TrimLeft(body[open+1:], " \t\r\n")[0] != '}' {
		field += ","
	}
	out := make([]byte, 0, len(body)+len(field))
	out = append(out, body[:open+1]...)
	out = append(out, field...)
	return append(out, body[open+1:]...)
}

// asks is whether calls of an API are to ask.
func (r *Recorder) asks(ctx context.Context, api wire.API) bool {
	switch r.ask.mode {
	case AskNever:
		return false
	case AskAlways:
		return true
	}
	a := &r.ask
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.known && time.Now().After(a.again) {
		a.known = r.describe(ctx)
		a.again = time.Now().Add(askPause)
	}
	return a.takes[api]
}

// describe reads the server's own description of its API (/openapi.json), and is
// whether it has answered.
func (r *Recorder) describe(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.upstream("/openapi.json").String(), nil)
	if err != nil {
		return false
	}
	resp, err := r.opts.Transport.RoundTrip(req)
	if err != nil {
		return false // the call will tell
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDescription))
	if err != nil {
		return false
	}
	r.ask.takes = map[wire.API]bool{}
	if resp.StatusCode == http.StatusOK && gjson.ValidBytes(text) {
		r.ask.takes = takers(gjson.ParseBytes(text))
	}
	if len(r.ask.takes) == 0 {
		r.opts.Log("the server does not say that it can return token ids; if it can, ask it with --return-token-ids always")
	}
	return true
}

// takers are the APIs whose requests may have the field, as an OpenAPI document says.
func takers(doc gjson.Result) map[wire.API]bool {
	takes := map[wire.API]bool{}
	schemas := doc.Get("components.schemas").Map()
	doc.Get("paths").ForEach(func(path, item gjson.Result) bool {
		api := wire.Of(http.MethodPost, path.Str)
		schema := item.Get(`post.requestBody.content.application/json.schema`)
		if api != "" && has(schema, schemas, 8) {
			takes[api] = true
		}
		return true
	})
	return takes
}

// has is whether a schema has the field; deep bounds how far references are followed.
func has(schema gjson.Result, schemas map[string]gjson.Result, deep int) bool {
	if deep == 0 {
		return false
	}
	if schema.Get("properties." + askField).Exists() {
		return true
	}
	if ref, ok := strings.CutPrefix(schema.Get(`$ref`).Str, "#/components/schemas/"); ok && has(schemas[ref], schemas, deep-1) {
		return true
	}
	for _, kind := range []string{"allOf", "anyOf", "oneOf"} {
		for _, s := range schema.Get(kind).Array() {
			if has(s, schemas, deep-1) {
				return true
			}
		}
	}
	return false
}
