package jsonfeed_test

import (
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/ingest/jsonfeed"
)

// TestFieldsOfOtherNames: a field that is missing under its name is looked for under others.
func TestFieldsOfOtherNames(t *testing.T) {
	for sent, want := range map[string]string{
		`{"Device":"x","State":"N"}`:    `device is missing; there is a field "Device"`,
		`{"device_id":"x","state":"N"}`: `device is missing; there is a field "device_id"`,
		`{"device":"x","status":"N"}`:   `state is missing; there is a field "status"`,
		`{"device":"x","other":"N"}`:    `state is missing`,
		"\x1f\x8b\x08\x00 is no JSON": "nothing could be read: line 1, at byte 0: want a value, " +
			"found gzip: say so with Content-Encoding: gzip",
	} {
		batch, err := jsonfeed.Events(sent+"\n"+sent, jsonfeed.NDJSON, 0, nil)
		got := ""
		if err != nil {
			got = err.Error()
		} else if len(batch.Rejected) > 0 {
			got = batch.Rejected[0].Error
		}
		if got = strings.TrimSuffix(got, ", is it that?"); got != want {
			t.Errorf("%q: %s, want %s", sent, got, want)
		}
	}
}
