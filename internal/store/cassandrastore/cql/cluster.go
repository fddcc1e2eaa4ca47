package cql

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
)

// Cluster is what is known of a cluster, with a session on it that has no keyspace.
type Cluster struct {
	*Session
	Options     Options
	Version     string // of the node that answered
	Datacenter  string // the local one
	Datacenters map[string]int
}

// Reach connects to a cluster, without a keyspace, and checks what can be checked before the
// keyspace is read. Each problem has an error of its own.
func Reach(ctx context.Context, o Options) (*Cluster, error) {
	o = o.Complete()
	if err := o.Check(); err != nil {
		return nil, err
	}
	if err := answers(ctx, o); err != nil {
		return nil, err
	}
	anywhere := o
	anywhere.Datacenter = "" // a wrong one would filter all nodes out
	session, err := connect(anywhere, "", nil)
	if err != nil {
		return nil, err
	}
	c, err := Look(ctx, session, o)
	if err = errors.Join(ctx.Err(), err); err != nil {
		session.Close()
		return nil, err
	}
	return c, nil
}

// answers dials the contact points, because the driver's own message about hosts names none.
func answers(ctx context.Context, o Options) error {
	dialer := net.Dialer{Timeout: min(o.Timeout, 5*time.Second)}
	var problems []string
	for _, text := range o.Hosts {
		host, port, _ := splitHost(text)
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return conn.Close()
		}
		problems = append(problems, err.Error())
	}
	return andon.Errorf(andon.Unavailable, "no node of Cassandra answers: %s: see whether it "+
		"runs, and whether cassandra.hosts is right", strings.Join(problems, "; "))
}

// unreached is the error of a session that could not be created.
func unreached(o Options, err error) error {
	// The first connection of the driver discovers the protocol version, and reports that whatever
	// went wrong.
	const first = "unable to discover protocol version: "
	text := err.Error()
	if at := strings.LastIndex(text, first); at >= 0 {
		text = text[at+len(first):]
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case has("password", "credentials", "authentic"):
		if o.User == "" {
			return andon.Errorf(andon.Invalid, "Cassandra asks for a user and a password: "+
				"set cassandra.user, and cassandra.password_file or ANDON_CASSANDRA_PASSWORD")
		}
		return andon.Errorf(andon.Invalid,
			"Cassandra refuses user %q: the name or the password is wrong", o.User)
	case has("tls:", "x509:"):
		return andon.Errorf(andon.Invalid, "TLS with Cassandra fails: %s: see cassandra.tls_ca, "+
			"cassandra.tls_cert and cassandra.tls_skip_name", text)
	case o.TLS.On && has("no response to connection startup"):
		// A node that refuses the certificate may be gone before the driver reads why.
		return andon.Errorf(andon.Invalid, "TLS with Cassandra fails: the node ends the "+
			"connection (%s): see cassandra.tls_cert and cassandra.tls_ca", text)
	case !o.TLS.On && has("connection reset", "EOF", "broken pipe"):
		return andon.Errorf(andon.Invalid, "Cassandra at %s ends the connection: if it wants TLS, "+
			"set cassandra.tls: on (%s)", strings.Join(o.Hosts, ", "), text)
	case has("protocol", "frame", "version"):
		return andon.Errorf(andon.Invalid, "what answers at %s does not speak CQL as Andon "+
			"does: %s", strings.Join(o.Hosts, ", "), text)
	}
	return andon.Errorf(andon.Unavailable, "Cassandra at %s can't be used: %s",
		strings.Join(o.Hosts, ", "), text)
}

