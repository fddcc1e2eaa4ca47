package kinesis

import (
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/config"
)

// TestSettings: what is wrong with the settings of a source is said.
func TestSettings(t *testing.T) {
	for text, want := range map[string]string{
		"[{name: a, stream: s}, {name: b, stream: s, start: newest}]": "",
		"[{name: a, stream: s, start: 2026-01-02T03:04:05Z}]":         "",
		"[{stream: s}]": "name is missing",
		"[{name: a}]":   "stream is missing",
		"[{name: a, stream: s}, {name: a, stream: t}]":         "two of the name a",
		"[{name: a, stream: s, start: soon}]":                  "start is neither",
		"[{name: a/b, stream: s}]":                             "name has a slash",
		"[{name: a, stream: s/t}]":                             "stream has a slash",
		"[{name: a, stream: s, tenant: ..}]":                   "tenant is none",
		"[{name: " + strings.Repeat("a", 65) + ", stream: s}]": "longer than 64",
	} {
		var all []Source
		name := func(s *Source) string { return s.Name }
		err := config.Mappings(&all, (*Source).ConfigGroup, name).Set(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestConnect: a region is needed, but where the service is imitated.
func TestConnect(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	for s, good := range map[*Source]bool{
		{}: false, {Region: "eu-west-1"}: true, {Endpoint: "http://127.0.0.1:1"}: true,
	} {
		if c, err := s.connect(t.Context()); (err == nil) != good || (c.list != nil) != good {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
