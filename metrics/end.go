package metrics

import "slices"

// First notes that the first token came in a pass of the log. The pass and all
// after it are kept until the row ends.
func (r *Row) First(pass int, log *PassLog) {
	r.first = pass
	r.pinned = true
	log.Pin(pass)
}

// End closes the row at atMs and resolves its runs of tokens into times. Passes
// of the log that end after atMs do not count for a row that did not complete:
// their tokens were decided, never seen. log is nil for a request that reached no
// instance. Gaps between runs (a token that came after a preemption) go to gaps;
// the gaps of a row that did not complete are taken back from the log.
func (r *Row) End(s Status, reason string, atMs float64, log *PassLog, gaps *Gaps, keepTokens bool) {
	r.Status, r.Reason, r.EndMs = s, reason, atMs
	for _, n := range r.runs {
		r.settle(n, s, atMs, log, gaps, keepTokens)
	}
	if r.run.n > 0 {
		r.settle(r.run, s, atMs, log, gaps, keepTokens)
	}
	if r.pinned {
		log.Unpin(r.first)
		r.pinned = false
	}
	r.run, r.runs = run{}, nil
}

// EndAt closes the row at atMs with the times of its output tokens, for whoever
// has no pass log. They are ascending; those after atMs were not seen and do not
// count. tokenMs may be reused afterwards.
func (r *Row) EndAt(s Status, reason string, atMs float64, tokenMs []float64, gaps *Gaps, keepTokens bool) {
	r.Status, r.Reason, r.EndMs = s, reason, atMs
	seen, _ := slices.BinarySearchFunc(tokenMs, atMs, func(t, at float64) int {
		if t <= at {
			return -1
		}
		return 1
	})
	tokenMs = tokenMs[:seen]
	if seen > 0 {
		r.FirstMs, r.LastMs = tokenMs[0], tokenMs[seen-1]
	}
	if seen > 1 {
		r.SecondMs = tokenMs[1]
	}
	r.OutputTokens = int32(seen)
	if s == Completed {
		for i := 1; i < seen; i++ {
			gaps.Add(tokenMs[i] - tokenMs[i-1])
		}
	}
	if keepTokens {
		r.TokenMs = slices.Clone(tokenMs)
	}
}

// settle counts the tokens of a run that were seen.
func (r *Row) settle(n run, s Status, atMs float64, log *PassLog, gaps *Gaps, keepTokens bool) {
	if s != Completed {
		log.uncount(n)
		for n.n > 0 && log.End(n.from+int(n.n)-1) > atMs {
			n.n--
		}
	}
	if n.n > 0 {
		r.resolve(n, s, log, gaps, keepTokens)
	}
}

// resolve adds one run of tokens to the row's times.
func (r *Row) resolve(n run, s Status, log *PassLog, gaps *Gaps, keepTokens bool) {
	from := log.End(n.from)
	switch {
	case r.OutputTokens == 0:
		r.FirstMs = from
		if n.n > 1 {
			r.SecondMs = log.End(n.from + 1)
		}
	case r.OutputTokens == 1:
		r.SecondMs = from
	}
	if r.OutputTokens > 0 && s == Completed {
		gaps.Add(from - r.LastMs)
	}
	r.LastMs = log.End(n.from + int(n.n) - 1)
	r.OutputTokens += n.n
	if keepTokens {
		for p := n.from; p < n.from+int(n.n); p++ {
			r.TokenMs = append(r.TokenMs, log.End(p))
		}
	}
}
