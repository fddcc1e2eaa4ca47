// Package shared has what the stores on DynamoDB and on Cassandra do alike: both are databases to
// which several processes write at once, without locks or transactions between them.
//
// Its input is what the database answered, or a function that asks it. It must not know a database,
// its keys or its statements, and does no I/O itself.
package shared