func (o Options) config(keyspace string) (*gocql.ClusterConfig, error) {
	var hosts []string
	for _, text := range o.Hosts {
		host, port, err := splitHost(text)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, net.JoinHostPort(host, strconv.Itoa(port)))
	}
	c := gocql.NewCluster(hosts...)
	_, c.Port, _ = splitHost(o.Hosts[0])
	c.Keyspace = keyspace
	c.Timeout, c.ConnectTimeout = o.Timeout, min(o.Timeout, 5*time.Second)
	c.NumConns = o.Connections
	c.DefaultTimestamp = false // every write names its own
	c.DefaultIdempotence = true
	c.ReconnectInterval = time.Second
	c.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 3, Interval: time.Second}
	c.Logger = driverLog{o.Log}
	if o.Observe != nil {
		c.QueryObserver, c.BatchObserver = o.Observe, o.Observe
	}
	// Nothing of the schema but the replication is needed, and it would be read again at each
	// change.
	c.Metadata.CacheMode = gocql.KeyspaceOnly
	var hostPolicy = gocql.RoundRobinHostPolicy()
	if o.Datacenter != "" {
		hostPolicy = gocql.DCAwareRoundRobinPolicy(o.Datacenter)
		c.HostFilter = gocql.DataCenterHostFilter(o.Datacenter) // others are for other processes
	}
	c.PoolConfig.HostSelectionPolicy = gocql.ShuffledTokenAwareHostPolicy(hostPolicy)
	if err := o.authenticate(c); err != nil {
		return nil, err
	}
	return c, o.encrypt(c)
}

func (o Options) authenticate(c *gocql.ClusterConfig) error {
	if o.User == "" {
		return nil
	}
	password := o.Password
	if o.PasswordFile != "" {
		text, err := os.ReadFile(o.PasswordFile)
		if err != nil {
			return andon.Errorf(andon.Invalid, "cassandra.password_file: %w", err)
		}
		password = strings.TrimRight(string(text), "\r\n")
	}
	c.Authenticator = gocql.PasswordAuthenticator{Username: o.User, Password: password}
	return nil
}

func (o Options) encrypt(c *gocql.ClusterConfig) error {
	if !o.TLS.On {
		return nil
	}
	for what, file := range map[string]string{
		"cassandra.tls_ca":   o.TLS.CA,
		"cassandra.tls_cert": o.TLS.Cert,
		"cassandra.tls_key":  o.TLS.Key,
	} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return andon.Errorf(andon.Invalid, "%s: %w", what, err)
		}
	}
	c.SslOpts = &gocql.SslOptions{
		Config: &tls.Config{MinVersion: tls.VersionTLS12},
		CaPath: o.TLS.CA, CertPath: o.TLS.Cert, KeyPath: o.TLS.Key,
		EnableHostVerification: !o.TLS.SkipName,
	}
	return nil
}

// Look reads what the cluster of a session is: its version and its data centres.
func Look(ctx context.Context, s *Session, o Options) (*Cluster, error) {
	c := &Cluster{Session: s, Options: o, Datacenters: map[string]int{}}
	nodes, version, err := s.nodes(ctx)
	if wrong := checkVersion(version); version != "" && wrong != nil {
		return nil, wrong // which may be why the rest can't be read
	}
	if err != nil {
		return nil, Failure("read the cluster", err)
	}
	for _, n := range nodes {
		c.Datacenters[n.datacenter]++
	}
	c.Version, c.Datacenter = version, nodes[0].datacenter
	if c.Options.Datacenter == "" && len(c.Datacenters) > 1 {
		return nil, andon.Errorf(andon.Invalid, "the cluster has data centres %s: say which one "+
			"is local with cassandra.datacenter", List(c.Datacenters))
	}
	if want := c.Options.Datacenter; want != "" {
		if c.Datacenters[want] == 0 {
			return nil, andon.Errorf(andon.Invalid,
				"cassandra.datacenter %q is none of the cluster's: it has %s",
				want, List(c.Datacenters))
		}
		c.Datacenter = want
	}
	return c, nil
}

// checkVersion refuses versions that Andon was never tried with.
func checkVersion(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 5 {
		return andon.Errorf(andon.Invalid,
			"this is Cassandra %s, and Andon needs version 5 or later", version)
	}
	return nil
}

