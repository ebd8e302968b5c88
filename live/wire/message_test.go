package wire

import "testing"

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":0,"token_ids":[1,2],"finish_reason":"length"}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"error":{"message":"no","code":400}}`))
	f.Add([]byte(`{"object":"error","message":"no","code":"404"}`))
	f.Add([]byte(`{"error":"no","detail":[{"loc":["body"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parse(text)
		if err != nil {
			return
		}
		a := &Answer{Status: 200}
		before := len(a.IDs)
		if failure := a.take(m, 1); failure != nil && failure.Kind == "" {
			t.Fatal("a failure of no kind")
		}
		if a.Tokens() < 0 && a.Usage == nil || len(a.IDs) < before {
			t.Fatalf("%d tokens", a.Tokens())
		}
	})
}
