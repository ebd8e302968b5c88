package precision

import (
	"fmt"
	"strings"
)

// Unit is the part of a GPU that multiplies: its speed is a peak of the GPU.
type Unit uint8

const (
	BF16Unit Unit = iota // bf16 and fp16, accumulated in fp32
	FP8Unit
	FP4Unit
)

var unitNames = [...]string{"bf16", "fp8", "fp4"}

func (u Unit) String() string { return unitNames[u] }

// Format is how the elements of a tensor are stored (spec/latency.md 1.10).
type Format struct {
	Name string
	// Bytes of an element as a weight or in a cache, scales included.
	Bytes float64
	// Input is the bytes of an element of the activations that a matrix in this
	// format is multiplied with.
	Input float64
	// Unit multiplies where the GPU has it, else the bf16 unit does.
	Unit Unit
	// Quantizes: the activations are quantised on the fly, a pass over them in front
	// of every matrix.
	Quantizes bool
}

// The formats. Scales: fp8-block one fp32 for 128 × 128 elements, nvfp4 one byte for
// 16, mxfp4 one for 32, int4 a scale and a zero point for 128. mxfp4-fp8 is mxfp4
// multiplied with activations in fp8, as engines do on Blackwell.
var (
	BF16     = Format{Name: "bf16", Bytes: 2, Input: 2, Unit: BF16Unit}
	FP8      = Format{Name: "fp8", Bytes: 1, Input: 1, Unit: FP8Unit, Quantizes: true}
	FP8Block = Format{Name: "fp8-block", Bytes: 1 + 4.0/16384, Input: 1, Unit: FP8Unit, Quantizes: true}
	NVFP4    = Format{Name: "nvfp4", Bytes: 0.5 + 1.0/16, Input: 0.5 + 1.0/16, Unit: FP4Unit, Quantizes: true}
	MXFP4    = Format{Name: "mxfp4", Bytes: 0.5 + 1.0/32, Input: 2, Unit: BF16Unit}
	MXFP4FP8 = Format{Name: "mxfp4-fp8", Bytes: 0.5 + 1.0/32, Input: 1, Unit: FP8Unit, Quantizes: true}
	INT4     = Format{Name: "int4", Bytes: 0.5 + 3.0/128, Input: 2, Unit: BF16Unit}
	FP32     = Format{Name: "fp32", Bytes: 4, Input: 4, Unit: BF16Unit}
)

var formats = []Format{BF16, FP8, FP8Block, NVFP4, MXFP4, MXFP4FP8, INT4, FP32}

// aliases are other names of formats, in lower case.
var aliases = map[string]string{
	"bfloat16": "bf16", "fp16": "bf16", "float16": "bf16", "half": "bf16", "auto": "bf16",
	"float8": "fp8", "fp8_e4m3": "fp8", "fp8-tensor": "fp8", "fp8-channel": "fp8",
	"fp8_block": "fp8-block", "fp4": "nvfp4",
	"w4a16_mxfp4": "mxfp4", "w4a8_mxfp4_mxfp8": "mxfp4-fp8", "int4_wo": "int4", "awq": "int4", "gptq": "int4", "w4a16": "int4",
	"float32": "fp32",
}

// Find is the format of that name, in any case.
func Find(name string) (Format, error) {
	n := strings.ToLower(name)
	if full, ok := aliases[n]; ok {
		n = full
	}
	for _, f := range formats {
		if f.Name == n {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("number format %q: want one of %s", name, strings.Join(Names(), ", "))
}

// Names lists the formats.
func Names() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}
