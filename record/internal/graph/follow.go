package graph

import "strings"

// index finds the call that a request goes on from.
type index struct {
	byResponse map[string]*item
	byTool     map[string]*item
	byNext     map[uint64][]*item // by the conversation with their answer
	byTalk     map[uint64][]*item // by the conversation without
	bySeq      map[int64]*item
	next       map[*item]int // calls that go on from it
}

func newIndex() index {
	return index{
		byResponse: map[string]*item{}, byTool: map[string]*item{}, byNext: map[uint64][]*item{},
		byTalk: map[uint64][]*item{}, bySeq: map[int64]*item{}, next: map[*item]int{},
	}
}

// add makes a call known to those after it.
func (x *index) add(it *item) {
	c := it.call
	x.bySeq[c.Seq] = it
	if c.Response != "" {
		x.byResponse[c.Response] = it
	}
	t := c.Talk
	if t == nil {
		return
	}
	for _, tool := range t.Tools {
		if tool.ID != "" {
			x.byTool[tool.ID] = it
		}
	}
	if n := len(t.Chain); n > 0 {
		x.byNext[t.Next] = append(x.byNext[t.Next], it)
		x.byTalk[t.Chain[n-1]] = append(x.byTalk[t.Chain[n-1]], it)
	}
}

// before is the call that it goes on from, nil if none is found, and the evidence.
// Only calls that had ended when it started are looked at, and if within is given,
// only those of that family.
func (x *index) before(it *item, within *family) (*item, string) {
	fits := func(o *item) bool {
		return o != nil && o != it && o.end <= it.start && (within == nil || o.family == within)
	}
	if o := x.byResponse[it.call.Who.Previous]; it.call.Who.Previous != "" && fits(o) {
		return o, Response
	}
	if t := it.call.Talk; t != nil {
		if n := len(t.Answers); n > 0 {
			if o := x.byTool[t.Answers[n-1]]; fits(o) {
				return o, ToolIDs
			}
		}
		if o, evidence := x.talked(t.Chain, t.Roles, fits); o != nil {
			return o, evidence
		}
	}
	return x.prefix(it, fits)
}

// talked is the call whose conversation is the longest beginning of a chain.
func (x *index) talked(chain []uint64, roles string, fits func(*item) bool) (*item, string) {
	for i := len(chain) - 1; i >= 0; i-- {
		if o := x.choose(x.byNext[chain[i]], fits); o != nil {
			return o, Said
		}
		answered := i+1 < len(roles) && strings.HasPrefix(roles[i+1:], "a")
		if o := x.choose(x.byTalk[chain[i]], fits); o != nil && answered {
			return o, Talked
		}
	}
	return nil, ""
}

// choose is the latest of several alike calls, of those that nothing goes on from if
// there are any.
func (x *index) choose(alike []*item, fits func(*item) bool) (best *item) {
	for _, o := range alike {
		if fits(o) && (best == nil || x.next[o] == 0 || x.next[best] > 0) {
			best = o
		}
	}
	return best
}

// prefix is the call whose whole prompt the prompt begins with.
func (x *index) prefix(it *item, fits func(*item) bool) (*item, string) {
	o, keep := it.extends, it.keep
	for o != nil {
		if o.family != nil && fits(o) && keep >= o.inputTokens && it.inputTokens > o.inputTokens && o.inputTokens > 0 {
			return o, Prefix
		}
		keep = min(keep, o.keep)
		o = o.extends
	}
	return nil, ""
}

// follows notes that a call goes on from another.
func (x *index) follows(o *item) { x.next[o]++ }
