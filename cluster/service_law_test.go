package cluster

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-sim/reprise/cluster/internal/literal"
	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/engine/paged"
	"github.com/reprise-sim/reprise/kvcache"
	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/token"
)

// A few hundred cases take about a second; -rapid.checks says otherwise.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "300"); err != nil {
		panic(err)
	}
	m.Run()
}

// fleet is a bucketed service and what is offered to it.
type fleet struct {
	literal.Settings
	calls   []literal.Call
	outputs []*token.Seq // by call: content of its output, nil if nobody may ask for it
}

// drawFleet draws a service in which everything is scarce, shared, and happens at
// the same times.
func drawFleet(t *rapid.T) *fleet {
	f := &fleet{Settings: literal.Settings{Engine: drawScarcity(t), Seed: uint64(rapid.IntRange(0, 3).Draw(t, "seed"))}}
	price := rapid.SampledFrom([]float64{0, 1, 2, 4, 0.1, 1.7})
	if rapid.IntRange(0, 3).Draw(t, "model") == 0 {
		f.Model = latency.Polynomial{}
	} else {
		f.Model = latency.Fixed{PrefillMs: price.Draw(t, "prefill ms"), DecodeMs: price.Draw(t, "decode ms")}
	}
	f.HostMs = rapid.SampledFrom([]float64{0, 0, 0.25}).Draw(t, "host ms")
	f.drawTiers(t)
	f.drawRouters(t)
	f.drawBuckets(t)
	f.drawCalls(t)
	t.Log(f)
	return f
}

func drawScarcity(t *rapid.T) engine.Settings {
	s := engine.Defaults()
	s.BlockSize = rapid.IntRange(1, 6).Draw(t, "block size")
	s.NumGPUBlocks = rapid.IntRange(4, 20).Draw(t, "blocks")
	s.MaxNumSeqs = rapid.IntRange(1, 4).Draw(t, "seqs")
	s.MaxNumBatchedTokens = rapid.IntRange(1, 30).Draw(t, "budget")
	s.EnableChunkedPrefill = rapid.IntRange(0, 3).Draw(t, "chunking") > 0
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		n := rapid.IntRange(4, 40).Draw(t, "model length")
		s.MaxModelLen = &n
		s.EnableChunkedPrefill = s.EnableChunkedPrefill || s.MaxNumBatchedTokens < n
	}
	s.VLLM.AsyncScheduling = rapid.IntRange(0, 3).Draw(t, "async") == 0
	s.VLLM.Watermark = rapid.SampledFrom([]float64{0, 0, 0.1, 0.3}).Draw(t, "watermark")
	s.VLLM.ReserveFullISL = rapid.IntRange(0, 2).Draw(t, "reserve") > 0
	s.VLLM.Policy = rapid.SampledFrom([]string{"fcfs", "fcfs", "priority"}).Draw(t, "policy")
	if rapid.IntRange(0, 3).Draw(t, "long prefills") == 0 {
		s.VLLM.LongPrefillTokenThreshold = rapid.IntRange(1, 4).Draw(t, "threshold")
		s.VLLM.LongPrefillAdaptive = rapid.Bool().Draw(t, "adaptive")
	}
	if rapid.IntRange(0, 3).Draw(t, "lower caps") == 0 {
		seqs, tokens := rapid.IntRange(1, s.MaxNumSeqs).Draw(t, "active"), rapid.IntRange(1, s.MaxNumBatchedTokens).Draw(t, "scheduled tokens")
		s.VLLM.MaxNumActiveSeqs, s.VLLM.MaxNumScheduledTokens = &seqs, &tokens
	}
	if err := paged.Resolve(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// drawTiers draws host memory, a network, both or neither; a block is 1 MB, so that
// 1 GB/s is a block a ms.
func (f *fleet) drawTiers(t *rapid.T) {
	rate := rapid.SampledFrom([]float64{math.Inf(1), 0.1, 0.5, 1, 2})
	f.BlockBytes = 1e6
	if rapid.IntRange(0, 3).Draw(t, "host") > 0 {
		f.HostBlocks, f.HostGBps = rapid.IntRange(1, 24).Draw(t, "host blocks"), rate.Draw(t, "host GB/s")
	}
	if rapid.IntRange(0, 3).Draw(t, "remote") > 0 {
		f.RemoteGBps = rate.Draw(t, "remote GB/s")
		f.RemoteLatencyUs = rapid.SampledFrom([]float64{0, 10, 500, 2000}).Draw(t, "remote µs")
	}
	if f.HostBlocks == 0 && f.RemoteGBps == 0 {
		f.Engine.EnablePrefixCaching = rapid.Bool().Draw(t, "caching")
	}
	f.Cheaper = rapid.IntRange(0, 3).Draw(t, "cheaper") == 0
	f.TTLMs = rapid.SampledFrom([]float64{math.Inf(1), math.Inf(1), 3, 10, 40}).Draw(t, "ttl ms")
	f.WithdrawMs = rapid.SampledFrom([]float64{math.Inf(1), 0, 0, 5}).Draw(t, "withdraw ms")
}

func (f *fleet) drawRouters(t *rapid.T) {
	local, global := routing.Policies(), routing.GlobalPolicies()
	f.Local, f.Global = routing.Defaults(), routing.GlobalDefaults()
	f.Local.Mode = local[rapid.IntRange(0, len(local)-1).Draw(t, "local")].Mode
	f.Local.PrefixK = rapid.IntRange(1, 3).Draw(t, "prefix k")
	f.Local.PreciseProbeTopK = rapid.IntRange(1, 3).Draw(t, "probes")
	f.Local.PreciseProbeLatencyUs = rapid.SampledFrom([]float64{0, 10, 500}).Draw(t, "probe µs")
	weight := rapid.SampledFrom([]float64{0, 0.1, 0.5, 1})
	f.Local.AffinityFanOut = rapid.IntRange(0, 3).Draw(t, "fan-out")
	f.Local.LoadAlpha, f.Local.ScoreAlpha, f.Local.ScoreBeta = weight.Draw(t, "load alpha"), weight.Draw(t, "alpha"), weight.Draw(t, "beta")
	f.Global.LengthPenaltyWeight, f.Global.LoadWeight, f.Global.CacheWeight = weight.Draw(t, "length weight"), weight.Draw(t, "load weight"), weight.Draw(t, "cache weight")
	f.Global.Mode = global[rapid.IntRange(0, len(global)-1).Draw(t, "global")].Mode
	f.Global.SpillLoad = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "spill load")
	f.Global.ViewDelayMs = rapid.SampledFrom([]float64{0, 0, 1, 7.5}).Draw(t, "view delay")
}

