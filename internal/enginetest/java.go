package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// javaVersion is the one that Cassandra 5 runs on and that jvm.options is for.
const javaVersion = "17"

// findJava returns a java of the right version; it may install one, see aptInstall.
func findJava(ctx context.Context) (string, error) {
	return find(ctx, func() (string, error) { return searchJava(ctx) },
		"Cassandra needs Java "+javaVersion+", here or in JAVA_HOME", "openjdk-17-jre-headless")
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

// searchJava returns the first java of the right version, or else an error that says what there is.
func searchJava(ctx context.Context) (java string, err error) {
	candidates := []string{}
	if home := os.Getenv("JAVA_HOME"); home != "" {
		candidates = append(candidates, filepath.Join(home, "bin", "java"))
	}
	if path, err := exec.LookPath("java"); err == nil {
		candidates = append(candidates, path)
	}
	others, _ := filepath.Glob("/usr/lib/jvm/*" + javaVersion + "*/bin/java") // a fixed pattern
	var versions []string
	for _, path := range append(candidates, others...) {
		v := versionOf(ctx, path)
		if v == javaVersion {
			return path, nil
		}
		if v != "" && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	if versions == nil {
		return "", errors.New("there is no java")
	}
	return "", fmt.Errorf("there is only Java %s", strings.Join(versions, ", "))
}

// versionOf returns "17" for a java that says
//
//	openjdk version "17.0.15" 2025-04-15
//
// and "" for one that says nothing of the kind.
func versionOf(ctx context.Context, java string) string {
	out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return ""
	}
	_, after, _ := bytes.Cut(out, []byte(`version "`))
	quoted, _, _ := bytes.Cut(after, []byte(`"`))
	first, _, _ := strings.Cut(string(quoted), ".")
	return first
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
