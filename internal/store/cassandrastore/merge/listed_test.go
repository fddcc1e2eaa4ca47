package merge

import (
	"fmt"
	"slices"
	"testing"

	"github.com/andonhq/andon"
)

// TestListed: a list that was read is remembered with what came into it since, until another one is
// read or too much has come.
func TestListed(t *testing.T) {
	var l Listed
	want := func(alone Moment, from andon.DeviceID, ids ...andon.DeviceID) {
		t.Helper()
		if got, ok := l.From("t W", alone, from); !slices.Equal(got, ids) || ok != (ids != nil) {
			t.Errorf("from %s on %v is remembered, %v, want %v", from, got, ok, ids)
		}
	}
	want(0, "")
	reading := l.Begin("t")
	l.Add("t", "b")
	l.Add("other", "x")
	want(0, "")
	l.Keep(reading, "t W", 10, []andon.DeviceID{"a", "c"})
	l.Add("t", "c")
	want(10, "", "a", "b", "c")
	want(11, "")
	want(0, "b", "b", "c")
	next := l.Begin("t")
	l.Keep(reading, "t W", 20, []andon.DeviceID{"a"})
	want(0, "")
	l.Keep(next, "t W", 20, []andon.DeviceID{"a"})
	want(0, "", "a")
	for i := range mostAdded + 1 {
		l.Add("t", andon.DeviceID(fmt.Sprint(i)))
	}
	want(0, "")
}
