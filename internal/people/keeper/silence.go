package keeper

import (
	"context"
	"maps"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/silence"
	"github.com/andonhq/andon/internal/sleep"
)

// silences are the silent devices of a tenant, by the incidents that there are of them.
type silences struct {
	*follower
	watch silence.Watch
	// waits says that some were not opened: this process has not listened for long enough.
	waits bool
	// heard is when it was noticed that a gateway's devices are being heard again, by gateway, and
	// waited when the first of them has waited for the others; 0: none does.
	heard  map[andon.DeviceID]andon.Time
	waited andon.Time
	began  andon.Time // before it nothing was heard; not after now, if the clock is set back
	same   int        // lists of the same devices since incidents were compared with one
}

// sameLists is after how many lists of the same devices incidents are compared: other devices may
// belong to a gateway by now. To read the incidents of a large fleet takes far longer than a list.
const sameLists = 20

// severity is that of a silent device: it is not known to be well, and no state says how bad it is.
const severity = andon.UnknownSeverity

// listen opens incidents of devices that are silent, and closes those of devices that are heard
// again, until the context ends. What is silent is compared with what is open, so whoever goes on
// after a crash misses nothing.
func (f *follower) listen(ctx context.Context) {
	l := silences{follower: f, began: f.started, watch: silence.Watch{
		Source: f.Store, Tenant: f.tenant,
	}}
	set := f.Clock.Watch()
	for ctx.Err() == nil {
		now := l.Now()
		// What was sent while no process was there is not known to be missing, and neither is what
		// the clock has left out, as that of a machine that slept.
		l.began = min(l.began, now)
		if ahead, _ := set(); ahead > 0 { // after now: that is before a jump in between
			l.began = l.Now()
		}
		err := l.look(ctx, now)
		if err != nil {
			l.watch.Forget()
		}
		if part := string(f.tenant) + ", silence"; ctx.Err() == nil &&
			andon.KindOf(err) != andon.NotFound {
			f.Failures.Note(part, err)
		} else {
			f.Failures.Forget(part)
		}
		_ = sleep.For(ctx, l.watch.Pause())
	}
}

func (l *silences) look(ctx context.Context, now andon.Time) error {
	tenant, err := l.Store.Tenant(ctx, l.tenant)
	if err != nil {
		return err
	}
	l.watch.Now = func() andon.Time { return now } // also where the clock jumps from here on
	early := now < l.began.Add(tenant.SilentAfter)
	if l.waits && !early {
		l.waits = false
		l.watch.Forget()
	}
	was := l.watch.Silent()
	if listed, err := l.watch.Look(ctx); err != nil || !listed {
		return err
	}
	if l.same++; was != nil && maps.Equal(was, l.watch.Silent()) && l.same < sameLists &&
		(l.waited == 0 || l.Now() < l.waited) {
		return nil
	}
	l.same = 0
	return l.compare(ctx, tenant.SilentAfter, early)
}

// compare compares what is silent with the incidents that are open.
func (l *silences) compare(ctx context.Context, after andon.Duration, early bool) error {
	s, err := l.SettingNow(ctx, l.tenant)
	if err != nil {
		return err
	}
	open := map[andon.DeviceID]*people.Incident{}
	for in, err := range l.Incidents.EachOpen(ctx, l.tenant, people.SilentKind) {
		if err != nil {
			return err
		}
		open[in.Device] = in
	}
	if s.Parent == nil {
		s.Parent = func(andon.DeviceID) andon.DeviceID { return "" }
		s.Children = func(andon.DeviceID) []andon.DeviceID { return nil }
	}
	tops, want, err := l.tops(ctx, s, open, after)
	if err != nil {
		return err
	}
	var changed []andon.DeviceID
	for device, covers := range want {
		switch in := open[device]; {
		case in == nil && early:
			l.waits = true
		case in == nil || in.Until != 0 || in.Covers < covers:
			changed = append(changed, device)
		}
	}
	for device, in := range open {
		if _, is := want[device]; !is && in.Until == 0 {
			changed = append(changed, device)
		}
	}
	return l.each(ctx, len(changed), func(ctx context.Context, i int) (*records.Held, error) {
		o, err := l.silent(ctx, s, changed[i], want, tops)
		if err != nil {
			return nil, err
		}
		return l.observe(ctx, changed[i], people.SilentKind, o, nil, nil)
	})
}

