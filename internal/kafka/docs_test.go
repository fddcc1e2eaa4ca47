package kafka

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/config"
)

// TestPage: the page has a row for each setting of a source.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/kafka.md")
	if err != nil {
		t.Fatal(err)
	}
	var s Source
	for _, setting := range config.Settings(s.ConfigGroup()) {
		standard := ""
		if v := setting.Value.String(); v != "" {
			standard = " `" + v + "`"
		}
		row := fmt.Sprintf("| `%s` |%s | %s |\n", setting.Key, standard, setting.Help)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/kafka.md does not have the row\n%s", row)
		}
	}
}

// load reads settings of sources as the program does.
func load(text string) (sources []Source, err error) {
	name := func(s *Source) string { return s.Name }
	_, err = config.Load(config.Sources{Env: []string{"ANDON_KAFKA_SOURCES=" + text}},
		config.Group{Name: "kafka", Settings: []config.Setting{{
			Key: "sources", Value: config.Mappings(&sources, (*Source).ConfigGroup, name),
		}}})
	return sources, err
}

// TestWrongSettings: what is wrong is said with the name of the setting.
func TestWrongSettings(t *testing.T) {
	const good = "name: s, brokers: [b], topics: [t]"
	if all, err := load("[{" + good + "}, {" + good + ", name: other}]"); err == nil {
		t.Errorf("a name twice in a source: %v", all)
	}
	all, err := load("[{" + good + "}, {name: z, brokers: [b:1], topics: ['^a', '^b']}]")
	if err != nil || len(all) != 2 || all[0].Group != "andon" || all[1].Tenant != "default" {
		t.Errorf("good settings: %+v, %v", all, err)
	}
	for more, want := range map[string]string{
		"x: 1": `"x" is not a setting`, "tls_ca: f": "tls_ca needs tls: on as well",
		"tls_cert: f": "tls_cert needs tls_key as well", "sasl: plain": "sasl needs user as well",
		"user: u": "user needs password_file as well", "sasl: md5": `"md5" is none of plain`,
		"start: later": `"later" is none of oldest, newest`, "tenant: ..": "tenant is none",
		"group: ''": "group is empty",
	} {
		if _, err := load("[{" + good + ", " + more + "}]"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", more, err, want)
		}
	}
	for text, want := range map[string]string{
		"[{brokers: [b], topics: [t]}]":                  "name is missing",
		"[{name: s, topics: [t]}]":                       "brokers is missing",
		"[{name: s, brokers: [b]}]":                      "topics is missing",
		"[{name: s, brokers: ['b:x'], topics: [t]}]":     "brokers can't be read",
		"[{name: s, brokers: [b], topics: ['^(']}]":      "a pattern that can't be read",
		"[{name: s, brokers: [b], topics: ['^a', 'b']}]": "either names or patterns",
		"[{" + good + "}, {" + good + "}]":               "there are two of the name s",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestFilesThatCantBeRead ends the start of the program, and nothing of a secret is said.
func TestFilesThatCantBeRead(t *testing.T) {
	for want, c := range map[string]Connection{
		"tls_ca missing can't be used": {TLS: true, CA: "missing"},
		"holds no certificate":         {TLS: true, CA: "docs_test.go"},
		"read tls_cert missing":        {TLS: true, Cert: "missing", Key: "missing"},
		"read password_file":           {SASL: saslPlain, User: "u", Password: "missing"},
	} {
		c.Brokers = []string{"b"}
		if _, err := (&Target{c, "t"}).Open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
