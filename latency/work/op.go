package work

import "github.com/reprise-sim/reprise/latency/precision"

// Class says which kernels execute an operator: their speed is a property of the
// class, the GPU and the number format.
type Class uint8

const (
	GEMM             Class = iota // m × n × k matrix product
	ContextAttention              // new tokens of prompts over cached and new ones
	DecodeAttention               // one token of each sequence over its cache
	LatentContext                 // the same two over a latent cache
	LatentDecode
	IndexScore  // scores of an indexer over all cached tokens
	LinearState // reads and writes the states of linear attention
	Experts     // fused expert MLPs
	Stream      // norms, activations, rotary embedding: bound by memory
	Sampling    // softmax and choice of a token
	AllReduce
	AllGather
	ReduceScatter
	AllToAll
	Send
	Classes // how many there are
)

var classNames = [Classes]string{
	"gemm", "context-attention", "decode-attention", "latent-context", "latent-decode", "index-score", "linear-state",
	"experts", "stream", "sampling", "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send",
}

func (c Class) String() string { return classNames[c] }

// Communicates is whether the operator is a message between GPUs.
func (c Class) Communicates() bool { return c >= AllReduce }

// Op is an operator of a pass as one GPU executes it.
type Op struct {
	Name  string
	Class Class
	// Format of the weights or of the cache that the operator reads.
	Format precision.Format
	// Times is how often the operator runs in the pass: once for each layer of a group.
	Times int

	// Of one execution.
	FLOPs   float64 // a multiply-add counts 2
	Weights float64 // bytes of parameters read
	Cache   float64 // bytes of KV cache, latent cache or state read and written
	Moved   float64 // bytes of activations read and written
	// Side is bytes that kernels in front and behind move: inputs that are quantised,
	// tokens that are sorted by expert.
	Side float64
	// Message is the bytes of a collective over Ranks GPUs: of the whole tensor for
	// AllReduce, AllGather and ReduceScatter, of what one GPU sends for others.
	Message float64
	Ranks   int

	// Shape is what tables of measured kernels are asked by.
	Shape Shape
}

// Shape are the sizes of an operator; what does not apply is 0.
type Shape struct {
	M, N, K float64 // GEMM: rows, columns, depth

	Heads, KVHeads, HeadDim int // attention, of one GPU
	Window                  int
	Seqs                    float64 // sequences
	New, Before             float64 // tokens of a sequence that are new, that are cached; means

	Tokens                     float64 // experts: tokens that the group sees
	Hidden, Width              int
	Experts, TopK, GPUs, Parts int // GPUs that share an expert, groups that share the experts
	Distinct                   float64
}

// Bytes is all that one execution moves through the memory of the GPU, side
// kernels apart.
func (o *Op) Bytes() float64 { return o.Weights + o.Cache + o.Moved }

// Unit is the unit that multiplies: that of the weights' format, for what reads a
// cache the bf16 unit.
func (o *Op) Unit() precision.Unit {
	if o.Class == GEMM || o.Class == Experts {
		return o.Format.Unit
	}
	return precision.BF16Unit
}

// bf16 is the bytes of an activation.
const bf16 = 2

// gemm is an m × n × k product with weights in a format (spec/latency.md 1.3): the
// tile of a tensor core has at least 16 rows.
func gemm(name string, f precision.Format, times int, m, n, k float64) Op {
	rows := max(m, 16)
	o := Op{
		Name: name, Class: GEMM, Format: f, Times: times,
		FLOPs: 2 * rows * n * k, Weights: f.Bytes * n * k, Moved: float64(f.Input*rows*k) + float64(bf16*rows*n),
		Shape: Shape{M: m, N: n, K: k},
	}
	if f.Quantizes {
		o.Side = (bf16 + f.Input) * m * k
	}
	return o
}

// GEMMOp is one m × n × k product with weights in a format.
func GEMMOp(f precision.Format, m, n, k float64) Op { return gemm("gemm", f, 1, m, n, k) }

// ExpertOp is one fused layer of gated experts whose assignments are spread evenly,
// as its shape says.
func ExpertOp(f precision.Format, s Shape) Op {
	width := share(s.Width, s.GPUs)
	return fused(f, 3, float64(s.Hidden), width, s.Tokens*float64(s.TopK)/float64(s.Parts), s)
}
