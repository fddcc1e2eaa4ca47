package andon

import (
	"context"
	"iter"
)

// The contracts of a store. These rules hold for all of them:
//
// Tenant. Every call names the tenant, and nothing of another one is ever returned. A tenant that
// has no record is NotFound.
//
// Durable. A write that returned nil is durable, as Capabilities declares, and is in history, in
// the current states and in every index. After an error any part of it may be stored, and doing it
// again completes it.
//
// Errors are of type *Error, or of the context. A list ends at its first error.
//
// Strings that a caller passes may be parts of a large buffer: a store clones those that it keeps
// beyond the call.
//
// All methods may be called concurrently.

// Log keeps the entries of the devices, and their escalations.
type Log interface {
	// Append stores events of one tenant. They are in the order of CompareInBatch, and no identity
	// occurs twice (SortBatch ensures both). received is the time of their arrival. An event whose
	// identity is stored already replaces the stored one as a whole. If the store declares
	// AtomicBatch, all events are stored or none. Append does not change events.
	//
	// The operator of an event that names none is the person assigned to its device at its time.
	// Every answer shows that operator once the event is acknowledged, and sending the event again
	// changes nothing. This holds for assignments made at the same moment too, by any process.
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

	// TenantEvents returns entries of all devices, in the order of EventKey. A store that would
	// have to ask each device declares no TenantEvents and answers Unsupported. It holds only as
	// much of a long answer in memory as a page has.
	TenantEvents(ctx context.Context, tenant TenantID, q EventQuery) iter.Seq2[Event, error]

	// EscalatedEntries returns the entries of a device that were ever escalated, with all their
	// records, in the order of EventKey.
	EscalatedEntries(
		ctx context.Context, tenant TenantID, device DeviceID, q EventQuery,
	) iter.Seq2[Entry, error]

	// Escalate stores an escalation record of its entry; NotFound when the entry is not there.
	// It returns the stored record: At is moved forward so that it is the newest of its entry. If
	// it repeats the newest one (Escalation.Repeats), nothing is added. Then it returns that one,
	// with At 0 if there never was one. The same record twice is one.
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

	// Counts returns how many devices of each group are in each state that at least one of them is
	// in, in no order; as silent it counts those whose newest message arrived before silentBefore.
	Counts(ctx context.Context, tenant TenantID, silentBefore Time) ([]StateCount, error)

	// Regroup gives of, which says the number of the group of any device, and devices whose number
	// may not be what it was: their counts move at once. From now on of is called for each device
	// that is counted for the first time, until Regroup gives another. It returns at once, and must
	// not call the store. Numbers are those of this process, in memory only; before the first
	// Regroup all devices have 0. A caller that has many devices gives some at a time.
	Regroup(
		ctx context.Context, tenant TenantID, of func(DeviceID) uint32, devices []DeviceID,
	) error

	// Names returns the names in use: operators who are assigned or have an entry that has not
	// expired, supervisors to whom such an entry was escalated, and metrics that were sent. Names
	// that were in use before may be among them.
	Names(ctx context.Context, tenant TenantID, q NameQuery) iter.Seq2[NameCount, error]

	// Retire takes a device out of counts and lists at the later of at and just after its newest
	// entry, and returns that time. An entry strictly after it brings the device back, started
	// again; a redelivery or an older one does not. NotFound when it was never seen or is retired.
	Retire(ctx context.Context, tenant TenantID, device DeviceID, at Time) (Time, error)

	// Retirements returns when a device was retired, each time, oldest first. They outlive the
	// history.
	Retirements(ctx context.Context, tenant TenantID, device DeviceID) ([]Time, error)
}

// Corrections remove wrong data. A store that can't do that declares it in Capabilities.
type Corrections interface {
	// Withdraw removes an entry from every answer except Entry, as if it had never been sent, and
	// the current state of the device is computed again. If the entry is sent again, it stays
	// withdrawn, but the device counts as heard. Withdraw returns the stored record and whether it
	// was added: an entry that is withdrawn already keeps its record. NotFound when the entry is
	// not there. If the history before the entry has expired, the device shows what was known
	// before.
	Withdraw(
		ctx context.Context, tenant TenantID, w Withdrawal,
	) (kept Withdrawal, added bool, err error)

	// Purge removes a device with everything that it ever sent and everything recorded about it. If
	// it sends again, it is a new device. NotFound when nothing is stored about it.
	Purge(ctx context.Context, tenant TenantID, device DeviceID) error
}

// Readings keeps the metrics of the devices.
type Readings interface {
	// AppendReadings stores readings in the order given: of two at the same time, the metrics of
	// the later one replace those of the earlier one. received is the time of their arrival, and
	// the devices count as heard then.
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
	// one after the other or interleaved, in an order of the store's own that does not change.
	MetricReadings(
		ctx context.Context, tenant TenantID, q MetricQuery,
	) iter.Seq2[MetricReading, error]
}

// Assignments keeps who was assigned to each device, as an append-only list.
type Assignments interface {
	// Assign stores assignments, in the order given. Each takes effect at the latest of now, just
	// after the device's newest entry, and just after its newest assignment. It returns them with
	// From. If the operator is assigned already, nothing is added: the existing assignment is
	// returned, marked Again. Else an assignment that names another operator as Over than is
	// assigned is a Conflict; what another process writes to Cassandra at the same moment may be
	// missed. The devices need not have been seen. If the store declares AtomicAssign, all
	// assignments are stored or none. Otherwise any of them may be stored after an error, and
	// assigning again completes them.
	Assign(
		ctx context.Context, tenant TenantID, now Time, assignments []Assignment,
	) ([]Assignment, error)

	// Assignments returns the assignments of a device by From.
	Assignments(
		ctx context.Context, tenant TenantID, device DeviceID, q PageQuery,
	) iter.Seq2[Assignment, error]
}

