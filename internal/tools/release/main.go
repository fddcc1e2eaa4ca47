// Command release builds the archives of a release: for each platform one static binary with its
// licences, manual, completions and deployment files, a bill of materials, and the checksums of
// all.
//
// The same commit gives the same bytes, wherever and whenever it is built with the same version of
// Go: paths are trimmed, times are that of the commit, names are sorted. -check shows it, by
// building a second time from a clone in another directory, with an empty build cache.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1)
	}
}

func release(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	out := flags.String("out", "dist", "directory to write to")
	version := flags.String("version", "", "version to stamp (default: what git describe says)")
	dirty := flags.Bool("allow-dirty", false, "build although there are changes that no commit has")
	check := flags.Bool("check", false, "build a second time elsewhere, and compare the checksums")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := describe(ctx, ".", *version)
	if err != nil {
		return err
	}
	if s.dirty && !*dirty {
		return errors.New("there are changes that no commit has, so nobody could build this " +
			"again: " +
			"commit them, or try with -allow-dirty")
	}
	if err := s.buildAll(ctx, *out); err != nil {
		return err
	}
	fmt.Printf("Built %s in %s.\n", s.version, *out)
	if *check {
		return s.checkAgain(ctx, *out)
	}
	return nil
}

func (s *source) buildAll(ctx context.Context, out string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := s.buildBoard(ctx); err != nil {
		return err
	}
	written, err := os.MkdirTemp("", "andon-release-")
	if err != nil {
		return err
	}
	defer removeAll(written)
	if err := s.write(ctx, written); err != nil {
		return err
	}
	for _, p := range platforms() {
		if err := s.buildOne(ctx, out, p, written); err != nil {
			return fmt.Errorf("build for %s: %w", p, err)
		}
	}
	return writeSums(out)
}

func (s *source) buildOne(ctx context.Context, out string, p platform, written string) error {
	dir, err := os.MkdirTemp("", "andon-release-")
	if err != nil {
		return err
	}
	defer removeAll(dir)
	binary := filepath.Join(dir, "andon")
	if err := s.compile(ctx, p, binary); err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	bill, err := s.billOf(ctx, p, binary, content)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("andon_%s_%s_%s", s.version, p.os, p.arch)
	archive, err := s.archive(ctx, name, dir, written)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(out, name+".tar.gz"), archive, 0o644),
		os.WriteFile(filepath.Join(out, name+".cdx.json"), bill, 0o644))
}

// checkAgain builds once more from a copy elsewhere and compares.
func (s *source) checkAgain(ctx context.Context, out string) error {
	dir, err := os.MkdirTemp("", "andon-release-again-")
	if err != nil {
		return err
	}
	defer removeAll(dir)
	copied := filepath.Join(dir, "elsewhere", "source")
	if _, err := command(ctx, dir, nil, "git", "clone", "--quiet", s.root, copied); err != nil {
		return err
	}
	again := *s
	again.root, again.cache = copied, filepath.Join(dir, "cache")
	second := filepath.Join(dir, "dist")
	if err := again.buildAll(ctx, second); err != nil {
		return fmt.Errorf("build again: %w", err)
	}
	return compareSums(out, second)
}

func compareSums(first, second string) error {
	a, errA := os.ReadFile(filepath.Join(first, sumsFile))
	b, errB := os.ReadFile(filepath.Join(second, sumsFile))
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("built twice, the checksums differ:\n%s\n%s", a, b)
	}
	fmt.Printf("Built twice, in two directories and without the first one's cache: the same.\n%s",
		a)
	return nil
}