// List returns the names of a map in order: "dc1, dc2".
func List(names map[string]int) string {
	return strings.Join(Sorted(names), ", ")
}

// Replication is how many replicas a keyspace has in each data centre; "" for all of the cluster.
type Replication map[string]int

// Copies returns how many replicas there are of everything.
func (r Replication) Copies() (n int) {
	for _, here := range r {
		n += here
	}
	return n
}

// ReplicationOf reads the replication of a keyspace; nil where there is no such keyspace.
func (c *Cluster) ReplicationOf(ctx context.Context, keyspace string) (Replication, error) {
	var stored map[string]string
	found, err := c.OneAt(ctx, LocalOne,
		"SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?",
		[]any{keyspace}, &stored)
	if err != nil || !found {
		return nil, Failure("read the keyspace", err)
	}
	r := Replication{}
	simple := strings.HasSuffix(stored["class"], "SimpleStrategy")
	for name, text := range stored {
		text, _, _ = strings.Cut(text, "/")
		n, err := strconv.Atoi(text)
		if name == "class" || err != nil {
			continue
		}
		if simple {
			name = ""
		}
		r[name] = n
	}
	return r, nil
}

// Nodes returns how many nodes the cluster has.
func (c *Cluster) Nodes() (n int) {
	for _, in := range c.Datacenters {
		n += in
	}
	return n
}

// Meets reports whether the consistencies of the options can be met by a replication.
func (c *Cluster) Meets(r Replication) error {
	err := c.check(r, "cassandra.read_consistency", c.Options.ReadConsistency)
	if err != nil {
		return err
	}
	return c.check(r, "cassandra.write_consistency", c.Options.WriteConsistency)
}

// check reports whether a consistency can be met by a keyspace that is replicated so.
func (c *Cluster) check(r Replication, what, level string) error {
	local, all, nodes := r[c.Datacenter], r.Copies(), c.Nodes()
	here := c.Datacenters[c.Datacenter]
	if r[""] > 0 { // without data centres
		local, here = r[""], nodes
	}
	need, isLocal := replicas(level, local, all)
	have, of := min(all, nodes), "the cluster"
	if isLocal {
		have, of = min(local, here), "data centre "+c.Datacenter
	}
	if have >= max(need, 1) {
		return nil
	}
	return andon.Errorf(andon.Invalid, "%s %s needs %d replicas in %s, and keyspace %s has %d "+
		"there (replication %s, nodes %d): change the replication or the consistency",
		what, level, max(need, 1), of, c.Options.Keyspace, have, r, nodes)
}

// String returns a replication as `andon store init` takes it.
func (r Replication) String() string {
	var parts []string
	for _, name := range Sorted(r) {
		if name == "" {
			return strconv.Itoa(r[name])
		}
		parts = append(parts, fmt.Sprintf("%s:%d", name, r[name]))
	}
	return strings.Join(parts, ",")
}

// Overlap reports whether a read sees what a write acknowledged: whether the replicas that
// acknowledge a write and those that answer a read always have one in common.
func (o Options) Overlap(r Replication, datacenter string) bool {
	local, all := r[datacenter]+r[""], r.Copies()
	read, readHere := replicas(o.ReadConsistency, local, all)
	write, writeHere := replicas(o.WriteConsistency, local, all)
	switch {
	case local == all || (readHere && writeHere):
		return read+write > local
	case readHere:
		return o.WriteConsistency == "ALL" // the others may be all elsewhere
	}
	return read+write > all
}

// replicas returns how many answer at a consistency, and whether so many are in the local data
// centre.
func replicas(level string, local, all int) (n int, here bool) {
	switch level {
	case "ONE":
		return 1, false
	case "TWO":
		return 2, false
	case "THREE":
		return 3, false
	case "QUORUM":
		return all/2 + 1, false
	case "ALL":
		return all, false
	case "LOCAL_ONE":
		return 1, true
	}
	return local/2 + 1, true // LOCAL_QUORUM, and EACH_QUORUM, of which that many are here
}
