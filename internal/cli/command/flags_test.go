package command

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
)

// TestAddress: http:// need not be written, and ANDON_URL is the address unless --url says another.
func TestAddress(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "[::1]:80": "http://[::1]:80",
		"https://andon:8443": "https://andon:8443", "nowhere": "nowhere", "": "",
	} {
		if got := WithScheme(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
	p := &Program{Environ: []string{"ANDON_URL=andon:80"}}
	if got := p.NewTarget(&cobra.Command{}).URL; got != "andon:80" {
		t.Errorf("ANDON_URL gives %q", got)
	}
}

// TestDateAlone: the error of a wrong time says that a date is enough.
func TestDateAlone(t *testing.T) {
	var from, to andon.Time
	p, cmd := &Program{Now: func() andon.Time { return 0 }}, &cobra.Command{}
	p.SpanFlags(cmd, &from, &to)
	err := cmd.Flags().Set("from", "last week")
	const want = `invalid argument "last week" for "--from" flag: ` +
		`time "last week" is not RFC 3339, such as 2026-11-20T06:00:00Z; ` +
		"a date alone works, too, and 24h (ago), today, yesterday, now"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
