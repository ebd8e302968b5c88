package latency

// Provenance says where a price, or a part of one, is from.
type Provenance uint8

const (
	Exact        Provenance = iota // measured as it is
	Interpolated                   // between measurements
	Held                           // beyond them, at the efficiency of the last one
	Analytic                       // a law fitted to measurements of such kernels
	Borrowed                       // a law of another GPU or number format
	Clamped                        // beyond measurements, the last one as it is
	Provenances                    // how many there are
)

var provenanceNames = [Provenances]string{"exact", "interpolated", "held", "analytic", "borrowed", "clamped"}

func (p Provenance) String() string { return provenanceNames[p] }

// MarshalText writes the name.
func (p Provenance) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Shares is the time of a pass by provenance, ms.
type Shares [Provenances]float64

// Add adds o, n times.
func (s *Shares) Add(o *Shares, n float64) {
	for p := range s {
		s[p] += float64(o[p] * n)
	}
}

// Fractions are the shares of the whole by name, those of 0 left out; nil if there is
// nothing.
func (s *Shares) Fractions() map[string]float64 {
	sum := 0.0
	for _, v := range s {
		sum += v
	}
	var fractions map[string]float64
	for p, v := range s {
		if v > 0 {
			if fractions == nil {
				fractions = map[string]float64{}
			}
			fractions[Provenance(p).String()] = v / sum
		}
	}
	return fractions
}

// Sourced is implemented by models that know where each price is from. A run reports
// the shares.
type Sourced interface {
	Shares(p *Pass) Shares
}

// AsSourced is m, or what it scales, as a model that knows where its prices are
// from.
func AsSourced(m Model) (Sourced, bool) {
	if s, ok := m.(*scaled); ok {
		m = s.raw
	}
	sourced, ok := m.(Sourced)
	return sourced, ok
}
