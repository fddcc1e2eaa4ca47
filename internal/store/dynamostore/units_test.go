package dynamostore

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
)

// TestStoredDevice: what a program wrote must be read by the next one, so these names stay.
func TestStoredDevice(t *testing.T) {
	of := &tenant{Key: "metro", Record: andon.NewTenant("metro")}
	d := &device{Tenant: of, Version: 7}
	at := func(s int) andon.Time { return andon.MinTime + andon.Time(s)*1_000_000 }
	d.ID, d.Time, d.State, d.Since, d.Received = "a#1", at(5), "WARNING1", at(4), at(6)
	d.PrevTime, d.PrevState, d.Incident, d.LastNormal = at(3), "NORMAL", at(4), at(3)
	d.Operator, d.Assignee, d.AssignedFrom, d.Retired = "Liz", "Tom", at(2), at(1)
	d.Escalated = current.Escalation{Entry: at(4), State: "WARNING1", At: at(8), To: "Sara"}
	d.AsideAt, d.States, d.Generation, d.Shards = at(9), []andon.State{"NORMAL", "WARNING1"}, 2, 4
	d.Withdrawn, d.EverEscalated = items.Reach{From: at(3), To: at(4)},
		items.Reach{From: at(4), To: at(5)}
	d.Metrics, d.Incarnation = []andon.MetricName{"rpm"}, 36
	i, err := d.Item(d.Version)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"time":"05Z","state":"WARNING1","since":"04Z","prev_time":"03Z",` +
		`"prev_state":"NORMAL","incident":"04Z","last_normal":"03Z","operator":"Liz",` +
		`"escalation":{"Entry":"04Z","State":"WARNING1","At":"08Z","To":"Sara"},` +
		`"aside_at":"09Z","assignee":"Tom","assigned_from":"02Z","retired":"01Z",` +
		`"received":"06Z","states":["NORMAL","WARNING1"],"generation":2,"shards":4,"life":36,` +
		`"withdrawn":{"From":"03Z","To":"04Z"},"escalated":{"From":"04Z","To":"05Z"},` +
		`"metrics":["rpm"]}`
	if got := strings.ReplaceAll(i.Text(items.AttrShown), "1970-01-02T00:00:", ""); got != want {
		t.Errorf("kept as\n%s, want\n%s", got, want)
	}
	for name, want := range map[string]string{
		items.AttrDevice: "metro#a%231", items.AttrList: "metro#state#WARNING1",
		items.AttrAnswers: "metro#Tom", items.AttrEscalated: "metro#Sara", items.AttrID: "a#1",
	} {
		if got := i.Text(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	again, err := items.DecodeDevice(of, "a#1", i)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, d) {
		t.Errorf("read again it is %+v, want %+v", again, d)
	}
	if key := again.Rows(); key != "metro#a%231#life10" || again.Version != 7 {
		t.Errorf("its rows are at %q, its version is %d", key, again.Version)
	}
}

// TestRandomKeys: names of any form come out of keys as they went in, and stay apart.
func TestRandomKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func() string {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString([]string{"#", "%", "23", "25", "a", "shard01", "life1", "é"}[r.IntN(8)])
		}
		return b.String()
	}
	seen := map[string][3]string{}
	for range 3000 {
		id, device, state := draw(), draw(), draw()
		incarnation := r.IntN(3)
		key := items.ShardKey(
			items.DeviceKey(items.TenantKey(andon.TenantID(id), incarnation),
				andon.DeviceID(device)),
			r.IntN(4))
		tenant, got := items.SplitDevice(key)
		if got != andon.DeviceID(device) || items.TenantOf(tenant) != andon.TenantID(id) ||
			tenant != items.TenantKey(andon.TenantID(id), incarnation) {
			t.Fatalf("%q is read as %q of %q, want %q of %q", key, got, tenant, device, id)
		}
		of := [3]string{id, device, tenant}
		if was, ok := seen[key]; ok && was != of {
			t.Fatalf("%q is of %q and of %q", key, was, of)
		}
		seen[key] = of
		at := andon.MinTime + andon.Time(r.Int64N(int64(andon.MaxTime-andon.MinTime)))
		ref, rest, err := items.SplitStateDate(items.StateDate(andon.State(state), at) + "#more")
		if err != nil || ref.State != andon.State(state) || ref.Time != at || rest != "more" {
			t.Fatalf("%q at %s is read as %+v, %q, %v", state, at, ref, rest, err)
		}
	}
}

// TestShards: readers that ask n shards find what was written with any number up to n.
func TestShards(t *testing.T) {
	for i := range 500 {
		name := strings.Repeat("x", i%7) + items.TimeText(andon.MinTime+andon.Time(i))
		for n := 1; n <= items.MostShards; n *= 2 {
			places := items.ShardsOf(name, n)
			for of := 1; of <= n; of *= 2 {
				if !slices.Contains(places, items.ShardOf(name, of)) {
					t.Fatalf("%q of %d shards is not in %v", name, of, places)
				}
			}
			if sorted := slices.IsSorted(places); !sorted || places[len(places)-1] >= n {
				t.Fatalf("the places are %v of %d", places, n)
			}
		}
	}
}