// Restorer imports history that another store has exported.
type Restorer interface {
	// Restore stores what people did, with the original times: nothing is moved forward, and
	// records that exist already are not added again. Of two assignments of a device at the same
	// time the later in the list counts. Assignments and retirements are restored before the
	// entries of their devices: a retirement counts only if there is no later entry, and each store
	// decides whether an assignment counts for entries that are stored already. Records of an entry
	// that is not there are left out, unless the device shows it: current state does not expire.
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
	// If a state that has entries changes its severity, the answer may say Reordering. A store that
	// can't change severities declares that, and refuses the change with Conflict.
	PutTenant(ctx context.Context, t Tenant) (Tenant, error)

	// Reorder computes the current states of a tenant again if its record says Reordering, and
	// returns the record without Reordering. Current states, incidents, orders and lists are then
	// as if the severities had always been so; where older history has expired, it uses what is
	// known. The store serves meanwhile. If it takes too long for a caller to wait, it continues
	// after the call, and the returned record still says Reordering. An interrupted Reorder can be
	// started again, and the store starts it again when it is opened.
	Reorder(ctx context.Context, id TenantID) (Tenant, error)

	// AdmitStates admits states outside the tenant's set, up to the limit most, and returns those
	// that it refuses because the limit is reached (StateSet.Admit). It is called before Append. An
	// admitted state counts at once, so that appends at the same time can't exceed the limit
	// together. A store of several processes may count the states of other processes later.
	AdmitStates(ctx context.Context, id TenantID, states []State, most int) ([]State, error)

	// DeleteTenant removes a tenant with all that it has; NotFound when there is none, Conflict for
	// DefaultTenant.
	DeleteTenant(ctx context.Context, id TenantID) error

	// Had reports whether a tenant ever had an event, and whether it ever had a reading with a
	// metric. Expired and deleted ones count too.
	Had(ctx context.Context, id TenantID) (events, readings bool, err error)

	// Expire may free the space of data older than the horizon. It deletes whole days, so reads
	// never rely on it. Before the call, the caller has stored a floor of the tenant
	// (Tenant.UpdateFloor) that is not before the horizon.
	Expire(ctx context.Context, id TenantID, h Horizon) error
}

// Store keeps all data of Andon.
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
	Maintenance

	// Capabilities says what the store can serve. It does not change while the store is open, and
	// takes next to no time: it is asked in each request.
	Capabilities() Capabilities

	// Ready reports why the store can't serve now, or nil.
	Ready(ctx context.Context) error

	// Close ends the store. No method may be called during or after it. wrap.Guard, which the
	// program puts around each store that it opens, makes such calls safe.
	Close() error
}

// Capabilities is what a store can serve. The zero value is the least capable. A query beyond it is
// an Unsupported error, never an empty answer.
type Capabilities struct {
	Name         string // of the store, with its engine's version: "pebble 2.1.7"
	Forwards     string // the server to which entries are passed on; then nothing is served here
	Durable      bool   // an acknowledged write survives the end of the process
	Immediate    bool   // an acknowledged write is visible at once; else eventually
	AtomicBatch  bool   // the events of one Append are kept all or none
	AtomicAssign bool   // the assignments of one Assign are kept all or none
	// Whole says that the store serves more than the log of the entries and what single devices
	// show: lists and counts of devices, names, retirements, assignments, readings, records, and
	// settings of tenants. Without it, all of that is Unsupported, and of the escalations of an
	// entry only the current one is kept, without a note, and not when it was or by whom: of
	// several escalated entries of an incident the newest entry counts, and an event that names a
	// supervisor escalates its entry each time it is sent. Nor is it kept when a message arrived,
	// and all states are admitted.
	Whole          bool
	SortDevices    bool // Devices in orders other than by id
	MetricReadings bool // one metric across devices
	// ReservedMetrics are names that no metric may have, joined by commas.
	ReservedMetrics string
	TenantEvents    bool // entries of all devices in one list
	Withdraw        bool // entries can be withdrawn
	Purge           bool // devices can be purged
	Reorder         bool // a state that has entries can change its severity
	Explain         bool // a query's Plan is written down (WithPlan)
	Consistency     bool // a read is strong or eventual as its context asks (WithConsistency)
	CountNames      bool // Names says how many devices each has
	Changes         bool // the feed of changes is served
	ChangesDurable  bool // positions in the feed outlive the process
	Arrivals        bool // entries are served in the order of their arrival
	// SlowExpiry says that the engine deletes what has expired in its own time, within days
	// perhaps. Sweep deletes it at once.
	SlowExpiry bool
	// ChangesShared says that the feed has the changes of other processes on the same store.
	ChangesShared bool
	// CountsLag is how late Counts may include writes of other processes to the same store; 0:
	// at once. Writes of this process are counted at once.
	CountsLag Duration
	// ListsLag is how long a list by state may lack a device, of which one process withdrew an
	// entry while another process wrote an older one; 0: never.
	ListsLag Duration
}
