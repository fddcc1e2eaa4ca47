package andon

// Device is what a device shows now: its newest entry, since when it is in that state, and who
// answers for it.
type Device struct {
	ID       DeviceID
	State    State
	Severity uint8
	Time     Time // of the newest entry
	// Since is the time of the first entry of the last run of one state. It outlives the history it
	// came from. A retired device that comes back starts again.
	Since    Time
	Received Time // arrival of its newest message, an event or a reading
	// Operator is the newest assignment, even if its time has not come; absent when unassigned.
	// Where there never was one, it is the operator of the newest entry.
	Operator PersonID
	// EscalatedTo is the newest escalation not withdrawn of any entry of the present incident.
	EscalatedTo PersonID
	// EscalatedEntry is the entry whose escalation that is.
	EscalatedEntry EntryRef
	// EscalatedAt is when that escalation was made.
	EscalatedAt Time
	// IncidentSince is when the device left severity 0; 0 while no incident is open.
	IncidentSince Time
	Message       string // of the newest entry, absent once that has expired
	Attributes    JSON   // of the newest entry, absent once that has expired
	// Retired is when the device was retired; 0 unless it is. Only a list of retired devices has
	// such ones.
	Retired Time
	// LastRetired is the newest retirement, also of a device that came back since; 0 where there
	// never was one.
	LastRetired Time
}

// EntryRef names an entry of a device.
type EntryRef struct {
	Time  Time
	State State
}

// Shows reports whether the device shows an entry, or its escalation. Current state does not
// expire, so the entry may be gone.
func (d *Device) Shows(e EntryRef) bool {
	return e == EntryRef{d.Time, d.State} || e == d.EscalatedEntry
}

// LongestRequest is the most that a request may be set to take. What stores conclude from not
// having seen a write waits for longer than that.
const LongestRequest = 300 * second

// clocksDiffer is how far apart the clocks of processes of one store may be, with how long a
// message is under way in one: it has the time at which its request arrived.
const clocksDiffer = LongestRequest + 120*second

// Heard returns the arrival of the newest message of a device, of which another one arrives; 0:
// none does. One a little before the last came through a process whose clock is behind. One long
// before it says that the clock was ahead, and is right again: else the device would not be silent
// until that time.
func Heard(last, arrives Time) Time {
	if arrives != 0 && arrives.Add(clocksDiffer) < last {
		return arrives
	}
	return max(last, arrives)
}

// Silent reports whether a device that shows a state was heard last longer ago than after.
func (d *Device) Silent(now Time, after Duration) bool {
	return d.State != "" && d.Retired == 0 && d.Received < SilentBefore(now, after)
}

// Position returns the position of the device in a list by sort.
func (d *Device) Position() DevicePosition {
	return DevicePosition{Severity: d.Severity, Since: d.Since, Device: d.ID}
}

// SilentBefore returns the arrival before which a newest message leaves its device silent at now.
func SilentBefore(now Time, after Duration) Time { return max(now.Add(-after), 1) }

// StateCount says how many devices of a group are in a state now.
type StateCount struct {
	Group  uint32 // its number (Current.Regroup); 0: devices in none
	State  State
	Count  int
	Silent int // those of them that are silent
}

// ByState adds up what is counted of each state, in all groups.
func ByState(counts []StateCount) (all []StateCount) {
	at := map[State]int{}
	for _, c := range counts {
		i, known := at[c.State]
		if !known {
			i, all = len(all), append(all, StateCount{State: c.State})
			at[c.State] = i
		}
		all[i].Count, all[i].Silent = all[i].Count+c.Count, all[i].Silent+c.Silent
	}
	return all
}
