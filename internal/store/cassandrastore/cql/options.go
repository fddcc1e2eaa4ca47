package cql

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strconv"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/andonhq/andon"
)

// Options say which cluster and keyspace it is, and how to connect. They begin as Defaults; Now and
// Hosts must be given.
type Options struct {
	Now        func() andon.Time // the clock; must be given
	Log        *slog.Logger
	Hosts      []string // contact points, host or host:port; the port is 9042 unless given
	Keyspace   string
	Datacenter string // the local one; that of the first contact point that answers unless set

	Consistency      string // of reads and of writes
	ReadConsistency  string // Consistency unless set
	WriteConsistency string // Consistency unless set

	User         string // absent: no authentication
	Password     string // never logged
	PasswordFile string // holds the password, instead of Password
	TLS          TLS

	Timeout     time.Duration // of a statement, and of a request of few
	Speculate   time.Duration // a read is sent to a second node after so long; 0: never
	Connections int           // to each node
	InFlight    int           // statements that are sent at once

	Observe Observer // is called for each request, where that is measured; nil: none is
}

// ObservedQuery is what an Observer is called with.
type ObservedQuery = gocql.ObservedQuery

// ObservedBatch is what an Observer is called with for a batch.
type ObservedBatch = gocql.ObservedBatch

// Observer counts requests.
type Observer interface {
	gocql.QueryObserver
	gocql.BatchObserver
}

// TLS is how the connections are encrypted. The zero value is without TLS.
type TLS struct {
	On   bool
	CA   string // file with the authorities (PEM); the system's unless set
	Cert string // file with the client's certificate (PEM), with Key; none unless set
	Key  string
	// SkipName leaves out the comparison of a node's name with its certificate: nodes are known
	// by their addresses, which certificates often don't have.
	SkipName bool
}

// Defaults are what holds where nothing is set.
func Defaults() Options {
	return Options{
		Log: slog.New(slog.DiscardHandler), Keyspace: "andon", Consistency: "LOCAL_QUORUM",
		Timeout: 12 * time.Second, Connections: 2, InFlight: 512,
	}
}

// Complete returns the options with both consistencies.
func (o Options) Complete() Options {
	o.ReadConsistency = cmp.Or(o.ReadConsistency, o.Consistency)
	o.WriteConsistency = cmp.Or(o.WriteConsistency, o.Consistency)
	return o
}

// keyspaceName is a name that needs no quotes in CQL.
var keyspaceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// levels are the consistencies that may be chosen. ANY would acknowledge what no node has yet.
var levels = map[string]gocql.Consistency{
	"ONE": gocql.One, "TWO": gocql.Two, "THREE": gocql.Three, "QUORUM": gocql.Quorum,
	"ALL": gocql.All, "LOCAL_QUORUM": gocql.LocalQuorum, "EACH_QUORUM": gocql.EachQuorum,
	"LOCAL_ONE": gocql.LocalOne,
}

// Check implements adapter.Engine. Each setting by itself was checked when it was set.
func (o Options) Check() error {
	if len(o.Hosts) == 0 {
		return andon.Errorf(andon.Invalid, "cassandra.hosts is empty: name at least one node, "+
			"such as 10.0.0.1 or cassandra-1:9042")
	}
	return nil
}

// CheckKeyspace reports a name that would need quotes in CQL.
func (o *Options) CheckKeyspace() error {
	if !keyspaceName.MatchString(o.Keyspace) {
		return fmt.Errorf("%q is not of small letters, digits and _, at most 48 of them, "+
			"a letter first", o.Keyspace)
	}
	return nil
}

// CheckHosts reports a contact point that is not a host or host:port.
func (o *Options) CheckHosts() error {
	for _, host := range o.Hosts {
		if _, _, err := splitHost(host); err != nil {
			return err
		}
	}
	return nil
}

// splitHost splits a contact point into its host and port.
func splitHost(text string) (host string, port int, err error) {
	host, digits, err := net.SplitHostPort(text)
	if err != nil {
		return text, 9042, nil
	}
	port, err = strconv.Atoi(digits)
	if err != nil || port < 1 || port > 65535 || host == "" {
		return "", 0, andon.Errorf(andon.Invalid, "%q is no host:port", text)
	}
	return host, port, nil
}

func (o Options) read() gocql.Consistency  { return levels[o.ReadConsistency] }
func (o Options) write() gocql.Consistency { return levels[o.WriteConsistency] }
