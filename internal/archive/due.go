package archive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

type dueDay struct {
	day
	of      andon.Tenant
	expires andon.Time // when its first entry does; 0: never
	isLast  bool       // something may expire before the day is compared once more
}

// step is how often an archive looks for what is due, where something is kept so long.
func (c *Config) step(kept andon.Retention) andon.Duration {
	every := andon.DurationOf(c.Every)
	if kept == andon.Forever {
		return every
	}
	return min(every, andon.Duration(kept/4))
}

// decide says whether a day is due. It first is once it ended After ago, and then again once it is
// twice as old as it was when it was compared last: what comes late mostly comes soon. Before it
// expires, and until all of it has, it is due at each step.
func (c *Config) decide(d *dueDay, kept andon.Retention, checked, now andon.Time) bool {
	step := c.step(kept)
	first := d.end().Add(andon.DurationOf(c.After))
	if kept != andon.Forever {
		d.expires = d.start().Add(andon.Duration(kept))
		last := d.expires - andon.Time(3*step)
		first, d.isLast = min(first, last), now >= last
	}
	switch {
	case now < first:
		return false
	case checked == 0 || checked > now: // or the clock was ahead then
		return true
	case d.isLast:
		return now-checked >= andon.Time(step/2)
	}
	return now-d.start() >= 2*(checked-d.start())
}

// due returns the days that are to be compared, those that expire first before the others, and how
// soon to ask again.
func (a *Archive) due(
	ctx context.Context, s *Selection,
) (all []dueDay, next andon.Duration, err error) {
	if !a.Store.Capabilities().Whole {
		return nil, 0, andon.Errorf(andon.Unsupported, "this store does not list its devices")
	}
	next, a.unread = andon.DurationOf(a.Every), false
	tenants, err := a.Store.Tenants(ctx)
	isNamed := func(t andon.Tenant) bool { return t.ID == s.Tenant }
	if err == nil && s.Tenant != "" && !slices.ContainsFunc(tenants, isNamed) {
		return nil, next, andon.Errorf(andon.NotFound, "there is no tenant %q", s.Tenant)
	}
	if s.Tenant != "" && !a.covers(s.Tenant, Events) && !a.covers(s.Tenant, Readings) {
		return nil, next, andon.Errorf(andon.Invalid, "tenant %q is none of those of archive %s",
			s.Tenant, a.Name)
	}
	for _, t := range tenants {
		if err != nil || s.Tenant != "" && s.Tenant != t.ID {
			continue
		}
		horizon := t.Horizon(a.Now())
		next = min(next, a.step(t.Events), a.step(t.Readings))
		err = errors.Join(
			dueOf(ctx, a, s, events(), Events, t, t.Events, horizon.Events, &all),
			dueOf(ctx, a, s, readings(), Readings, t, t.Readings, horizon.Readings, &all))
	}
	if err == nil && all == nil && s.Span != (andon.Span{}) {
		err = andon.Errorf(andon.NotFound, "the store has nothing of these days")
	}
	slices.SortFunc(all, func(a, b dueDay) int {
		const never = andon.MaxTime
		return cmp.Or(cmp.Compare(cmp.Or(a.expires, never), cmp.Or(b.expires, never)),
			strings.Compare(a.String(), b.String()))
	})
	return all, next, err
}

func dueOf[T any](
	ctx context.Context, a *Archive, s *Selection, t *table[T], kind Kind, of andon.Tenant,
	kept andon.Retention, horizon andon.Time, all *[]dueDay,
) error {
	if !a.covers(of.ID, kind) {
		return nil
	}
	now := a.Now()
	first, err := firstDay(ctx, a.Store, t, &of, horizon, now)
	if andon.KindOf(err) == andon.NotFound { // it was deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	for n := first; n <= now.Day(); n++ {
		d := dueDay{day: day{of.ID, kind, n}, of: of}
		isDue := a.decide(&d, kept, a.checked(ctx, d.day), now)
		if s.Span != (andon.Span{}) {
			isDue = s.includes(d.day)
		}
		if isDue {
			*all = append(*all, d)
		}
	}
	return nil
}

// checked returns when a day was compared last, 0 where that is not known: then it is due, and
// archiving it says what is wrong. Where the place is out of reach it is not asked for each day.
func (a *Archive) checked(ctx context.Context, d day) andon.Time {
	if a.unread {
		return 0
	}
	f, err := a.look(ctx, d)
	if err != nil {
		a.unread = andon.KindOf(err) == andon.Unavailable
		return 0
	}
	return f.is.Checked
}

// firstDay returns a day before which there is nothing, about twice as old as the oldest. Where
// damage hides that, it is that of a year ago.
func firstDay[T any](
	ctx context.Context, s andon.Store, t *table[T], of *andon.Tenant, horizon, now andon.Time,
) (uint32, error) {
	for back := uint32(1); ; back *= 2 {
		day := max(now.Day()-min(back, now.Day()), horizon.Day())
		isOldest := true
		for _, err := range t.read(ctx, s, of, andon.Span{To: andon.DayStart(day) - 1}) {
			isDamaged := andon.KindOf(err) == andon.Damaged
			if err != nil && !isDamaged {
				return day, err
			}
			isOldest = isDamaged && back > 365
			break
		}
		if isOldest || day == horizon.Day() {
			return day, nil
		}
	}
}
