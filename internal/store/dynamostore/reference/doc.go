// Package reference has the layouts of the store on DynamoDB for a table that was created from one
// of the guides, and that others use, too. Each has one tenant.
//
// Store is the layout reference, of "Monitoring device status updates in DynamoDB": entries of a
// device, of an operator and of a supervisor, and what a device shows, computed from its entries.
// Readings is the layout timeseries, of the guide to time series: readings of a device, the newest
// of many devices, and those of one metric. Everything else is Unsupported, the feed of changes
// among it: the models have no place for the order of changes.
package reference