func (f *fleet) drawBuckets(t *rapid.T) {
	low := int32(0)
	for id := range rapid.IntRange(1, 3).Draw(t, "buckets") {
		low += int32(rapid.IntRange(0, 2).Draw(t, "gap"))
		b := routing.Bucket{
			ID: int32(id), Name: fmt.Sprint("b", id), Min: low, Max: low + int32(rapid.IntRange(3, 20).Draw(t, "width")),
			MaxSeqs: int32(f.Engine.MaxNumSeqs), BlockSize: int32(f.Engine.BlockSize),
		}
		low = b.Max + 1
		f.Buckets = append(f.Buckets, b)
		f.Sizes = append(f.Sizes, rapid.IntRange(1, 4).Draw(t, "instances"))
	}
	if rapid.Bool().Draw(t, "unlimited") {
		f.Buckets[len(f.Buckets)-1].Max = routing.Unlimited
	}
}

// drawn is a call as it is drawn.
type drawn struct {
	gapMs          float64
	session        int
	prompt, output []uint64 // ids; of the prompt each is so many tokens long
	cut            int      // tokens that the last one lacks
	priority       int
	known          int // 0: nothing; 1: the prompt; 2: the output too
}

// drawCalls draws calls whose prompts share beginnings: content is made of a few
// ids, each so many tokens long.
func (f *fleet) drawCalls(t *rapid.T) {
	each := rapid.IntRange(1, 7).Draw(t, "tokens of an id")
	word := rapid.SampledFrom([]uint64{1, 1, 1, 1, 1, 1, 2})
	call := rapid.Custom(func(t *rapid.T) drawn {
		return drawn{
			gapMs:    rapid.SampledFrom([]float64{0, 0, 0.5, 1, 2, 4, 7, 30.3}).Draw(t, "gap ms"),
			session:  rapid.IntRange(0, 3).Draw(t, "session"),
			prompt:   rapid.SliceOfN(word, 0, 40/each).Draw(t, "prompt"),
			output:   rapid.SliceOfN(word, 0, 12).Draw(t, "output"),
			cut:      rapid.IntRange(0, each-1).Draw(t, "cut"),
			priority: rapid.IntRange(0, 2).Draw(t, "priority"),
			known:    rapid.SampledFrom([]int{1, 1, 2, 0}).Draw(t, "known"),
		}
	})
	at := 0.0
	ties := rapid.IntRange(1, 2).Draw(t, "ties")
	for row, d := range rapid.SliceOfN(call, 1, 24).Draw(t, "calls") {
		at += d.gapMs
		f.offer(row, d, each, at)
		f.calls[row].Arrival = float64(row / ties)
	}
}

