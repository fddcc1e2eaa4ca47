package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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

// describe asks git what there is in dir. SOURCE_DATE_EPOCH, as reproducible-builds.org has it,
// stands above the time of the commit.
func describe(ctx context.Context, dir, version string) (*source, error) {
	s := &source{version: version}
	root, err := command(ctx, dir, nil, "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	s.root = root
	if version == "" {
		if s.version, err = command(ctx, root, nil, "git", "describe", "--tags", "--always",
			"--dirty"); err != nil {
			return nil, fmt.Errorf("%w\nWithout git, say -version and set SOURCE_DATE_EPOCH", err)
		}
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		if epoch, err = command(ctx, root, nil, "git", "log", "-1", "--format=%ct"); err != nil {
			return nil, err
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the time of the commit: %w", err)
	}
	s.time = time.Unix(seconds, 0).UTC()
	changes, err := command(ctx, root, nil, "git", "status", "--porcelain")
	s.dirty = err == nil && changes != ""
	return s, nil
}

// compile builds the program for one platform. Nothing of this machine gets in but the version of
// Go.
func (s *source) compile(ctx context.Context, p platform, to string) error {
	_, err := command(ctx, s.root, s.environ(p), "go", "build", "-trimpath", "-buildvcs=auto",
		"-ldflags", "-s -w -buildid= -X main.version="+s.version, "-o", to, "./cmd/andon")
	return err
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

// sharedFiles are those of every archive: licences and what is there to deploy, as they are in the
// repository, and what the program writes about itself.
func (s *source) sharedFiles(ctx context.Context) ([]file, error) {
	var files []file
	for _, name := range []string{
		"LICENSE", "NOTICE", "THIRD_PARTY_LICENSES", "README.md", "CHANGELOG.md", "SECURITY.md",
	} {
		content, err := os.ReadFile(filepath.Join(s.root, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, mode: 0o644, content: content})
	}
	deploy, err := readTree(s.root, "deploy")
	if err != nil {
		return nil, err
	}
	written, err := s.writtenFiles(ctx)
	return slices.Concat(files, deploy, written), err
}

// writtenFiles asks the program, built for this machine, for its manual and completions.
func (s *source) writtenFiles(ctx context.Context) ([]file, error) {
	dir, err := os.MkdirTemp("", "andon-release-")
	if err != nil {
		return nil, err
	}
	defer removeAll(dir)
	binary := filepath.Join(dir, "andon")
	if err := s.compile(ctx, platform{runtime.GOOS, runtime.GOARCH}, binary); err != nil {
		return nil, err
	}
	if _, err := command(ctx, dir, nil, binary, "man", filepath.Join(dir, "man")); err != nil {
		return nil, err
	}
	files, err := readTree(dir, "man")
	for shell, name := range map[string]string{
		"bash": "andon.bash", "zsh": "_andon", "fish": "andon.fish", "powershell": "andon.ps1",
	} {
		text, e := command(ctx, dir, nil, binary, "completion", shell)
		files = append(files, file{name: "completions/" + name, mode: 0o644,
			content: []byte(text + "\n")})
		err = errors.Join(err, e)
	}
	return files, err
}

// readTree reads the files below a directory, but for tests. Their names begin with that of it.
func readTree(root, dir string) (files []file, err error) {
	err = fs.WalkDir(os.DirFS(root), dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) == ".go" {
			return err
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		files = append(files, file{name: name, mode: 0o644, content: content})
		return err
	})
	return files, err
}

// copyTree copies the source with its history, but not what was built from it.
func copyTree(from, to string) error {
	return fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		target := filepath.Join(to, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"bin", "dist", "andon-data"}, name):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, info.Mode().Perm())
	})
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
