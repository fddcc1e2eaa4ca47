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

// longestFetch is how long it may take to fetch the jars, some 70 MB.
const longestFetch = 10 * time.Minute

// install returns a java that Cassandra runs on, and the directory of Cassandra's jars. What is not
// there it fetches: the jars once for this user, by Maven, from wherever Maven is set to fetch.
func install(ctx context.Context) (java, jars string, err error) {
	cache, err := cacheDir()
	if err != nil {
		return "", "", err
	}
	// Two test binaries may be at it at once.
	unlock, err := lock(filepath.Join(cache, "install.lock"))
	if err != nil {
		return "", "", err
	}
	defer unlock()
	jars = filepath.Join(cache, "cassandra-"+Version)
	if java, err = findJava(ctx); err != nil {
		return "", "", err
	}
	switch _, err := os.Stat(jars); {
	case err == nil:
		return java, jars, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, longestFetch)
	defer cancel()
	return java, jars, fetch(ctx, cache, jars)
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

// fetch fills a directory with jars. It is there with all of them, or not at all.
func fetch(ctx context.Context, cache, jars string) error {
	maven, err := findMaven(ctx)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(cache, "fetching-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	pom, err := fill("pom.xml", map[string]string{"Version": Version})
	if err != nil {
		return err
	}
	pomFile, fetched := filepath.Join(work, "pom.xml"), filepath.Join(work, "jars")
	if err := os.WriteFile(pomFile, pom, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, maven, "--batch-mode", "--quiet", "--strict-checksums",
		"--file", pomFile, "dependency:copy-dependencies",
		"-DoutputDirectory="+fetched, "-DincludeScope=runtime")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fetch jars by mvn: %w: %s", errors.Join(err, context.Cause(ctx)),
			strings.TrimSpace(string(out)))
	}
	return os.Rename(fetched, jars)
}