// offer adds a call that has been drawn.
func (f *fleet) offer(row int, d drawn, each int, atMs float64) {
	n := max(0, len(d.prompt)*each-d.cut)
	c := literal.Call{Row: row, ID: fmt.Sprint("r", row), AtMs: atMs, Session: fmt.Sprint("s", d.session), Priority: d.priority, Prompt: n, Output: len(d.output)}
	var output *token.Seq
	if d.known > 0 {
		c.Content = token.Blocks(d.prompt, each, n, 0)
		c.Tokens = spread(d.prompt, each, n)
	}
	if d.known > 1 {
		output = token.Blocks(d.output, 1, c.Output, 0)
		c.Tokens = append(c.Tokens, d.output...)
	}
	f.calls, f.outputs = append(f.calls, c), append(f.outputs, output)
}

// spread is the tokens of ids.
func spread(ids []uint64, each, n int) []uint64 {
	tokens := make([]uint64, n)
	for i := range tokens {
		tokens[i] = ids[i/each]
	}
	return tokens
}

// String tells a fleet in a few lines.
func (f *fleet) String() string {
	var b strings.Builder
	e := &f.Engine
	fmt.Fprintf(&b, "bs %d blocks %d seqs %d budget %d chunked %v len %v async %v wm %v reserve %v; %s host %v\n", e.BlockSize, e.NumGPUBlocks, e.MaxNumSeqs, e.MaxNumBatchedTokens,
		e.EnableChunkedPrefill, e.MaxModelLen != nil, e.VLLM.AsyncScheduling, e.VLLM.Watermark, e.VLLM.ReserveFullISL, f.Model.Name(), f.HostMs)
	fmt.Fprintf(&b, "L1 %d at %v, remote %v after %v us, cheaper %v, ttl %v withdraw %v; %s %s delay %v seed %d\n", f.HostBlocks, f.HostGBps, f.RemoteGBps, f.RemoteLatencyUs,
		f.Cheaper, f.TTLMs, f.WithdrawMs, f.Global.Mode, f.Local.Mode, f.Global.ViewDelayMs, f.Seed)
	for i := range f.Buckets {
		fmt.Fprintf(&b, "%d..%d x%d  ", f.Buckets[i].Min, f.Buckets[i].Max, f.Sizes[i])
	}
	fmt.Fprintf(&b, "; %+v", e.VLLM)
	for i := range f.calls {
		c := &f.calls[i]
		fmt.Fprintf(&b, "\n%s at %v: %d/%d priority %d, %v", c.ID, c.AtMs, c.Prompt, c.Output, c.Priority, c.Tokens)
	}
	return b.String()
}

