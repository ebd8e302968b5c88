package main

import (
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// A binary that nobody stamped finds the commit of its checkout, as git tells it.
func TestTheCheckoutTellsItsCommit(t *testing.T) {
	want, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Skip("needs git and a checkout: ", err)
	}
	if got := checkoutCommit(); got != strings.TrimSpace(string(want)) {
		t.Errorf("commit %s, git says %s", got, want)
	}
}

// Refs may be packed, HEAD may be detached, and a worktree's files lie elsewhere.
func TestCommitsAreFoundWhereverGitKeepsThem(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e@example.org"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %s", args, out)
		}
		return strings.TrimSpace(string(out))
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git: ", err)
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "one")
	commit := git("rev-parse", "HEAD")
	check := func(state, dir string) {
		t.Helper()
		if got := headOf(gitDir(dir)); got != commit {
			t.Errorf("%s: commit %q, want %s", state, got, commit)
		}
	}
	check("a loose ref", dir)
	git("worktree", "add", "-q", filepath.Join(dir, "linked"), "-b", "other")
	check("a worktree", filepath.Join(dir, "linked"))
	git("pack-refs", "--all")
	check("a packed ref", dir)
	git("checkout", "-q", "--detach")
	check("a detached head", dir)
}

func TestStampsNameTheCommit(t *testing.T) {
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}}
	if got := stamped(info); got != "abc-dirty" {
		t.Error(got)
	}
	for version, want := range map[string]string{"": "", "(devel)": "", "v1.2.3": "", "v0.0.0-20260101120000-0123456789ab": "0123456789ab", "v1.2.4-0.20260101120000-0123456789ab": "0123456789ab"} {
		if got := stamped(&debug.BuildInfo{Main: debug.Module{Version: version}}); got != want {
			t.Errorf("%s: commit %q, want %q", version, got, want)
		}
	}
}
