// Package shared has what the stores on DynamoDB and on Cassandra do alike: both are databases to
// which several processes write at once, without locks or transactions between them.
//
//	divide.go                  the events of a request, by part and by device
//	devices.go, joins.go       what a process last saw of a device, the lock by which its writes
//	                           take turns, and requests for one device that are written together
//	rows.go, merge.go          rows of several queries as one list, read page by page
//	parallel.go                several calls at once, up to a number
//	job.go                     work in the background
//	counts.go                  devices in each state, kept in memory and scanned periodically
//	documents.go, tenancy.go   records as versioned documents; tenants, which are records
//	shards.go, stamps.go       hashes that are part of stored keys, rising times
//	feed.go, tenantevents.go   what a store can't serve
//
// Its input is what the database answered, or a function that asks it. It must not know a database,
// its keys or its statements, and does no I/O itself.
package shared