// service is the real service of a fleet.
func (f *fleet) service(t *rapid.T, ledger *metrics.Ledger, log func(*routing.Decision) error, transfers func(bucket int, x *Transfer)) *Buckets {
	budget := f.Engine.MaxNumBatchedTokens
	var pools []*Cluster
	for id, n := range f.Sizes {
		tiers := &TierSettings{
			BlockSize: f.Engine.BlockSize, HostBlocks: f.HostBlocks, Remote: f.RemoteGBps > 0, Cheaper: f.Cheaper,
			Wires:      Wires{BlockBytes: f.BlockBytes, HostGBps: f.HostGBps, RemoteGBps: f.RemoteGBps, RemoteLatMs: f.RemoteLatencyUs / 1000},
			Visibility: kvcache.Visibility{TTLMs: f.TTLMs, WithdrawMs: f.WithdrawMs},
		}
		var instances []*Instance
		for i := range n {
			instances = append(instances, NewInstance(int32(id), int32(i), Equipment{
				Rank: paged.New(&f.Engine), BlockSize: f.Engine.BlockSize, Model: f.Model, HostMs: f.HostMs, Ledger: ledger,
			}))
		}
		pool, err := NewBucket(instances, Setup{
			Placement: routing.New(f.Local, f.Seed), BlockSize: f.Engine.BlockSize, Tiers: tiers, Ledger: ledger,
			Price: Price(f.Model, budget), Transfers: func(x *Transfer) { transfers(id, x) },
		})
		if err != nil {
			t.Fatal(err)
		}
		pools = append(pools, pool)
	}
	return NewBuckets(f.Buckets, pools, ServiceSetup{
		Router: routing.NewGlobal(f.Global), Ledger: ledger, ViewDelayMs: f.Global.ViewDelayMs,
		Log: log, Modes: [2]string{f.Global.Mode, f.Local.Mode}, LoadAlpha: f.Local.LoadAlpha,
	})
}

// account is what a service made of its calls, as text: floats as their bits.
type account struct {
	rows      []string
	decisions []string
	transfers [][]string // by bucket
	passes    []string   // by instance
}

// play plays the calls on the real service.
func (f *fleet) play(t *rapid.T, relaxed bool) *account {
	a := &account{transfers: make([][]string, len(f.Sizes))}
	ledger := &metrics.Ledger{KeepTokens: true}
	s := f.service(t, ledger,
		func(d *routing.Decision) error {
			a.decisions = append(a.decisions, string(d.AppendJSON(nil)))
			return nil
		},
		func(bucket int, x *Transfer) { a.transfers[bucket] = append(a.transfers[bucket], tellTransfer(x)) })
	s.Relax(relaxed)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	left, now := f.calls, 0.0
	for rounds := 0; ; rounds++ {
		next := s.NextMs()
		if len(left) > 0 {
			next = min(next, left[0].AtMs)
		}
		if math.IsInf(next, 1) {
			if !relaxed {
				break
			}
			relaxed = false // those left behind have their turn
			s.Relax(false)
			continue
		}
		if rounds > 1<<15 {
			t.Fatal("it does not come to an end")
		}
		now = max(now, next)
		must(s.Settle(now, func(Ended) {}))
		for len(left) > 0 && left[0].AtMs <= now {
			c := left[0]
			left = left[1:]
			row := ledger.Open(metrics.Label{Request: c.ID}, now, int32(c.Prompt), int32(c.Output))
			must(s.Place(
				&routing.Request{Row: row, InputTokens: int32(c.Prompt), Session: c.Session, Prompt: c.Content, Rank: -1},
				&engine.Request{Row: row, ID: c.ID, Prompt: c.Content, Output: f.outputs[row], InputTokens: int32(c.Prompt), MaxTokens: int32(c.Output), Priority: int32(c.Priority), Arrival: c.Arrival},
				now))
		}
		must(s.Start(now))
	}
	for n := range ledger.Len() {
		a.rows = append(a.rows, tellRow(ledger.Row(int32(n))))
	}
	for _, in := range s.Instances() {
		a.passes = append(a.passes, tellPasses(in))
		if l := in.rank.Load(); l.BlocksUsed > 0 || l.Waiting+l.Running > 0 {
			t.Fatalf("all has ended, and instance %d of bucket %d has %+v", in.id, in.bucket, l)
		}
	}
	return a
}

func tellTransfer(x *Transfer) string {
	return fmt.Sprintf("row %d instance %d host %v owner %d: %d blocks from %d, %d moved; %v %v %v",
		x.Row, x.Instance, x.Source.Host, x.Source.Owner, x.Source.Blocks, x.Source.From, x.Moved, x.AskedMs, x.StartMs, x.EndMs)
}

func tellPasses(in *Instance) string {
	var b strings.Builder
	for i := range in.log.Len() {
		fmt.Fprintf(&b, "%v ", in.log.End(i))
	}
	return b.String()
}

