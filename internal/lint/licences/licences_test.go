package licences_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/lint/licences"
)

var update = flag.Bool("update", false, "write docs/licences.md and THIRD_PARTY_LICENSES")

const repository = "../../.."

// linked asks the go command for the modules of the program as it is released.
func linked(t *testing.T) (modules []licences.Module) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}",
		"./cmd/andon")
	list.Dir = repository
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	var errs bytes.Buffer
	list.Stderr = &errs
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, errs.String())
	}
	rows := strings.Fields(strings.ReplaceAll(string(out), "\t", "|"))
	slices.Sort(rows)
	for _, row := range slices.Compact(rows) {
		cells := strings.Split(row, "|")
		m := licences.Module{Path: cells[0], Version: cells[1]}
		m.Texts, m.Notices = texts(t, cells[2])
		modules = append(modules, m)
	}
	return modules
}

// texts reads what lies at the top of a module.
func texts(t *testing.T, dir string) (licence, notices []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.ToLower(strings.TrimSuffix(f.Name(), filepath.Ext(f.Name())))
		isLicence := slices.Contains([]string{"license", "licence", "copying", "unlicense"}, name)
		if f.IsDir() || !isLicence && name != "notice" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if isLicence {
			licence = append(licence, string(text))
		} else {
			notices = append(notices, string(text))
		}
	}
	return licence, notices
}

// TestLinked: all that is linked is permissive, and is listed.
func TestLinked(t *testing.T) {
	modules := linked(t)
	page, err := licences.Page(modules)
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) < 10 {
		t.Fatalf("only %d modules", len(modules))
	}
	golden(t, "docs/licences.md", page)
	golden(t, "THIRD_PARTY_LICENSES", licences.Texts(modules))
}

func golden(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(repository, filepath.FromSlash(name))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what is linked (%v): "+
			"go test ./internal/lint/licences -update writes it", name, err)
	}
}

func TestNames(t *testing.T) {
	const (
		bsd    = "Redistribution and use in source and binary forms"
		mit    = "Permission is hereby granted, free of charge, to any person obtaining a copy"
		public = "This is free and unencumbered software released into the public domain."
	)
	for text, want := range map[string]string{
		"Apache License\n  Version 2.0, January 2004":                         "Apache-2.0",
		bsd + " ... Neither the name of":                                      "BSD-3-Clause",
		"Redistribution and use in source\nand binary forms, with or without": "BSD-2-Clause",
		strings.Replace(mit, ", to", ",\nto", 1):                              "MIT",
		"MIT: " + mit + " of":                                                 "MIT",
		public:                                                                "Unlicense",
		"under the Apache License, Version 2.0; " + mit:                       "Apache-2.0, MIT",
		"GNU General Public License, version 3":                               "",
		"Business Source License 1.1":                                         "",
		"All rights reserved.":                                                "",
		"":                                                                    "",
	} {
		names, err := licences.Names(text)
		if got := strings.Join(names, ", "); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := (licences.Module{Path: "example.com/none"}).Names(); err == nil {
		t.Error("a module without a licence has one")
	}
}

// TestTexts: a text that several modules share stands once.
func TestTexts(t *testing.T) {
	got := licences.Texts([]licences.Module{
		{Path: "a", Texts: []string{"one\n"}, Notices: []string{"by A"}},
		{Path: "b", Texts: []string{"one\r\n"}},
	})
	if strings.Count(got, "one") != 1 || !strings.Contains(got, "\na\nb\n\none\n") ||
		!strings.Contains(got, "\na\n\nby A\n") {
		t.Errorf("got\n%s", got)
	}
}
