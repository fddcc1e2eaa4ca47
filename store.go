package andon

import (
	"context"
	"iter"
)

// What a store keeps, in eight contracts. For all of them:
//
// Tenant. Every call names the tenant, and nothing of another one is ever returned. A tenant that
// has no record is NotFound.
//
// Durable. A write that returned nil is durable, as Capabilities declares, and is in history, in
// the current states and in every index. After any other outcome any part of it may be there, and
// doing it again converges.
//
// Errors are of type *Error, or of the context. A list ends at its first error.
//
// Strings that a caller passes may be parts of a large buffer: a store clones those that it keeps
// beyond the call.
//
// All methods may be called concurrently.

// Log keeps the entries of the devices, and the escalations beside them.
type Log interface {
	// Append keeps events, all of one tenant, that stand in the order of CompareInBatch with no
	// identity twice (SortBatch makes it so). received is their arrival. An identity that is there
	// already is replaced as a whole. Where the store declares AtomicBatch, all of them are kept or
	// none. events stay as they are.
	//
	// An event that names no operator is of the person who is assigned to its device at its time:
	// every answer has it so once the event is acknowledged, and sending it again changes nothing.
	// This holds for assignments that are made at the same moment too, by any process.
	Append(ctx context.Context, tenant TenantID, received Time, events []Event) error

	// Entry returns one entry with its escalations; NotFound when it is not there.
	Entry(
		ctx context.Context, tenant TenantID, device DeviceID, at Time, state State,
	) (Entry, error)

	// DeviceEvents returns entries of a device in the order of EventKey.
	DeviceEvents(
		ctx context.Context, tenant TenantID, device DeviceID, q EventQuery,
	) iter.Seq2[Event, error]

	// OperatorEvents returns entries whose operator is that person, of all devices, in the order of
	// EventKey.
	OperatorEvents(
		ctx context.Context, tenant TenantID, operator PersonID, q EventQuery,
	) iter.Seq2[Event, error]

	// SupervisorEvents returns entries that are escalated to that person now, of all devices, in
	// the order of EventKey.
	SupervisorEvents(
		ctx context.Context, tenant TenantID, supervisor PersonID, q EventQuery,
	) iter.Seq2[Event, error]

	// EscalatedEntries returns the entries of a device that were ever escalated, with all their
	// records, in the order of EventKey.
	EscalatedEntries(
		ctx context.Context, tenant TenantID, device DeviceID, q EventQuery,
	) iter.Seq2[Entry, error]

	// Escalate keeps an escalation record beside its entry; NotFound when the entry is not there.
	// It returns the record as it was kept: At is moved forward so that it is the newest of its
	// entry. Where the entry is escalated to that person already, or to no one and To is absent,
	// nothing is added: it returns the record that says so, with At 0 where there never was one.
	// The same record twice is one.
	Escalate(
		ctx context.Context, tenant TenantID, e Escalation,
	) (kept Escalation, added bool, err error)
}

// Current keeps what every device shows now.
type Current interface {
	// Device returns one device; NotFound when it was never seen or is retired.
	Device(ctx context.Context, tenant TenantID, device DeviceID) (Device, error)

	// Devices returns the devices that a query selects, in its order. By id, a device that was
	// there from the first page to the last is returned exactly once; the other orders are best
	// effort, since a device may move while it is read.
	Devices(ctx context.Context, tenant TenantID, q DeviceQuery) iter.Seq2[Device, error]

	// Counts returns how many devices are in each state that at least one is in, in no order; as
	// silent it counts those whose newest message arrived before silentBefore.
	Counts(ctx context.Context, tenant TenantID, silentBefore Time) ([]StateCount, error)

	// Names returns the names that occur: of operators who have an entry that has not expired or
	// are assigned, of supervisors to whom an entry was escalated that has not expired, of metrics
	// that were sent. Others that occurred once may be among them.
	Names(ctx context.Context, tenant TenantID, q NameQuery) iter.Seq2[NameCount, error]

	// Retire takes a device out of counts and lists at the later of at and just after its newest
	// entry, and returns that time. An entry strictly after it brings the device back, started
	// again; a redelivery or an older one does not. NotFound when it was never seen or is retired.
	Retire(ctx context.Context, tenant TenantID, device DeviceID, at Time) (Time, error)

	// Retirements returns when a device was retired, each time, oldest first. They outlive the
	// history.
	Retirements(ctx context.Context, tenant TenantID, device DeviceID) ([]Time, error)
}

// Corrections take back what should not have been kept. A store that can't declares it.
type Corrections interface {
	// Withdraw takes an entry out of every answer but Entry, as if it had never been sent; what the
	// device shows is worked out again. Sent again it stays withdrawn, though it is a sign of life.
	// It returns the record as it was kept and whether it was added: an entry that is withdrawn
	// already keeps the record that it has. NotFound when the entry is not there. Where the history
	// behind the entry has expired, the device shows what was known of it before.
	Withdraw(
		ctx context.Context, tenant TenantID, w Withdrawal,
	) (kept Withdrawal, added bool, err error)

	// Purge removes a device with all that it ever sent and all that was said of it. What is sent
	// afterwards is of a device that was never seen. NotFound when nothing is kept of it.
	Purge(ctx context.Context, tenant TenantID, device DeviceID) error
}

