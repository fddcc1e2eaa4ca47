package merge

import (
	"testing"
	"time"

	"github.com/andonhq/andon"
)

// TestReviews: devices come when they are due, first in, first out; what readers ask for comes once
// for each device, and is asked for again afterwards.
func TestReviews(t *testing.T) {
	r := NewReviews()
	start := time.Unix(1000, 0)
	add := func(device andon.DeviceID, due int, quiet bool) {
		r.Add(DueReview{
			Tenant: "t", Device: device, Due: start.Add(time.Duration(due) * time.Second),
			Review: Review{Quiet: quiet},
		})
	}
	want := func(at int, most int, devices string) {
		t.Helper()
		got := ""
		for _, d := range r.Due(start.Add(time.Duration(at)*time.Second), most) {
			got += string(d.Device)
		}
		if got != devices {
			t.Errorf("at %d %q are due, want %q", at, got, devices)
		}
	}
	add("a", 1, false)
	add("a", 1, false)
	add("b", 1, true)
	add("b", 1, true)
	add("c", 5, false)
	want(0, 10, "")
	want(1, 2, "aa")
	want(1, 2, "b")
	add("b", 5, true)
	if r.Len() != 2 {
		t.Errorf("%d wait", r.Len())
	}
	want(9, 10, "cb")
}
