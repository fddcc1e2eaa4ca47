package pebblestore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// arrive sends some requests that arrive at a time, and has them flushed.
func arrive(t *testing.T, s *Store, at andon.Time, requests int) {
	t.Helper()
	for n := range requests {
		e := []andon.Event{{
			Device: andon.DeviceID(fmt.Sprint("d", n)), Time: at, State: "NORMAL",
			Message: strings.Repeat("x", 100),
		}}
		if err := s.Append(t.Context(), andon.DefaultTenant, at, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.flushDue(); err != nil {
		t.Fatal(err)
	}
}

// arrived returns how many entries there are after a position; nil: after the oldest.
func arrived(t *testing.T, s *Store, after *andon.Position) (n int, err error) {
	t.Helper()
	q := andon.ArrivalQuery{After: after, Limit: 10_000}
	part, err := s.Arrivals(t.Context(), andon.DefaultTenant, q)
	return len(part.Items), err
}

// TestRowsAreKeptForTheirOrder: for as long, and as many, as is set; then a position is gone, also
// after a restart, and says where to begin.
func TestRowsAreKeptForTheirOrder(t *testing.T) {
	const minute = 60_000_000
	for name, c := range map[string]struct {
		options Options
		between andon.Duration // two flushes
		want    int            // entries that are left of three flushes of ten
	}{
		"all":                 {Options{}, minute, 30},
		"by time":             {Options{ArrivalsFor: 90 * time.Second}, minute, 20},
		"by bytes":            {Options{ArrivalsBytes: 3000}, 60 * minute, 20},
		"much at once":        {Options{ArrivalsBytes: 100_000}, 1_000, 0},
		"none":                {Options{ArrivalsBytes: 1}, minute, 0},
		"clock was set back":  {Options{ArrivalsFor: 90 * time.Second}, -minute, 20},
		"an hour in two days": {Options{ArrivalsFor: time.Hour}, 24 * 60 * minute, 10},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.FS = vfs.NewMem()
			s, err := Open("store", c.options)
			if err != nil {
				t.Fatal(err)
			}
			_, before, err := s.ChangesKept(t.Context(), andon.DefaultTenant)
			at := andon.MinTime.Add(10 * 24 * 60 * minute)
			for range 3 {
				arrive(t, s, at, 10)
				at = at.Add(c.between)
			}
			for range 2 {
				if n, _ := arrived(t, s, nil); err != nil || n != c.want {
					t.Errorf("%d entries are kept, want %d; %v", n, c.want, err)
				}
				n, err := arrived(t, s, &before)
				gone := c.want < 30
				if gone != (andon.KindOf(err) == andon.Gone) || !gone && n != c.want {
					t.Errorf("after the first position there are %d, %v", n, err)
				}
				if err != nil {
					says := err.Error()
					_, says, _ = strings.Cut(says, "that is kept is ")
					says, _, _ = strings.Cut(says, ". ")
					oldest, err := andon.ParsePosition(says)
					if n, err2 := arrived(t, s, &oldest); n != c.want || err2 != nil {
						t.Errorf("after %q, %v, there are %d, %v", says, err, n, err2)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if s, err = Open("store", c.options); err != nil {
					t.Fatal(err)
				}
				if bytes := s.checkpoints.grown.Load(); bytes != 0 {
					t.Errorf("opening read %d bytes of rows that are flushed", bytes)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestRowsOfAProgramThatKeepsNone: one that deletes them in its flushes was used in between.
func TestRowsOfAProgramThatKeepsNone(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, fs)
	_, before, err := s.ChangesKept(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	arrive(t, s, andon.MinTime, 10)
	arrive(t, s, andon.MinTime, 10)
	gone := s.arrivals.First() + 15
	if err := errors.Join(s.db.DeleteRange(layout.RowKey(0), layout.RowKey(gone), nil),
		s.Close()); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, fs)
	defer s.Close()
	if n, err := arrived(t, s, &before); andon.KindOf(err) != andon.Gone {
		t.Errorf("after a position that is not kept there are %d, %v", n, err)
	}
	if n, err := arrived(t, s, nil); n == 0 || n > 5 || err != nil {
		t.Errorf("%d are kept, %v", n, err)
	}
}

// TestArrivalsInParts: much that is not selected is read in parts, which go on.
func TestArrivalsInParts(t *testing.T) {
	s := openMem(t, vfs.NewMem())
	defer s.Close()
	text := strings.Repeat("x", 15_000)
	for n := range 10 {
		var all []andon.Event
		for i := range 100 {
			all = append(all, andon.Event{
				Device: andon.DeviceID(fmt.Sprintf("d%d-%d", n, i)), State: "NORMAL",
				Time: andon.MinTime, Message: text,
			})
		}
		if err := s.Append(t.Context(), andon.DefaultTenant, 1, all); err != nil {
			t.Fatal(err)
		}
	}
	states, err := andon.ParseStateFilter("WARNING*")
	if err != nil {
		t.Fatal(err)
	}
	q := andon.ArrivalQuery{States: states, Limit: 1}
	parts := 0
	for more := true; more; parts++ {
		part, err := s.Arrivals(t.Context(), andon.DefaultTenant, q)
		if err != nil || len(part.Items) > 0 {
			t.Fatalf("%d items, %v", len(part.Items), err)
		}
		more, q.After = part.More, &part.Next
	}
	if parts != 2 {
		t.Errorf("15 MB are read in %d parts of 8", parts)
	}
}
