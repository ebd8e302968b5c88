package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reprise-sim/reprise/live/livetest"
)

// shownServer is the server that pages and help texts name. In tests another one
// answers: package livetest, with everything that makes a replay exact.
const shownServer = "http://localhost:8000"

// withServer puts its URL into $SERVER.
func withServer(env *testscript.Env) error {
	return startServer(env, "SERVER", livetest.Options{Plugin: true, CachedCount: true, Times: true, PerOutput: time.Millisecond})
}

func startServer(env *testscript.Env, name string, o livetest.Options) error {
	url, stop, err := livetest.Start(livetest.New(o))
	if err != nil {
		return err
	}
	env.Setenv(name, url)
	env.Defer(stop)
	return nil
}

// servers starts a server and puts its URL into a variable:
//
//	server NAME plugin cached times context=100 wrong=2 refuse=reason unavailable=1 per_output=5ms
//
// Words are what it can do, pairs what is special: wrong=2 writes another token at
// position 2 of every call but the probe's, refuse says 400 to them, unavailable
// answers their first attempts with 503, stall=3 brings nothing behind token 3.
func servers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: server NAME [WORD...]")
	}
	var o livetest.Options
	var f livetest.Faults
	for _, arg := range args[1:] {
		word, value, _ := strings.Cut(arg, "=")
		number, _ := strconv.Atoi(value) // 0 where it is none
		switch word {
		case "plugin":
			o.Plugin = true
		case "native":
			o.ScaleOut, o.TraceReplay = true, true
		case "cached":
			o.CachedCount = true
		case "context":
			o.MaxModelLen = number
		case "wrong":
			f.WrongToken = number
		case "cut":
			f.CutTo = number
		case "refuse":
			f.Refuse = value
		case "stall":
			f.StallAfter = number
		case "unavailable":
			f.Unavailable = number
		case "per_output":
			d, err := time.ParseDuration(value)
			ts.Check(err)
			o.PerOutput = d
		default:
			ts.Fatalf("server: unknown word %q", arg)
		}
	}
	o.Faults = func(r *livetest.Received) livetest.Faults {
		if r.ID == "" {
			return livetest.Faults{} // the probe
		}
		return f
	}
	url, stop, err := livetest.Start(livetest.New(o))
	ts.Check(err)
	ts.Setenv(args[0], url)
	ts.Defer(stop)
}
