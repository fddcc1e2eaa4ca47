package command

import (
	"testing"

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
	if got := p.NewTarget().URL; got != "andon:80" {
		t.Errorf("ANDON_URL gives %q", got)
	}
}

// TestDateAlone: who writes a time that is none is told that a date is enough.
func TestDateAlone(t *testing.T) {
	var at andon.Time
	err := (&Moment{&at, andon.ParseLowerBound, true}).Set("last week")
	const want = `time "last week" is not RFC 3339, such as 2026-11-20T06:00:00Z; ` +
		"a date alone works, too, and 24h (ago), today, yesterday, now"
	if err == nil || err.Error() != want || andon.KindOf(err) != andon.Invalid {
		t.Errorf("%v, want %s", err, want)
	}
}
