package rundir

import "github.com/reprise-sim/reprise/metrics"

// Routing says how requests were placed, for the columns that name it.
type Routing struct {
	Buckets                   []string // names, in order of their ids
	BucketPolicy, LocalPolicy string
}

// Requests writes per_request.csv.
type Requests struct {
	lines   ordered[Record]
	routing Routing
}

// Requests starts per_request.csv.
func (d *Draft) Requests(r Routing) (*Requests, error) { return d.requests(r, columns) }

// requests starts per_request.csv with some columns.
func (d *Draft) requests(r Routing, columns []column) (*Requests, error) {
	f, err := d.File(RequestsFile)
	if err != nil {
		return nil, err
	}
	f.Write([]byte(header(columns)))
	w := &Requests{routing: r}
	w.lines = ordered[Record]{file: f, format: func(text []byte, r *Record) []byte {
		c := cells{text: text}
		r.appendTo(&c)
		return c.text
	}}
	d.flush = append(d.flush, w.lines.flush)
	return w, nil
}

// Add writes the line of a row that has ended; the row is not kept. The error is
// the first of the file, perhaps from an earlier line.
func (w *Requests) Add(r *metrics.Row) error { return w.add(r, nil) }

// add writes the line of a row; live is nil in a simulation.
func (w *Requests) add(r *metrics.Row, live *LiveCall) error {
	record := w.lines.next()
	record.Row, record.Live = *r, live
	record.BucketPolicy = w.routing.BucketPolicy
	if r.Bucket >= 0 {
		record.BucketName = w.routing.Buckets[r.Bucket]
		record.LocalPolicy = w.routing.LocalPolicy
	}
	return w.lines.file.err
}

// Tokens writes tokens.jsonl: for each request its id and the time of each of its
// output tokens.
type Tokens struct{ lines ordered[tokenTimes] }

type tokenTimes struct {
	request string
	ms      []float64
}

// Tokens starts tokens.jsonl.
func (d *Draft) Tokens() (*Tokens, error) {
	f, err := d.File(TokensFile)
	if err != nil {
		return nil, err
	}
	w := &Tokens{ordered[tokenTimes]{file: f, format: appendTokens}}
	d.flush = append(d.flush, w.lines.flush)
	return w, nil
}

// Add writes the line of a row that has ended, whose token times stay as they are
// from now on. The error is the first of the file.
func (w *Tokens) Add(r *metrics.Row) error {
	*w.lines.next() = tokenTimes{r.Request, r.TokenMs}
	return w.lines.file.err
}

// appendTokens appends {"request_id":…,"token_ms":[…]}.
func appendTokens(text []byte, t *tokenTimes) []byte {
	text = append(text, `{"request_id":`...)
	text = appendJSONString(text, t.request)
	text = append(text, `,"token_ms":[`...)
	for i, ms := range t.ms {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendFloat(text, ms)
	}
	return append(text, "]}\n"...)
}

// Lines writes a file of lines, one for each item; they are formatted in other
// goroutines.
type Lines[T any] struct{ lines ordered[T] }

// NewLines starts a file. format appends the line of an item.
func NewLines[T any](d *Draft, name string, format func(text []byte, item *T) []byte) (*Lines[T], error) {
	f, err := d.File(name)
	if err != nil {
		return nil, err
	}
	w := &Lines[T]{ordered[T]{file: f, format: format}}
	d.flush = append(d.flush, w.lines.flush)
	return w, nil
}

// Add writes the line of an item, which stays as it is from now on. The error is the
// first of the file, perhaps from an earlier line.
func (w *Lines[T]) Add(item T) error {
	*w.lines.next() = item
	return w.lines.file.err
}

// Samples writes instances.csv.
type Samples struct {
	file    *File
	buckets []string
	line    cells
}

// Samples starts instances.csv.
func (d *Draft) Samples(buckets []string) (*Samples, error) {
	f, err := d.File(SamplesFile)
	if err != nil {
		return nil, err
	}
	_, err = f.Write([]byte("time_ms,bucket,instance,queue_len,running,kv_blocks_used,kv_blocks_total,l1_blocks_used,busy_fraction\n"))
	return &Samples{file: f, buckets: buckets}, err
}

// Add writes the line of a sample.
func (w *Samples) Add(s metrics.Sample) error {
	c := &w.line
	c.text = c.text[:0]
	c.begin()
	for _, field := range [...]any{&s.TimeMs, &w.buckets[s.Bucket], &s.Instance, &s.Queue, &s.Running, &s.KVUsed, &s.KVTotal, &s.L1Used, &s.BusyFraction} {
		c.append(field)
	}
	c.end()
	_, err := w.file.Write(c.text)
	return err
}
