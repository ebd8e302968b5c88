package metrics

// PassLog is the end of each pass of one instance, and how many tokens each pass
// continued (tokens whose request got its previous token in the pass before).
// Gaps between tokens are differences of neighbouring ends, weighted by these
// counts; they are folded into a distribution when no open request reaches back
// to them.
type PassLog struct {
	chunks []*logChunk // chunks[0] holds the passes from base on
	base   int
	n      int     // passes logged
	before float64 // end of pass base-1
	spare  []*logChunk
}

const (
	logChunkLen = 1024
	spareChunks = 16 // kept for passes to come
)

type logChunk struct {
	ends      [logChunkLen]float64
	continued [logChunkLen]int32
	pins      int // open requests whose first token lies here
}

// Len is the number of passes logged.
func (l *PassLog) Len() int { return l.n }

// Append logs the next pass.
func (l *PassLog) Append(endMs float64, continued int32) {
	i := l.n - l.base
	if i == len(l.chunks)*logChunkLen {
		l.grow()
	}
	c := l.chunks[i/logChunkLen]
	c.ends[i%logChunkLen] = endMs
	c.continued[i%logChunkLen] = continued
	l.n++
}

// Extend logs passes that all continue the same number of tokens.
func (l *PassLog) Extend(ends []float64, continued int32) {
	for len(ends) > 0 {
		i := l.n - l.base
		if i == len(l.chunks)*logChunkLen {
			l.grow()
		}
		c, at := l.chunks[i/logChunkLen], i%logChunkLen
		k := copy(c.ends[at:], ends)
		for j := at; j < at+k; j++ {
			c.continued[j] = continued
		}
		l.n += k
		ends = ends[k:]
	}
}

// End is when a pass ended. It must not have been folded.
func (l *PassLog) End(pass int) float64 {
	i := pass - l.base
	if i < 0 {
		if i == -1 {
			return l.before
		}
		panic("metrics: pass has been forgotten")
	}
	return l.chunks[i/logChunkLen].ends[i%logChunkLen]
}

// Pin keeps a pass, and all after it, until Unpin.
func (l *PassLog) Pin(pass int) { l.chunks[(pass-l.base)/logChunkLen].pins++ }

// Unpin releases a pass.
func (l *PassLog) Unpin(pass int) { l.chunks[(pass-l.base)/logChunkLen].pins-- }

// uncount takes back the continued tokens of a run.
func (l *PassLog) uncount(r run) {
	for p := r.from + 1; p < r.from+int(r.n); p++ {
		i := p - l.base
		l.chunks[i/logChunkLen].continued[i%logChunkLen]--
	}
}

// Fold moves the gaps of passes that no open request reaches back to into g and
// forgets the passes. The last two chunks are kept unless all is set, which is
// for the end of a run: then everything is folded.
func (l *PassLog) Fold(g *Gaps, all bool) {
	for len(l.chunks) > 0 {
		c := l.chunks[0]
		n := min(logChunkLen, l.n-l.base)
		if !all && (c.pins > 0 || len(l.chunks) <= 2) {
			return
		}
		g.addPasses(l.before, c.ends[:n], c.continued[:n])
		l.before = c.ends[n-1]
		l.base += n
		l.chunks = append(l.chunks[:0], l.chunks[1:]...)
		if len(l.spare) < spareChunks {
			l.spare = append(l.spare, c)
		}
	}
}

// grow adds a chunk.
func (l *PassLog) grow() {
	n := len(l.spare)
	if n == 0 {
		l.chunks = append(l.chunks, new(logChunk))
		return
	}
	l.chunks = append(l.chunks, l.spare[n-1])
	l.spare = l.spare[:n-1]
}
