package dynamostore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// listedAs are the devices of a list as text: "d1 WARNING2, …".
func listedAs(t *testing.T, s *Store, q andon.DeviceQuery) string {
	t.Helper()
	var all []string
	for _, d := range listOf(t, s.Devices(t.Context(), andon.DefaultTenant, q)) {
		all = append(all, string(d.ID))
	}
	return strings.Join(all, " ")
}

// TestSerialSortedPages: pages of a list by time or severity have each device once, and show what
// is in its newest entry.
func TestSerialSortedPages(t *testing.T) {
	s := open(t, newTables(t))
	var sent []andon.Event
	for n := range 9 {
		sent = append(sent, andon.Event{
			Device: andon.DeviceID(fmt.Sprintf("d%02d", n)), Time: minute(n * 7 % 9),
			State:    []andon.State{"NORMAL", "WARNING1", "WARNING4"}[n%3],
			Operator: []andon.PersonID{"Liz", "Tom"}[n%2], Message: "m",
		})
	}
	sendUntil(t, s, sent)
	for _, q := range []andon.DeviceQuery{
		{Sort: andon.BySince},
		{Sort: andon.BySeverity, States: states(t, "WARNING*")},
		{Sort: andon.BySince, Operator: "Liz"}, {Sort: andon.BySeverity, Prefix: "d0"},
	} {
		q.Limit = 100
		whole := listOf(t, s.Devices(t.Context(), andon.DefaultTenant, q))
		var want []string
		q.Limit = 5
		var pages []string
		for i := range whole {
			want = append(want, string(whole[i].ID))
			if i > 0 && !whole[i-1].Position().Less(whole[i].Position(), q.Sort) {
				t.Errorf("%+v: %s comes before %s", q, whole[i-1].ID, whole[i].ID)
			}
			if whole[i].Message != "m" {
				t.Errorf("%+v: %s lacks its message", q, whole[i].ID)
			}
		}
		for {
			page := listOf(t, s.Devices(t.Context(), andon.DefaultTenant, q))
			if len(page) == 0 {
				break
			}
			for _, d := range page {
				pages = append(pages, string(d.ID))
			}
			last := page[len(page)-1].Position()
			q.After = &last
		}
		if !slices.Equal(pages, want) || len(want) == 0 {
			t.Errorf("%+v: pages have %q, and the whole list %q", q, pages, want)
		}
	}
}

// TestSerialSortedBySeverityStops: the severest are found without reading of the others.
func TestSerialSortedBySeverityStops(t *testing.T) {
	s := open(t, newTables(t))
	sendUntil(t, s, []andon.Event{
		{Device: "d1", Time: minute(0), State: "NORMAL"},
		{Device: "d2", Time: minute(0), State: "WARNING4"},
	})
	ctx, plan := andon.WithPlan(context.Background())
	q := andon.DeviceQuery{Sort: andon.BySeverity, Limit: 1}
	got := listOf(t, s.Devices(ctx, andon.DefaultTenant, q))
	if len(got) != 1 || got[0].ID != "d2" {
		t.Errorf("the severest is %+v", got)
	}
	for _, step := range plan.Steps() {
		if strings.Contains(step.Statement, items.IndexList) && step.Times != 1 {
			t.Errorf("%s is asked %d times, want once, for WARNING4",
				step.Statement, step.Times)
		}
	}
}

// TestSerialSortedLag: a device of which the index lags is not shown where it was, and no other is
// left out for it.
func TestSerialSortedLag(t *testing.T) {
	m, o := lagging(t, nil)
	s := open(t, o)
	sendUntil(t, s, []andon.Event{
		{Device: "d1", Time: minute(0), State: "WARNING1"},
		{Device: "d2", Time: minute(1), State: "WARNING1"},
		{Device: "d3", Time: minute(2), State: "WARNING1"},
	})
	catchUp := func() {
		t.Helper()
		if err := m.catchUp(); err != nil {
			t.Fatal(err)
		}
	}
	catchUp()
	sendUntil(t, s, []andon.Event{
		{Device: "d1", Time: minute(3), State: "NORMAL"},
		{Device: "d1", Time: minute(4), State: "WARNING1"},
	})
	q := andon.DeviceQuery{Sort: andon.BySince, Limit: 2}
	if got := listedAs(t, s, q); got != "d2 d3" {
		t.Errorf("the index lags, and the list has %q", got)
	}
	catchUp()
	if q.Limit = 3; listedAs(t, s, q) != "d2 d3 d1" {
		t.Errorf("after the index followed the list has %q", listedAs(t, s, q))
	}
}
