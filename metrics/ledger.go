package metrics

// Ledger holds the rows of all offered requests, in order of arrival, until they
// have been handed out.
//
// Rows may be written from several goroutines as long as each row has one writer
// and no row is opened meanwhile.
type Ledger struct {
	// KeepTokens makes rows keep the time of each token.
	KeepTokens bool

	chunks []*[ledgerChunk]Row // chunks[0] holds the rows from first on
	first  int32               // number of the first row of chunks[0]
	next   int32               // number of the next row to be opened
	out    int32               // number of the next row to be handed out
	spare  []*[ledgerChunk]Row
}

const ledgerChunk = 256

// Open adds the row of a request that arrives now. Rows are numbered from 0.
func (l *Ledger) Open(label Label, arrivalMs float64, input, requested int32) int32 {
	n := l.next
	if int(n-l.first) == len(l.chunks)*ledgerChunk {
		l.chunks = append(l.chunks, l.chunk())
	}
	l.next++
	l.Row(n).reset(label, arrivalMs, input, requested)
	return n
}

// Len is the number of rows ever opened.
func (l *Ledger) Len() int { return int(l.next) }

// Row is row n, which must not have been handed out.
func (l *Ledger) Row(n int32) *Row {
	i := n - l.first
	return &l.chunks[i/ledgerChunk][i%ledgerChunk]
}

// HandOut calls visit for the rows that have ended, in order, up to the first one
// that is open, and forgets them. visit must not keep the row.
func (l *Ledger) HandOut(visit func(row int32, r *Row)) {
	for l.out < l.next {
		r := l.Row(l.out)
		if r.Status == Open {
			return
		}
		visit(l.out, r)
		l.out++
		if l.out-l.first == ledgerChunk {
			l.spare = append(l.spare, l.chunks[0])
			l.chunks = append(l.chunks[:0], l.chunks[1:]...)
			l.first += ledgerChunk
		}
	}
}

// OpenRows calls visit for every row that has not ended, in order.
func (l *Ledger) OpenRows(visit func(row int32, r *Row)) {
	for n := l.out; n < l.next; n++ {
		if r := l.Row(n); r.Status == Open {
			visit(n, r)
		}
	}
}

// chunk returns storage for rows, reusing what has been handed out.
func (l *Ledger) chunk() *[ledgerChunk]Row {
	if n := len(l.spare); n > 0 {
		c := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return c
	}
	return new([ledgerChunk]Row)
}
