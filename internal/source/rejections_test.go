package source_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/source"
	"github.com/andonhq/andon/internal/store/memstore"
)

func rejection(r andon.SourceRejection) source.Rejection {
	return source.Rejection{SourceRejection: r}
}

// TestListIsBounded: two processes add to the list at once, more and more, and it keeps about as
// many as it may, the newest ones.
func TestListIsBounded(t *testing.T) {
	store := memstore.New()
	var mu sync.Mutex
	at := now
	tick := func() andon.Time {
		mu.Lock()
		defer mu.Unlock()
		at++
		return at
	}
	const keep, rounds, batch = 100, 30, 20
	most := 0
	var all sync.WaitGroup
	for process := range 2 {
		list := &source.Rejections{Store: store, Now: tick, Keep: keep}
		all.Go(func() {
			for n := range rounds {
				var refused []source.Rejection
				for i := range batch {
					refused = append(refused, rejection(andon.SourceRejection{
						Source: fmt.Sprint(process), Place: fmt.Sprint(n), Index: i,
						Reason: "wrong",
					}))
				}
				if err := list.Add(t.Context(), refused); err != nil {
					t.Error(err)
				}
				found, err := list.List(t.Context(), "", andon.Span{}, "", 10_000)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				most = max(most, len(found))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if most < keep || most > keep+2*(keep/4+2*batch) {
		t.Errorf("up to %d were kept", most)
	}
	list := &source.Rejections{Store: store, Now: tick, Keep: keep}
	found, err := list.List(t.Context(), "", andon.Span{}, "", 1)
	if err != nil || len(found) != 1 || found[0].Place != fmt.Sprint(rounds-1) {
		t.Errorf("the newest is %+v, %v", found, err)
	}
}

// TestLargeRecords: a record that alone has more than is kept stays until there are newer ones.
func TestLargeRecords(t *testing.T) {
	at := now
	list := &source.Rejections{Store: memstore.New(), Keep: 4, Now: func() andon.Time {
		at++
		return at
	}}
	for n := range 3 {
		var refused []source.Rejection
		for i := range 20 {
			refused = append(refused,
				rejection(andon.SourceRejection{Place: fmt.Sprint(n), Index: i}))
		}
		if err := list.Add(t.Context(), refused); err != nil {
			t.Fatal(err)
		}
		found, err := list.List(t.Context(), "", andon.Span{}, "", 100)
		if err != nil || len(found) != 20 || found[0].Place != fmt.Sprint(n) {
			t.Errorf("%d are kept, %v", len(found), err)
		}
	}
}

// TestListOnceTheClockWasSetBack: what is refused is listed though the clock was ahead before, and
// was set back.
func TestListOnceTheClockWasSetBack(t *testing.T) {
	const hour = 3_600_000_000
	at := now + hour
	list := &source.Rejections{Store: memstore.New(), Keep: 8, Now: func() andon.Time {
		at++
		return at
	}}
	for n := range 40 {
		if n == 20 {
			at = now
		}
		r := rejection(andon.SourceRejection{Place: fmt.Sprint(n)})
		if err := list.Add(t.Context(), []source.Rejection{r}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := list.List(t.Context(), "", andon.Span{To: at}, "", 100)
	if err != nil || len(found) < 8 || found[0].Place != "39" {
		t.Errorf("the list has %+v, %v", found, err)
	}
}

// TestRecordsOfTheList: what was refused together is in records as large as they may be, and comes
// again without being added again, also where it comes in other parts.
func TestRecordsOfTheList(t *testing.T) {
	store := memstore.New()
	list := &source.Rejections{Store: store, Now: clock, Keep: 10_000}
	var refused []source.Rejection
	for i := range 200 {
		refused = append(refused, rejection(andon.SourceRejection{
			Source: "s", Place: fmt.Sprint(i), Reason: "wrong", Message: strings.Repeat(`"`, 2048),
		}))
	}
	for _, part := range [][]source.Rejection{
		refused, refused, refused[:150], refused[:10], nil,
	} {
		if err := list.Add(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	records, err := seq.Collect(store.Records(t.Context(), "", source.Kind,
		andon.RecordQuery{Limit: 10_000}))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if len(r.Data) > andon.MaxRecordBytes || r.Due != now {
			t.Errorf("%d bytes, due %s", len(r.Data), r.Due)
		}
	}
	if n := len(records); n < 3 || n > 5 {
		t.Errorf("%d records", n)
	}
	pages, after := 0, ""
	seen := map[string]bool{}
	for {
		found, err := list.List(t.Context(), "s", andon.Span{From: now, To: now}, after, 66)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			break
		}
		for _, f := range found {
			if seen[f.Place] {
				t.Fatalf("%s is there twice", f.Place)
			}
			seen[f.Place] = true
		}
		pages, after = pages+1, found[len(found)-1].Key
	}
	if pages != 4 || len(seen) != len(refused) {
		t.Errorf("%d in %d pages", len(seen), pages)
	}
	found, err := list.List(t.Context(), "", andon.Span{From: now + 1}, "", 9)
	if err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// damagedRecords is a store that can't read one of its records.
type damagedRecords struct{ *memstore.Store }

func (damagedRecords) Records(
	context.Context, andon.TenantID, andon.RecordKind, andon.RecordQuery,
) iter.Seq2[andon.Record, error] {
	return func(yield func(andon.Record, error) bool) {
		yield(andon.Record{}, andon.Errorf(andon.Damaged, "a record is damaged"))
	}
}

// TestRejectionsOfDamagedList: what is refused is added to a list that can't be counted, because
// a source waits for that.
func TestRejectionsOfDamagedList(t *testing.T) {
	s := memstore.New()
	l := &source.Rejections{
		Store: damagedRecords{s}, Now: func() andon.Time { return 1 }, Keep: 4,
	}
	for i := range 9 {
		r := rejection(andon.SourceRejection{Index: i})
		if err := l.Add(t.Context(), []source.Rejection{r}); err != nil {
			t.Fatal(err)
		}
	}
	l.Store = s
	if all, err := l.List(t.Context(), "", andon.Span{}, "", 10); err != nil || len(all) != 9 {
		t.Errorf("the list has %d, %v; want 9", len(all), err)
	}
}
