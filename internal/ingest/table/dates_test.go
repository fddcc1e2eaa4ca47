package table

import (
	"strings"
	"testing"
)

// TestDatesOfCountries: each form in each order, with what follows it.
func TestDatesOfCountries(t *testing.T) {
	for _, test := range []struct {
		order DateOrder
		text  string
		want  string // "" or what the error says, after a !
	}{
		{DMY, "21/11/2026 14:03", "2026-11-21T14:03:00Z"},
		{DMY, "5/1/2026 9:05", "2026-01-05T09:05:00Z"},
		{MDY, "5/1/2026, 9:05:07", "2026-05-01T09:05:07Z"},
		{MDY, "11/21/2026 2:03:00 PM", "2026-11-21T14:03:00Z"},
		{MDY, "11/21/2026, 12:03:05.5\u202fam", "2026-11-21T00:03:05.5Z"},
		{MDY, "11/21/2026 12:00 PM +0100", "2026-11-21T11:00:00Z"},
		{DMY, "21-11-2026T14:03:00+02:00", "2026-11-21T12:03:00Z"},
		{DMY, "21/11/26", "2026-11-21T00:00:00Z"},
		{YMD, "26/11/21 14:03", "2026-11-21T14:03:00Z"},
		{DMY, "01/02/69", "!outside"}, // of 1969
		{DMY, "01/02/70 00:00", "1970-02-01T00:00:00Z"},
		{DMY, "01/02/68 00:00", "2068-02-01T00:00:00Z"},
		{DMY, "29/02/2024", "2024-02-29T00:00:00Z"},
		{DMY, "29/02/2026", "!29/02/2026 does not exist, read as dmy"},
		{DMY, "11/21/2026", "!11/21/2026 does not exist, read as dmy"},
		{DMY, "1/1/126", "!does not exist"},
		{DMY, "21/11/2026 25:03", "!names a date or a time of day that does not exist"},
		{DMY, "21/11/2026 13:03 PM", "!21/11/2026 13:03 PM"},
		{DMY, "21/11/2026 soon", "!21/11/2026 soon"},
		{DMY, "21/11-2026", "!is not RFC 3339"},
		{DMY, "//", "!is not RFC 3339"},
		// These say it themselves, whatever the order of the others.
		{"", "2026/11/21 14:03", "2026-11-21T14:03:00Z"},
		{MDY, "2026.11.21", "2026-11-21T00:00:00Z"},
		{MDY, "2026-11-21 2:03 pm", "2026-11-21T14:03:00Z"},
		{MDY, "2026-11-21 9:05", "2026-11-21T09:05:00Z"},
		{"", "21.11.2026", "2026-11-21T00:00:00Z"},
		{"", "1.2.26 9:05", "2026-02-01T09:05:00Z"},
		{MDY, "1.2.2026", "2026-01-02T00:00:00Z"},
		// This does not.
		{"", "21/11/2026", "!does not say which number is the day"},
	} {
		m := Mapping{Dates: test.order}
		got, err := m.ParseTime(test.text)
		want, fails := strings.CutPrefix(test.want, "!")
		switch {
		case fails && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s %q: %v, %v", test.order, test.text, got, err)
		case !fails && (err != nil || got.String() != want):
			t.Errorf("%s %q: %v, %v, want %s", test.order, test.text, got, err, want)
		}
	}
}
