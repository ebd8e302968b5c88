package roofline

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/reprise-sim/reprise/latency"
	"github.com/reprise-sim/reprise/latency/hardware"
	"github.com/reprise-sim/reprise/latency/kernel"
	"github.com/reprise-sim/reprise/latency/work"
)

// Setup is what a price is made of.
type Setup struct {
	GPU        hardware.GPU
	Deployment *work.Deployment
	Engine     Engine
	Tables     *kernel.Tables
	Factors    Factors
	// Measured answers for operators that were measured; nil: none. What it does not
	// know the laws of Tables say.
	Measured Measured
	// Error is what is known of the error of such a model, in a few words; "" if
	// nothing is.
	Error string
}

// Measured is tables of measured operators.
type Measured interface {
	// Op is the time of one execution of an operator, ms.
	Op(o *work.Op) (ms float64, from latency.Provenance, ok bool)
	// Attention is the time of all that reads the cache in one layer of a pass, ms.
	Attention(s *work.Sums) (ms float64, from latency.Provenance, ok bool)
}

// Model prices passes of one deployment on one GPU type. It implements
// [latency.Model] in raw ms.
type Model struct {
	gpu     hardware.GPU
	d       *work.Deployment
	engine  Engine
	factors Factors
	error   string
	tables  Measured // nil: none

	laws     map[lawKey]*kernel.Law
	messages map[messageKey]*kernel.Message
	borrowed bool

	attention []attention
	experts   *experts // nil: none
	tokens    memo     // by padded tokens: everything that depends on them alone
	heads     memo     // by sampled tokens
}

// New makes the model. It is an error if there is no law for an operator.
func New(s Setup) (*Model, error) {
	m := &Model{
		gpu: s.GPU, d: s.Deployment, engine: s.Engine, factors: s.Factors, error: s.Error, tables: s.Measured,
		laws: map[lawKey]*kernel.Law{}, messages: map[messageKey]*kernel.Message{},
		tokens: newMemo(maxTokens), heads: newMemo(maxHeads),
	}
	if err := m.findLaws(s.Tables); err != nil {
		return nil, err
	}
	for _, r := range m.d.Attention() {
		m.attention = append(m.attention, m.compile(&r))
	}
	if m.d.Model.MoE() {
		m.experts = m.compileExperts()
	}
	return m, nil
}

// findLaws looks up the laws of all operators that a pass can have.
func (m *Model) findLaws(t *kernel.Tables) error {
	p := work.Sums{PrefillSeqs: 1, PrefillNew: 2, PrefillPairs: 3, DecodeSeqs: 1, DecodeNew: 1, DecodeContext: 1, Sampled: 1}
	for _, o := range m.d.Ops(&p, nil) {
		if o.Class.Communicates() {
			for _, custom := range []bool{false, true} {
				law, err := t.Message(o.Class, &m.gpu, o.Ranks, custom)
				if err != nil {
					return err
				}
				m.messages[messageKey{o.Class, o.Ranks, custom}] = &law
				m.borrowed = m.borrowed || law.Borrowed
			}
			continue
		}
		law, err := t.Law(o.Class, &m.gpu, o.Format, m.family(&o))
		if err != nil {
			return err
		}
		m.laws[lawKey{o.Class, o.Format.Name, m.family(&o)}] = &law
		m.borrowed = m.borrowed || law.Borrowed
	}
	return nil
}

// Name prints as "roofline llama-3.1-8b on h100-sxm TP1, vllm".
func (m *Model) Name() string {
	kind := "roofline"
	if m.tables != nil {
		kind = "table, else roofline"
	}
	return fmt.Sprintf("%s %s on %s %s, %s", kind, m.d.Model.Name, m.gpu.Name, m.d.Layout, m.engine.Name)
}

// Predicts implements [latency.Predictor].
func (m *Model) Predicts() string {
	text := fmt.Sprintf("%s (weights %s, cache %s) on %s %s under %s, from ",
		m.d.Model.Name, m.d.Weights, m.d.Cache.Name, m.gpu.Name, m.d.Layout, m.engine.Name)
	if m.tables != nil {
		text += "measured operators and, where there are none, "
	}
	text += "laws fitted to kernel tables"
	if m.borrowed {
		text += ", some borrowed from similar GPUs or formats"
	}
	if m.error != "" {
		text += "; " + m.error
	}
	return text
}