func tellRow(r *metrics.Row) string {
	reason, _ := metrics.Code(r.Reason)
	if r.Status == metrics.Failed || reason == metrics.ContextClipped {
		reason = ""
	}
	t := &r.Tiers
	return fmt.Sprintf("%v %s at %d/%d: submit %v admit %v end %v, %d/%d cached, %d preemptions, predicted %d, blocks %d %d %d %d, %d stale, waited %v, tokens %v",
		r.Status, reason, r.Bucket, r.Instance, r.SubmitMs, r.AdmitMs, r.EndMs, r.CachedTokens, r.CachedMax, r.Preemptions,
		t.PredictedPrefix, t.L0, t.L1, t.Remote, t.Miss, t.RemoteStale, t.LoadWaitMs, r.TokenMs)
}

// playPlainly plays them on the double.
func (f *fleet) playPlainly(t *rapid.T) *account {
	v := literal.New(&f.Settings)
	if err := v.Run(f.calls); err != nil {
		t.Fatal(err)
	}
	a := &account{decisions: v.Decisions}
	for i := range v.Rows {
		r := &v.Rows[i]
		if r.Status == "" {
			t.Fatalf("%s has no end", f.calls[i].ID)
		}
		a.rows = append(a.rows, fmt.Sprintf("%v %s at %d/%d: submit %v admit %v end %v, %d/%d cached, %d preemptions, predicted %d, blocks %d %d %d %d, %d stale, waited %v, tokens %v",
			r.Status, r.Reason, r.Bucket, r.Instance, r.SubmitMs, r.AdmitMs, r.EndMs, r.Cached, r.CachedMax, r.Preemptions,
			r.Predicted, r.L0, r.L1, r.Remote, r.Miss, r.RemoteStale, r.LoadWaitMs, r.TokenMs))
	}
	for _, b := range v.Accounts() {
		var transfers []string
		for _, x := range b.Transfers {
			transfers = append(transfers, fmt.Sprintf("row %d instance %d host %v owner %d: %d blocks from %d, %d moved; %v %v %v",
				x.Row, x.Instance, x.Host, x.Owner, x.Blocks, x.From, x.Moved, x.AskedMs, x.StartMs, x.EndMs))
		}
		a.transfers = append(a.transfers, transfers)
		for _, ends := range b.Passes {
			var text strings.Builder
			for _, ms := range ends {
				fmt.Fprintf(&text, "%v ", ms)
			}
			a.passes = append(a.passes, text.String())
		}
	}
	return a
}

// compare fails where two accounts differ, at what comes first.
func (a *account) compare(t *rapid.T, want *account) {
	same := func(what string, got, want []string) {
		for i := range max(len(got), len(want)) {
			switch {
			case i >= len(got):
				t.Fatalf("%s %d is missing:\nwant %s", what, i, want[i])
			case i >= len(want):
				t.Fatalf("%s %d is too many:\n got %s", what, i, got[i])
			case got[i] != want[i]:
				t.Fatalf("%s %d:\n got %s\nwant %s", what, i, got[i], want[i])
			}
		}
	}
	for b := range want.transfers {
		same(fmt.Sprintf("bucket %d, transfer", b), a.transfers[b], want.transfers[b])
	}
	same("decision", a.decisions, want.decisions)
	same("row", a.rows, want.rows)
	same("passes of instance", a.passes, want.passes)
}

// The service gives every request the bucket, instance, blocks and times, every
// decision the record, and every transfer the moments that the plain double gives.
func TestTheServiceIsWhatIsWrittenDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t)
		want := f.playPlainly(t)
		f.play(t, false).compare(t, want)
		f.play(t, true).compare(t, want)
	})
}

// Under the rules that the double does not know, instances that are left behind until
// somebody looks change nothing, and nobody keeps blocks at the end.
func TestInstancesMayBeLeftBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t)
		e := &f.Engine
		e.Rules, e.VLLM, e.BlockSize = "aisimulate", engine.Defaults().VLLM, max(e.BlockSize, 2)
		e.AISimulate.PreemptionMode = rapid.SampledFrom([]string{"lifo", "fifo"}).Draw(t, "victim")
		if err := paged.Resolve(e); err != nil {
			t.Fatal(err)
		}
		for i := range f.Buckets {
			f.Buckets[i].BlockSize = int32(e.BlockSize)
		}
		f.play(t, true).compare(t, f.play(t, false))
	})
}
