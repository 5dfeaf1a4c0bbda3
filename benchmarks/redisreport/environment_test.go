package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRevisionTellsThatFilesDifferFromIt(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, value := range map[string]string{ // this repository alone, also in a hook of another
		"GIT_DIR": filepath.Join(dir, ".git"), "GIT_WORK_TREE": dir, "GIT_INDEX_FILE": filepath.Join(dir, ".git", "index"),
	} {
		t.Setenv(name, value)
	}
	git := func(args ...string) string {
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a", "-c", "commit.gpgsign=false"}, args...)
		out, err := exec.Command("git", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("take.lua", "return 1")
	write("page.md", "old")
	git("add", ".")
	git("commit", "-qm", "first")
	commit := git("rev-parse", "--short", "HEAD")
	check := func(when, want string) {
		if got := newEnvironment(time.Now(), "").revision; got != want {
			t.Errorf("%s, the revision is %q, must be %q", when, got, want)
		}
	}
	check("in a clean tree", commit)
	write("page.md", "new") // as this command itself writes one
	check("with another page", commit)
	write("take.lua", "return 2")
	check("with another script", commit+"+")
	git("commit", "-qam", "second")
	write("new.go", "package main")
	check("with a new file", git("rev-parse", "--short", "HEAD")+"+")
}
