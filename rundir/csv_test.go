package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/metrics"
)

// files writes a run's files and returns what is in one of them.
func files(t interface{ Fatal(...any) }, dir, name string, write func(*Draft)) string {
	d, err := Create(dir, true)
	must(t, err)
	write(d)
	must(t, d.Close(&Info{}, &metrics.Summary{}))
	text, err := os.ReadFile(filepath.Join(dir, name))
	must(t, err)
	return string(text)
}

var routing = Routing{Buckets: []string{"short", "long"}, BucketPolicy: "strict_input_length", LocalPolicy: "round_robin"}

func writeRequests(t interface{ Fatal(...any) }, dir string, rows []metrics.Row) string {
	return files(t, dir, RequestsFile, func(d *Draft) {
		w, err := d.Requests(routing)
		must(t, err)
		for i := range rows {
			w.Add(&rows[i])
		}
	})
}

// examples are a completed request and one that no bucket takes.
func examples() []metrics.Row {
	var l metrics.Ledger
	var g metrics.Gaps
	r := l.Row(l.Open(metrics.Label{Request: "r1", Task: "t,1", Session: `s"1"`, Turn: 2, Line: 7}, 1.5, 100, 4))
	r.Bucket, r.Instance, r.Rank, r.SubmitMs = 1, 3, 0, 1.54
	r.Admit(2, 16)
	r.Admit(9, 32)
	r.Preemptions = 1
	r.Tiers = metrics.Tiers{PredictedPrefix: 1, L0: 1, L1: 0, Remote: 2, Miss: 3, LengthMatch: metrics.Strayed, LoadWaitMs: 0.13582912}
	r.EndAt(metrics.Completed, metrics.ContextClipped, 20.25, []float64{10.1, 12.3, 20.25}, &g, true)
	refused := l.Row(l.Open(metrics.Label{Request: "r2", Task: "r2", Session: "r2", Line: 8}, 3, 200000, 1))
	refused.EndAt(metrics.Rejected, metrics.NoBucket+": 200000 tokens", 3, nil, &g, true)
	return []metrics.Row{*r, *refused}
}

