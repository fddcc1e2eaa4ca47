package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestArchive: it has what the commit has, what was built from it, and nothing of this machine.
func TestArchive(t *testing.T) {
	s, built := small(t), t.TempDir()
	for _, name := range shared() {
		if name != "deploy" && name[0] != ':' {
			write(t, s.root, name, name)
		}
	}
	write(t, s.root, "deploy/unit", "unit")
	write(t, s.root, "deploy/unit_test.go", "package deploy")
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "."},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message=a",
			"--date=@1000000000 +0000"},
	} {
		env := []string{"GIT_COMMITTER_DATE=@1000000000 +0000"}
		if _, err := command(t.Context(), s.root, env, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	write(t, built, "man/andon.1", "page")
	if err := os.WriteFile(filepath.Join(built, "andon"), []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	content, err := s.archive(t.Context(), "andon_v1", built)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil || z.Name != "" || !z.ModTime.IsZero() {
		t.Errorf("the header of gzip: %+v, %v", z.Header, err)
	}
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			got = append(got, fmt.Sprintf("%s %o %d %d", h.Name, h.Mode, h.Uid, h.ModTime.Unix()))
		}
	}
	slices.Sort(got)
	for _, want := range []string{
		"andon_v1/CHANGELOG.md 644 0 1000000000", "andon_v1/andon 755 0 1000000000",
		"andon_v1/deploy/unit 644 0 1000000000", "andon_v1/man/andon.1 644 0 1000000000",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if len(got) != 9 {
		t.Errorf("%d files: %s", len(got), got)
	}
}

func TestSums(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		write(t, dir, "a", "one")
		if err := writeSums(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := compareSums(first, second); err != nil {
		t.Error(err)
	}
	if path, err := exec.LookPath("sha256sum"); err == nil {
		cmd := exec.CommandContext(t.Context(), path, "--check", "--strict", sumsFile)
		cmd.Dir = first
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sha256sum --check: %v\n%s", err, out)
		}
	}
	write(t, second, "a", "two")
	if err := writeSums(second); err != nil {
		t.Fatal(err)
	}
	if err := compareSums(first, second); err == nil || !strings.Contains(err.Error(), "differ") {
		t.Errorf("two builds that differ: %v", err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// small is a source of a few lines, whose program is built as ours is.
func small(t *testing.T) *source {
	t.Helper()
	dir := filepath.Join(t.TempDir(), t.Name())
	write(t, dir, "go.mod", "module example.com/small\n\ngo 1.26\n")
	write(t, dir, "cmd/andon/main.go", "package main\n\nvar version string\n\n"+
		"func main() { defer func() { println(version, recover() != nil) }(); panic(1) }\n")
	return &source{root: dir, version: "v1.2.3", time: time.Unix(1e9, 0).UTC()}
}

// TestCompileIsReproducible: neither the directory nor the cache gets into a binary. Only this
// machine's platform is compiled for, since Go compiles its own library for each.
func TestCompileIsReproducible(t *testing.T) {
	s := small(t)
	elsewhere := *small(t)
	elsewhere.cache = os.Getenv("GOCACHE")
	p := platform{runtime.GOOS, runtime.GOARCH}
	first, second := compiled(t, s, p), compiled(t, &elsewhere, p)
	if !bytes.Equal(first, second) {
		t.Errorf("%s: built in two directories, the binaries differ", p)
	}
	if bytes.Contains(first, []byte(filepath.Dir(s.root))) {
		t.Errorf("%s: the binary names the directory it was built in", p)
	}
}

func compiled(t *testing.T, s *source, p platform) []byte {
	t.Helper()
	to := filepath.Join(t.TempDir(), "andon")
	if err := s.compile(t.Context(), p, to); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestBill: the bill of our own program names what is linked, each with a licence.
func TestBill(t *testing.T) {
	s := &source{root: "../../..", version: "v1.2.3", time: time.Unix(1e9, 0).UTC()}
	p := platform{"linux", "amd64"}
	binary := filepath.Join(t.TempDir(), "andon")
	if err := s.compile(t.Context(), p, binary); err != nil {
		t.Fatal(err)
	}
	text, err := s.billOf(t.Context(), p, binary, []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.billOf(t.Context(), p, binary, []byte("content"))
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("asked twice, the bill is another one (%v)", err)
	}
	var b bill
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if b.Metadata.Component.Version != "v1.2.3" || b.Metadata.Timestamp != "2001-09-09T01:46:40Z" {
		t.Errorf("got %+v", b.Metadata)
	}
	refs := map[string]bool{}
	for _, c := range b.Components {
		if len(c.Licenses) == 0 || c.Version == "" || refs[c.Ref] {
			t.Errorf("got %+v", c)
		}
		refs[c.Ref] = true
	}
	for _, path := range []string{"std", "github.com/cockroachdb/pebble/v2",
		"github.com/spf13/cobra"} {
		if !strings.Contains(string(text), `"pkg:golang/`+path+`@`) {
			t.Errorf("the bill has no %s", path)
		}
	}
}

func TestSerial(t *testing.T) {
	const want = "urn:uuid:00000000-0000-8000-8000-000000000000"
	if got := serial([32]byte{}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := packageURL("a.b/C",
		"v1.0.0+incompatible"), "pkg:golang/a.b/C@v1.0.0%2Bincompatible"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLicencesIn(t *testing.T) {
	dir := t.TempDir()
	if _, err := licencesIn(dir); err == nil {
		t.Error("a module without a licence passes")
	}
	write(t, dir, "LICENSE.md", "Permission is hereby granted, free of charge, to any person "+
		"obtaining a copy")
	if got, err := licencesIn(dir); err != nil || len(got) != 1 || got[0] != "MIT" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := licencesIn(""); err == nil {
		t.Error("a module that is nowhere passes")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestDescribe(t *testing.T) {
	s, err := describe(t.Context(), ".", "v1.2.3")
	if err != nil {
		t.Skip("this is not a clone: ", err)
	}
	if s.version != "v1.2.3" || s.time.IsZero() || !exists(filepath.Join(s.root, "go.mod")) {
		t.Errorf("got %+v", s)
	}
	if err := release(context.Background(), []string{"-outt"}); err == nil {
		t.Error("a flag that is unknown passes")
	}
}
