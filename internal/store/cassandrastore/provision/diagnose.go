package provision

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/health"
)

// Report is called with a fact: its name, its value, where it was read, and advice.
type Report func(name, value, source string, advice ...string)

// Diagnosis reports facts about the cluster and the keyspace. Settings are those of the node that
// answered.
type Diagnosis struct {
	Session *cql.Session
	Options Options
	Working *Working
	Now     func() time.Time
	Waiting int // devices that are to be reviewed
	Report  Report

	ctx        context.Context
	datacenter string
}

// Run reports all facts. What the user may not read is left out, or reported as such.
func (d *Diagnosis) Run(ctx context.Context) error {
	d.ctx = ctx
	c, err := cql.Look(ctx, d.Session, d.Options.Options)
	if err != nil {
		return err
	}
	r, err := c.ReplicationOf(ctx, d.Options.Keyspace)
	if err != nil {
		return err
	}
	d.datacenter = c.Datacenter
	d.cluster(c, r)
	d.keyspace()
	d.clock()
	d.nodeSettings(r)
	d.tables()
	return nil
}

func (d *Diagnosis) cluster(c *cql.Cluster, r cql.Replication) {
	var centres []string
	for _, name := range cql.Sorted(c.Datacenters) {
		centres = append(centres, fmt.Sprintf("%s with %d", name, c.Datacenters[name]))
	}
	d.Report("nodes", fmt.Sprintf("%d (%s), local data centre %s", c.Nodes(),
		strings.Join(centres, ", "), d.datacenter), "system.local, system.peers_v2")
	o := d.Options
	value := fmt.Sprintf("replication %s, writes at %s, reads at %s", r,
		o.WriteConsistency, o.ReadConsistency)
	var advice []string
	if !o.Overlap(r, d.datacenter) {
		advice = append(advice, "A read may miss what was acknowledged a moment ago: use "+
			"LOCAL_QUORUM for both.")
	}
	switch r.Copies() {
	case 1:
		advice = append(advice, "With one replica, a lost node takes its part of all data with "+
			"it: use 3.")
	case 2:
		advice = append(advice, "A quorum of 2 replicas is 2, so one node that is down stops "+
			"everything: use 3.")
	}
	d.Report("consistency", value, "system_schema.keyspaces, cassandra.*_consistency", advice...)
}

func (d *Diagnosis) keyspace() {
	w := d.Working
	d.Report("devices by state", w.Latest.String(), "the settings table of the keyspace")
	if w.Next != nil {
		d.Report("rebuild in progress", "to "+w.Next.String(), "the settings table",
			"If nobody runs it any more, run `andon store rebuild latest --to "+w.Next.Design+
				"` again.")
	}
	value := "events " + w.Retention.String() + ", readings " + w.Readings.String()
	d.Report("retention of the keyspace", value, "the settings table of the keyspace")
	d.Report("review after a change", "after "+w.Settle.String(),
		"the settings table of the keyspace")
	d.windows(w)
	if d.Waiting > 0 {
		d.Report("devices to be reviewed", strconv.Itoa(d.Waiting), "this process")
	}
}

// windows compares the time windows of the log with the retention: with some thirty windows whole
// SSTables are dropped when they expire; many more are as many files to read.
func (d *Diagnosis) windows(w *Working) {
	text := "SELECT compaction FROM system_schema.tables WHERE keyspace_name = '" +
		d.Options.Keyspace + "' AND table_name = 'events_by_device'"
	options := map[string]string{}
	if !d.one(text, &options) {
		return
	}
	size := options["compaction_window_size"]
	var advice []string
	if want := strconv.Itoa(w.Window()); size != want {
		advice = append(advice, fmt.Sprintf("The retention wants windows of %s days: ALTER TABLE "+
			"%s.events_by_device WITH compaction = {'class': 'TimeWindowCompactionStrategy', "+
			"'compaction_window_unit': 'DAYS', 'compaction_window_size': %s}.",
			want, d.Options.Keyspace, want))
	}
	d.Report("time windows of the log", size+" "+strings.ToLower(options["compaction_window_unit"]),
		text, advice...)
}

// one reads one value; false where the user may not, or there is none.
func (d *Diagnosis) one(text string, into any) bool {
	found, err := d.Session.OneAt(d.ctx, cql.LocalOne, text, nil, into)
	return found && err == nil
}

