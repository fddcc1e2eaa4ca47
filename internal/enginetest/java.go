package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// javaVersion is the one that Cassandra 5 runs on and that jvm.options is for.
const javaVersion = "17"

// findJava returns a java of the right version; it may install one, see aptInstall.
func findJava(ctx context.Context) (string, error) {
	return find(ctx, func() (string, error) { return searchJava(ctx) },
		"Cassandra needs Java "+javaVersion+", here or in JAVA_HOME", "openjdk-17-jre-headless")
}

// Tool returns a program that a test runs, for which it gives a reason. On a machine that is there
// for tests alone, packages of Debian's that have it are installed.
func Tool(t testing.TB, name, reason string, packages ...string) (path string) {
	t.Helper()
	return asked(t, func() (string, error) {
		return findTool(t.Context(), name, reason, packages...)
	})
}

// findTool returns a program; it may install one, see aptInstall.
func findTool(ctx context.Context, name, reason string, packages ...string) (string, error) {
	return find(ctx, func() (string, error) { return exec.LookPath(name) }, reason, packages...)
}

// find returns what is searched for, once it is installed.
func find(
	ctx context.Context, search func() (string, error), reason string, packages ...string,
) (string, error) {
	path, missing := search()
	if missing == nil {
		return path, nil
	}
	if err := aptInstall(ctx, packages...); err != nil {
		return "", fmt.Errorf("%w, and %s: install it (on Debian, %s); %w", missing, reason,
			strings.Join(packages, " "), err)
	}
	return search()
}

// searchJava returns the first java of the right version.
func searchJava(ctx context.Context) (java string, err error) {
	candidates := []string{os.Getenv("JAVA_HOME") + "/bin/java", "java"}
	others, _ := filepath.Glob("/usr/lib/jvm/*" + javaVersion + "*/bin/java") // a fixed pattern
	for _, java := range append(candidates, others...) {
		// It says: openjdk version "17.0.15" 2025-04-15.
		out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
		version := regexp.MustCompile(`version "` + javaVersion + `[."]`)
		if err == nil && version.Match(out) {
			return java, nil
		}
	}
	return "", errors.New("there is no Java " + javaVersion)
}

// errByHand says that a package is for the person who tests to install.
var errByHand = errors.New("it is installed by itself only on Debian, by root, with CI=true")

// aptInstall installs packages of Debian's, on a machine that is there for tests alone.
func aptInstall(ctx context.Context, names ...string) error {
	if os.Getenv("CI") != "true" || os.Getuid() != 0 {
		return errByHand
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return errByHand
	}
	// Another program may hold the lock of dpkg for a while.
	const quiet, patient = "-qq", "-oDPkg::Lock::Timeout=120"
	for _, args := range [][]string{
		{quiet, patient, "update"},
		append([]string{quiet, patient, "-y", "--no-install-recommends", "install"}, names...),
	} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if err := run(cmd); err != nil {
			return err
		}
	}
	return nil
}
