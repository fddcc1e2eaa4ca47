// Package ddb calls Amazon DynamoDB. With package provision it is the only one that knows the AWS
// SDK.
//
// A Client does the calls of one process: it bounds how many are under way at once, gives each a
// timeout, repeats what the service left unprocessed, counts what was consumed, and writes each
// call into the plan that the context asks for (andon.PlanOf). Its errors are those of package
// andon: Busy where the service throttles, Unavailable where it can't be reached or lacks a table,
// Invalid where an item is too large, and ErrRaced where the condition of a put did not hold.
//
//	client.go       Client, and the one function that all calls go through
//	connect.go      region, endpoint and credentials
//	item.go         items, their attributes and their size
//	model.go        tables and indexes as data
//	read.go         GetItem, BatchGetItem
//	query.go        Query, page by page; Scan
//	write.go        BatchWriteItem, conditional PutItem, UpdateItem, deletion by query
//	consistency.go  strong and eventual reads
//	errors.go       what an error means for the caller
//	meter.go        consumed capacity and failures, for metrics
//
// # What it must not know
//
// It must not know devices, entries, tenants or how keys are made, nor keep anything between calls
// except counters. The names of tables are given without the prefix that all of them have.
package ddb
