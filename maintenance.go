package andon

import "context"

// Maintenance is what a store offers to the people who run it, next to its data. A store has all of
// it: it embeds NoMaintenance, and declares the methods for which its engine has something to do.
type Maintenance interface {
	// Diagnose reports how the engine is set up, beyond what Capabilities declares: the replication
	// of a keyspace, the capacity of a table. source is the statement or the call that a person can
	// repeat; advice says what to do where something is not as it should be. Nothing that is
	// reported is a secret.
	Diagnose(ctx context.Context, report func(name, value, source string, advice ...string)) error

	// Figures reports each figure that the engine keeps of itself, as it is now. A name that ends
	// with _total is of a count that only grows while the store is open. The unit is part of a
	// name, as in Prometheus; labels are names and values in turn.
	Figures(report func(name, help string, value float64, labels ...string))

	// Damage returns the names of the files, or items, of which something could not be read since
	// the store was opened. Queries that need it are Damaged.
	Damage() []string

	// Finish does what would take longer when the store is opened again, where that is worth it. It
	// comes last before Close. It may be interrupted at any time and need not have been called:
	// then opening takes longer, and nothing is lost. Its error says only why it did not finish.
	Finish(ctx context.Context) error

	// Snapshot has take read a copy of the store as it is at one moment: all that was acknowledged
	// before the call, and of later requests each whole or not at all, in their order. The copy is
	// files of a directory, by their names, which do not change and are gone when take returns.
	// One is taken at a time: another is a Conflict. Unsupported where the store has no files.
	Snapshot(ctx context.Context, take func(dir string, files []string) error) error

	// Sweep deletes what Expire leaves for the engine to delete in its own time, as fast as the
	// settings of the store allow, and returns how much it deleted: 0 where Expire deletes all. The
	// caller has stored a floor of the tenant as for Expire. A Sweep that was interrupted goes on
	// where it was.
	Sweep(ctx context.Context, id TenantID, h Horizon) (deleted int64, err error)

	// RebuildLatest rebuilds what devices are found by state with from the truth, in the given
	// design, and uses it from then on; "" is the design in use. buckets is its number of
	// partitions where it has one; "" leaves it as it is. progress is called with how many devices
	// are done, and of how many. The store serves meanwhile. What was interrupted can be started
	// again. Unsupported where there is nothing to rebuild.
	RebuildLatest(
		ctx context.Context, design, buckets string, progress func(done, total int64),
	) error

	// Divide gives something that would be a hot key of the engine n partitions, in every process,
	// and returns how many it has; n 0 only asks. of is what it is: device, operator, supervisor,
	// state or metric. name "" means all of a kind but devices. The number only grows: fewer is a
	// Conflict. Unsupported where the engine has no such keys, or divides them by settings.
	Divide(ctx context.Context, id TenantID, of, name string, n int) (is int, err error)

	// Size returns the bytes that the store has on its disks, without its write-ahead log. It
	// writes out first what is in memory, so it may take long. Unsupported where it is not known.
	Size(ctx context.Context) (bytes int64, err error)
}

// NoMaintenance is the Maintenance of a store that has nothing to maintain.
type NoMaintenance struct{}

var _ Maintenance = NoMaintenance{}

// Diagnose has nothing to report.
func (NoMaintenance) Diagnose(
	context.Context, func(name, value, source string, advice ...string),
) error {
	return nil
}

// Figures has none to report.
func (NoMaintenance) Figures(func(name, help string, value float64, labels ...string)) {}

// Damage returns none.
func (NoMaintenance) Damage() []string { return nil }

// Finish has nothing to do.
func (NoMaintenance) Finish(context.Context) error { return nil }

// Snapshot is Unsupported.
func (NoMaintenance) Snapshot(context.Context, func(dir string, files []string) error) error {
	return Errorf(Unsupported, "the store has no files of its own that could be copied: "+
		"use the means of its engine, or andon export")
}

// Sweep has nothing to delete.
func (NoMaintenance) Sweep(context.Context, TenantID, Horizon) (int64, error) { return 0, nil }

// RebuildLatest is Unsupported.
func (NoMaintenance) RebuildLatest(
	context.Context, string, string, func(done, total int64),
) error {
	return Errorf(Unsupported,
		"the store finds devices by state without anything that could be rebuilt")
}

// Divide is Unsupported.
func (NoMaintenance) Divide(context.Context, TenantID, string, string, int) (int, error) {
	return 0, Errorf(Unsupported, "the store has no number of shards that could be set")
}

// Size is Unsupported.
func (NoMaintenance) Size(context.Context) (int64, error) {
	return 0, Errorf(Unsupported, "the store does not know how much space it takes")
}
