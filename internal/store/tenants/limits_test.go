package tenants_test

import (
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/tenants"
)

func TestLimits(t *testing.T) {
	const day = andon.Retention(24 * 3600 * 1e6)
	l := tenants.Limits{
		Keeps:  "these tables keep",
		Events: tenants.Limit{Most: 30 * day, Raise: "x.retention"},
		// Readings are kept for ever.
		Readings: tenants.Limit{Most: andon.Forever, Raise: "x.readings"},
	}
	for _, c := range []struct {
		name         string
		version      uint64
		events, want andon.Retention
		fails        string
	}{
		{"a new tenant keeps no more", 0, 60 * day, 30 * day, ""},
		{"for ever is as long as the database does", 1, andon.Forever, 30 * day, ""},
		{"less stays less", 1, 10 * day, 10 * day, ""},
		{"more is refused", 1, 60 * day, 30 * day,
			"these tables keep events for 30d, and a tenant can't keep them for 60d: " +
				"raise x.retention, for what is written from then on"},
	} {
		is := andon.NewTenant("metro")
		is.Version, is.Events, is.Readings = c.version, c.events, 90*day
		err := l.Admit(&is)
		if is.Events != c.want || is.Readings != 90*day {
			t.Errorf("%s: events %s, readings %s", c.name, is.Events, is.Readings)
		}
		if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
