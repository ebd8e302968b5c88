package roofline

import (
	"math"

	"github.com/reprise-sim/reprise/latency/kernel"
	"github.com/reprise-sim/reprise/latency/work"
)

// headOps are the operators of the last stage.
var headOps = map[string]bool{"head": true, "sampler": true, "gather-logits": true}

// add prices an operator and adds it to the groups it belongs to.
func (m *Model) add(o *work.Op, parts *Parts) {
	times := float64(o.Times)
	if o.Class.Communicates() {
		ms := float64(times * m.message(o).Ms(o, &m.gpu))
		if headOps[o.Name] {
			parts[Head] += ms
		} else {
			parts[Messages] += ms
		}
		return
	}
	law := m.law(o)
	t := law.Terms(o, &m.gpu)
	switch {
	case headOps[o.Name]:
		parts[Head] += float64(times * t.Ms())
	case o.Class == work.GEMM:
		m.addProduct(t, times, parts)
	default:
		parts[groupOf[o.Class]] += float64(times * t.Ms())
	}
}

// price is an operator as measured, else as its law says, weighed. No calibration
// makes it faster than its limits.
func (m *Model) price(o *work.Op) float64 {
	if m.tables != nil {
		if ms, _, ok := m.tables.Op(o); ok {
			return ms * float64(o.Times)
		}
	}
	var parts Parts
	m.add(o, &parts)
	w := parts.weighed(&m.factors)
	return max(w.Ms(), m.limit(o))
}

// limit is the time of an operator at full speed, all executions.
func (m *Model) limit(o *work.Op) float64 {
	if o.Class.Communicates() {
		return 0
	}
	compute, memory := kernel.Limits(o, &m.gpu)
	return float64(o.Times) * max(compute, memory)
}

// groupOf is the group of operators that belong to one as a whole.
var groupOf = [work.Classes]Group{
	work.ContextAttention: Context, work.LatentContext: Context,
	work.DecodeAttention: Decode, work.LatentDecode: Decode, work.IndexScore: Decode, work.LinearState: Decode,
	work.Experts: Experts, work.Stream: Rest, work.Sampling: Head,
}

// addProduct divides a matrix product: what both limits take together, by the squares
// of each, and the rest.
func (m *Model) addProduct(t kernel.Terms, times float64, parts *Parts) {
	both := math.Sqrt(float64(t.Compute*t.Compute) + float64(t.Memory*t.Memory))
	if both > 0 {
		parts[Compute] += float64(times * (t.Compute * t.Compute / both))
		parts[Memory] += float64(times * (t.Memory * t.Memory / both))
	}
	parts[Rest] += float64(times * (t.Launch + t.Side))
}

// lawKey is what a law is looked up by.
type lawKey struct {
	class          work.Class
	format, family string
}

// law is the law of an operator's kernels. All laws are found when the model is made.
func (m *Model) law(o *work.Op) *kernel.Law {
	return m.laws[lawKey{o.Class, o.Format.Name, m.family(o)}]
}

// family names the kernels of an operator.
func (m *Model) family(o *work.Op) string {
	if o.Shape.HeadDim > 0 {
		return work.HeadFamily(o.Shape.HeadDim)
	}
	return ""
}

// customReduceBytes is the largest sum for which an engine's own kernel is used
// (spec/latency.md 1.11).
const customReduceBytes = 8 << 20

// messageKey is what the law of a message is looked up by.
type messageKey struct {
	class  work.Class
	ranks  int
	custom bool
}

// message is the law of a collective.
func (m *Model) message(o *work.Op) *kernel.Message {
	custom := o.Class == work.AllReduce && m.engine.CustomReduce && o.Message <= customReduceBytes && o.Ranks <= 8
	return m.messages[messageKey{o.Class, o.Ranks, custom}]
}
