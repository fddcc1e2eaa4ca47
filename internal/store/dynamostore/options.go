package dynamostore

import (
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/dynamostore/provision"
	"github.com/andonhq/andon/internal/store/dynamostore/reference"
	"github.com/andonhq/andon/internal/store/shared"
)

// Options are what a store is opened with. They begin as the defaults; Now must be given.
type Options struct {
	Now      func() andon.Time // the clock; must be given
	Log      *slog.Logger
	Region   string // that of the SDK's own configuration unless set
	Endpoint string // URL of an engine other than the service in Region
	Prefix   string // of the names of the tables

	// Layout is layoutAndon, or layoutReference or layoutSeries with Table.
	Layout, Table string
	// Capacity is that of tables that Init makes.
	Capacity provision.Capacity

	// Key and Secret are credentials; those of the SDK's own configuration (environment, profile,
	// role) unless set.
	Key, Secret string

	// Shards is how many partitions a device has: a power of two, or "auto", by its measured rate.
	Shards string
	// Consistency is that of reads for answers, unless their request chooses: "strong" or
	// "eventual". Readings is that of readings, which are eventual where either is.
	Consistency, Readings string
	items.ReadingIndexes

	// Retention and ReadingsRetention are after how long the service deletes entries and readings.
	// A tenant may keep them for a shorter time, not longer.
	Retention, ReadingsRetention andon.Retention

	Timeout  time.Duration // of one call, with the SDK's own retries
	InFlight int           // calls under way at once
	// Recount is how often the devices of each state are counted again.
	Recount time.Duration
	// ChangesFor and ChangesBytes are for how long, and up to about how many stored bytes, the
	// changes of a tenant are kept.
	ChangesFor   time.Duration
	ChangesBytes int64
	// SweepRate is how many items a second a sweep deletes at most.
	SweepRate int

	sweepPage int // devices that are swept between two checkpoints
	// dividedAfter is from when readers ask more keys of an index to when writers use them.
	dividedAfter time.Duration
}

// defaults returns the options where nothing is set.
func defaults() Options {
	return Options{
		Log:    slog.New(slog.DiscardHandler),
		Prefix: "andon-", Shards: autoShards, Consistency: ddb.Strong, Readings: ddb.Strong,
		ReadingIndexes: items.ReadingIndexes{
			LatestIndex: items.ProjectsNone, MetricProjection: items.ProjectsMetrics,
		},
		Capacity: provision.DefaultCapacity(),
		Layout:   layoutAndon, Table: items.TableLog,
		Retention: andon.Forever, ReadingsRetention: andon.Retention(30 * 24 * 3600 * 1e6),
		Timeout: 10 * time.Second, InFlight: 256, Recount: 10 * time.Minute,
		ChangesFor: 24 * time.Hour, ChangesBytes: 256 << 20,
		SweepRate: 500, sweepPage: 100,
		dividedAfter: 2 * shared.TenantAge,
	}
}

// The layouts: Andon's own tables, or one that was made from one of the guides.
const (
	layoutAndon     = "andon"
	layoutReference = "reference"
	layoutSeries    = "timeseries"
)

func (o Options) tables() []ddb.Table {
	switch o.Layout {
	case layoutReference:
		return []ddb.Table{reference.Table(o.Table, o.Retention)}
	case layoutSeries:
		return []ddb.Table{reference.ReadingsTable(o.ofGuide())}
	}
	all := o.ownTables()
	for i := range all {
		all[i].Name = o.Prefix + all[i].Name
	}
	return all
}

func (o Options) ofGuide() reference.Options {
	g := reference.Options{
		Table: o.Table, Eventual: o.Consistency == ddb.Eventual, Retention: o.Retention,
		SweepRate: o.SweepRate,
	}
	if o.Layout == layoutSeries {
		g.Eventual = g.Eventual || o.Readings == ddb.Eventual
		g.Retention, g.LatestIndex = o.ReadingsRetention, o.LatestIndex != items.ProjectsNone
		if len(o.MetricIndex) > 0 {
			g.Metric = andon.MetricName(o.MetricIndex[0])
		}
	}
	return g
}

// ownTables returns the tables of the layout andon, without the prefix.
func (o Options) ownTables() []ddb.Table {
	all := items.AndonTables()
	for i := range all {
		if all[i].Name == items.TableReadings {
			all[i].Indexes = o.TableIndexes()
		}
	}
	return all
}

// access returns how the service is reached.
func (o Options) access() ddb.Access {
	return ddb.Access{Region: o.Region, Endpoint: o.Endpoint, Key: o.Key, Secret: o.Secret}
}

// prefixes are what table names may begin with.
var prefixes = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,100}$`)

func (o *Options) checkPrefix() error {
	if !prefixes.MatchString(o.Prefix) {
		return fmt.Errorf("%q is not of letters, digits, _, - and ., at most 100 of them", o.Prefix)
	}
	return nil
}

func (o *Options) checkEndpoint() error {
	u, err := url.Parse(o.Endpoint)
	if o.Endpoint == "" || (err == nil && u.Host != "" && strings.HasPrefix(u.Scheme, "http")) {
		return nil
	}
	return fmt.Errorf("%q is not a URL of the form http://127.0.0.1:8000", o.Endpoint)
}

// autoShards is the setting by which the rate of a device decides.
const autoShards = "auto"

func (o *Options) checkShards() error {
	n, err := strconv.Atoi(o.Shards)
	if o.Shards != autoShards && (err != nil || !powerOfTwo(n)) {
		return fmt.Errorf("%q is neither auto nor a power of two up to %d", o.Shards,
			items.MostShards)
	}
	return nil
}

func powerOfTwo(n int) bool { return n >= 1 && n <= items.MostShards && n&(n-1) == 0 }

// fixedShards returns the number that is set; 1 where it is automatic.
func (o *Options) fixedShards() int {
	n, _ := strconv.Atoi(o.Shards)
	return max(n, 1)
}
