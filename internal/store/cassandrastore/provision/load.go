package provision

import (
	"context"
	"fmt"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
)

// Load reads the settings of a keyspace, and checks that this process may work on it.
func Load(ctx context.Context, c *cql.Cluster, o Options) (*Working, error) {
	r, err := c.ReplicationOf(ctx, o.Keyspace)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, missing(c)
	}
	if err := c.Meets(r); err != nil {
		return nil, err
	}
	stored, text, err := ReadSettings(ctx, c.Session, o.Keyspace)
	switch {
	case err != nil:
		return nil, err
	case text == "":
		return nil, missing(c)
	}
	if err := stored.agrees(o); err != nil {
		return nil, err
	}
	w, err := NewWorking(stored, text)
	if err != nil {
		return nil, err
	}
	return w, w.Complete(ctx, c.Session, o.Keyspace)
}

func missing(c *cql.Cluster) error {
	how := "`andon store init`"
	if c.Nodes() > 1 {
		how = fmt.Sprintf("`andon store init --replication %d`", min(c.Nodes(), 3))
	}
	return andon.Errorf(andon.Invalid, "there is no keyspace %s of Andon on this cluster: make it "+
		"with %s (see what it does with --dry-run)", c.Options.Keyspace, how)
}
