package enginetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

const (
	probeEvery  = 100 * time.Millisecond
	probeLength = 5 * time.Second
)

// eventually tries until it works, or the context is done: that comes with what the last attempt
// met.
func eventually(ctx context.Context, try func(context.Context) error) error {
	again := time.NewTicker(probeEvery)
	defer again.Stop()
	var last error
	for {
		if ctx.Err() == nil {
			err := try(ctx)
			if err == nil {
				return nil
			}
			last = err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), last)
		case <-again.C:
		}
	}
}

// listens returns what tries to connect to an address.
func listens(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// probe asks a node for its version. It logs in at one that is secured: the first user is made
// after CQL has begun to answer.
func (n *Node) probe(ctx context.Context) error {
	_, err := n.query(ctx, "SELECT release_version FROM system.local", gocql.LocalOne)
	return err
}

// query asks this node, in a session of its own, and returns its rows as text.
func (n *Node) query(ctx context.Context, cql string, level gocql.Consistency) (string, error) {
	session, err := n.session()
	if err != nil {
		return "", err
	}
	defer session.Close()
	it := session.Query(cql).Consistency(level).IterContext(ctx)
	rows, err := it.SliceMap()
	return fmt.Sprint(rows), errors.Join(err, it.Close())
}

// session is with this node alone, whatever ring it is of. Nothing that is asked here takes long:
// what does is stuck.
func (n *Node) session() (*gocql.Session, error) {
	c := gocql.NewCluster(n.address)
	c.ProtoVersion, c.NumConns = 4, 1
	c.Timeout, c.ConnectTimeout = probeLength, probeLength
	c.DisableInitialHostLookup = true
	c.HostFilter = gocql.WhiteListHostFilter(n.address)
	c.Metadata.CacheMode = gocql.Disabled
	c.Events.DisableNodeStatusEvents, c.Events.DisableTopologyEvents = true, true
	c.Events.DisableSchemaEvents = true
	c.ReconnectInterval = 0
	c.Logger = gocql.NewLogger(gocql.LogLevelNone)
	if n.tls != nil {
		c.Authenticator = gocql.PasswordAuthenticator{Username: User, Password: Password}
		config, err := n.TLS()
		if err != nil {
			return nil, err
		}
		c.SslOpts = &gocql.SslOptions{Config: config, EnableHostVerification: true}
	}
	return c.CreateSession()
}
