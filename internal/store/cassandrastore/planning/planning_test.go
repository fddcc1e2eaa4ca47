package planning

import (
	"testing"
	"time"

	"github.com/andonhq/andon/internal/plan"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
)

// layoutsOf are the layouts for events of 300 bytes and readings of three metrics, by design.
func layoutsOf(t *testing.T, buckets string) map[string]plan.Layout {
	t.Helper()
	traffic := plan.Traffic{
		Devices: 1, Interval: time.Minute, EventBytes: 300, Retention: time.Hour,
		ReadingsEvery: time.Second, Metrics: 3, ReadingsRetention: time.Hour,
	}
	s, err := traffic.Sample()
	if err != nil {
		t.Fatal(err)
	}
	all, err := Layouts("cassandra", buckets, s)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]plan.Layout{}
	for _, l := range all {
		by[l.Name] = l
	}
	return by
}

// TestPlannedDesigns: what each design adds to an event or a change, and what shares a partition.
func TestPlannedDesigns(t *testing.T) {
	all := layoutsOf(t, "")
	if len(all) != len(designs.Names()) {
		t.Errorf("%d layouts, want %d", len(all), len(designs.Names()))
	}
	for name, want := range map[string]struct {
		table    string
		sharing  plan.Sharing
		keys     int
		per      plan.Per
		requests float64
	}{
		"view":    {"latest_state_view", plan.ByState, 0, plan.PerEvent, 4},
		"index":   {"latest_by_tenant", plan.ByTenant, 0, plan.PerEvent, 2},
		"sai":     {"latest_by_tenant_sai", plan.ByTenant, 0, plan.PerEvent, 2},
		"state":   {"latest_by_state", plan.ByState, 0, plan.PerChange, 2},
		"tables":  {"latest_in_normal", plan.ByState, 0, plan.PerChange, 2},
		"buckets": {"latest_by_bucket", plan.ByState, 16, plan.PerChange, 2},
	} {
		c := all[name].Cluster
		found := false
		for _, p := range c.Partitions {
			found = found || p.Table == want.table && p.Sharing == want.sharing &&
				p.Keys == want.keys && p.Bytes > 24 && p.Bytes < 80 // the page says 40 to 70
		}
		if !found {
			t.Errorf("%s has no partition %+v: %+v", name, want, c.Partitions)
		}
		if last := writeOfDesign(c); last.Per != want.per || last.Requests != want.requests {
			t.Errorf("%s writes %+v, want %+v", name, last, want)
		}
	}
}

// writeOfDesign is the write to a table that only one design has.
func writeOfDesign(c *plan.Cluster) (of plan.RowWrite) {
	for _, w := range c.Writes {
		switch w.Table {
		case "events_by_device", "latest_by_device", "hints_by_operator", "directory",
			"readings_by_device", "changes", "escalations_by_day", "assignments_by_device":
		default:
			of = w
		}
	}
	return of
}

// TestPlannedSizes: a reading by hand, and buckets as they are set.
func TestPlannedSizes(t *testing.T) {
	const (
		metric  = 4 + len("metric-0001") + 4 + 8
		reading = 4 + 8 + 4 + 4 + 3*metric + 4 // delivery, metrics, and no metadata
	)
	c := layoutsOf(t, "")["buckets"].Cluster
	if want := reading + 8 + 8 + rowOverhead; c.ReadingBytes != want {
		t.Errorf("a reading has %d bytes, want %d", c.ReadingBytes, want)
	}
	for _, p := range layoutsOf(t, "64,WARNING4=4")["buckets"].Cluster.Partitions {
		if p.Table == "latest_by_bucket" && (p.Keys != 64 || p.MostKeys != designs.MaxBuckets) {
			t.Errorf("with 64 buckets: %+v", p)
		}
	}
}
