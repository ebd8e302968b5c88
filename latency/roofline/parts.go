package roofline

// Group is a part of a pass that a calibration may weigh (spec/latency.md 4.4).
type Group uint8

const (
	Compute   Group = iota // matrix products as far as arithmetic bounds them
	Memory                 // matrix products as far as reading weights bounds them
	Context                // attention over prompts
	Decode                 // attention of decodes
	Experts                // expert layers
	Messages               // between GPUs
	Head                   // LM head and sampler
	Rest                   // launches of kernels, norms and activations, quantising
	Step                   // host time of a pass
	Sequences              // host time of each sequence
	Eager                  // host time of each layer of a pass that no graph covers
	Groups                 // how many there are
)

var groupNames = [Groups]string{
	"gemm-compute", "gemm-memory", "context-attention", "decode-attention", "experts", "messages", "head", "rest",
	"step", "sequences", "eager",
}

func (g Group) String() string { return groupNames[g] }

// MarshalText writes the name.
func (g Group) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// Parts is the time of a pass by group, ms.
type Parts [Groups]float64

// Ms is the sum.
func (p *Parts) Ms() float64 {
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	return sum
}

// Factors weigh the groups: 1 is what the kernel tables and the engine's preset say.
type Factors [Groups]float64

// Unit is all factors 1.
func Unit() Factors {
	var f Factors
	for g := range f {
		f[g] = 1
	}
	return f
}

// weighed is p with each group times its factor.
func (p *Parts) weighed(f *Factors) Parts {
	var w Parts
	for g := range p {
		w[g] = p[g] * f[g]
	}
	return w
}

// Low and High bound what a fit may make of the factors: kernels are known from
// tables, so they are not far from 1; host time is known badly.
var (
	Low  = Factors{0.75, 0.75, 0.6, 0.7, 0.6, 0.3, 0.3, 0.5, 0, 0, 0}
	High = Factors{1.5, 1.5, 2.5, 1.5, 1.6, 2, 3, 2, 3, 15, 10}
)
