package routing_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/cockroachdb/datadriven"

	"github.com/reprise-sim/reprise/engine"
	"github.com/reprise-sim/reprise/internal/scenario"
	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/routing/routingtest"
	"github.com/reprise-sim/reprise/token"
)

// story is a bucket with a local router, or a row of buckets with a global one.
type story struct {
	settings routing.Settings
	local    routing.Placement
	view     routingtest.View

	global  routing.GlobalRouter
	buckets []routing.BucketView
	row     int32
}

// commands of the stories.
var commands = scenario.Language[*story]{
	// A fresh local router: the mode and settings that are not defaults.
	//
	//	router cache_score score_beta=1
	"router": (*story).newLocal,

	// The bucket, a target a line: waiting, running, used KV blocks of all; then, as far
	// as they are not 0, the prompt tokens to compute, the prompt's prefix in blocks by
	// the meta store, the tokens really held; "drains" for one that takes no requests.
	// block= (4) is the tokens of a block; known= the blocks that the targets have
	// together; price= the ms of a prefill of any length, each= those of each of its
	// tokens; fetch= the ms to fetch a block (not given: remote fetch is off).
	//
	//	view known=3 price=100 fetch=5
	//	1 2 10/40 prefill=128 prefix=2 held=8
	//	0 0 0/40 drains
	"view": (*story).see,

	// Routes a request of so many tokens of a document (none: content unknown), and
	// says where it goes, why, and what was weighed.
	//
	//	route tokens=16 of=paper session=s1
	"route": (*story).route,

	// A fresh global router, as above.
	//
	//	global bucket_score cache_weight=0
	"global": (*story).newGlobal,

	// The buckets, one a line in order of their ids: name, range, active requests,
	// instances, predicted prefix. seqs= (10) is max_num_seqs, block= as above.
	//
	//	buckets
	//	short 0..99 9 of 1 predicted=2
	//	long 100.. 0 of 2
	"buckets": (*story).seeBuckets,

	// Routes a request of so many tokens to a bucket.
	//
	//	route-bucket tokens=50
	"route-bucket": (*story).routeBucket,
}

func TestStories(t *testing.T) {
	for _, files := range []string{"testdata/local/*", "testdata/global/*"} {
		scenario.Play(t, files, commands, func() *story { return &story{} })
	}
}

// mode is the first argument of a command; the others are key=value.
func mode(t *testing.T, td *datadriven.TestData, set func(key, value string) error) string {
	for _, a := range td.CmdArgs[1:] {
		if err := set(a.Key, a.Vals[0]); err != nil {
			td.Fatalf(t, "%v", err)
		}
	}
	return td.CmdArgs[0].Key
}

func (s *story) newLocal(t *testing.T, td *datadriven.TestData) string {
	s.settings = routing.Defaults()
	s.settings.Mode = mode(t, td, func(key, value string) (err error) { return setKey(&s.settings, key, value) })
	if err := s.settings.Validate(); err != nil {
		td.Fatalf(t, "%v", err)
	}
	s.local = routing.New(s.settings, 42)
	return ""
}

func (s *story) newGlobal(t *testing.T, td *datadriven.TestData) string {
	settings := routing.GlobalDefaults()
	settings.Mode = mode(t, td, func(key, value string) (err error) { return setKey(&settings, key, value) })
	if err := settings.Validate(); err != nil {
		td.Fatalf(t, "%v", err)
	}
	s.global = routing.NewGlobal(settings)
	return ""
}

func (s *story) see(t *testing.T, td *datadriven.TestData) string {
	s.view = routingtest.View{Block: 4}
	for _, a := range td.CmdArgs {
		n, err := strconv.ParseFloat(a.Vals[0], 64)
		if err != nil {
			td.Fatalf(t, "%v", err)
		}
		switch a.Key {
		case "block":
			s.view.Block = int(n)
		case "known":
			s.view.Known = int32(n)
		case "price":
			s.view.Price = func(tokens int64) float64 {
				if tokens == 0 {
					return 0
				}
				return n
			}
		case "each":
			s.view.Price = func(tokens int64) float64 { return n * float64(tokens) }
		case "fetch":
			s.view.Fetch = func(blocks int32) float64 { return n * float64(blocks) }
		}
	}
	for line := range strings.Lines(td.Input) {
		s.target(t, line)
	}
	for i := range s.view.Loads {
		change := routing.Change{Worker: int32(i), Targets: []int32{int32(i)}}
		if s.view.Draining(i) {
			change.State = routing.Draining
		}
		s.local.Topology(change, 0, nil)
	}
	return ""
}

// target adds a target to the view.
func (s *story) target(t *testing.T, line string) {
	var l engine.Load
	words := strings.Fields(line)
	if _, err := fmt.Sscanf(strings.Join(words[:3], " "), "%d %d %d/%d", &l.Waiting, &l.Running, &l.BlocksUsed, &l.BlocksTotal); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	var prefix, held int
	for _, word := range words[3:] {
		key, value, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch key {
		case "drains":
			s.view.Away = append(s.view.Away, len(s.view.Loads))
		case "prefill":
			l.PrefillTokens = n
		case "prefix":
			prefix = n
		case "held":
			held = n
		default:
			t.Fatalf("%q: unknown word", word)
		}
	}
	s.view.Loads = append(s.view.Loads, l)
	s.view.Prefixes = append(s.view.Prefixes, int32(prefix))
	s.view.Held = append(s.view.Held, held)
}

