package mooncake

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/reprise-sim/reprise/trace"
)

// file writes n rows of ids block ids each and returns the file's path.
func file(b *testing.B, n, ids int) string {
	var text []byte
	for i := range n {
		text = fmt.Appendf(text, `{"timestamp": %d, "input_length": %d, "output_length": 512, "hash_ids": [`, i, ids*512)
		for j := range ids {
			if j > 0 {
				text = append(text, ", "...)
			}
			text = strconv.AppendInt(text, int64(i*ids+j), 10)
		}
		text = append(text, "]}\n"...)
	}
	path := filepath.Join(b.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkCheckMooncakeRow is the checking pass, BenchmarkStreamMooncakeRow the
// streaming pass; an operation is a row.
func BenchmarkCheckMooncakeRow(b *testing.B)  { benchmarkRow(b, false) }
func BenchmarkStreamMooncakeRow(b *testing.B) { benchmarkRow(b, true) }

func benchmarkRow(b *testing.B, stream bool) {
	for _, ids := range []int{1, 25} {
		b.Run(fmt.Sprintf("ids=%d", ids), func(b *testing.B) {
			path := file(b, b.N, ids)
			b.ReportAllocs()
			b.ResetTimer()
			inputs, err := trace.OpenInputs(path)
			if err != nil {
				b.Fatal(err)
			}
			t, err := Open(inputs, Options{})
			if err != nil {
				b.Fatal(err)
			}
			if !stream {
				return
			}
			b.ResetTimer()
			source, err := t.Tasks()
			if err != nil {
				b.Fatal(err)
			}
			defer source.Close()
			for err == nil {
				_, err = source.Next()
			}
			if err != io.EOF {
				b.Fatal(err)
			}
		})
	}
}
