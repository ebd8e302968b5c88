package latency

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Compilers for other processors may fuse a product and a sum, which rounds once
// instead of twice: prices and results would have other bits there. Nothing in the
// packages whose numbers reach results is fused but the product that nanos.go asks for.
func TestNoProductIsFusedWithASum(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for another processor")
	}
	build := exec.Command("go", "build", "-gcflags=-S", ".", "./arch", "./capacity", "./fit", "./hardware", "./kernel", "./precision",
		"./predict", "./profile", "./roofline", "./work", "../accuracy", "../metrics/...", "../cluster", "../engine/...", "../kvcache",
		"../routing", "../arrival", "../synth", "../simulate", "../workload", "../trace/...")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	var listing bytes.Buffer
	build.Stdout, build.Stderr = &listing, &listing
	if err := build.Run(); err != nil {
		t.Fatalf("%v\n%.2000s", err, listing.String())
	}
	fused := regexp.MustCompile(`([a-z_]+\.go:[0-9]+)\).*\tFN?M(ADD|SUB)D\t`)
	wanted := 0
	for line := range strings.Lines(listing.String()) {
		switch m := fused.FindStringSubmatch(line); {
		case m == nil:
		case strings.HasPrefix(m[1], "nanos.go:"):
			wanted++
		default:
			t.Errorf("%s: a product is fused with a sum: want float64() around the product", m[1])
		}
	}
	if wanted == 0 {
		t.Error("the listing does not show the fused product of nanos.go")
	}
}
