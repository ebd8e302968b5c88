package rundir

import (
	"encoding/json"
	"testing"
)

func TestARecordInJSONHasTheColumnsOfItsLine(t *testing.T) {
	for i, want := range []string{
		`{"request_id":"r1","task_id":"t,1","session_id":"s\"1\"","turn":2,"source_line":7,"status":"completed","reason":"context_clipped",` +
			`"bucket":"long","instance":3,"rank":0,"arrival_ms":1.5,"submit_ms":1.54,"first_admit_ms":2,"first_token_ms":10.1,"second_token_ms":12.3,` +
			`"last_token_ms":20.25,"end_ms":20.25,"input_tokens":100,"output_tokens":3,"requested_output_tokens":4,"cached_tokens":16,"cached_tokens_max":32,` +
			`"preemptions":1,"queue_ms":0.45999999999999996,"prefill_ms":8.1,"ttft_ms":8.6,"tpot_ms":5.075,"e2e_ms":18.75,` +
			`"bucket_policy":null,"local_policy":null,"length_bucket_match":false,"bucket_predicted_prefix":1,"l0_blocks":1,"l1_blocks":0,"remote_blocks":2,` +
			`"miss_blocks":3,"remote_stale_blocks":0,"load_wait_ms":0.13582912}`,
		`{"request_id":"r2","task_id":"r2","session_id":"r2","turn":0,"source_line":8,"status":"rejected","reason":"no_bucket: 200000 tokens",` +
			`"bucket":null,"instance":null,"rank":null,"arrival_ms":3,"submit_ms":null,"first_admit_ms":null,"first_token_ms":null,"second_token_ms":null,` +
			`"last_token_ms":null,"end_ms":3,"input_tokens":200000,"output_tokens":0,"requested_output_tokens":1,"cached_tokens":null,"cached_tokens_max":null,` +
			`"preemptions":0,"queue_ms":null,"prefill_ms":null,"ttft_ms":null,"tpot_ms":null,"e2e_ms":null,` +
			`"bucket_policy":null,"local_policy":null,"length_bucket_match":null,"bucket_predicted_prefix":null,"l0_blocks":null,"l1_blocks":null,"remote_blocks":null,` +
			`"miss_blocks":null,"remote_stale_blocks":0,"load_wait_ms":0}`,
	} {
		r := Record{Row: examples()[i]}
		if r.Bucket >= 0 {
			r.BucketName = routing.Buckets[r.Bucket]
		}
		got, err := json.Marshal(&r)
		must(t, err)
		if string(got) != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
