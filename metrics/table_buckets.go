package metrics

import (
	"fmt"
	"math"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// nameWidth is the widest name of a bucket in a table, in columns; longer ones are
// wrapped. With it and latencies of 9 digits a line just fits.
const nameWidth = 14

// bucketTables are how each bucket did and where its prompts' blocks came from; ""
// if there is only one.
func bucketTables(s *Summary) string {
	if len(s.PerBucket) < 2 {
		return ""
	}
	return "\n" + bucketLatencies(s) + "\n\n" + bucketShares(s.PerBucket) + "\n"
}

// bucketLatencies has a row for each bucket, and one for the requests that reached
// none.
func bucketLatencies(s *Summary) string {
	t := bucketTable("bucket (ms)", "requests", "completed", "rejected", "TTFT mean", "p99", "TPOT mean", "E2E mean", "p99")
	for i := range s.PerBucket {
		b := &s.PerBucket[i]
		l := &b.Latencies
		t.AppendRow(table.Row{b.Name, b.Requests, b.Completed, b.Rejected,
			figure(l.TTFT.Mean), figure(l.TTFT.P99), figure(l.TPOT.Mean), figure(l.E2E.Mean), figure(l.E2E.P99)})
	}
	if n := s.Accounting.Reasons[Rejected.String()][NoBucket]; n > 0 {
		t.AppendRow(table.Row{"(no bucket)", n, 0, n, "–", "–", "–", "–", "–"})
	}
	return render(t)
}

// bucketShares says of each bucket where the full blocks of prompts came from, how
// many requests their length would have sent there too, and how busy its instances
// were.
func bucketShares(buckets []BucketSummary) string {
	t := bucketTable("bucket (%)", "L0", "L1", "remote", "miss", "length match", "utilisation")
	for i := range buckets {
		b := &buckets[i]
		all := b.blocks()
		row := table.Row{b.Name}
		for _, share := range []float64{
			ratio(b.L0Blocks, all), ratio(b.L1Blocks, all), ratio(b.RemoteBlocks, all), ratio(b.MissBlocks, all),
			b.LengthMatchRate, b.Utilisation,
		} {
			row = append(row, figure(100*share))
		}
		t.AppendRow(row)
	}
	return render(t)
}

// bucketTable is an empty table of buckets: a name, then numbers.
func bucketTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(plainStyle())
	t.AppendHeader(header)
	columns := []table.ColumnConfig{{Number: 1, WidthMax: nameWidth, WidthMaxEnforcer: text.WrapHard}}
	for i := 2; i <= len(header); i++ {
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	return t
}

// blocks are the full blocks of the prompts of all admitted requests.
func (b *BucketSummary) blocks() float64 {
	return b.L0Blocks + b.L1Blocks + b.RemoteBlocks + b.MissBlocks
}

// tierLine says what the tiers below the KV pools gave, over all buckets; "" if
// nobody loaded anything.
func tierLine(buckets []BucketSummary) string {
	var sum BucketSummary
	for i := range buckets {
		b := &buckets[i]
		if math.IsNaN(b.blocks()) { // nobody was admitted
			continue
		}
		sum.Requests += b.Requests
		sum.L0Blocks += b.L0Blocks
		sum.L1Blocks += b.L1Blocks
		sum.RemoteBlocks += b.RemoteBlocks
		sum.MissBlocks += b.MissBlocks
		sum.RemoteStaleBlocks += b.RemoteStaleBlocks
		sum.LoadWaitMs += b.LoadWaitMs
	}
	if !(sum.L1Blocks+sum.RemoteBlocks+sum.RemoteStaleBlocks > 0) {
		return ""
	}
	all := sum.blocks()
	return fmt.Sprintf("%s %% of prompt blocks from L0, %s %% from L1, %s %% from other instances, %s %% computed; %.0f stale; loads took %s ms a request",
		figure(100*sum.L0Blocks/all), figure(100*sum.L1Blocks/all), figure(100*sum.RemoteBlocks/all), figure(100*sum.MissBlocks/all),
		sum.RemoteStaleBlocks, figure(sum.LoadWaitMs/float64(sum.Requests)))
}
