package keeper_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/groups"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// TestGroupsFollowWhatIsShown: policies are followed by a group that comes from an attribute of the
// entry that opens an incident, which this process has not learned: whoever stored it was killed
// before, or is another process. What is late counts for nothing. No device is read that is normal
// before and after a change, unless it appears.
func TestGroupsFollowWhatIsShown(t *testing.T) {
	for name, others := range map[string]bool{"nobody learns": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, memstore.New(), clock)
				var reads atomic.Int64
				var count wrap.Faults
				count.Set(func(context.Context) error { reads.Add(1); return nil }, "Device")
				h.groups = groups.New(wrap.Around(h.store, count.Hook), clock)
				other := groups.New(h.store, clock)
				h.known = &people.Known{}
				var rules []andon.GroupRule
				for line, group := range []string{"a", "b"} {
					h.known.Policies = append(h.known.Policies, people.Policy{
						Name: group, Match: people.Match{Group: andon.Group(group)},
						Steps: []people.PolicyStep{{To: people.Target("person " + group)}},
					})
					rules = append(rules, andon.GroupRule{
						Attribute: "line", Equals: fmt.Sprint(line), Group: andon.Group(group),
					})
				}
				if err := h.groups.PutRules(t.Context(), "default", rules); err != nil {
					t.Fatal(err)
				}
				h.silentAfter("24h")
				stop := h.keep("a")
				defer func() { stop() }()
				settle(5 * time.Second)
				h.start = clock()
				says := func(d andon.DeviceID, at andon.Duration, state andon.State, a andon.JSON) {
					all := []andon.Event{
						{Device: d, Time: clock().Add(at), State: state, Attributes: a},
					}
					err := h.store.Append(t.Context(), "default", clock(), all)
					if err == nil && others {
						err = other.Learn(t.Context(), "default", all)
					}
					if err != nil {
						t.Error(err)
					}
				}
				says("new", 0, "WARNING1", `{"line":"1"}`)
				says("moved", 0, "NORMAL", `{"line":"0"}`)
				settle(2 * time.Second)
				says("moved", 0, "WARNING1", `{"line":"1"}`)
				says("moved", -1, "NORMAL", `{"line":"0"}`)
				want := []string{" b moved", " b new"}
				if others { // its last value stays, which is seen no more when it is looked at
					settle(2 * time.Second)
					stop()
					says("brief", 0, "WARNING1", `{"line":"1"}`)
					says("brief", 1, "WARNING1", "")
					stop = h.keep("b")
					want = []string{" b brief", " b moved", " b new"}
				}
				says("calm", 0, "NORMAL", "")
				settle(2 * time.Second)
				before := reads.Load()
				assigned := []andon.Assignment{{Device: "calm", Operator: "Liz"}}
				if _, err := h.Assign(t.Context(), "default", assigned); err != nil {
					t.Error(err)
				}
				settle(2 * time.Second)
				if n := reads.Load() - before; n > 0 {
					t.Errorf("%d devices are read", n)
				}
				if slices.Sort(h.told); !slices.Equal(h.told, want) {
					t.Errorf("told: %q; want %q", h.told, want)
				}
			})
		})
	}
}
