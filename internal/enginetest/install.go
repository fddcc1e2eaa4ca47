package enginetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// longestFetch is how long it may take to fetch an engine.
const longestFetch = 10 * time.Minute

// install returns a java that Cassandra runs on, and the directory of Cassandra's jars.
func install(ctx context.Context) (java, jars string, err error) {
	if java, err = findJava(ctx); err != nil {
		return "", "", err
	}
	jars, err = cached(ctx, "cassandra-"+Version,
		fetchJars(jar{"org.apache.cassandra", "cassandra-all", Version}))
	return java, jars, err
}

// cached returns a directory of the user's cache. The first call on a machine fetches what is in
// it, from wherever the tool that fetches is set to. The directory is there with all of it, or not
// at all.
func cached(
	ctx context.Context, name string, fetch func(ctx context.Context, dir string) error,
) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	// Two test binaries may fetch at once.
	unlock, err := lock(filepath.Join(cache, "install.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	dir := filepath.Join(cache, name)
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	work, err := os.MkdirTemp(cache, "fetching-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	ctx, cancel := context.WithTimeout(ctx, longestFetch)
	defer cancel()
	if err := fetch(ctx, work); err != nil {
		return "", err
	}
	return dir, os.Rename(work, dir)
}

// cacheDir makes the directory for what is fetched. It is outside the checkout, so every checkout
// of the user has it.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil { // there is no home: this happens in continuous integration
		base = filepath.Join(os.TempDir(), fmt.Sprintf("cache-%d", os.Getuid()))
	}
	dir := filepath.Join(base, "andon")
	return dir, os.MkdirAll(dir, 0o755)
}

type jar struct{ Group, Name, Version string }

// fetchJars fetches jars by Maven, with all that they need: some 70 MB for Cassandra.
func fetchJars(of ...jar) func(ctx context.Context, dir string) error {
	return func(ctx context.Context, dir string) error {
		maven, err := findTool(ctx, "mvn", "Maven fetches engines", "maven")
		if err != nil {
			return err
		}
		pom, err := fill("maven/pom.xml", of)
		if err != nil {
			return err
		}
		pomFile := filepath.Join(dir, "pom.xml")
		if err := os.WriteFile(pomFile, pom, 0o644); err != nil {
			return err
		}
		return run(exec.CommandContext(ctx, maven, "--batch-mode", "--quiet",
			"--strict-checksums", "--file", pomFile, "dependency:copy-dependencies",
			"-DoutputDirectory="+dir, "-DincludeScope=runtime"))
	}
}

// run runs a command. Its error says what the command printed.
func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err,
			strings.TrimSpace(string(out)))
	}
	return nil
}
