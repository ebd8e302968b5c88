package trace

import (
	"fmt"
	"strconv"

	"github.com/reprise-sim/reprise/token"
)

// idSet makes sure that no two nodes have the same id. Ids are told apart by their
// 64-bit identity. As long as all nodes are named after their lines there is
// nothing to keep.
type idSet struct {
	seen map[uint64]where // nil as long as all nodes are named after their lines
	last []Place          // the last row of each file
}

// where is a row in few bytes.
type where struct{ file, line int32 }

// unique adds the nodes of a task that has been built of the rows at places.
func (s *idSet) unique(l *Label, places []position, t *Task) error {
	if s.seen == nil {
		if l.Task != "" || l.Named {
			s.begin()
		} else {
			s.note(places[0].Place)
			return nil
		}
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		at := placeOf(n, places)
		id := token.Identity(n.ID)
		if w, ok := s.seen[id]; ok {
			want := fmt.Sprintf("an id of its own: line %d has it too", w.line)
			if int(w.file) != at.File.number {
				want = fmt.Sprintf("an id of its own: line %d of file %d has it too", w.line, w.file+1)
			}
			return at.Fault("id", strconv.Quote(n.ID), want)
		}
		s.seen[id] = where{int32(at.File.number), at.Line}
	}
	return nil
}

// placeOf is where the row of a node stands.
func placeOf(n *Node, places []position) Place {
	first, last := places[0].File, places[len(places)-1].File
	if first != last {
		for _, p := range places {
			if p.Line == n.Line {
				return p.Place
			}
		}
	}
	return Place{first, n.Line}
}

// note remembers how far rows have been met that are named after their lines.
func (s *idSet) note(p Place) {
	for len(s.last) <= p.File.number {
		s.last = append(s.last, Place{File: p.File})
	}
	s.last[p.File.number] = p
}

// begin keeps ids from now on, and those of the rows met so far.
func (s *idSet) begin() {
	s.seen = map[uint64]where{}
	var name []byte
	for _, last := range s.last {
		for p := (Place{last.File, 1}); p.Line <= last.Line; p.Line++ {
			name = p.AppendNodeID(name[:0])
			s.seen[token.Identity(string(name))] = where{int32(p.File.number), p.Line}
		}
	}
}
