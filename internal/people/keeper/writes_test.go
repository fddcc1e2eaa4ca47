package keeper_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// counting notes in their order the writes of open incidents, and who is told of them.
type counting struct {
	andon.Store
	notify.Notifier
	mu   sync.Mutex
	done []string
}

func (c *counting) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, what)
}

func (c *counting) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if r.Kind == records.OpenKind {
		c.note("stored")
	}
	return c.Store.PutRecord(ctx, r)
}

func (c *counting) Notify(ctx context.Context, t andon.TenantID, all []notify.Notice) error {
	c.note(fmt.Sprint("told ", len(all)))
	return c.Notifier.Notify(ctx, t, all)
}

// TestUnreadLog: a return to normal waits for a log that can't be read now, and asks for no reset.
func TestUnreadLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults wrap.Faults
		h := newHouse(t, wrap.Around(memstore.New(), faults.Hook), clock)
		tenant, err := h.store.Tenant(t.Context(), "default")
		if err == nil {
			defs := andon.DefaultStates().Defs()
			defs[len(defs)-1].Reset = true
			tenant.States, err = andon.NewStateSet(defs)
		}
		if _, wrong := h.store.PutTenant(t.Context(), tenant); err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		h.silentAfter("24h")
		defer h.keep("a")()
		settle(5 * time.Second)
		h.is("WARNING1")
		faults.Set(wrap.Fail(andon.Errorf(andon.Unavailable, "no log")), "DeviceEvents")
		h.is("NORMAL")
		faults.Set(nil, "DeviceEvents")
		settle(5 * time.Second)
		if in := h.only(); in.Status() != people.Returned {
			t.Errorf("it is %s", in.Status())
		}
	})
}

// TestStoredOnceAsItOpens: who is told at once is told first, and then the incident is stored,
// once. What else follows at once is stored before it is done.
func TestStoredOnceAsItOpens(t *testing.T) {
	const minute = 60_000_000
	for _, c := range []struct {
		name   string
		policy people.Policy
		states []andon.State
		want   []string
	}{
		{"told at once", people.Policy{Steps: []people.PolicyStep{{To: "person Liz"}}},
			[]andon.State{"WARNING1"}, []string{"told 1", "stored"}},
		{"told later", people.Policy{Steps: []people.PolicyStep{
			{After: 5 * minute, To: "person Liz"},
		}}, []andon.State{"WARNING1"}, []string{"stored"}},
		{"no policy", people.Policy{Match: people.Match{Prefix: "x"}},
			[]andon.State{"WARNING1"}, []string{"stored"}},
		{"again", people.Policy{Steps: []people.PolicyStep{{To: "person Liz"}}},
			[]andon.State{"WARNING1", "NORMAL", "WARNING1"}, []string{
				"told 1", "stored", "stored", "stored", "told 1", "stored", // the former twice more
			}},
		{"assigned", people.Policy{Assign: "person Liz"}, []andon.State{"WARNING1"},
			[]string{"stored", "stored"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &counting{Store: memstore.New()}
				h := newHouse(t, s, clock)
				s.Notifier, h.notifier = h, s
				h.silentAfter("24h")
				c.policy.Name = "p"
				h.known = &people.Known{Policies: []people.Policy{c.policy}}
				defer h.keep("a")()
				settle(5 * time.Second)
				for _, state := range c.states {
					h.is(state)
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				if diff := gocmp.Diff(c.want, s.done); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
