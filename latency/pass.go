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

	// Sums for layers that see only the last Window tokens; 0: nobody asked for them
	// ([Windowed]).
	Window        int64
	WindowPairs   int64 // PrefillPairs inside the window
	WindowPrefill int64 // tokens that prefill chunks attend to, each counted once a chunk
	WindowDecodes int64 // DecodeContext inside the window
	WindowOpen    int64 // decode chunks that do not fill the window yet
}

// AddPrefill adds a prefill chunk of n new tokens behind before others.
func (p *Pass) AddPrefill(n, before int64) {
	p.PrefillSeqs++
	p.PrefillNew += n
	p.PrefillBefore += before
	p.PrefillPairs += pairs(n, before)
	if w := p.Window; w > 0 {
		inside := max(0, min(n, w-before)) // new tokens that see everything before them
		p.WindowPairs += pairs(inside, before) + (n-inside)*w
		p.WindowPrefill += min(before+n, n+w-1)
	}
}

// pairs counts the pairs of n new tokens behind others, each with itself and all
// before it.
func pairs(n, before int64) int64 { return n*before + n*(n+1)/2 }

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
	if p.Window > 0 {
		p.WindowDecodes += min(context, p.Window)
		if context < p.Window {
			p.WindowOpen++
		}
	}
}

// Advance turns a pass of decodes into the n-th after it, in which the same requests
// run. That no sequence fills its window is for the caller to know.
func (p *Pass) Advance(n int64) {
	p.DecodeContext += n * p.DecodeNew
	p.WindowDecodes += n * p.WindowOpen
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
	// requests run: dst[i] is the DecodeMs of first after [Pass.Advance](i), to
	// the bit what Cost would say.
	Decodes(first *Pass, dst []float64) error
}

// Windowed is implemented by models that price layers which see only the last tokens
// of a sequence. An engine that is told the width keeps the sums for it.
type Windowed interface {
	// Window is the width in tokens, 0 if all layers see everything.
	Window() int64
}

// Window is the window that m asks for, 0 if none.
func Window(m Model) int64 {
	if w, ok := m.(Windowed); ok {
		return w.Window()
	}
	return 0
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
