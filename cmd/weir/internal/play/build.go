package play

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

var errNoSource = errors.New(`play builds its page from the source of weir: run "go run ./cmd/weir play" in a clone`)

// programs are the files of the page that the go command builds, and their folders in the source.
var programs = map[string]string{"weir.wasm": "wasm", "log.wasm": "wasm/log"}

// build builds the programs, and adds them to files, with the script of the same Go release that
// starts them. They stay in the user's cache, if that can be written. The go command then builds
// them anew only if the source, its dependencies or the release of Go have changed.
func build(ctx context.Context, files map[string][]byte) error {
	source, err := sourceDir(ctx)
	if err != nil {
		return err
	}
	cache, dir, err := cacheDirs(source)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, folder := range programs {
		folder = filepath.Join(source, filepath.FromSlash(folder))
		if files[name], err = buildOne(ctx, folder, filepath.Join(dir, name), filepath.Join(cache, name)); err != nil {
			return err
		}
	}
	root, err := goCommand(ctx, source, "env", "GOROOT")
	if err != nil {
		return err
	}
	script, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	license, code, _ := bytes.Cut(script, []byte("\n\n")) // the license stays
	files["wasm_exec.js"] = bytes.Join([][]byte{license, comment.ReplaceAll(code, nil)}, []byte("\n\n"))
	return err
}

// cacheDirs returns the folder that keeps the programs of a clone, and a new one to build them in.
// For a user without a home, as in many containers, they are the same and nothing is kept.
func cacheDirs(source string) (cache, dir string, err error) {
	if cache, err = os.UserCacheDir(); err == nil {
		clone := sha256.Sum256([]byte(source)) // each clone has its own
		cache = filepath.Join(cache, "weir", fmt.Sprintf("play-%x", clone[:8]))
		err = os.MkdirAll(cache, 0o755)
	}
	if err == nil {
		dir, err = os.MkdirTemp(cache, "new-")
	}
	if err != nil {
		dir, err = os.MkdirTemp("", "weir-play-")
		cache = dir
	}
	return cache, dir, err
}

// buildOne builds the program of a folder as the file own, and keeps it as the file kept. It works
// on a copy of that, which the go command leaves alone if nothing has changed, because another
// process may do the same.
func buildOne(ctx context.Context, folder, own, kept string) ([]byte, error) {
	before, err := os.ReadFile(kept)
	if err == nil {
		err = os.WriteFile(own, before, 0o755)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// Without inlining the page is 100 kB smaller as it is sent. The tag leaves out what a page does
	// not need of package weir. Git refuses clones of other users.
	args := []string{"build", "-buildvcs=false", "-trimpath", "-tags=weir_play", "-gcflags=all=-l", "-ldflags=-s -w", "-o", own, "."}
	if _, err := goCommand(ctx, folder, args...); err != nil {
		return nil, err
	}
	after, err := os.ReadFile(own)
	if err == nil && !bytes.Equal(before, after) {
		err = os.Rename(own, kept)
	}
	return after, err
}

// sourceDir is the folder around the programs' folders, in the clone that this program was built
// in. With -trimpath a program does not know where that was: it is then the clone that it runs in.
func sourceDir(ctx context.Context) (string, error) {
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) {
		dir, err := goCommand(ctx, ".", "list", "-f", "{{.Dir}}", path.Dir(file))
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			return "", errNoSource
		} else if err != nil {
			return "", err
		}
		file = filepath.Join(strings.TrimSpace(string(dir)), filepath.Base(file))
	}
	internal := filepath.Dir(filepath.Dir(file))
	if _, err := os.Stat(filepath.Join(internal, "..", "..", "..", "go.work")); err != nil {
		return "", errNoSource // a copy in the module cache lacks what is around it
	}
	return internal, nil
}

// goCommand runs the go command for the browser, and returns what it prints.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("play needs the go command in PATH: %w", err)
	}
	if ctx.Err() != nil {
		return nil, errors.New("stopped before the page was built")
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return out, nil
}
