package alerts_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/alerts"
)

const now = andon.Time(1_764_851_696_000_000) // 2025-12-04T12:34:56Z

func TestMessages(t *testing.T) {
	const labels = `"labels":{"instance":"a"}`
	for _, test := range []struct{ body, time, value string }{
		{`[{` + labels + `}]`, "2025-12-04T12:34:56Z", `{` + labels + `,"status":"firing"}`},
		{ // as Prometheus sends it; the end moves on
			`[{` + labels + `,"startsAt":"2025-12-04T12:00:00+01:00",` +
				`"endsAt":"2025-12-04T12:38:56Z"}]`,
			"2025-12-04T11:00:00Z",
			`{` + labels + `,"startsAt":"2025-12-04T12:00:00+01:00","status":"firing"}`,
		},
		{`[{"endsAt":"2025-12-04T12:30:00Z","startsAt":"2025-12-04T12:00:00Z"}]`,
			"2025-12-04T12:30:00Z", `{"endsAt":"2025-12-04T12:30:00Z",` +
				`"startsAt":"2025-12-04T12:00:00Z","status":"resolved"}`},
		{ // as a webhook sends it
			` {"version":"4","alerts":[{"status":"firing","endsAt":"0001-01-01T00:00:00Z"}]}`,
			"2025-12-04T12:34:56Z", `{"status":"firing"}`,
		},
		{`{"alerts":[]}`, "", ""},
		{`{"alerts":null}`, "", ""},
		{`[]`, "", ""},
		{`[{"startsAt":"yesterday"}]`, "", "startsAt is no time of RFC 3339"},
		{`[1]`, "", "these are no alerts: json: cannot unmarshal number"},
		{`[`, "", "these are no alerts: unexpected end of JSON input"},
		{`null`, "", ""},
		{`{` + labels + `}`, "", "alerts is missing"},
		{`[null]`, "", "an alert is null"},
	} {
		all, err := alerts.Messages(test.body, now)
		at, value := "", ""
		for _, m := range all {
			at, value = m.Time.String(), string(m.Value)
		}
		if err != nil {
			value = fmt.Sprint(err)
			value = value[:min(len(value), len(test.value))]
		}
		if at != test.time || value != test.value {
			t.Errorf("%s: %s %s %v", test.body, at, value, err)
		}
	}
}

// TestPlaces: an error names the alert that is wrong.
func TestPlaces(t *testing.T) {
	for body, want := range map[string]string{
		`[{}, {"endsAt":7}]`:                  "body[1].endsAt",
		`{"alerts":[{}, {"startsAt":"now"}]}`: "body.alerts[1].startsAt",
	} {
		_, err := alerts.Messages(body, 1)
		is, ok := errors.AsType[*andon.Error](err)
		if !ok || len(is.Fields) != 1 || is.Fields[0].Location != want {
			t.Errorf("%s: %+v", body, err)
		}
	}
}
