package graph

import (
	"fmt"

	"github.com/reprise-sim/reprise/record/internal/journal"
)

// family is the sessions and calls that become one task: a session and those that it
// has started.
type family struct {
	task  string
	calls []*item // in the order of their starts
	tools []*item
}

// families finds the family of a session.
type families struct {
	bySession map[string]*family
	byTask    map[string]*family
	parents   map[string]string // sessions that started others
	unnamed   int
}

func newFamilies() families {
	return families{bySession: map[string]*family{}, byTask: map[string]*family{}, parents: map[string]string{}}
}

// of is the family of a session. It is made when the session is met first: in the task
// that is named, else in that of the parent session, else in one of its own.
func (f *families) of(session, task, parent string) *family {
	if fam := f.bySession[session]; fam != nil {
		return fam
	}
	var fam *family
	if parent != session {
		f.parents[session] = parent
	}
	switch {
	case task != "":
		fam = f.task(task)
	case parent != "" && parent != session:
		fam = f.of(parent, "", "")
	default:
		fam = f.task(session)
	}
	f.bySession[session] = fam
	return fam
}

func (f *families) task(name string) *family {
	fam := f.byTask[name]
	if fam == nil {
		fam = &family{task: name}
		f.byTask[name] = fam
	}
	return fam
}

// unknown is a session that nobody has named, in a family of its own.
func (f *families) unknown() (string, *family) {
	for {
		f.unnamed++
		name := fmt.Sprintf("s%d", f.unnamed)
		if f.bySession[name] == nil && f.byTask[name] == nil {
			return name, f.of(name, "", "")
		}
	}
}

// join finds the session and the family of a call.
func (b *builder) join(it *item) {
	who := b.who(it)
	if who.Session == "" && who.Task != "" {
		who.Session = who.Task
	}
	if who.Session != "" {
		parent := who.Parent
		if s := b.spawns[who.Session]; s != nil && parent == "" {
			parent = s.Parent
		}
		it.session, it.family = who.Session, b.families.of(who.Session, who.Task, parent)
		return
	}
	if before, evidence := b.index.before(it, nil); before != nil {
		it.session, it.family, it.evidence = before.session, before.family, evidence
		return
	}
	it.session, it.family = b.families.unknown()
}

// who is what the client said about a call, in the request and in the invocation that
// announced it.
func (b *builder) who(it *item) journal.Who {
	who := it.call.Who
	m := b.invoked[who.Call]
	if m == nil || who.Call == "" {
		return who
	}
	if who.From == "" || who.Session == "" {
		who.Session = m.Session
	}
	if who.Task == "" {
		who.Task = m.Task
	}
	who.After = append(who.After[:len(who.After):len(who.After)], m.After...)
	return who
}

// nameCall gives a call its id: the client's name, if it is unique, else its number in
// the session.
func (b *builder) nameCall(it *item) {
	n := b.counts[it.session]
	b.counts[it.session]++
	if name := it.call.Who.Call; name != "" && !b.used[name] {
		it.id = name
	} else {
		it.id = fmt.Sprintf("%s/%d", it.session, n)
	}
	b.claim(it, it.call.Who.Call, it.call.Response)
}

// claim makes sure that an item's id is unique, and notes what it may be called.
func (b *builder) claim(it *item, names ...string) {
	for k, id := 2, it.id; b.used[it.id]; k++ {
		it.id = fmt.Sprintf("%s~%d", id, k)
	}
	b.used[it.id] = true
	known := map[string]bool{"": true}
	for _, name := range append(names, it.id) {
		if !known[name] {
			known[name] = true
			b.names[name] = append(b.names[name], it)
		}
	}
}