// Needs is Sums.
func (*Model) Needs() latency.Detail { return latency.Sums }

// Window implements [latency.Windowed].
func (m *Model) Window() int64 { return int64(m.d.Model.Window()) }

// Cost implements [latency.Model]. A pass of decodes has its price as DecodeMs, any
// other as PrefillMs.
func (m *Model) Cost(p *latency.Pass) (latency.Duration, error) {
	s := work.Of(p, m.d.Layout.PP)
	ms := m.fixed(p) + m.cached(&s)
	if p.PrefillNew == 0 {
		return latency.Duration{DecodeMs: ms}, nil
	}
	return latency.Duration{PrefillMs: ms}, nil
}

// Decodes implements [latency.Model].
func (m *Model) Decodes(first *latency.Pass, dst []float64) error {
	p, fixed := *first, m.fixed(first)
	s := work.Of(first, m.d.Layout.PP)
	for i := range dst {
		s.Grow(&p, m.d.Layout.PP)
		dst[i] = fixed + m.cached(&s)
		p.Advance(1)
	}
	return nil
}

// fixed is the price of a pass without what reads the cache.
func (m *Model) fixed(p *latency.Pass) float64 {
	tokens, decodes := p.PrefillNew+p.DecodeNew, p.DecodeNew
	if tokens == 0 {
		return 0
	}
	graphed := m.engine.graphed(p.PrefillNew, p.DecodeNew)
	if graphed {
		decodes = m.engine.padded(decodes)
		tokens = decodes
	}
	ms := m.tokens.at(tokens, m.tokenMs) + m.heads.at(p.Sampled, m.headMs)
	if m.experts != nil {
		ms += m.expertMs(float64(p.PrefillNew), float64(decodes))
	}
	return ms + m.hostMs(p.PrefillSeqs+p.DecodeSeqs, graphed)
}

// hostMs is what the engine takes for a pass.
func (m *Model) hostMs(seqs int64, graphed bool) float64 {
	parts := m.host(seqs, graphed)
	return float64(m.factors[Step]*parts[Step]) + float64(m.factors[Sequences]*parts[Sequences]) + float64(m.factors[Eager]*parts[Eager])
}

func (m *Model) host(seqs int64, graphed bool) (parts Parts) {
	parts[Step] = m.engine.StepMs
	parts[Sequences] = m.engine.SequenceMs * float64(seqs)
	if !graphed {
		parts[Eager] = m.engine.EagerMs * float64(m.d.Model.Depth())
	}
	return parts
}

// tokenMs is the price of what follows from the number of new tokens of a pass.
func (m *Model) tokenMs(tokens int64) float64 {
	return m.sum(m.d.TokenOps(float64(tokens)/float64(m.d.Layout.PP), nil))
}

// headMs is the price of the last stage for a number of sampled tokens.
func (m *Model) headMs(sampled int64) float64 {
	return m.sum(m.d.HeadOps(float64(sampled)/float64(m.d.Layout.PP), nil))
}

// sum is the price of operators.
func (m *Model) sum(ops []work.Op) float64 {
	ms := 0.0
	for i := range ops {
		ms += m.price(&ops[i])
	}
	return ms
}

// Sizes up to which prices are remembered; larger passes are priced anew each time.
const (
	maxTokens = 1 << 14
	maxHeads  = 1 << 12
)

// memo remembers a pure function of a small number. It may be shared: who comes first
// computes, and all compute the same.
type memo []atomic.Uint64

func newMemo(n int) memo { return make(memo, n+1) }

// at is f(n).
func (c memo) at(n int64, f func(int64) float64) float64 {
	if n >= int64(len(c)) {
		return f(n)
	}
	if bits := c[n].Load(); bits != 0 {
		return math.Float64frombits(bits)
	}
	v := f(n)
	c[n].Store(math.Float64bits(v))
	return v
}
