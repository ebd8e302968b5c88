package main

import (
	"os"
	"testing"
)

func TestTheSecondSignalIsNotTheFirst(t *testing.T) {
	signals := make(chan os.Signal)
	heard := make(chan string)
	go watch(signals, make(chan struct{}), func() { heard <- "first" }, func() { heard <- "again" })
	for _, want := range []string{"first", "again"} {
		signals <- os.Interrupt
		if got := <-heard; got != want {
			t.Fatalf("heard %s, want %s", got, want)
		}
	}
}

func TestTheWatchEnds(t *testing.T) {
	done := make(chan struct{})
	close(done)
	watch(make(chan os.Signal), done, func() { t.Error("first") }, func() { t.Error("again") })
}
