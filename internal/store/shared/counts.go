package shared

import (
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
)

// Counts are how many devices are in each state, by tenant, without asking for each device.
//
// They are the histogram of a map from device to its newest entry, about 70 bytes a device. An
// entry of the map is raised in two ways and never lowered, but for an arrival that has not come
// yet: by what this process writes, at once; and by a scan of all devices, at the start and
// periodically.
// So the two may interleave in any way, a replay changes nothing, and a process that was killed
// counts again. What another process writes is counted by the next scan.
type Counts struct {
	seed    maphash.Seed
	now     func() andon.Time
	mu      sync.Mutex
	tenants map[string]*tally
	counted chan struct{} // closed after the first scan of all devices
	// Done notes that a scan has ended.
	Done func()
}

// Generation orders what is known of a device before its times do: after an entry was withdrawn, or
// severities were changed, what was concluded before may be wrong. Its low 32 bits count the
// changes of the tenant's severities, the bits above them the withdrawals of entries of the device.
type Generation int64

const oneWithdrawal Generation = 1 << 32

// OfDevice returns the generation without the changes of severities.
func (g Generation) OfDevice() Generation { return g &^ (oneWithdrawal - 1) }

// AfterWithdrawals returns the generation after n withdrawals more, or fewer if n is negative.
func (g Generation) AfterWithdrawals(n int) Generation {
	return g + Generation(n)*oneWithdrawal
}

type tally struct {
	devices map[uint64]counted // by a hash of the device
	states  []andon.State
	in      map[groupState]int          // how many of the devices
	group   func(andon.DeviceID) uint32 // the number of a device, as Regroup has it
}

// groupState is the number of a group with an index into states.
type groupState struct{ group, state uint32 }

type counted struct {
	// Of the newest entry, in the order of the log; time is 0 where there is none. What is known
	// after more withdrawals wins, and at one instant what a later generation of the severities
	// says.
	time     andon.Time
	gen      Generation
	severity uint8
	groupState

	retired  andon.Time
	received andon.Time // arrival of the newest message
}

func (c *counted) alive() bool { return c.time > c.retired }

// NewCounts returns Counts with nothing counted.
func NewCounts(now func() andon.Time) *Counts {
	counted := make(chan struct{})
	return &Counts{
		seed: maphash.MakeSeed(), now: now, tenants: map[string]*tally{}, counted: counted,
		Done: sync.OnceFunc(func() { close(counted) }),
	}
}

// Forget forgets a tenant.
func (c *Counts) Forget(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tenants, tenant)
}

// Drop forgets a device.
func (c *Counts) Drop(tenant string, device andon.DeviceID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, sum := c.tally(tenant), maphash.String(c.seed, string(device))
	d := t.devices[sum]
	t.add(&d, -1)
	delete(t.devices, sum)
}

// Raise takes in what is known of a device: its newest entry, its retirement, 0 where there was
// none, and when its newest message arrived.
func (c *Counts) Raise(
	tenant string, gen Generation,
	device andon.DeviceID, newest andon.EventKey, retired, received andon.Time,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, sum := c.tally(tenant), maphash.String(c.seed, string(device))
	was := t.devices[sum]
	is := was
	is.group = t.group(device)
	state := t.index(newest.State)
	if t.compare(&was, gen, newest) < 0 {
		is.time, is.gen = newest.Time, gen
		is.severity, is.state = newest.Severity, state
	}
	is.retired = max(is.retired, retired)
	// What a scan has read may be older than what is known, unless that is of a clock that was
	// ahead.
	if is.received < received || andon.Heard(is.received, c.now()) < is.received {
		is.received = received
	}
	t.devices[sum] = is
	t.add(&was, -1)
	t.add(&is, 1)
}

// add adds to the count of the devices in a state, if the device shows one.
func (t *tally) add(d *counted, n int) {
	if !d.alive() {
		return
	}
	if t.in[d.groupState] += n; t.in[d.groupState] == 0 {
		delete(t.in, d.groupState)
	}
}

// Regroup is andon.Current's.
func (c *Counts) Regroup(
	tenant string, of func(andon.DeviceID) uint32, devices []andon.DeviceID,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tally(tenant)
	t.group = of
	for _, device := range devices {
		sum := maphash.String(c.seed, string(device))
		if d, known := t.devices[sum]; known {
			t.add(&d, -1)
			d.group = of(device)
			t.add(&d, 1)
			t.devices[sum] = d
		}
	}
}

// Hear notes a message that changes no state, and returns when the newest one arrived. A device
// that the scan has not reached yet has no entry and is in no state.
func (c *Counts) Hear(tenant string, device andon.DeviceID, received andon.Time) andon.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, sum := c.tally(tenant), maphash.String(c.seed, string(device))
	d := t.devices[sum]
	d.received = andon.Heard(d.received, received)
	t.devices[sum] = d
	return d.received
}

// countTimeout is how long a request waits for the first scan.
const countTimeout = 10 * time.Second

// Await waits for the first scan, for 10 s at most.
func (c *Counts) Await(ctx context.Context) error {
	if over, err := sleep.Until(ctx, c.counted, countTimeout); over || err != nil {
		return err
	}
	return andon.Errorf(andon.Unavailable, "the devices of each state are still being counted "+
		"since the start, %d of them so far: try again in a moment", c.Devices())
}

// States returns the states that devices of each group of a tenant are in.
func (c *Counts) States(tenant string, silentBefore andon.Time) (all []andon.StateCount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tenants[tenant]
	if t == nil {
		return nil
	}
	silent := map[groupState]int{}
	for _, d := range t.devices {
		if d.alive() && d.received < silentBefore {
			silent[d.groupState]++
		}
	}
	for of, n := range t.in {
		all = append(all, andon.StateCount{
			Group: of.group, State: t.states[of.state], Count: n, Silent: silent[of],
		})
	}
	return all
}

// Tenants returns those of which anything is counted.
func (c *Counts) Tenants() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.tenants))
}

// Devices returns how many devices were counted.
func (c *Counts) Devices() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tenants {
		n += int64(len(t.devices))
	}
	return n
}

func (c *Counts) tally(tenant string) *tally {
	t := c.tenants[tenant]
	if t == nil {
		t = &tally{
			devices: map[uint64]counted{}, in: map[groupState]int{},
			group: func(andon.DeviceID) uint32 { return 0 },
		}
		c.tenants[tenant] = t
	}
	return t
}

func (t *tally) compare(d *counted, gen Generation, key andon.EventKey) int {
	return cmp.Or(cmp.Compare(d.gen.OfDevice(), gen.OfDevice()),
		cmp.Compare(d.time, key.Time), cmp.Compare(d.gen, gen),
		cmp.Compare(d.severity, key.Severity), cmp.Compare(t.states[d.state], key.State))
}

func (t *tally) index(state andon.State) uint32 {
	i := slices.Index(t.states, state)
	if i < 0 {
		i = len(t.states)
		t.states = append(t.states, andon.State(strings.Clone(string(state))))
	}
	return uint32(i)
}
