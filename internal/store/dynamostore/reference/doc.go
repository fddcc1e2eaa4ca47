// Package reference is the layout reference of the store on DynamoDB: a table that was created from
// the model of "Monitoring device status updates in DynamoDB", and that others use, too.
//
// It serves what that model can answer: entries of a device, of an operator and of a supervisor,
// and what a device shows, computed from its entries. Everything else is Unsupported, the feed of
// changes among it: the model has no place for the order of changes.
package reference
