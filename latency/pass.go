package latency

// Pass is what one rank computes in one forward pass. A chunk is a request's
// share of the pass: new tokens behind tokens that were computed before (or came
// from a cache). The engine's rules say which chunks are prefill and which are
// decode.
type Pass struct {
	PrefillSeqs   int64 // prefill chunks
	PrefillNew    int64 // their new tokens
	PrefillBefore int64 // tokens before them, cached ones included
	PrefillPairs  int64 // (new token, token it attends to) pairs of prefill chunks, itself included

	DecodeSeqs    int64 // decode chunks
	DecodeNew     int64 // their new tokens: DecodeSeqs, more under speculation
	DecodeContext int64 // tokens they attend to, the new ones included

	Sampled    int64 // chunks that yield a token
	PoolTokens int64 // tokens the rank's KV pool holds when it is full
}

// AddPrefill adds a prefill chunk of n new tokens behind before others.
func (p *Pass) AddPrefill(n, before int64) {
	p.PrefillSeqs++
	p.PrefillNew += n
	p.PrefillBefore += before
	p.PrefillPairs += n*before + n*(n+1)/2
}

// meanNew is the mean number of new tokens of a prefill chunk as models get it:
// the mean of all tokens up to the chunk's end less the mean of those before it,
// both rounded down (spec/engine.md 3.3). It is 0 without prefill.
func (p *Pass) meanNew() int64 {
	if p.PrefillSeqs <= 0 {
		return 0
	}
	return max((p.PrefillBefore+p.PrefillNew)/p.PrefillSeqs-p.PrefillBefore/p.PrefillSeqs, 0)
}

// AddDecode adds a decode chunk of one token that attends to context tokens,
// itself included.
func (p *Pass) AddDecode(context int64) {
	p.DecodeSeqs++
	p.DecodeNew++
	p.DecodeContext += context
}

// Duration is the cost of a pass in ms. The parts run one after the other and are
// added to a clock one by one, prefill first; a model that does not tell them
// apart leaves DecodeMs 0.
type Duration struct {
	PrefillMs, DecodeMs float64
}

// Detail is what a model has to know of a pass.
type Detail uint8

const (
	Sums Detail = iota // a Pass is enough
	Rows               // every chunk; passes cannot be advanced in bulk then
)

// Model prices passes. Implementations are pure and safe for concurrent use.
type Model interface {
	// Name says which model it is and with which parameters, as reports print it.
	Name() string
	Needs() Detail
	// Cost prices one pass. The parts are finite and not negative.
	Cost(p *Pass) (Duration, error)
	// Decodes prices len(dst) consecutive pure decode passes in which the same
	// requests run: dst[i] is the DecodeMs of first with DecodeContext grown by
	// i·DecodeNew, to the bit what Cost would say.
	Decodes(first *Pass, dst []float64) error
}

// Predictor is implemented by models whose prices are meant to be those of real
// hardware.
type Predictor interface {
	// Predicts says which hardware and software and where the numbers come from,
	// in a few words; "" if the model predicts none.
	Predicts() string
}

// Predicts is what m predicts, "" for a model that is a convention or an
// assumption. Reports of runs priced by such a model say that it is not a hardware
// prediction.
func Predicts(m Model) string {
	if p, ok := m.(Predictor); ok {
		return p.Predicts()
	}
	return ""
}
