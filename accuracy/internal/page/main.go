// Page writes docs/accuracy.md and its figures from the measurements that come with
// the program: every one of them is simulated or computed again.
//
//	go run ./accuracy/internal/page docs            writes them
//	go run ./accuracy/internal/page -check docs     fails if they are not up to date
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reprise-sim/reprise/accuracy"
)

func main() {
	check := flag.Bool("check", false, "compare, write nothing")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: page [-check] DIR")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *check); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(dir string, check bool) error {
	files, err := files()
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if !check {
			if err := os.WriteFile(path, f.text, 0o666); err != nil {
				return err
			}
			continue
		}
		if old, err := os.ReadFile(path); err != nil || !bytes.Equal(old, f.text) {
			return fmt.Errorf("%s is not up to date: make accuracy", path)
		}
	}
	return nil
}

// file is a file of the page.
type file struct {
	name string
	text []byte
}

// files makes the page and its figures.
func files() ([]file, error) {
	cases, err := accuracy.Bundled()
	if err != nil {
		return nil, err
	}
	outcomes, err := accuracy.Predict(context.Background(), cases, accuracy.Options{Calibrated: true})
	if err != nil {
		return nil, err
	}
	recorded, err := accuracy.Recorded("accuracy/testdata/rtx4090-llama-3.1-8b")
	if err != nil {
		return nil, err
	}
	leftOut, err := os.ReadFile("accuracy/leaveout.csv")
	if err != nil {
		return nil, err
	}
	page, err := text(accuracy.Summarize(outcomes), recorded, leftOut)
	if err != nil {
		return nil, err
	}
	return []file{
		{"accuracy.md", page},
		{"accuracy-dense.svg", figure(outcomes, false)},
		{"accuracy-experts.svg", figure(outcomes, true)},
	}, nil
}
