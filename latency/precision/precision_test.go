package precision

import (
	"math"
	"testing"
)

// Bytes of an element with its scales (spec/latency.md 1.10).
func TestBytesIncludeScales(t *testing.T) {
	for name, want := range map[string]float64{
		"bf16": 2, "FP16": 2, "fp8": 1, "fp8-block": 1 + 4.0/16384, "nvfp4": 0.5625, "mxfp4": 0.53125, "int4": 0.5234375, "fp32": 4, "awq": 0.5234375,
	} {
		if f, err := Find(name); err != nil || math.Abs(f.Bytes-want) > 1e-12 {
			t.Errorf("%s: %v bytes, want %v, %v", name, f.Bytes, want, err)
		}
	}
	if _, err := Find("fp5"); err == nil {
		t.Error("fp5 was taken")
	}
}

// Weight-only formats multiply in bf16 and quantise no activations.
func TestWeightOnlyFormatsMultiplyInBF16(t *testing.T) {
	for _, name := range Names() {
		f, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if f.Quantizes != (f.Unit != BF16Unit) || f.Quantizes != (f.Input < 2) {
			t.Errorf("%+v", f)
		}
	}
}
