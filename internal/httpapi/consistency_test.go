package httpapi_test

import (
	"context"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
)

// choosing is a store that writes down how it was asked to read, or one that can't choose.
type choosing struct {
	andon.Store
	can   bool
	asked []andon.Consistency
}

func (s *choosing) Capabilities() andon.Capabilities {
	c := s.Store.Capabilities()
	c.Consistency, c.Immediate, c.Name = s.can, false, "choosing"
	return c
}

func (s *choosing) Device(
	ctx context.Context, id andon.TenantID, device andon.DeviceID,
) (andon.Device, error) {
	s.asked = append(s.asked, andon.ConsistencyOf(ctx))
	return s.Store.Device(ctx, id, device)
}

func TestConsistency(t *testing.T) {
	var s *choosing
	w := newWorld(t, func(o *httpapi.Options) {
		s = &choosing{Store: o.Store, can: true}
		o.Store = s
	})
	w.event("d", noon, "NORMAL")
	for asked, want := range map[string]andon.Consistency{
		"": andon.AsSet, "?consistency=": andon.AsSet,
		"?consistency=strong": andon.Strong, "?consistency=eventual": andon.Eventual,
	} {
		s.asked = nil
		w.get("/devices/d" + asked).is(200)
		if len(s.asked) != 1 || s.asked[0] != want {
			t.Errorf("%q: the store was asked to read %v, want %v", asked, s.asked, want)
		}
	}
	w.get("/devices/d?consistency=weak").fails(400, "strong or eventual", "query.consistency")
	w.post("/events?consistency=strong", `{}`).fails(400, "no parameter")
	s.can = false
	w.get("/devices/d?consistency=eventual").is(200)
	w.get("/devices/d?consistency=strong").fails(501, "(choosing)", "without consistency=strong")
}

// TestConsistencyAtOnce: a store that shows everything at once takes what it can give anyway.
func TestConsistencyAtOnce(t *testing.T) {
	w := newWorld(t)
	w.event("d", noon, "NORMAL")
	w.get("/devices/d?consistency=strong").is(200)
	w.get("/devices/d?consistency=eventual").is(200)
}

// TestConsistencyOfACursor: all pages of a list are as fresh as the first.
func TestConsistencyOfACursor(t *testing.T) {
	w := newWorld(t)
	w.event("d", "2020-04-24T11:00:00Z", "NORMAL")
	w.event("d", "2020-04-24T11:10:00Z", "NORMAL")
	next := w.get("/devices/d/events?limit=1&consistency=eventual").page().Next
	w.get("/devices/d/events?limit=1&consistency=eventual&cursor=" + next).is(200)
	w.get("/devices/d/events?limit=1&cursor="+next).fails(400, "belongs to another query")
}
