package cassandrastore

import (
	"cmp"
	"time"

	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/designs"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
)

// Options are what a store is opened with. Now and Hosts must be given; the zero value of the rest
// works.
type Options struct {
	provision.Options
	// Recount is how often the devices of each state are counted again; 10 minutes unless set.
	Recount time.Duration

	// ChangesFor and ChangesBytes are for how long, and up to about how many stored bytes, the
	// changes of a tenant are kept: a day and 256 MiB unless set.
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

func (o Options) withDefaults() Options {
	o.Options.Options = o.WithDefaults()
	d := defaults()
	o.Recount = cmp.Or(o.Recount, d.Recount)
	o.ChangesFor = cmp.Or(o.ChangesFor, d.ChangesFor)
	o.ChangesBytes = cmp.Or(o.ChangesBytes, d.ChangesBytes)
	return o
}

func (o *Options) checkBuckets() error {
	_, err := designs.ParseBuckets(o.Buckets)
	return err
}
