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

// SettingNow returns what decisions about incidents of a tenant depend on now.
func (k *Keeper) SettingNow(ctx context.Context, tenant andon.TenantID) (*people.Setting, error) {
	s, err := k.Setting(ctx, tenant)
	if err != nil {
		return nil, err
	}
	s.Now = k.Now()
	s.Windows = k.calendars.Open(tenant, s.Known, s.Now)
	s.Resets = func(of *people.Incident) (bool, error) {
		return k.Incidents.Resets(ctx, tenant, s.States, of)
	}
	s.TakeTurns(func(of *people.Schedule) andon.PersonID { return k.turn(ctx, tenant, of) })
	return s, nil
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
	var expired, reviewed andon.Time
	var back andon.Duration
	set := f.Clock.Watch()
	for ctx.Err() == nil {
		now := f.Now() // which may have been ahead
		if max(now.Sub(expired), expired.Sub(now)) >= expireEvery && f.expire(ctx) == nil {
			expired = now
		}
		if s, err := f.SettingNow(ctx, f.tenant); err == nil {
			_, by := set()
			back += by
			s.Reviewed, s.SetBack = min(reviewed, s.Now), back
			same := was != nil && (was.Known == s.Known ||
				reflect.DeepEqual(was.Rosters, s.Rosters) &&
					reflect.DeepEqual(was.Policies, s.Policies)) &&
				reflect.DeepEqual(was.Windows, s.Windows)
			aged := len(s.Windows) > 0 && was != nil && s.Now.Sub(was.Now) >= reviewOpen
			if !same || aged || back > 0 {
				if err = f.review(ctx, s); err == nil {
					was, back = s, 0
				}
			}
			if err == nil {
				reviewed = s.Now
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
	for in, err := range f.Incidents.EachOpen(ctx, f.tenant, "") {
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
