package cassandrastore

import (
	"time"

	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
)

// Options are what a store is opened with. They begin as the defaults; Now and Hosts must be given.
type Options struct {
	provision.Options
	// Recount is how often the devices of each state are counted again.
	Recount time.Duration

	// ChangesFor and ChangesBytes are for how long, and up to about how many stored bytes, the
	// changes of a tenant are kept.
	ChangesFor   time.Duration
	ChangesBytes int64

	pace merge.Pace // of what processes write for each other; the usual one unless set
}

// defaults are what holds where nothing is set.
func defaults() Options {
	var o Options
	o.Options.Options, o.Recount = cql.Defaults(), 10*time.Minute
	o.ChangesFor, o.ChangesBytes = 24*time.Hour, 256<<20
	return o
}

func (o *Options) checkBuckets() error {
	_, err := designs.ParseBuckets(o.Buckets)
	return err
}