func TestPerRequestColumns(t *testing.T) {
	got := writeRequests(t, t.TempDir(), examples())
	want := `request_id,task_id,session_id,turn,source_line,status,reason,bucket,instance,rank,arrival_ms,submit_ms,first_admit_ms,first_token_ms,second_token_ms,` +
		`last_token_ms,end_ms,input_tokens,output_tokens,requested_output_tokens,cached_tokens,cached_tokens_max,preemptions,queue_ms,prefill_ms,ttft_ms,tpot_ms,e2e_ms,` +
		`bucket_policy,local_policy,length_bucket_match,bucket_predicted_prefix,l0_blocks,l1_blocks,remote_blocks,miss_blocks,remote_stale_blocks,load_wait_ms
r1,"t,1","s""1""",2,7,completed,context_clipped,long,3,0,1.5,1.54,2,10.1,12.3,20.25,20.25,100,3,4,16,32,1,0.45999999999999996,8.1,8.6,5.075,18.75,` +
		`strict_input_length,round_robin,false,1,1,0,2,3,0,0.13582912
r2,r2,r2,0,8,rejected,no_bucket: 200000 tokens,,,,3,,,,,,3,200000,0,1,,,0,,,,,,strict_input_length,,,,,,,,0,0
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSamplesAndTokenTimes(t *testing.T) {
	got := files(t, t.TempDir(), SamplesFile, func(d *Draft) {
		w, err := d.Samples(routing.Buckets)
		must(t, err)
		w.Add(metrics.Sample{TimeMs: 1000, Bucket: 1, Instance: 4, Queue: 2, Running: 256, KVUsed: 10, KVTotal: 16384, BusyFraction: 0.75})
		w.Add(metrics.Sample{TimeMs: 2000.5, Instance: 0, L1Used: 3, BusyFraction: 1})
	})
	want := "time_ms,bucket,instance,queue_len,running,kv_blocks_used,kv_blocks_total,l1_blocks_used,busy_fraction\n" +
		"1000,long,4,2,256,10,16384,0,0.75\n2000.5,short,0,0,0,0,0,3,1\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = files(t, t.TempDir(), TokensFile, func(d *Draft) {
		w, err := d.Tokens()
		must(t, err)
		for _, r := range examples() {
			r.Request += "\n\""
			w.Add(&r)
		}
	})
	want = `{"request_id":"r1\n\"","token_ms":[10.1,12.3,20.25]}` + "\n" + `{"request_id":"r2\n\"","token_ms":[]}` + "\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// rowGen draws rows with all sorts of texts and numbers.
func rowGen() *rapid.Generator[metrics.Row] {
	return rapid.Custom(func(t *rapid.T) metrics.Row {
		text := rapid.OneOf(rapid.SampledFrom([]string{"", "a", `a"b`, "a,b", " a", "ä\n"}), rapid.StringMatching(`[ -~]{0,12}`))
		number := rapid.OneOf(rapid.SampledFrom([]float64{math.NaN(), 0, 1, 0.1, 1e-7, 5e-324, 1e21, 1e22, math.MaxFloat64, 1 << 53, -2.5}),
			rapid.Float64Range(0, 1e7), rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 9).Draw(t, "n")) }))
		count := rapid.Int32Range(0, math.MaxInt32)
		known := rapid.Int32Range(-1, 3)
		r := metrics.Row{
			Label:  metrics.Label{Request: text.Draw(t, "id"), Task: text.Draw(t, "task"), Session: text.Draw(t, "session"), Turn: count.Draw(t, "turn"), Line: count.Draw(t, "line")},
			Status: metrics.Status(rapid.IntRange(0, 5).Draw(t, "status")), Reason: text.Draw(t, "reason"),
			Bucket: rapid.Int32Range(-1, 1).Draw(t, "bucket"), Instance: known.Draw(t, "instance"), Rank: known.Draw(t, "rank"),
			ArrivalMs: number.Draw(t, "arrival"), SubmitMs: number.Draw(t, "submit"), AdmitMs: number.Draw(t, "admit"), FirstMs: number.Draw(t, "first"),
			SecondMs: number.Draw(t, "second"), LastMs: number.Draw(t, "last"), EndMs: number.Draw(t, "end"),
			InputTokens: count.Draw(t, "input"), OutputTokens: count.Draw(t, "output"), RequestedTokens: count.Draw(t, "requested"), Preemptions: count.Draw(t, "preemptions"),
			Admissions: rapid.Int32Range(0, 1).Draw(t, "admissions"),
			Tiers: metrics.Tiers{PredictedPrefix: known.Draw(t, "prefix"), L0: known.Draw(t, "l0"), L1: known.Draw(t, "l1"), Remote: known.Draw(t, "remote"),
				Miss: known.Draw(t, "miss"), RemoteStale: known.Draw(t, "stale"), LengthMatch: metrics.Match(rapid.IntRange(0, 2).Draw(t, "match")), LoadWaitMs: number.Draw(t, "wait")},
		}
		if r.Instance < 0 {
			r.Rank = -1
		}
		if r.Admissions > 0 {
			r.CachedTokens, r.CachedMax = count.Draw(t, "cached"), count.Draw(t, "most")
		}
		return r
	})
}

func TestRowsReadBackToTheSameNumbers(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.SliceOfN(rowGen(), 0, 5).Draw(rt, "rows")
		text := writeRequests(rt, dir, rows)
		in, err := NewRequestReader(strings.NewReader(text), "f", routing.Buckets)
		must(rt, err)
		var r Record
		for i := range rows {
			must(rt, in.Next(&r))
			// %+v tells NaN from 0 and writes floats so that no two look alike.
			if got, want := fmt.Sprintf("%+v", r.Row), fmt.Sprintf("%+v", rows[i]); got != want {
				rt.Fatalf("row %d\n%s\nwant\n%s\nin\n%s", i, got, want, text)
			}
		}
		if err := in.Next(&r); err != io.EOF {
			rt.Fatalf("after the last row: %v", err)
		}
	})
}

func TestLinesKeepTheirOrderOnAnyNumberOfProcessors(t *testing.T) {
	rows := make([]metrics.Row, 10*chunkLen+17)
	for i := range rows {
		rows[i] = examples()[i%2]
		rows[i].Line = int32(i)
		rows[i].ArrivalMs = 1.5 / float64(i+1)
	}
	var first string
	for _, n := range []int{1, 2, 8} {
		before := runtime.GOMAXPROCS(n)
		text := writeRequests(t, t.TempDir(), rows)
		runtime.GOMAXPROCS(before)
		if first == "" {
			first = text
		}
		if text != first {
			t.Errorf("another file with %d processors", n)
		}
	}
	in, err := NewRequestReader(strings.NewReader(first), "f", routing.Buckets)
	must(t, err)
	var r Record
	for i := range rows {
		if must(t, in.Next(&r)); r.Line != int32(i) {
			t.Fatalf("line %d is that of row %d", i, r.Line)
		}
	}
}

