// Package provision creates and checks tables of DynamoDB. It serves `andon store init`, `andon
// store template`, the check at opening, and `andon doctor`.
//
// A table is data (ddb.Table): keys, indexes, and the attribute by which items expire. From it
// follow
//
//	Setup.Table     the calls that create the table, or what it lacks
//	Verify          why it can't be used, and what to do about it
//	Stack.Template  the same tables for CloudFormation and Terraform, with alarms and a policy
//	Diagnose        what it is and what it is paid by, for doctor
//
// # Creating
//
// Setup.Table may be repeated, and done by two processes at once: it describes what exists, and
// creates only what is missing. It never changes keys and never deletes a table. A table that
// exists with other keys is a Conflict. The service builds one index of a table at a time, and the
// index of a large table takes hours; Setup waits until each is ACTIVE. An existing table keeps the
// way it is paid for.
//
// Each call is reported, before it is done, as a command of the AWS CLI. With DryRun it is reported
// only. So what an operator without the right to create tables hands to somebody else is exactly
// what Andon would do.
//
// Engines other than the service lack some operations: expiry or recovery. That is reported as a
// note and is no error, since no answer depends on either.
//
// # What it must not know
//
// It must not know what the tables are for, nor their names, nor any item, apart from one that
// Setup.Put writes as it is given. It reads no data of a store.
package provision
