package config

import "time"

// Cassandra is the part of the store on Apache Cassandra.
type Cassandra struct {
	Hosts       []string // contact points, host or host:port
	Keyspace    string
	Datacenter  string // the local one; "" for that of the first contact point that answers
	Replication string // of a keyspace that is made: "3", "dc1:3,dc2:2"; "" where none is named

	Consistency      string // of reads and of writes
	ReadConsistency  string // "" for Consistency
	WriteConsistency string // "" for Consistency

	User         string
	Password     string // never shown
	PasswordFile string // holds the password, instead of Password

	TLS         string // on, off
	TLSCA       string // file with the authorities; "" for the system's
	TLSCert     string // file of the client's certificate; "" for none
	TLSKey      string // file of its key
	TLSSkipName string // on, off

	Timeout     time.Duration // of one statement
	Speculate   time.Duration // a read is sent to a second node after so long; 0: never
	Connections int64         // to each node
	InFlight    int64         // statements under way at once

	Latest  string // the design that devices are found by state with; "" for the keyspace's own
	Buckets string // partitions of a state under the design buckets; "" for the keyspace's own
	Recount time.Duration
	Settle  time.Duration // 0 for the keyspace's own
}

func defaultCassandra() Cassandra {
	return Cassandra{
		Keyspace: "andon", Consistency: "LOCAL_QUORUM", TLS: "off", TLSSkipName: "off",
		Timeout: 12 * time.Second, Connections: 2, InFlight: 512,
		Recount: 10 * time.Minute,
	}
}

// consistencies returns the levels that may be chosen. ANY would acknowledge what no node has yet.
// others are levels beside those that hold for reads and for writes.
func consistencies(others ...string) []string {
	return append([]string{
		"LOCAL_QUORUM", "QUORUM", "ALL", "ONE", "TWO", "THREE", "LOCAL_ONE",
	}, others...)
}

// settings lists the settings of the group.
func (c *Cassandra) settings() []Setting {
	const ms = time.Millisecond
	return []Setting{
		{"cassandra.hosts", list(&c.Hosts),
			"contact points, host or host:port, joined by commas; in YAML a list, too"},
		{"cassandra.keyspace", given(&c.Keyspace), "the keyspace"},
		{"cassandra.datacenter", text(&c.Datacenter),
			"the local datacenter; that of the first contact point that answers unless set"},
		{"cassandra.replication", text(&c.Replication),
			"of a keyspace that andon store init makes: 3, or dc1:3,dc2:2"},
		{"cassandra.consistency", choice(&c.Consistency, consistencies()...),
			"consistency of reads and of writes"},
		{"cassandra.read_consistency",
			choiceOrNone(&c.ReadConsistency, consistencies()...),
			"consistency of reads alone"},
		{"cassandra.write_consistency",
			choiceOrNone(&c.WriteConsistency, consistencies("EACH_QUORUM")...),
			"consistency of writes alone"},
		{"cassandra.user", text(&c.User), "user; no authentication unless set"},
		{"cassandra.password", secret(&c.Password), "password; it is never shown"},
		{"cassandra.password_file", text(&c.PasswordFile), "file that holds the password"},
		{"cassandra.tls", onOff(&c.TLS), "TLS to the nodes"},
		{"cassandra.tls_ca", text(&c.TLSCA),
			"file of the authorities that nodes are trusted by (PEM); the system's unless set"},
		{"cassandra.tls_cert", text(&c.TLSCert), "file of the client's TLS certificate (PEM)"},
		{"cassandra.tls_key", text(&c.TLSKey), "file of its key (PEM)"},
		{"cassandra.tls_skip_name", onOff(&c.TLSSkipName),
			"on: a node's certificate need not be of the name or address that it is known by"},
		{"cassandra.timeout", span(&c.Timeout, ms),
			"time that one statement may take, and all of them together where a request is of few"},
		{"cassandra.speculate", span(&c.Speculate, 0),
			"time after which a read is sent to a second node, too; 0s for never"},
		{"cassandra.connections", count(&c.Connections), "connections to each node"},
		{"cassandra.in_flight", count(&c.InFlight), "most statements under way at once"},
		{"cassandra.latest", text(&c.Latest),
			"design that devices are found by state with: view, index, index-by-device, sai, " +
				"state, tables, tables-by-device or buckets; the keyspace's own unless set"},
		{"cassandra.buckets", text(&c.Buckets),
			"partitions of a state under the design buckets: 16, or " +
				"16,WARNING4=4,metro/NORMAL=64; the keyspace's own unless set"},
		{"cassandra.recount", span(&c.Recount, time.Second),
			"how often the devices of each state are counted anew"},
		{"cassandra.settle", spanOrNone(&c.Settle, 10*time.Second),
			"how long after a change a device is looked at again; half of it is how long an " +
				"append may take; the keyspace's own unless set, and 30s when one is made"},
	}
}

// cassandraTogether checks what only several settings of the group together can get wrong.
func (l *loader) cassandraTogether(c *Cassandra) {
	l.pair("cassandra.tls_cert", c.TLSCert, "cassandra.tls_key", c.TLSKey)
	if c.Password != "" && c.PasswordFile != "" {
		l.problem(l.places["cassandra.password_file"],
			"cassandra.password_file and cassandra.password do not go together")
	}
	if c.TLS == "on" {
		return
	}
	for _, key := range []string{"cassandra.tls_ca", "cassandra.tls_cert", "cassandra.tls_key"} {
		if s := l.byKey[key]; s.Value.String() != "" { // what is meant to be secret would not be
			l.problem(l.places[key], "%s needs cassandra.tls on beside it", key)
		}
	}
}
