package shared

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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

// TestRandomMerges: ids of several questions come in one order, each once, whatever the pages are.
func TestRandomMerges(t *testing.T) {
	many(t, func(t *testing.T, r *rand.Rand) {
		var want []andon.DeviceID
		var all []*Rows[andon.DeviceID]
		for range r.IntN(4) {
			left := make([]andon.DeviceID, r.IntN(8))
			for i := range left {
				left[i] = pickOne[andon.DeviceID](r, "a1", "a2", "a3", "b1", "b2")
			}
			slices.Sort(left)
			want = append(want, left...)
			own := rand.New(rand.NewPCG(r.Uint64(), 0)) // first pages are read side by side
			all = append(all, NewRows(func(context.Context, []byte) (
				page []andon.DeviceID, next []byte, err error,
			) {
				n := own.IntN(len(left) + 1)
				page, left = left[:n], left[n:]
				return page, make([]byte, len(left)), nil
			}))
		}
		prefix := pickOne(r, "", "a")
		slices.Sort(want)
		want = slices.DeleteFunc(slices.Compact(want), func(id andon.DeviceID) bool {
			return !strings.HasPrefix(string(id), prefix)
		})
		m, n := NewMerge(all...), 1+r.IntN(3)
		var got []andon.DeviceID
		for {
			ids, err := m.Next(t.Context(), prefix, n)
			if err != nil || len(ids) > n {
				t.Fatalf("%d ids, %v", len(ids), err)
			}
			if len(ids) == 0 {
				break
			}
			got = append(got, ids...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
