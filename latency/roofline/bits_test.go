package roofline

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/reprise-sim/reprise/latency"
)

// The bits of 10^5 prices of all kinds of deployments. They are the same on every
// processor (latency/fused_test.go); a change of a law or of a constant changes them and
// has to change this number.
func TestPricesHaveTheSameBitsEverywhere(t *testing.T) {
	const want = 0x67eaba85e63cf3c4
	hash, random := fnv.New64a(), rand.New(rand.NewPCG(1, 2))
	all := deployments(t)
	for _, s := range all {
		m := price(t, s)
		for range 100_000 / len(all) {
			p := latency.Pass{Window: m.Window()}
			for range random.IntN(3) {
				p.AddPrefill(1+random.Int64N(4096), random.Int64N(20000))
			}
			n := random.Int64N(300)
			for context := 1 + random.Int64N(9000); p.DecodeSeqs < n; context += 7 {
				p.AddDecode(context)
			}
			p.Sampled = p.DecodeSeqs + p.PrefillSeqs
			var bits [8]byte
			binary.LittleEndian.PutUint64(bits[:], math.Float64bits(cost(t, m, &p)))
			hash.Write(bits[:])
		}
	}
	if got := hash.Sum64(); got != want {
		t.Errorf("%#x, want %#x", got, uint64(want))
	}
}