// tops returns the device that each silent one has its incident of: itself, or the gateway whose
// devices are all silent; and how many other devices each of those covers.
func (l *silences) tops(
	ctx context.Context, s *people.Setting, open map[andon.DeviceID]*people.Incident,
	after andon.Duration,
) (tops map[andon.DeviceID]andon.DeviceID, want map[andon.DeviceID]int, err error) {
	silent, parent := l.watch.Silent(), s.Parent
	behind := map[andon.DeviceID]int{}
	for device := range silent {
		if of := parent(device); of != "" && of != device {
			behind[of]++
		}
	}
	heard, waited := map[andon.DeviceID]andon.Time{}, andon.Time(0)
	for gateway, n := range behind {
		_, itself := silent[gateway]
		some, err := l.someHeard(ctx, s.Children(gateway))
		if err != nil {
			return nil, nil, err
		}
		in := open[gateway]
		covering := in != nil && in.Covers > 0
		if some && covering {
			heard[gateway] = andon.Earlier(l.heard[gateway], s.Now)
			end := heard[gateway].Add(after) // its other devices have yet to report
			if some = s.Now >= end; !some {
				waited = andon.Earlier(waited, end)
			}
		}
		if some || n == 1 && !itself && !covering {
			delete(behind, gateway)
		}
	}
	l.heard, l.waited = heard, waited
	tops, want = map[andon.DeviceID]andon.DeviceID{}, map[andon.DeviceID]int{}
	for device := range silent {
		top := topOf(device, parent, behind)
		if tops[device] = top; top == device {
			want[top] += 0
		} else {
			want[top]++
		}
	}
	return tops, want, nil
}

// topOf returns the gateway that covers a device, or the device itself. Of devices that belong to
// each other in a circle it is the first by name.
func topOf(
	device andon.DeviceID, parent func(andon.DeviceID) andon.DeviceID,
	covers map[andon.DeviceID]int,
) andon.DeviceID {
	seen := map[andon.DeviceID]bool{}
	for ; covers[parent(device)] > 0 && !seen[device]; device = parent(device) {
		seen[device] = true
	}
	first := device
	if seen[device] {
		for of := parent(device); of != device; of = parent(of) {
			first = min(first, of)
		}
	}
	return first
}

// someHeard reports whether one of some devices at least is not silent. Those that were never seen
// do not count.
func (l *silences) someHeard(ctx context.Context, some []andon.DeviceID) (bool, error) {
	for _, device := range some {
		if _, silent := l.watch.Silent()[device]; silent {
			continue
		}
		_, err := l.Store.Device(ctx, l.tenant, device)
		if err == nil || andon.KindOf(err) != andon.NotFound {
			return err == nil, err
		}
	}
	return false, nil
}

// silent is what is true of a device that is silent, or was: the last thing that was heard of it,
// or of the devices that it covers.
func (l *silences) silent(
	ctx context.Context, s *people.Setting, device andon.DeviceID, want map[andon.DeviceID]int,
	tops map[andon.DeviceID]andon.DeviceID,
) (*people.Observation, error) {
	covers, holds := want[device]
	o := &people.Observation{Holds: holds, Covers: covers, Severity: severity}
	_, itself := l.watch.Silent()[device]
	heard := s.Children(device)
	if itself {
		heard = nil
	}
	if itself || !holds {
		heard = append(heard, device)
	}
	for _, one := range heard {
		d, err := l.Store.Device(ctx, l.tenant, one)
		if err != nil && andon.KindOf(err) != andon.NotFound {
			return nil, err
		}
		o.Entry.Time = max(o.Entry.Time, d.Received)
		if one == device {
			o.Entry.State, o.Operator = d.State, d.Operator
		}
	}
	switch top := tops[device]; {
	case holds:
	case itself:
		o.Entry.Time, o.Why = s.Now, "it is covered by the silence of "+string(top)
	case o.Entry.Time == 0:
		o.Why = "the device is gone"
	}
	o.Since = o.Entry.Time
	return o, nil
}
