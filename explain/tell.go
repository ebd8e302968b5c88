package explain

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reprise-sim/reprise/metrics"
	"github.com/reprise-sim/reprise/rundir"
)

// WriteText tells the story. Sentences are at most 100 columns wide.
func (s *Story) WriteText(w io.Writer) error {
	var b strings.Builder
	s.arrival(&b)
	s.bucketChoice(&b)
	s.instanceChoice(&b)
	s.prefixes(&b)
	s.outcome(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// arrival says what came, and when.
func (s *Story) arrival(b *strings.Builder) {
	d := &s.Decision
	say(b, "Request %s came at %s ms with %s%s.", d.RequestID, exact(d.TimeMs), count(d.InputLength, "prompt token"), s.inBlocks())
	if d.SessionID != "" && d.SessionID != d.RequestID {
		say(b, "It belongs to session %s.", d.SessionID)
	}
}

// inBlocks is a length in blocks.
func (s *Story) inBlocks() string {
	if s.settings.Engine.BlockSize < 1 {
		return ""
	}
	return fmt.Sprintf(", %s of %d", count(s.fullBlocks(), "full block"), s.settings.Engine.BlockSize)
}

// fullBlocks is the number of full blocks of the prompt.
func (s *Story) fullBlocks() int32 {
	return s.Decision.InputLength / max(s.settings.Engine.BlockSize, 1)
}

// bucketChoice tells the decision of the global router. Where there is only one
// bucket it decides nothing.
func (s *Story) bucketChoice(b *strings.Builder) {
	d := &s.Decision
	if d.ChosenBucket == nil || d.ChosenBucketName == nil {
		b.WriteByte('\n')
		say(b, "No bucket: %s sends a request only where the range holds its length (%s).", d.GlobalMode, d.GlobalReason)
		bucketTable(b, d)
		return
	}
	if len(d.Buckets) == 1 && d.BucketsTotal == 0 {
		return
	}
	r := why(bucketReasons, d.GlobalReason)
	b.WriteByte('\n')
	say(b, "Bucket %s, by %s, because %s.", *d.ChosenBucketName, d.GlobalMode, r.words)
	won, others := split(d.Buckets, func(c *bucket) bool { return c.ID == *d.ChosenBucket })
	say(b, "%s", capital(r.margin(won, others, func(c *bucket) string { return c.Name })))
	s.match(b)
	bucketTable(b, d)
	switch g := &s.settings.Cluster.GlobalRouter; d.GlobalMode {
	case "bucket_score":
		fmt.Fprintf(b, "  score = %s × penalty + %s × load + %s × miss\n", number(g.LengthPenaltyWeight), number(g.LoadWeight), number(g.CacheWeight))
	case "spill":
		fmt.Fprintf(b, "  too busy: a load above %s\n", number(g.SpillLoad))
	}
	if d.ViewAgeMs > 0 {
		fmt.Fprintf(b, "  The buckets are shown as the policy saw them: as they had been %s ms before.\n", number(d.ViewAgeMs))
	}
}

// match says whether the bucket is the one that the length suggests.
func (s *Story) match(b *strings.Builder) {
	d := &s.Decision
	switch {
	case d.LengthBucketMatch == nil:
		say(b, "No bucket's range holds the length.")
	case !*d.LengthBucketMatch:
		home := slices.IndexFunc(d.Buckets, func(c bucket) bool {
			return c.Min <= d.InputLength && (c.Max == nil || d.InputLength <= *c.Max)
		})
		if home >= 0 {
			say(b, "Its length would have sent it to %s.", d.Buckets[home].Name)
		}
	}
}

// instanceChoice tells the decision of the local router.
func (s *Story) instanceChoice(b *strings.Builder) {
	d := &s.Decision
	if d.ChosenInstance == nil || d.LocalReason == nil {
		return
	}
	r := why(instanceReasons, *d.LocalReason)
	b.WriteByte('\n')
	say(b, "Instance %d, by %s, because %s.", *d.ChosenInstance, d.LocalMode, r.words)
	won, others := split(d.Instances, func(c *instance) bool { return c.ID == *d.ChosenInstance })
	others = slices.DeleteFunc(others, func(c instance) bool { return len(d.Considered) > 0 && !slices.Contains(d.Considered, c.ID) })
	say(b, "%s", capital(r.margin(won, others, func(c *instance) string { return fmt.Sprintf("instance %d", c.ID) })))
	if len(d.Considered) > 0 && len(d.Considered) < max(len(d.Instances), d.InstancesTotal) {
		say(b, "The choice was among %s.", list(d.Considered))
	}
	instanceTable(b, d)
	switch d.LocalMode {
	case "cache_score", "cache_affinity":
		l := &s.settings.Cluster.Router
		fmt.Fprintf(b, "  score = %s × load + %s × missing share of the prompt's blocks\n", number(l.ScoreAlpha), number(l.ScoreBeta))
	}
	if d.ProbeMs > 0 {
		asked := int32(0)
		for i := range d.Instances {
			if d.Instances[i].Probed != nil {
				asked++
			}
		}
		fmt.Fprintf(b, "  %s asked what they hold, which took %s ms.\n", was(asked, "instance"), number(d.ProbeMs))
	}
}

// prefixes says what the choice gave up, by what the meta stores said.
func (s *Story) prefixes(b *strings.Builder) {
	d := &s.Decision
	if d.Regret == nil {
		return
	}
	b.WriteByte('\n')
	held := "nothing"
	if n := d.BestAvailable - *d.Regret; n > 0 {
		held = "the first " + count(n, "block")
	}
	switch {
	case d.BestAvailable == 0:
		say(b, "No instance held the beginning of the prompt, by the meta stores.")
	case *d.Regret == 0:
		say(b, "The instance held %s of the prompt, by the meta store; no other of the service held more.", held)
	default:
		say(b, "The instance held %s of the prompt, by the meta store; the most that any of the service held is %d. The regret of the decision is %s (%s).",
			held, d.BestAvailable, count(*d.Regret, "block"), count(*d.Regret*s.settings.Engine.BlockSize, "token"))
	}
}

// outcome says where the blocks came from, what happened and how long it took.
func (s *Story) outcome(b *strings.Builder) {
	b.WriteByte('\n')
	if s.Record == nil {
		say(b, "What became of it is not known: the run wrote no per_request.csv.")
		return
	}
	s.blocks(b, &s.Record.Tiers)
	s.times(b, s.Record)
}

// blocks says where the blocks of the prompt came from.
func (s *Story) blocks(b *strings.Builder, t *metrics.Tiers) {
	if t.Miss < 0 {
		return
	}
	say(b, "Of its %s %d came from L0 (the KV pool), %d from L1 (host memory), %d from other instances, and %d had to be computed.",
		count(s.fullBlocks(), "full block"), t.L0, t.L1, t.Remote, t.Miss)
	if saved := t.L0 + t.L1 + t.Remote; saved > 0 {
		say(b, "That saved the prefill of %s.", count(saved*s.settings.Engine.BlockSize, "token"))
	}
	if t.RemoteStale > 0 {
		say(b, "%s promised by other instances and gone when asked for.", was(t.RemoteStale, "block"))
	}
	if t.LoadWaitMs > 0 {
		say(b, "Loading took %s ms, part of its wait.", number(t.LoadWaitMs))
	}
	b.WriteByte('\n')
}

// times says how long everything took, and how it ended.
func (s *Story) times(b *strings.Builder, r *rundir.Record) {
	if !math.IsNaN(r.TTFTMs) {
		say(b, "First token after %s ms: %s on the way, %s waiting, %s prefill.",
			number(r.TTFTMs), number(r.SubmitMs-r.ArrivalMs), number(r.QueueMs), number(r.PrefillMs))
	}
	end := "It ended as " + r.Status.String()
	if r.Reason != "" {
		end += " (" + r.Reason + ")"
	}
	end += fmt.Sprintf(" %s ms after it came, with %s", number(r.EndMs-r.ArrivalMs), count(r.OutputTokens, "token"))
	if r.Status == metrics.Completed && !math.IsNaN(r.TPOTMs) {
		end += fmt.Sprintf(", one every %s ms", number(r.TPOTMs))
	}
	if r.Preemptions > 0 {
		end += ", and " + count(r.Preemptions, "preemption")
	}
	say(b, "%s.", end)
}

// split is the candidate that won and the others.
func split[C any](all []C, won func(*C) bool) (*C, []C) {
	at := slices.IndexFunc(all, func(c C) bool { return won(&c) })
	if at < 0 {
		return nil, nil
	}
	return &all[at], slices.Delete(slices.Clone(all), at, at+1)
}

// width is that of a line, in columns.
const width = 100

// say writes sentences on lines of their own; nothing if there are none.
func say(b *strings.Builder, format string, args ...any) {
	column := 0
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	if column > 0 {
		b.WriteByte('\n')
	}
}

// capital is a sentence with a capital.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// number is a number with about four digits, exact one as it is in the files.
func number(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// count is a number of things.
func count(n int32, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// was is what happened to a number of things.
func was(n int32, thing string) string {
	if n == 1 {
		return "1 " + thing + " was"
	}
	return count(n, thing) + " were"
}

// list is instances in words.
func list(ids []int32) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(int(id))
	}
	if len(words) == 1 {
		return "instance " + words[0]
	}
	return "instances " + strings.Join(words, ", ")
}