// Readings keeps the metrics of the devices.
type Readings interface {
	// AppendReadings keeps readings in the order given, so that of two at one time the later one's
	// metrics replace. received is their arrival: it is also a sign of life of each device.
	AppendReadings(ctx context.Context, tenant TenantID, received Time, readings []Reading) error

	// DeviceReadings returns readings of a device by time.
	DeviceReadings(
		ctx context.Context, tenant TenantID, device DeviceID, q ReadingQuery,
	) iter.Seq2[Reading, error]

	// LatestReadings returns the newest reading of each device that has one not before from, in the
	// order of devices; the others are left out. A device named twice is returned once.
	LatestReadings(
		ctx context.Context, tenant TenantID, devices []DeviceID, from Time,
	) ([]Reading, error)

	// MetricReadings returns one metric across devices: within a device newest first, the devices
	// in an order of the store's own that does not change.
	MetricReadings(
		ctx context.Context, tenant TenantID, q MetricQuery,
	) iter.Seq2[MetricReading, error]
}

// Assignments keeps who was assigned to each device, as an append-only list.
type Assignments interface {
	// Assign keeps assignments, in the order given. Each takes effect at the latest of now, just
	// after the device's newest entry, and just after its newest assignment. It returns them with
	// From. The operator who was assigned last is not assigned again: the assignment that stands is
	// returned, marked Again. The devices need not have been seen. Where the store declares
	// AtomicAssign, all of them are kept or none. Elsewhere an error may leave any of them behind,
	// and to assign again brings the others.
	Assign(
		ctx context.Context, tenant TenantID, now Time, assignments []Assignment,
	) ([]Assignment, error)

	// Assignments returns the assignments of a device by From.
	Assignments(
		ctx context.Context, tenant TenantID, device DeviceID, q PageQuery,
	) iter.Seq2[Assignment, error]
}

// Restorer takes back what was kept before.
type Restorer interface {
	// Restore keeps what people did elsewhere, as it was there: nothing is moved forward, and what
	// is there already stays once. Of two assignments of a device at one time the later in the list
	// stands. Both assignments and retirements are restored before the entries of their devices: a
	// retirement counts only where there is no entry behind it, and whether an assignment counts
	// for entries that are there already is the store's own. Records of an entry that is not there
	// are left out.
	Restore(ctx context.Context, tenant TenantID, h History) error
}

// Tenants keeps the records of the tenants. DefaultTenant is there from the first opening on.
type Tenants interface {
	// Tenants returns all records by id.
	Tenants(ctx context.Context) ([]Tenant, error)

	// Tenant returns one record; NotFound when there is none.
	Tenant(ctx context.Context, id TenantID) (Tenant, error)

	// PutTenant stores a record over the version it was read with, 0 for a new one, and returns it
	// with its new version. Conflict: the stored version is another one (read again and repeat).
	// Where a state that has entries changes its severity, the answer may say Reordering. A store
	// that can't do that declares it, and refuses it with Conflict.
	PutTenant(ctx context.Context, t Tenant) (Tenant, error)

	// Reorder works out again what the devices of a tenant show, where its record says Reordering,
	// and returns the record without that: current states, incidents, orders and lists are then as
	// if the severities had always been so. Where the history behind that has expired it goes by
	// what is known. Serving goes on meanwhile. Where it takes longer than a caller would wait, it
	// goes on behind the call, and the record that is returned still says Reordering. What is
	// broken off can be begun again, and is, at the latest, when the store is opened.
	Reorder(ctx context.Context, id TenantID) (Tenant, error)

	// AdmitStates returns those of states that the tenant can't have because entries with most
	// other states outside its set were admitted before (StateSet.Admit). It comes before Append,
	// and what it admits counts from then on, so that appends side by side can't pass the limit
	// together. A store of several processes may count late what the others admit.
	AdmitStates(ctx context.Context, id TenantID, states []State, most int) ([]State, error)

	// DeleteTenant removes a tenant with all that it has; NotFound when there is none, Conflict for
	// DefaultTenant.
	DeleteTenant(ctx context.Context, id TenantID) error

	// Had reports whether a tenant ever had an event, and whether it ever had a reading with a
	// metric, be they expired or deleted meanwhile.
	Had(ctx context.Context, id TenantID) (events, readings bool, err error)

	// Expire may give back the space of what is older than the horizon. Whole days go, so reads
	// never rely on it. The caller has settled the tenant's floor at or behind the horizon.
	Expire(ctx context.Context, id TenantID, h Horizon) error
}

// Store is all that Andon needs to remember.
type Store interface {
	Log
	Current
	Corrections
	Readings
	Assignments
	Restorer
	Tenants
	Records
	Feed

	// Capabilities says what the store can serve. It does not change while the store is open.
	Capabilities() Capabilities

	// Ready reports why the store can't serve now, or nil.
	Ready(ctx context.Context) error

	// Close ends the store. No method may be called beside it or after it; wrap.Guard, which is
	// around each store that the program opens, makes that safe.
	Close() error
}

// Capabilities is what a store can serve. The zero value is the least capable. A query beyond it is
// an Unsupported error, never an empty answer.
type Capabilities struct {
	Name           string // of the store, with its engine's version: "pebble 2.1.7"
	Durable        bool   // what is acknowledged survives the end of the process
	Immediate      bool   // what is acknowledged is visible at once; else eventually
	AtomicBatch    bool   // the events of one Append are kept all or none
	AtomicAssign   bool   // the assignments of one Assign are kept all or none
	SortDevices    bool   // Devices in orders other than by id
	MetricReadings bool   // one metric across devices
	Withdraw       bool   // entries can be withdrawn
	Purge          bool   // devices can be purged
	Reorder        bool   // a state that has entries can change its severity
	Explain        bool   // a query's Plan is written down (WithPlan)
	CountNames     bool   // Names says how many devices each has
	Changes        bool   // the feed of changes is served
	ChangesDurable bool   // positions in the feed outlive the process
	// ChangesShared says that what other processes write to the same store is in the feed.
	ChangesShared bool
	// CountsBehind is how far Counts may be behind what other processes wrote to the same store; 0:
	// not at all. What this process wrote is counted at once.
	CountsBehind Duration
}
