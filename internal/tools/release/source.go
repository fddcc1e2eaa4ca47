package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// platform is what a binary runs on.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// platforms are those that are released.
func platforms() []platform {
	return []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}}
}

// source is what is built.
type source struct {
	root    string
	version string
	time    time.Time // of the commit
	dirty   bool
	cache   string // directory of the build cache; "" for the usual one
}

// describe asks git what there is in dir.
func describe(ctx context.Context, dir, version string) (*source, error) {
	s := &source{version: version}
	var epoch, changes string
	var err error
	for _, ask := range []struct {
		into *string
		args []string
	}{
		{&s.root, []string{"rev-parse", "--show-toplevel"}},
		{&epoch, []string{"log", "-1", "--format=%ct"}},
		{&changes, []string{"status", "--porcelain"}},
		{&version, []string{"describe", "--tags", "--always", "--dirty"}},
	} {
		if *ask.into, err = command(ctx, dir, nil, "git", ask.args...); err != nil {
			return nil, err
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	s.version, s.dirty = cmp.Or(s.version, version), changes != ""
	s.time = time.Unix(seconds, 0).UTC()
	return s, err
}

// compile builds the program for one platform. Nothing of this machine gets in but the version of
// Go.
func (s *source) compile(ctx context.Context, p platform, to string) error {
	_, err := command(ctx, s.root, s.environ(p), "go", "build", "-trimpath", "-buildvcs=auto",
		"-ldflags", "-s -w -buildid= -X main.version="+s.version, "-o", to, "./cmd/andon")
	return err
}

// buildBoard builds the pages that the binary embeds, for which make build would do without.
func (s *source) buildBoard(ctx context.Context) error {
	said, err := command(ctx, s.root, nil, "make", "--no-print-directory", "board")
	if err != nil {
		return err
	}
	page := filepath.Join(s.root, "internal", "ui", "dist", "index.html")
	if _, err := os.Stat(page); err != nil {
		return fmt.Errorf("a release has the board: %s", said)
	}
	return nil
}

// environ is the environment of the go command, without what a person may have set for themselves.
func (s *source) environ(p platform) []string {
	env := []string{
		"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1",
		"GOFLAGS=-mod=readonly", // an empty one would be that of go env -w
		"GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off",
	}
	if s.cache != "" {
		env = append(env, "GOCACHE="+s.cache)
	}
	return env
}

// command runs a program and returns what it prints, without the end of its last line.
func command(
	ctx context.Context, dir string, env []string, name string, args ...string,
) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, errs.Bytes())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// write makes the program, built for this machine, write its manual and completions into dir.
func (s *source) write(ctx context.Context, dir string) error {
	temporary, err := os.MkdirTemp("", "andon-release-")
	if err != nil {
		return err
	}
	defer removeAll(temporary)
	binary := filepath.Join(temporary, "andon")
	if err := s.compile(ctx, platform{runtime.GOOS, runtime.GOARCH}, binary); err != nil {
		return err
	}
	completions := filepath.Join(dir, "completions")
	if _, err := command(ctx, dir, nil, binary, "man", filepath.Join(dir, "man")); err != nil {
		return err
	}
	err = os.MkdirAll(completions, 0o755)
	for shell, name := range map[string]string{
		"bash": "andon.bash", "zsh": "_andon", "fish": "andon.fish", "powershell": "andon.ps1",
	} {
		text, e := command(ctx, dir, nil, binary, "completion", shell)
		err = errors.Join(err, e,
			os.WriteFile(filepath.Join(completions, name), []byte(text+"\n"), 0o644))
	}
	return err
}

// removeAll removes a directory, whatever the go command made unwritable in it.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return err
	})
	_ = os.RemoveAll(dir) // what is left lies where temporary things do
}