func TestAWrongCellIsNamed(t *testing.T) {
	good := writeRequests(t, t.TempDir(), examples())
	for _, c := range []struct{ old, new, want string }{
		{"arrival_ms", "arrival", "f:1: column arrival_ms is missing"},
		{",1.54,", ",1.5.4,", `f:2: submit_ms: "1.5.4": want a finite number or nothing`},
		{",1.54,", ",NaN,", `f:2: submit_ms: "NaN": want a finite number or nothing`},
		{",1.54,", ",1e999,", `f:2: submit_ms: "1e999": want a finite number or nothing`},
		{",rejected,", ",refused,", `f:3: status: "refused": want a status`},
		{",200000,0,1,", ",200000,,1,", `f:3: output_tokens: "": want an integer from 0`},
		{",long,3,", ",wide,3,", `f:2: bucket: "wide": want one of ["short" "long"]`},
		{",long,3,", ",long,3.0,", `f:2: instance: "3.0": want an integer from 0`},
		{",false,1,", ",no,1,", `f:2: length_bucket_match: "no": want true, false or nothing`},
		{"r2,r2,", "r2,", "f: record on line 3: wrong number of fields"},
		{good, "", "f: empty: want a line of column names"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		in, err := NewRequestReader(strings.NewReader(text), "f", routing.Buckets)
		for r := new(Record); err == nil; {
			err = in.Next(r)
		}
		if err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestOtherColumnsMayStandBeside(t *testing.T) {
	text := strings.ReplaceAll(writeRequests(t, t.TempDir(), examples()), "\nr", "\n5,r")
	in, err := NewRequestReader(strings.NewReader("mood,"+text), "f", routing.Buckets)
	must(t, err)
	var r Record
	if must(t, in.Next(&r)); r.Request != "r1" || r.Tiers.LoadWaitMs != 0.13582912 || r.BucketPolicy != "strict_input_length" {
		t.Errorf("%+v", r)
	}
}

func TestARunReadsItsRequests(t *testing.T) {
	dir := t.TempDir()
	tally := metrics.NewTally(metrics.Setup{Buckets: routing.Buckets})
	defer tally.Close()
	summary, err := tally.Summary(metrics.Run{})
	must(t, err)
	d, err := Create(dir, false)
	must(t, err)
	w, err := d.Requests(routing)
	must(t, err)
	for _, r := range examples() {
		w.Add(&r)
	}
	must(t, d.Close(&Info{}, summary))
	run, err := Open(dir)
	must(t, err)
	in, err := run.Requests()
	must(t, err)
	var r Record
	if must(t, in.Next(&r)); r.Bucket != 1 || r.TTFTMs != r.FirstMs-r.ArrivalMs {
		t.Errorf("%+v", r)
	}
	must(t, in.Close())
}

func FuzzReadRequests(f *testing.F) {
	f.Add([]byte(writeRequests(f, f.TempDir(), examples())))
	f.Add([]byte("request_id\nx\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := NewRequestReader(bytes.NewReader(text), "f", routing.Buckets)
		if err != nil {
			return
		}
		var first []byte
		var records []Record
		for r := (Record{}); ; {
			if err := in.Next(&r); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return
			}
			records = append(records, r)
			first = appendRecord(first, r)
		}
		// What was read and written is read alike.
		in, err = NewRequestReader(io.MultiReader(strings.NewReader(header(columns)), bytes.NewReader(first)), "again", routing.Buckets)
		must(t, err)
		for i := range records {
			var r Record
			must(t, in.Next(&r))
			if got, want := appendRecord(nil, r), appendRecord(nil, records[i]); string(got) != string(want) {
				t.Fatalf("%s\nwant\n%s", got, want)
			}
		}
	})
}

func appendRecord(text []byte, r Record) []byte {
	c := cells{text: text}
	r.appendTo(&c)
	return c.text
}

func FuzzOpen(f *testing.F) {
	info, summary := "", ""
	dir := f.TempDir()
	info = files(f, dir, InfoFile, func(*Draft) {})
	text, err := os.ReadFile(filepath.Join(dir, SummaryFile))
	must(f, err)
	summary = string(text)
	f.Add(info, summary)
	f.Add(`{"schema":"reprise.run","version":1,"traces":[{}],"config":[]}`, "{}")
	f.Fuzz(func(t *testing.T, info, summary string) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, InfoFile), []byte(info), 0o666))
		must(t, os.WriteFile(filepath.Join(dir, SummaryFile), []byte(summary), 0o666))
		run, err := Open(dir)
		if err != nil {
			return
		}
		if run.Info.Schema != InfoSchema || run.Info.Version != InfoVersion {
			t.Fatalf("%+v", run.Info)
		}
	})
}
