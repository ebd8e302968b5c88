package explain

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/reprise-sim/reprise/routing"
)

// bucketTable lists the buckets as the global router saw them.
func bucketTable(b *strings.Builder, d *routing.Decision) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tbucket\tlengths\tpenalty\tload\tmiss\tscore\twaiting\tactive\tKV used\tprefix\tdrain ms\t")
	for i := range d.Buckets {
		c := &d.Buckets[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%d\t%s\t\n",
			mark(d.ChosenBucket, c.ID), c.Name, lengths(c), number(c.LengthPenalty), number(c.Load), number(c.Miss), optional(c.Score),
			c.QueueSum, c.Active, share(c.BlocksUsed, c.BlocksTotal), c.PredictedPrefix, optional(c.DrainMs))
	}
	t.Flush()
	rest(b, len(d.Buckets), d.BucketsTotal)
}

// instanceTable lists the instances as the local router saw them.
func instanceTable(b *strings.Builder, d *routing.Decision) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tinstance\twaiting\trunning\tKV blocks\tload\tprefix\tscore\tasked\t")
	for i := range d.Instances {
		c := &d.Instances[i]
		asked := "–"
		if c.Probed != nil {
			asked = fmt.Sprint(*c.Probed)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\t%d\t%s\t%s\t\n",
			mark(d.ChosenInstance, c.ID), c.ID, c.Queue, c.Running, c.BlocksUsed, number(c.Load), c.Prefix, optional(c.Score), asked)
	}
	t.Flush()
	rest(b, len(d.Instances), d.InstancesTotal)
}

// rest says how many candidates are not in the log.
func rest(b *strings.Builder, shown, total int) {
	if total > shown {
		fmt.Fprintf(b, "  The log has the best of %d.\n", total)
	}
}

// mark points at the candidate that was chosen.
func mark(chosen *int32, id int32) string {
	if chosen != nil && *chosen == id {
		return "→"
	}
	return ""
}

// lengths is the range of a bucket.
func lengths(c *bucket) string {
	if c.Max == nil {
		return fmt.Sprintf("%d..", c.Min)
	}
	return fmt.Sprintf("%d..%d", c.Min, *c.Max)
}

// optional is a number or a dash.
func optional(v *float64) string {
	if v == nil {
		return "–"
	}
	return number(*v)
}

// share is a part of a whole, in percent.
func share(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return number(100*float64(part)/float64(whole)) + "%"
}
