package shared

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

// TestRandomCounts: in whatever order and however often what is known of devices is reported, the
// counts are those of the newest.
func TestRandomCounts(t *testing.T) {
	states := andon.DefaultStates()
	type reported struct {
		device            andon.DeviceID
		newest            andon.EventKey
		retired, received andon.Time
	}
	many(t, func(t *testing.T, r *rand.Rand) {
		var all []reported
		newest := map[andon.DeviceID]reported{}
		for range r.IntN(20) {
			device := pickOne[andon.DeviceID](r, "a", "b", "c")
			e := andon.Event{Time: andon.Time(1 + r.IntN(5)),
				State: pickOne[andon.State](r, "NORMAL", "WARNING1", "ODD")}
			is := reported{device, e.Key(states), andon.Time(max(0, r.IntN(12)-6)),
				andon.Time(r.IntN(9))}
			all = append(all, is, is)
			was := newest[device]
			if was.newest.Compare(is.newest) > 0 {
				is.newest = was.newest
			}
			is.retired, is.received = max(is.retired, was.retired), max(is.received, was.received)
			newest[device] = is
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		c := NewCounts(func() andon.Time { return 10 })
		for _, is := range all {
			c.Raise("t", 0, is.device, is.newest, is.retired, 0)
			c.Hear("t", is.device, is.received)
		}
		want := map[andon.State]andon.StateCount{}
		for _, is := range newest {
			if is.newest.Time <= is.retired {
				continue
			}
			n := want[is.newest.State]
			n.State = is.newest.State
			n.Count++
			if is.received < 4 {
				n.Silent++
			}
			want[n.State] = n
		}
		got := map[andon.State]andon.StateCount{}
		for _, n := range c.States("t", 4) {
			got[n.State] = n
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reported %+v (-want +got):\n%s", all, diff)
		}
	})
}

// TestCountsOfGenerations: of two states at one instant the one counts that the later generation of
// the severities says.
func TestCountsOfGenerations(t *testing.T) {
	c := NewCounts(func() andon.Time { return 10 })
	c.Raise("t", 0, "d", andon.EventKey{Time: 5, Severity: 80, State: "A"}, 0, 1)
	c.Raise("t", 1, "d", andon.EventKey{Time: 5, Severity: 40, State: "B"}, 0, 1)
	c.Raise("t", 0, "d", andon.EventKey{Time: 5, Severity: 90, State: "C"}, 0, 1)
	want := []andon.StateCount{{State: "B", Count: 1}}
	if got := c.States("t", 0); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	c.Forget("t")
	if got := c.States("t", 0); got != nil || c.Devices() != 0 || len(c.Tenants()) != 0 {
		t.Errorf("got %+v of a tenant that is forgotten", got)
	}
}

// TestArrivalOfOlderScan: a scan that has read a device before it was heard again does not make it
// silent. One that is of a clock that was ahead ends once that is right again.
func TestArrivalOfOlderScan(t *testing.T) {
	const hour = 3600e6
	now := andon.Time(1000 * hour)
	c := NewCounts(func() andon.Time { return now })
	raise := func(received andon.Time) {
		c.Raise("t", 0, "d", andon.EventKey{Time: 5, State: "A"}, 0, received)
	}
	silent := func() int { return c.States("t", now-hour)[0].Silent }
	raise(now)
	if raise(now - 2*hour); silent() != 0 {
		t.Error("an older scan made a device silent")
	}
	raise(now + 9*hour)
	if raise(now - 2*hour); silent() != 1 {
		t.Error("a device is heard by a clock that was ahead")
	}
}

// TestCountsAwait: counts are asked for once all devices were read, and else it is said how many
// were. What fails is tried again.
func TestCountsAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCounts(func() andon.Time { return 10 })
		ctx, cancel := context.WithCancel(t.Context())
		reads := 0
		var said strings.Builder
		log := slog.New(slog.NewTextHandler(&said, nil))
		job := Recount(time.Hour, log.Warn, func(context.Context) error {
			if reads++; reads < 5 {
				return errors.New("broken")
			}
			c.Done()
			return nil
		})
		go job.Run(ctx)
		err := c.Await(t.Context())
		if err == nil || !strings.Contains(err.Error(), " of them so far") {
			t.Errorf("after 10 s: %v", err)
		}
		if err := c.Await(t.Context()); err != nil || strings.Count(said.String(), "broken") != 4 {
			t.Errorf("after 4 failures: %v, %s", err, &said)
		}
		<-time.After(time.Hour)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if reads != 6 {
			t.Errorf("the devices were read %d times, want once more after an hour", reads)
		}
	})
}
