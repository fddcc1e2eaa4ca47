package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/sink"
	"github.com/andonhq/andon/internal/store/memstore"
)

func clock() andon.Time { return andon.TimeOf(time.Now()) }

// showState is what appends a device to a text.
func showState(context.Context, *andon.Tenant) func([]byte, *andon.Device) ([]byte, error) {
	return func(text []byte, d *andon.Device) ([]byte, error) {
		return fmt.Appendf(text, "%q", d.State), nil
	}
}

// TestCompactedTopic: the newest records of a topic that a feed is delivered to are what all
// devices show, after random changes.
func TestCompactedTopic(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c, s := newCluster(t, kfake.SeedTopics(3, "t")), memstore.New()
	f := &sink.Feed{
		Destination: deliverTo(t, c.ListenAddrs()), Store: s, Show: showState, Now: clock,
		Log:    slog.New(slog.DiscardHandler),
		Leases: &lease.Holder{Records: s, Owner: "a", Alone: true, For: time.Minute},
	}
	f.Settings()
	f.Name, f.Start, f.Wait, f.Batch = "f", "snapshot", time.Millisecond, 20
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	var running sync.WaitGroup
	running.Go(func() {
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer running.Wait()
	defer cancel()
	states := []andon.State{"NORMAL", "WARNING1", "WARNING2"}
	for i := range 500 {
		var err error
		id := andon.DeviceID(fmt.Sprint("d", random.IntN(9)))
		at := 1_600_000_000_000_000 + andon.Time(i)
		switch n := random.IntN(20); n {
		case 0, 1:
			_, err = s.Retire(ctx, andon.DefaultTenant, id, at)
		case 2:
			err = s.Purge(ctx, andon.DefaultTenant, id)
		default:
			e := andon.Event{Device: id, Time: at, State: states[n%3]}
			err = s.Append(ctx, andon.DefaultTenant, clock(), []andon.Event{e})
		}
		if err != nil && andon.KindOf(err) != andon.NotFound {
			t.Fatal(err)
		}
	}
	want := map[string]string{}
	for d, err := range s.Devices(ctx, andon.DefaultTenant, andon.DeviceQuery{Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		want[fmt.Sprintf(`["default","%s"]`, d.ID)] = fmt.Sprintf(`"shows":"%s"}`, d.State)
	}
	compacted := map[string]string{}
	for n := 0; !maps.EqualFunc(compacted, want, endsWith); n = int(f.Delivered.Load()) {
		if ctx.Err() != nil {
			t.Fatalf("the topic has %v; shown are %v", compacted, want)
		}
		for _, r := range recordsOf(t, c.ListenAddrs(), max(n, 1)) {
			compacted[string(r.Key)] = string(r.Value)
			if r.Value == nil {
				delete(compacted, string(r.Key))
			}
		}
	}
}

func endsWith(text, end string) bool { return strings.HasSuffix(text, end) }
