package stats

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bars draws the buckets of a distribution, one a line: edges, a bar of at most
// width characters, count and share.
//
//	500 –   1,000  ██████████▌           12  (6.2 %)
func (d *Distribution) Bars(width int) string {
	most, edges := 0, 0
	for _, b := range d.Buckets {
		most = max(most, b.Count)
		edges = max(edges, len(grouped(b.To)))
	}
	var text strings.Builder
	for _, b := range d.Buckets {
		bar := bar(float64(b.Count)/float64(most), width)
		fmt.Fprintf(&text, "%*s – %*s  %s%s %7s  (%.1f %%)\n", edges, grouped(b.From), edges, grouped(b.To),
			bar, strings.Repeat(" ", width-len([]rune(bar))), grouped(float64(b.Count)), 100*float64(b.Count)/float64(d.Count))
	}
	return text.String()
}

// Spark draws the rate over time, one character a window.
func (r *Rate) Spark() string {
	var text strings.Builder
	for _, v := range r.PerS {
		text.WriteRune([]rune(" ▁▂▃▄▅▆▇█")[int(math.Round(8*v/r.Peak))])
	}
	return text.String()
}

// bar is a bar of eighths of a character: share of width. What is not 0 is seen.
func bar(share float64, width int) string {
	eighths := int(math.Round(8 * share * float64(width)))
	if share > 0 {
		eighths = max(eighths, 1)
	}
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return bar
}

// grouped is a whole number with commas between thousands.
func grouped(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
