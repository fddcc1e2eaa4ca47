package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon/internal/lint/licences"
)

// The bill of materials, in the form of CycloneDX 1.6 (ECMA-424): the binary, the modules that are
// linked into it as Go wrote them down in it, and the standard library.

type bill struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	SerialNumber string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string     `json:"timestamp"`
	Component component  `json:"component"`
	Property  []property `json:"properties"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []licence  `json:"licenses,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// licence is one by its SPDX identifier, or an expression of several.
type licence struct {
	License    *licenceID `json:"license,omitempty"`
	Expression string     `json:"expression,omitempty"`
}

type licenceID struct {
	ID string `json:"id"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// billOf reads what Go wrote into a binary about itself.
func (s *source) billOf(
	ctx context.Context, p platform, path string, content []byte,
) ([]byte, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	dirs, err := s.moduleDirs(ctx, p)
	if err != nil {
		return nil, err
	}
	b := newBill(s, p, info, sha256.Sum256(content))
	for _, m := range info.Deps {
		names, err := licencesIn(dirs[m.Path])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		b.add(moduleComponent(m, names))
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(b)
	return text.Bytes(), err
}

func newBill(s *source, p platform, info *debug.BuildInfo, sum [sha256.Size]byte) *bill {
	program := component{
		Type: "application", Name: "andon", Version: s.version,
		Hashes:   []hash{{"SHA-256", fmt.Sprintf("%x", sum)}},
		Licenses: []licence{{License: &licenceID{"Apache-2.0"}}},
		PURL:     packageURL(info.Main.Path, s.version),
	}
	program.Ref = program.PURL
	library := component{
		Type: "library", Name: "std", Version: info.GoVersion,
		Licenses: []licence{{License: &licenceID{"BSD-3-Clause"}}},
		PURL:     packageURL("std", strings.TrimPrefix(info.GoVersion, "go")),
	}
	library.Ref = library.PURL
	b := &bill{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1, SerialNumber: serial(sum),
		Metadata: metadata{
			Timestamp: s.time.Format(time.RFC3339), Component: program,
			Property: []property{{"andon:platform", p.String()}},
		},
		Components:   []component{},
		Dependencies: []dependency{{Ref: program.Ref}},
	}
	b.add(library)
	return b
}

// add adds a component that the program is linked with.
func (b *bill) add(c component) {
	b.Components = append(b.Components, c)
	b.Dependencies[0].DependsOn = append(b.Dependencies[0].DependsOn, c.Ref)
	b.Dependencies = append(b.Dependencies, dependency{Ref: c.Ref, DependsOn: []string{}})
}

func moduleComponent(m *debug.Module, names []string) component {
	if m.Replace != nil {
		m = m.Replace
	}
	c := component{
		Type: "library", Name: m.Path, Version: m.Version, PURL: packageURL(m.Path, m.Version),
		Properties: []property{{"go:sum", m.Sum}},
	}
	c.Ref = c.PURL
	if len(names) == 1 {
		c.Licenses = []licence{{License: &licenceID{names[0]}}}
	} else {
		c.Licenses = []licence{{Expression: strings.Join(names, " AND ")}}
	}
	return c
}

// packageURL names a module as github.com/package-url/purl-spec has it.
func packageURL(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// serial makes a UUID (of version 8, RFC 9562) from what the bill is about: the same binary has the
// same bill.
func serial(sum [sha256.Size]byte) string {
	u := slices.Clone(sum[:16])
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// moduleDirs returns where the modules are that a platform's binary is linked with.
func (s *source) moduleDirs(ctx context.Context, p platform) (map[string]string, error) {
	out, err := command(ctx, s.root, s.environ(p), "go", "list", "-deps",
		"-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}", "./cmd/andon")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for line := range strings.Lines(out) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dirs[path] = dir
	}
	return dirs, nil
}

// licencesIn returns the licences of a module by the texts at its top.
func licencesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(cmp.Or(dir, "no such directory"))
	if err != nil {
		return nil, err
	}
	var m licences.Module
	for _, e := range entries {
		stem, _, _ := strings.Cut(strings.ToLower(e.Name()), ".")
		if e.IsDir() || !slices.Contains([]string{"license", "licence", "copying", "unlicense"},
			stem) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		m.Texts = append(m.Texts, string(text))
	}
	return m.Names()
}
