package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// checkoutCommit is the commit of the checkout that this file was compiled in, ""
// if there is none any more. "go run", and "go build" where stamping is switched
// off, leave no other trace of it. Changes that are not committed are not seen.
func checkoutCommit() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	for dir := filepath.Dir(file); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if git := gitDir(dir); git != "" {
			return headOf(git)
		}
	}
	return ""
}

// gitDir is the git directory of a checkout, "" if dir is none. In a linked
// worktree .git is a file that names it.
func gitDir(dir string) string {
	path := filepath.Join(dir, ".git")
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		if err != nil {
			return ""
		}
		return path
	}
	named, ok := strings.CutPrefix(firstLine(path), "gitdir: ")
	if ok && !filepath.IsAbs(named) {
		named = filepath.Join(dir, named)
	}
	return named
}

// headOf is the commit that is checked out.
func headOf(git string) string {
	head := firstLine(filepath.Join(git, "HEAD"))
	ref, symbolic := strings.CutPrefix(head, "ref: ")
	if !symbolic {
		return head
	}
	if common := firstLine(filepath.Join(git, "commondir")); common != "" { // of a linked worktree
		git = filepath.Join(git, common)
	}
	if commit := firstLine(filepath.Join(git, filepath.FromSlash(ref))); commit != "" {
		return commit
	}
	packed, err := os.ReadFile(filepath.Join(git, "packed-refs"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(packed)) {
		if commit, ok := strings.CutSuffix(strings.TrimSpace(line), " "+ref); ok {
			return commit
		}
	}
	return ""
}

// firstLine is the first line of a file, "" if it cannot be read.
func firstLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}