// clock compares the clock of this machine with a node's: entries too far ahead are refused by the
// one, and timestamps of deliveries are of the other.
func (d *Diagnosis) clock() {
	const text = "SELECT toUnixTimestamp(now()) FROM system.local"
	before := d.Now()
	var ms int64
	if !d.one(text, &ms) {
		return
	}
	here := before.Add(d.Now().Sub(before) / 2)
	apart := here.Sub(time.UnixMilli(ms)).Abs().Round(time.Millisecond)
	var advice []string
	if apart > time.Second {
		advice = append(advice, "Let all machines keep time by NTP: with two processes of Andon, "+
			"the delivery of the one whose clock is ahead wins.")
	}
	d.Report("clock difference to a node", apart.String(), text, advice...)
}

// setting reads a setting of the node that answers; false where the user may not.
func (d *Diagnosis) setting(name string) (value, source string, ok bool) {
	source = "SELECT value FROM system_views.settings WHERE name = '" + name + "'"
	ok = d.one(source, &value)
	return value, source, ok
}

func (d *Diagnosis) nodeSettings(r cql.Replication) {
	value, source, ok := d.setting("commitlog_sync")
	if !ok {
		d.Report("settings of the nodes", "can't be seen: the user may not read system_views",
			source)
		return
	}
	var advice []string
	if value == "periodic" && r.Copies() == 1 {
		advice = append(advice, "With one replica, a node that is killed loses up to ten seconds "+
			"of what was acknowledged: set commitlog_sync: batch or group in cassandra.yaml, or "+
			"replicate.")
	}
	d.Report("commit log", value, source, advice...)
	value, source, _ = d.setting("materialized_views_enabled")
	if value == "true" {
		d.Report("materialized views", "enabled", source)
		return
	}
	advice = nil
	if d.Working.Latest.Design == "view" {
		advice = append(advice, "The design view needs them: enable them, or rebuild to another "+
			"design.")
	}
	d.Report("materialized views", "disabled", source, advice...)
}

// largePartition is the reference's limit.
const largePartition = 100 // MiB

// tables reports the largest partition, each that is too large, and which table has queries that
// pass most tombstones.
func (d *Diagnosis) tables() {
	nodes, err := health.Read(d.ctx, d.Session, d.Options.Keyspace)
	if err != nil {
		return
	}
	largest := map[string]int64{}
	most, worst, passes := -1.0, 0.0, ""
	for _, n := range nodes {
		if n.Err != nil {
			d.Report("tables of node "+n.Address, "can't be seen: "+n.Err.Error(), "system_views")
		}
		for name, t := range n.Tables {
			largest[name] = max(largest[name], t.Partition)
			if t.TombstonesP99 > most || t.TombstonesP99 == most && t.TombstonesMost > worst {
				most, worst, passes = t.TombstonesP99, t.TombstonesMost, name
			}
		}
	}
	d.partitions(largest)
	if most < 0 {
		return
	}
	value := fmt.Sprintf("%.0f at the 99th percentile, %.0f at most, of %s", most, worst, passes)
	var advice []string
	if worst >= 10_000 {
		advice = append(advice, "A read fails at 100,000: use more buckets, or a lower "+
			"gc_grace_seconds with regular repairs.")
	}
	d.Report("tombstones a read passes", value, health.Tombstones, advice...)
}

// partitions reports the largest of the partitions, by table, and each that is too large.
func (d *Diagnosis) partitions(largest map[string]int64) {
	most, large := int64(-1), ""
	var advice []string
	for _, table := range cql.Sorted(largest) {
		size := largest[table]
		if size > most {
			most, large = size, table
		}
		if size < largePartition {
			continue
		}
		remedy := "a device, a person or a metric has more than the layout expects; see " +
			"docs/stores/cassandra.md"
		if strings.HasPrefix(table, "latest_") {
			remedy = "a state has too many devices for the design; rebuild to buckets, or to " +
				"more of them"
		}
		advice = append(advice, fmt.Sprintf("%s is too large: %s.", table, remedy))
	}
	if most >= 0 {
		d.Report("largest partition", fmt.Sprintf("%d MiB, of %s", most, large), health.Partitions,
			advice...)
	}
}
