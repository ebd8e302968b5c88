package wire

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A request names the conversation that its predecessor had with the answer, whatever
// the API and whether the answer was streamed.
func TestTheNextRequestNamesTheConversationBeforeIt(t *testing.T) {
	for _, c := range []struct {
		api                 API
		first, answer, next string
		events              []string
	}{
		{Chat, `{"model":"m","messages":[{"role":"user","content":"a"}]}`,
			`{"choices":[{"index":0,"message":{"content":"b","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]}}]}`,
			`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":"b ","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]}`,
			[]string{`{"choices":[{"index":0,"delta":{"content":"b"}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}`}},
		{Messages, `{"model":"m","messages":[{"role":"user","content":"a"}]}`,
			`{"type":"message","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"b"},{"type":"tool_use","id":"c1","name":"f","input":{}}]}`,
			`{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"tool_use","id":"c1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"x"}]}]}`,
			[]string{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"f","input":{}}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`}},
		{Responses, `{"model":"m","input":"a"}`,
			`{"output":[{"type":"message","content":[{"type":"output_text","text":"b"}]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}]}`,
			`{"model":"m","input":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"output_text","text":"b"}]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"x"}]}`,
			[]string{`{"type":"response.output_text.delta","delta":"b"}`, `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"b"}]}}`,
				`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}}`, `{"type":"response.completed","response":{"output":[{"type":"message"}],"usage":{"output_tokens":3}}}`}},
	} {
		first, next := ParseRequest(c.api, []byte(c.first), 1), ParseRequest(c.api, []byte(c.next), 1)
		whole, streamed := NewReply(c.api), NewReply(c.api)
		whole.Whole([]byte(c.answer), 1)
		for i, e := range c.events {
			streamed.Event(nil, []byte(e), float64(i))
		}
		for _, a := range []*Reply{whole, streamed} {
			if a.Failure != "" || len(a.Tools) != 1 || a.Tools[0].Args != "{}" || a.Text() != "b" {
				t.Fatalf("%s: %q %+v %s", c.api, a.Text(), a.Tools, a.Failure)
			}
			if !slices.Contains(next.Chain, first.After(a)) || first.After(a) == 0 {
				t.Errorf("%s: the next request does not hold the conversation", c.api)
			}
		}
		if got := next.Answers(); !reflect.DeepEqual(got, []string{"c1"}) {
			t.Errorf("%s: answers %q", c.api, got)
		}
		if salted := ParseRequest(c.api, []byte(c.first), 2); slices.Equal(salted.Chain, first.Chain) {
			t.Errorf("%s: the salt does not count", c.api)
		}
	}
}

func TestARequestWithWhatTokenizeCannotSayIsNotAsked(t *testing.T) {
	for _, c := range []struct {
		api  API
		body string
		want string
	}{
		{Chat, `{"model":"m","messages":[{"role":"user","content":"a"}],"temperature":1}`, `{"messages":[{"role":"user","content":"a"}],"model":"m"}`},
		{Messages, `{"model":"m","system":"s","messages":[{"role":"user","content":"a"}]}`, `{"messages":[{"content":"s","role":"system"},{"content":"a","role":"user"}],"model":"m"}`},
		{Messages, `{"messages":[{"role":"user","content":[{"type":"image"}]}]}`, ""},
		{Responses, `{"input":"a","previous_response_id":"r"}`, ""},
		{Responses, `{"model":"m","input":"a"}`, `{"messages":[{"content":"a","role":"user"}],"model":"m"}`},
		{Completions, `{"prompt":["a"]}`, `{"prompt":"a"}`},
		{Completions, `{"prompt":[1]}`, ""},
		{Generate, `{"token_ids":[1]}`, ""},
	} {
		if got := string(TokenizePrompt(c.api, []byte(c.body))); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.api, c.body, got, c.want)
		}
	}
}

func TestSecretsInsideToolDescriptionsAreLeftOut(t *testing.T) {
	r := ParseRequest(Responses, []byte(`{"input":"a","tools":[{"type":"mcp","server_label":"x","headers":{"Authorization":"Bearer s"},"authorization":"s"},
		{"type":"function","parameters":{"properties":{"token":{"type":"string"}}}}]}`), 1)
	if got := string(r.Offered); strings.Contains(got, "Bearer") || !strings.Contains(got, `"token":{"type":"string"}`) || strings.Contains(got, `"authorization"`) {
		t.Error(got)
	}
}

func FuzzRequestAndAnswer(f *testing.F) {
	f.Add(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"tools":[{}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":3,"function":{"arguments":"x"}}]}}]}`)
	f.Add(`{"input":[{"type":"function_call","call_id":"c"}],"sampling_params":{"n":1e9}}`, `{"type":"response.completed","response":{"output":[1,{}]}}`)
	f.Add(`{"prompt":[[1,2],[3]],"system":[]}`, `{"type":"content_block_delta","index":-1,"delta":{"partial_json":"{"}}`)
	f.Fuzz(func(t *testing.T, request, answer string) {
		for api := range dialects {
			r := ParseRequest(api, []byte(request), 7)
			whole, event := NewReply(api), NewReply(api)
			whole.Whole([]byte(answer), 1)
			event.Event(nil, []byte(answer), 1)
			if len(r.Chain) != len(r.Messages) || len(r.Roles()) != len(r.Messages) {
				t.Fatalf("%d names of %d messages", len(r.Chain), len(r.Messages))
			}
			r.After(event)
			TokenizePrompt(api, []byte(request))
			RedactSampling(r.Sampling)
		}
	})
}
