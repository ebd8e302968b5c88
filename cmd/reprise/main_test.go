package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"reprise": main})
}

// TestScripts plays the scripts in testdata/script: each is a session at a
// terminal, with its files behind it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("REPRISE_UPDATE_SCRIPTS") != "",
		Setup:               withExamples,
	})
}

// withExamples puts the examples where a checkout has them.
func withExamples(env *testscript.Env) error {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(env.WorkDir, "examples"), os.DirFS(examples))
}