func (s *story) route(t *testing.T, td *datadriven.TestData) string {
	var d routing.Decision
	r := routing.Request{Row: s.row, Rank: -1, Decision: &d}
	s.row++
	s.view.BlockKeys = nil
	var tokens int
	td.ScanArgs(t, "tokens", &tokens)
	r.InputTokens = int32(tokens)
	td.MaybeScanArgs(t, "session", &r.Session)
	var document string
	if td.MaybeScanArgs(t, "of", &document); document != "" {
		r.Prompt = token.Stream(token.Identity(document), tokens)
		s.view.BlockKeys = r.Prompt.Keys(nil, s.view.Block)
	}
	d.SeeInstances(&s.view, s.settings.LoadAlpha)
	c, _, err := s.local.Place(&r, &s.view, 0)
	if err != nil {
		return err.Error()
	}
	d.ChooseInstance(c, 0)
	return told(c, &d)
}

// told is a choice and what was weighed.
func told(c routing.Choice, d *routing.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "to %d: %s", c.Target, c.Reason)
	if c.DelayMs > 0 {
		fmt.Fprintf(&b, ", after %v ms", c.DelayMs)
	}
	b.WriteString("\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, i := range d.Instances {
		fmt.Fprintf(table, "%d\tload %v\tprefix %d", i.ID, i.Load, i.Prefix)
		if i.Score != nil {
			fmt.Fprintf(table, "\tscore %v", *i.Score)
		}
		if i.Probed != nil {
			fmt.Fprintf(table, "\tholds %d", *i.Probed)
		}
		fmt.Fprintln(table)
	}
	table.Flush()
	if len(d.Considered) > 0 {
		fmt.Fprintf(&b, "among %v\n", d.Considered)
	}
	return b.String()
}

func (s *story) seeBuckets(t *testing.T, td *datadriven.TestData) string {
	s.buckets = nil
	seqs, block := 10, 4
	td.MaybeScanArgs(t, "seqs", &seqs)
	td.MaybeScanArgs(t, "block", &block)
	for line := range strings.Lines(td.Input) {
		b := &routingtest.Bucket{Is: routing.Bucket{ID: int32(len(s.buckets)), Max: routing.Unlimited, MaxSeqs: int32(seqs), BlockSize: int32(block)}}
		words := strings.Fields(line)
		from, to, _ := strings.Cut(words[1], "..")
		b.Is.Name, b.Is.Min = words[0], number(t, from)
		if to != "" {
			b.Is.Max = number(t, to)
		}
		b.Has = routing.Counts{Active: number(t, words[2]), Instances: number(t, words[4])}
		if len(words) > 5 {
			b.Prefix = number(t, strings.TrimPrefix(words[5], "predicted="))
		}
		s.buckets = append(s.buckets, b)
	}
	return ""
}

func number(t *testing.T, text string) int32 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return int32(n)
}

func (s *story) routeBucket(t *testing.T, td *datadriven.TestData) string {
	var d routing.Decision
	var tokens int
	td.ScanArgs(t, "tokens", &tokens)
	r := routing.Request{InputTokens: int32(tokens), Rank: -1, Decision: &d}
	d.SeeBuckets(&r, s.buckets)
	c, err := s.global.RouteBucket(&r, s.buckets)
	if err != nil {
		return err.Error()
	}
	home, err := routing.Home(r.InputTokens, s.buckets)
	if err != nil {
		return err.Error()
	}
	d.ChooseBucket(c, home)
	return toldBucket(&d)
}

// toldBucket is the choice of a bucket and what was weighed.
func toldBucket(d *routing.Decision) string {
	var b strings.Builder
	switch {
	case d.ChosenBucket == nil:
		fmt.Fprintf(&b, "nowhere: %s\n", d.GlobalReason)
	default:
		fmt.Fprintf(&b, "to %s: %s", *d.ChosenBucketName, d.GlobalReason)
		if d.LengthBucketMatch != nil && !*d.LengthBucketMatch {
			b.WriteString(", not its home")
		}
		b.WriteString("\n")
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range d.Buckets {
		fmt.Fprintf(table, "%s\tpenalty %v\tload %v\tmiss %v", c.Name, c.LengthPenalty, c.Load, c.Miss)
		if c.Score != nil {
			fmt.Fprintf(table, "\tscore %v", *c.Score)
		}
		fmt.Fprintln(table)
	}
	table.Flush()
	return b.String()
}

// setKey sets a key of settings by the name that it has in a configuration.
func setKey(settings any, key, value string) error {
	d := json.NewDecoder(strings.NewReader(fmt.Sprintf(`{%q: %s}`, key, value)))
	d.DisallowUnknownFields()
	return d.Decode(settings)
}
