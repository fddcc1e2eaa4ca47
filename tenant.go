package andon

// Tenant is the stored record of a tenant: its settings, and how far its history has expired.
type Tenant struct {
	ID          TenantID
	Events      Retention // of log entries; forever unless set
	Readings    Retention // of readings, after their own time; 30 days unless set
	MaxFuture   Duration  // how far ahead of the clock an entry may be
	SilentAfter Duration  // how long a device may send nothing
	// LongestShelf is for how long an incident may be shelved at once; 0: DefaultShelf.
	LongestShelf Duration
	States       *StateSet
	Unknown      UnknownStates // what becomes of events whose state is not in States
	// Floor is the furthest that the horizon had moved when it was last written down: at a change
	// of retention and before anything is deleted. Together with the present retention it makes a
	// horizon that only moves forward. 0 while there was nothing that could have expired.
	Floor Horizon
	// Reordering says that states have changed their severities, and that what devices show may not
	// follow everywhere yet: Tenants.Reorder ends that. The store sets and clears it.
	Reordering bool
	// Clock is what is remembered of the clock; DefaultTenant's alone is looked at.
	Clock ClockMark
	// Version is the token of compare-and-swap: PutTenant stores a record only over the version it
	// was read with. 0: there is no record yet.
	Version uint64
}

// Horizon is the oldest time that is still kept; what is older has expired and is never returned.
// 0 keeps everything.
type Horizon struct {
	Events   Time
	Readings Time
}

// DefaultShelf is for how long an incident may be shelved at once, unless its tenant says more.
const DefaultShelf = day

// NewTenant returns a tenant with the settings that hold unless others are named.
func NewTenant(id TenantID) Tenant {
	return Tenant{
		ID:          id,
		Events:      Forever,
		Readings:    Retention(30 * day),
		MaxFuture:   10 * 60 * second,
		SilentAfter: 15 * 60 * second,
		States:      DefaultStates(),
	}
}

// Horizon returns the oldest times that are kept at now.
func (t *Tenant) Horizon(now Time) Horizon {
	return Horizon{
		Events:   max(t.Floor.Events, t.Events.horizon(now)),
		Readings: max(t.Floor.Readings, t.Readings.horizon(now)),
	}
}

// UpdateFloor writes the horizon at now into the floor. It comes before any change of retention and
// before anything is deleted because it expired. Of what the tenant never had any, nothing can come
// back: then there is no floor, and it keeps what it is set to keep.
func (t *Tenant) UpdateFloor(now Time, hadEvents, hadReadings bool) {
	t.Floor = t.Horizon(now)
	if !hadEvents {
		t.Floor.Events = 0
	}
	if !hadReadings {
		t.Floor.Readings = 0
	}
}

// CheckEventTime reports why an entry of that time can't be admitted at now: too far ahead, because
// one wrong clock would pin a device's state, or expired.
func (t *Tenant) CheckEventTime(at, now Time) error {
	return t.checkTime(at, now, t.Horizon(now).Events)
}

// CheckReadingTime is CheckEventTime for a reading.
func (t *Tenant) CheckReadingTime(at, now Time) error {
	return t.checkTime(at, now, t.Horizon(now).Readings)
}

func (t *Tenant) checkTime(at, now, horizon Time) error {
	if at < MinTime || at > MaxTime {
		return AtField("body.time", "time is outside %s to %s", MinTime, MaxTime)
	}
	if at > now.Add(t.MaxFuture) {
		return AtField("body.time", "time %s is more than %s ahead of the clock, which says %s",
			at, t.MaxFuture, now)
	}
	if at < horizon {
		return AtField("body.time", "time %s has expired: this tenant keeps nothing before %s",
			at, horizon)
	}
	return nil
}
