// Package shared has what a store needs on a database to which several processes write at once,
// with neither locks nor transactions between them: which other processes there are, and what a
// process that is alone may therefore remember. It is told what the database answered. It must not
// know a database, its keys or its statements, and does no I/O.
package shared
