package rundir

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/reprise-sim/reprise/metrics"
)

// optional is an integer that is -1 where it is undefined.
type optional int32

// cells appends the cells of CSV lines to text. Numbers are the shortest text that
// reads back to the same float64; what is undefined is an empty cell.
type cells struct {
	text     []byte
	last     float64 // number of the last float cell of this line
	from, to int     // where it stands in text; from is -1 if there is none
}

// append appends the cell of a field and a comma.
func (c *cells) append(field any) {
	switch v := field.(type) {
	case *float64:
		c.float(*v)
	case *int32:
		c.text = strconv.AppendInt(c.text, int64(*v), 10)
	case *optional:
		if *v >= 0 {
			c.text = strconv.AppendInt(c.text, int64(*v), 10)
		}
	case *string:
		c.string(*v)
	case *metrics.Status:
		c.text = append(c.text, v.String()...)
	case *metrics.Match:
		c.text = append(c.text, matchNames[*v]...)
	case *Verdict:
		c.text = append(c.text, verdictNames[*v]...)
	}
	c.text = append(c.text, ',')
}

// matchNames are the cells of metrics.Match.
var matchNames = [...]string{metrics.NoHome: "", metrics.Matched: "true", metrics.Strayed: "false"}

// begin starts a line.
func (c *cells) begin() { c.from = -1 }

// end ends a line.
func (c *cells) end() { c.text[len(c.text)-1] = '\n' }

// float appends a number. Neighbours are often equal (submit = arrival, end = last
// token), and the text of an equal one is copied.
func (c *cells) float(v float64) {
	switch {
	case c.from >= 0 && v == c.last && v != 0:
		from := len(c.text)
		c.text = append(c.text, c.text[c.from:c.to]...)
		c.from, c.to = from, len(c.text)
		return
	case math.IsNaN(v) || math.IsInf(v, 0):
		return
	}
	c.last, c.from = v, len(c.text)
	c.text = appendFloat(c.text, v)
	c.to = len(c.text)
}

// appendFloat appends the shortest decimal that reads back to v, as JSON has it:
// without an exponent from 1e-6 to below 1e21.
func appendFloat(b []byte, v float64) []byte {
	if i := int64(v); math.Float64bits(float64(i)) == math.Float64bits(v) && -1<<53 < i && i < 1<<53 {
		return strconv.AppendInt(b, i, 10)
	}
	if abs := math.Abs(v); abs < 1e-6 && v != 0 || abs >= 1e21 {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

// string appends text, in quotes if it has to be (RFC 4180).
func (c *cells) string(s string) {
	if !strings.ContainsAny(s, "\",\r\n") {
		c.text = append(c.text, s...)
		return
	}
	c.text = append(c.text, '"')
	c.text = append(c.text, strings.ReplaceAll(s, `"`, `""`)...)
	c.text = append(c.text, '"')
}

// appendJSONString appends s as a JSON string.
func appendJSONString(b []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings have no errors
	}
	return append(b, quoted...)
}
