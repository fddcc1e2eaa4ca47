// Package cql speaks CQL with a cluster of Apache Cassandra. It is the only package that knows the
// driver: connections, statements, retries, errors, the schema, and the bytes of values.
//
// A Cluster is what is found out about a cluster before a keyspace is used: its version, its data
// centres, the replication of a keyspace, and whether the consistencies of the Options can be met
// and overlap. Reach gives each thing that may be wrong, such as an address, a password or a
// certificate, an error of its own that says what to do.
//
// A Session sends statements. A Query reads, page by page, and adds what it did to the plan of the
// context, so that explain shows it. A Mutation is what is written to one partition as one atomic
// batch; Write sends many concurrently. Every write names its own timestamp, because the store
// orders what it merges by that, and every statement is idempotent, so that the driver may repeat
// it on another node. The only exception is Swap, a lightweight transaction, which is never
// repeated: after an error it may have been applied. Options.InFlight bounds how many statements
// are sent at once, and Options.Timeout how long one may take with all its attempts. What does not
// follow the consistencies of the options (system tables, and what all processes agree on) uses the
// methods whose names end in At.
//
// Failure turns an error of the driver into one of package andon: Unavailable for what passes by
// itself or once somebody repairs the cluster, Busy for an overloaded one, Internal for a statement
// that Cassandra can't parse. Define changes the schema, and waits until all nodes have the change.
//
// The package knows neither tables nor what is stored in them, and holds no state but its
// connections.
package cql
