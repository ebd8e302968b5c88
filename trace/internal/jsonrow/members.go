package jsonrow

// Members are the fields of an object that a reader knows, at most 64.
type Members struct {
	Names []string
	Name  string // of the member whose value comes next
	seen  uint64
}

// Member moves on to the next field of the object that m knows; it is false at the
// end of the object. Other fields are skipped. A field that comes twice is a
// fault.
func (s *Scanner) Member(m *Members) bool {
	for {
		key, ok := s.Key()
		if !ok {
			return false
		}
		i := index(m.Names, key)
		if i < 0 {
			s.Skip()
			continue
		}
		if m.seen>>i&1 != 0 {
			s.Duplicate()
			return false
		}
		m.seen |= 1 << i
		m.Name = m.Names[i]
		return true
	}
}

// Has is whether the field has been there.
func (m *Members) Has(name string) bool { return m.seen>>index(m.Names, name)&1 != 0 }

func index[T []byte | string](names []string, name T) int {
	for i, n := range names {
		if n == string(name) {
			return i
		}
	}
	return -1
}
