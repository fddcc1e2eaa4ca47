package deploy_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/config"
)

// tool returns the path of a program, and skips the test where it is not installed. It is no
// failure in continuous integration either: these are tools of other systems, not engines.
func tool(t *testing.T, name, from string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("not checked by its own tool: %s is not installed (Debian: apt-get install %s)",
			name, from)
	}
	return path
}

// run runs a tool in a directory; its output is the failure.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	unit        = "systemd/andon.service"
	systemdTool = "systemd-analyze" //nolint:misspell // it is the name of the tool
)

// TestSerialUnit: systemd understands the unit, and finds little that the service could do beyond
// its work.
func TestSerialUnit(t *testing.T) {
	analyser := tool(t, systemdTool, "systemd")
	dir := t.TempDir()
	// verify wants the program to be there.
	text := strings.ReplaceAll(read(t, unit), "ExecStart=andon", "ExecStart=true")
	if err := os.WriteFile(filepath.Join(dir, "andon.service"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := run(t, dir, analyser, "verify", "--man=no", "./andon.service"); out != "" {
		t.Errorf("verify has something to say:\n%s", out)
	}
	// 0 is a service that can do nothing, 100 one that can do all; most that are hardened have 20.
	help := run(t, dir, analyser, "--help")
	if !strings.Contains(help, "--offline") {
		t.Skip("not rated: systemd is older than 250 and can't do it offline")
	}
	run(t, dir, analyser, "security", "--offline=yes", "--threshold=15", "./andon.service")
}

// TestSerialUnitSettings: what the unit sets are settings, and it goes where the program looks.
func TestSerialUnitSettings(t *testing.T) {
	text := read(t, unit)
	var env []string
	for _, m := range regexp.MustCompile(`(?m)^Environment=(\S+)$`).FindAllStringSubmatch(text,
		-1) {
		if strings.HasPrefix(m[1], "ANDON_CONFIG=") {
			continue
		}
		env = append(env, m[1])
	}
	c, _, err := app.LoadConfig(config.Sources{File: "systemd/andon.yaml", Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if c.TokenFile != "%d/token" || !strings.Contains(text, "\nLoadCredential=token:") {
		t.Errorf("token_file is %q", c.TokenFile)
	}
	if c.Data != "/var/lib/andon" || !strings.Contains(text, "\nStateDirectory=andon\n") {
		t.Errorf("data is %q", c.Data)
	}
}

// TestSerialContainerfile reads the file as far as it matters, for machines without a builder:
// nothing runs in it, no one is root, and what it copies and sets is there.
func TestSerialContainerfile(t *testing.T) {
	lines := instructions(read(t, "container/Containerfile"))
	if lines[0] != "FROM scratch" {
		t.Errorf("it begins with %q: an image with a shell in it", lines[0])
	}
	var user string
	var env []string
	for _, line := range lines[1:] {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "RUN", "ADD", "FROM", "SHELL":
			t.Errorf("%s needs what an empty image has not, or brings in what is not ours", line)
		case "USER":
			user = rest
		case "COPY":
			copied(t, strings.Fields(rest))
		case "ENV":
			env = append(env, strings.Fields(rest)...)
		}
	}
	if !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
		t.Errorf("the user is %q", user)
	}
	if _, _, err := app.LoadConfig(config.Sources{Env: env}); err != nil || len(env) == 0 {
		t.Errorf("its settings: %v, %v", env, err)
	}
}

// instructions returns the lines without comments, those that are continued joined.
func instructions(text string) (lines []string) {
	text = regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// copied checks that what is copied is in the repository, but for the binary, which is built, and
// that the builder is not kept from it.
func copied(t *testing.T, words []string) {
	t.Helper()
	allowed := read(t, "container/Containerfile.dockerignore")
	for _, from := range words[:len(words)-1] {
		if strings.HasPrefix(from, "--") {
			continue
		}
		if !strings.Contains(allowed, "\n!"+strings.TrimSuffix(from, "/")+"\n") {
			t.Errorf("%s is copied and not let through to the builder", from)
		}
		if _, err := os.Stat(filepath.Join("..", from)); err != nil && from != "bin/andon" {
			t.Error(err)
		}
	}
}

// TestSerialContainerBuilds builds an image as a release does, and reads what is in it. It needs no
// network, because it begins with an empty image.
func TestSerialContainerBuilds(t *testing.T) {
	buildah := tool(t, "buildah", "buildah")
	dir := t.TempDir()
	t.Setenv("STORAGE_DRIVER", "vfs")
	info := exec.CommandContext(t.Context(), buildah, "--root", filepath.Join(dir, "root"),
		"--runroot", filepath.Join(dir, "run"), "info")
	if err := info.Run(); err != nil {
		t.Skipf("not built: buildah can't work here: %v", err)
	}
	t.Setenv("CGO_ENABLED", "0")
	binary, archive := filepath.Join(dir, "andon"), filepath.Join(dir, "image.tar")
	run(t, "..", "go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "./cmd/andon")
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	t.Setenv("VERSION", "v0.0.0")
	run(t, ".", "./container/build.sh", "linux", runtime.GOARCH, binary, archive)
	got := imageConfig(t, archive)
	if want := "65532:65532 [/andon] [serve]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// imageConfig returns the user, the entry point and the command of an image in an archive of OCI.
func imageConfig(t *testing.T, archive string) string {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for r := tar.NewReader(file); ; {
		if _, err := r.Next(); err != nil {
			t.Fatalf("%s has no configuration: %v", archive, err)
		}
		var image struct {
			Config *struct {
				User            string
				Entrypoint, Cmd []string
			}
		}
		// Layers are no JSON, and the other files have no user.
		if err := json.NewDecoder(r).Decode(&image); err == nil && image.Config != nil &&
			image.Config.User != "" {
			c := image.Config
			return fmt.Sprint(c.User, " ", c.Entrypoint, " ", c.Cmd)
		}
	}
}

// TestSerialRules: promtool reads rules and configuration, and the rules do what their tests say.
func TestSerialRules(t *testing.T) {
	promtool := tool(t, "promtool", "prometheus")
	run(t, "prometheus", promtool, "check", "config", "--syntax-only", "prometheus.yml")
	for _, name := range rules() {
		run(t, "prometheus", promtool, "check", "rules", name+".rules.yml")
		run(t, "prometheus", promtool, "test", "rules", name+".rules.test.yml")
	}
}

// rules are the files of alerts: those about Andon, and those about the devices.
func rules() []string { return []string{"andon", "andon-fleet"} }

// TestSerialEachAlertIsTested: it is shown to fire, and not to where all is well.
func TestSerialEachAlertIsTested(t *testing.T) {
	var tests string
	var alerts [][]string
	for _, name := range rules() {
		tests += read(t, "prometheus/"+name+".rules.test.yml")
		alerts = append(alerts, regexp.MustCompile(`(?m)^\s+- alert: (\w+)$`).
			FindAllStringSubmatch(read(t, "prometheus/"+name+".rules.yml"), -1)...)
	}
	if len(alerts) < 5 {
		t.Fatalf("only %d alerts", len(alerts))
	}
	for _, a := range alerts {
		fires := "alertname: " + a[1] + "\n        exp_alerts:\n          - exp_labels"
		if !strings.Contains(tests, fires) || !strings.Contains(tests,
			"{eval_time: 2h, alertname: "+a[1]+"}") {
			t.Errorf("%s is not shown to fire, or not to be silent", a[1])
		}
	}
}

// TestSerialQueriesOfTheDashboard: Prometheus can read each of them.
func TestSerialQueriesOfTheDashboard(t *testing.T) {
	promtool := tool(t, "promtool", "prometheus")
	var rules bytes.Buffer
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for i, q := range dashboard(t).queries() {
		q = strings.NewReplacer("$__rate_interval", "5m", "$instance", "all", "'", "''").Replace(q)
		rules.WriteString("  - record: query" + strings.Repeat("x",
			i+1) + "\n    expr: '" + q + "'\n")
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, rules.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, ".", promtool, "check", "rules", file)
}
