package keeper

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/sleep"
)

// At returns what decisions about incidents of a tenant depend on now.
func (k *Keeper) At(ctx context.Context, tenant andon.TenantID) (*people.Setting, error) {
	s, err := k.Setting(ctx, tenant)
	if err != nil {
		return nil, err
	}
	s.Now = k.Now()
	s.Windows = k.windows(tenant, s.Known, s.Now)
	taken := map[string]andon.PersonID{}
	s.Turn = func(schedule *people.Schedule) andon.PersonID {
		who, asked := taken[schedule.Name]
		if !asked {
			who = k.turn(ctx, tenant, schedule)
			taken[schedule.Name] = who
		}
		return who
	}
	return s, nil
}

// calendar is the windows of maintenance of a tenant. The rule of a window is followed from its
// start, so what it says is kept until the window ends.
type calendar struct {
	known *people.Known // of which open is
	until andon.Time    // the next begin or end of a window; 0: there is none
	open  []*people.Maintenance
	spans map[string]span // by what decides on them
}

type span struct{ begin, end andon.Time }

// windows returns the windows of a tenant that are open.
func (k *Keeper) windows(
	tenant andon.TenantID, known *people.Known, now andon.Time,
) []*people.Maintenance {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.calendars[tenant]
	switch {
	case len(known.Maintenance) == 0:
		delete(k.calendars, tenant)
		return nil
	case c != nil && c.known == known && (c.until == 0 || now < c.until):
		return c.open
	}
	next := &calendar{known: known, spans: map[string]span{}}
	for i := range known.Maintenance {
		m := &known.Maintenance[i]
		key := fmt.Sprint(m.Start, m.Length, m.Rule, " ", m.Zone)
		is, there := span{}, false
		if c != nil {
			is, there = c.spans[key]
		}
		if !there || is.begin != 0 && is.end <= now {
			is.begin, is.end = m.Window(now)
		}
		next.spans[key] = is
		switch {
		case is.begin > now:
			next.until = andon.Earlier(next.until, is.begin)
		case is.begin != 0:
			next.open = append(next.open, m)
			next.until = andon.Earlier(next.until, is.end)
		}
	}
	if k.calendars == nil {
		k.calendars = map[andon.TenantID]*calendar{}
	}
	k.calendars[tenant] = next
	return next.open
}

// turnKind is the kind of the records that say whose turn it is, by schedule: {"next":N} counts.
const turnKind andon.RecordKind = "turn"

// turn returns the next in turn of the people of a schedule.
func (k *Keeper) turn(
	ctx context.Context, tenant andon.TenantID, s *people.Schedule,
) andon.PersonID {
	all := s.Everybody()
	for len(all) > 0 {
		var is struct {
			Next int `json:"next"`
		}
		r, err := k.Store.Record(ctx, tenant, turnKind, s.Name)
		if andon.KindOf(err) == andon.NotFound && err != nil {
			r, err = andon.Record{Tenant: tenant, Kind: turnKind, ID: s.Name}, nil
		} else if err == nil {
			_ = json.Unmarshal([]byte(r.Data), &is) // or it begins with the first again
		}
		if err == nil {
			r.Data = andon.JSON(fmt.Sprintf(`{"next":%d}`, is.Next+1))
			_, err = k.Store.PutRecord(ctx, r)
		}
		if err == nil || andon.KindOf(err) != andon.Conflict {
			return all[is.Next%len(all)] // somebody is told, even if the store does not answer
		}
	}
	return ""
}

const (
	reviewEvery = time.Second
	// While a window is open, devices may come into it and leave it, by their groups.
	reviewOpen = andon.Duration(10_000_000)
	// How often closed incidents that have expired are deleted.
	expireEvery = andon.Duration(3_600_000_000)
)

// reviews looks at open incidents again when documents have changed, and windows of maintenance
// have begun or ended.
func (f *follower) reviews(ctx context.Context) {
	var was *people.Setting
	var expired andon.Time
	for ctx.Err() == nil {
		if now := f.Now(); now.Sub(expired) >= expireEvery && f.expire(ctx) == nil {
			expired = now
		}
		if s, err := f.At(ctx, f.tenant); err == nil {
			same := was != nil && (was.Known == s.Known ||
				reflect.DeepEqual(was.Schedules, s.Schedules)) &&
				reflect.DeepEqual(was.Windows, s.Windows)
			aged := len(s.Windows) > 0 && was != nil && s.Now.Sub(was.Now) >= reviewOpen
			if !same || aged {
				err = f.review(ctx, s)
			}
			if err == nil && (!same || aged) {
				was = s
			}
		}
		_ = sleep.For(ctx, reviewEvery)
	}
}

// expire deletes closed incidents that ended before the oldest entry that the tenant keeps: what
// was deleted already says which that is, so a clock that jumped deletes nothing.
func (f *follower) expire(ctx context.Context) error {
	t, err := f.Store.Tenant(ctx, f.tenant)
	if err != nil || t.Floor.Events == 0 {
		return err
	}
	return f.Incidents.Expire(ctx, f.tenant, t.Floor.Events)
}

// review looks at all open incidents again.
func (f *follower) review(ctx context.Context, s *people.Setting) error {
	var some []string
	for in, err := range f.Incidents.EachOpen(ctx, f.tenant) {
		if err != nil {
			return err
		}
		if in.Review(s) {
			some = append(some, records.Place(in.Device, in.Kind))
		}
	}
	return f.each(ctx, len(some), func(ctx context.Context, i int) (*records.Held, error) {
		changed := false
		h, err := f.Incidents.Decide(ctx, f.tenant, some[i], func(h *records.Held) (bool, error) {
			changed = h.Incident != nil && h.Review(s)
			return changed, nil
		})
		if !changed {
			return nil, err
		}
		return h, err
	})
}
