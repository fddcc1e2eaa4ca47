package cassandrastore

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// counts are how many devices are in each state, by tenant, without asking for each device.
//
// It is the histogram of a map from device to its newest entry, of about 60 bytes a device. Two
// things raise an entry of the map and none lowers it: what this process wrote, at once; and a
// reading of all of latest_by_device, at the start and every Options.Recount. So the two may cross
// in any way, a replay changes nothing, and a process that was killed counts anew. What another
// process wrote is counted at the next reading.
type counts struct {
	mu      sync.Mutex
	tenants map[string]*tally
	whole   chan struct{} // closed once all was read for the first time
	read    int           // devices of the reading under way
}

// tally is that of one tenant.
type tally struct {
	devices map[uint64]counted // by a hash of the device
	states  []andon.State
	in      []int // devices in each of states
}

type counted struct {
	key     tallyKey
	retired andon.Time
	heard   andon.Time // arrival of the newest message
}

func (c *counted) alive() bool { return c.key.time > c.retired }

// tallyKey is the order of the log: time, severity, name. Of one instant, what a later generation
// of the severities says stands.
type tallyKey struct {
	time     andon.Time
	gen      int32
	severity uint8
	state    uint32 // index into states
}

func newCounts() *counts {
	return &counts{tenants: map[string]*tally{}, whole: make(chan struct{})}
}

func (c *counts) forget(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tenants, tenant)
}

// raise takes in what is known of a device: its newest entry, its retirement, 0 where there was
// none, and when it was heard.
func (c *counts) raise(
	of *tenant, device andon.DeviceID, newest andon.EventKey, retired, heard andon.Time,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tally(of.key)
	sum := shared.Hash(string(device))
	was, known := t.devices[sum]
	is := was
	next := tallyKey{newest.Time, of.Generation, newest.Severity, t.index(newest.State)}
	if was.key.time == 0 || t.less(was.key, next) {
		is.key = next
	}
	is.retired, is.heard = max(is.retired, retired), max(is.heard, heard)
	t.devices[sum] = is
	if known && was.alive() {
		t.in[was.key.state]--
	}
	if is.alive() {
		t.in[is.key.state]++
	}
}

// hear takes note of a message that changes no state. The reading of all devices may come to this
// one only later, and have read what was before; until then it has no entry and is in no state.
func (c *counts) hear(tenant string, device andon.DeviceID, received andon.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tally(tenant)
	sum := shared.Hash(string(device))
	d := t.devices[sum]
	d.heard = max(d.heard, received)
	t.devices[sum] = d
}

// tally returns that of a tenant.
func (c *counts) tally(tenant string) *tally {
	t := c.tenants[tenant]
	if t == nil {
		t = &tally{devices: map[uint64]counted{}}
		c.tenants[tenant] = t
	}
	return t
}

// counts returns the states that devices are in.
func (t *tally) counts(silentBefore andon.Time) (all []andon.StateCount) {
	silent := make([]int, len(t.in))
	for _, d := range t.devices {
		if d.alive() && d.heard < silentBefore {
			silent[d.key.state]++
		}
	}
	for i, n := range t.in {
		if n > 0 {
			all = append(all, andon.StateCount{State: t.states[i], Count: n, Silent: silent[i]})
		}
	}
	return all
}

func (t *tally) less(a, b tallyKey) bool {
	if a.time != b.time {
		return a.time < b.time
	}
	if a.gen != b.gen {
		return a.gen < b.gen
	}
	if a.severity != b.severity {
		return a.severity < b.severity
	}
	return t.states[a.state] < t.states[b.state]
}

func (t *tally) index(state andon.State) uint32 {
	for i, s := range t.states {
		if s == state {
			return uint32(i)
		}
	}
	t.states = append(t.states, andon.State(strings.Clone(string(state))))
	t.in = append(t.in, 0)
	return uint32(len(t.states) - 1)
}

// Counts is of andon.Current. What other processes wrote is in it since the last reading of all.
func (s *Store) Counts(
	ctx context.Context, id andon.TenantID, silentBefore andon.Time,
) ([]andon.StateCount, error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	wait := time.NewTimer(countingPatience)
	defer wait.Stop()
	c := s.counts
	select {
	case <-c.whole:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
		c.mu.Lock()
		defer c.mu.Unlock()
		return nil, andon.Errorf(andon.Unavailable, "the devices of each state are still being "+
			"counted since the start, %d of them so far: try again in a moment", c.read)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if tally := c.tenants[t.key]; tally != nil {
		return tally.counts(silentBefore), nil
	}
	return nil, nil
}

// countingPatience is how long a request waits for the first reading.
const countingPatience = 10 * time.Second

// count reads all devices again and again.
func (s *Store) count(ctx context.Context) {
	for {
		began := s.now()
		err := s.countAll(ctx)
		pause := s.options.Recount
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.options.Log.Warn("the devices can't be counted", "error", err)
			pause = time.Second
		default:
			s.counts.done()
			s.options.Log.Debug("devices counted", "took", s.now().Sub(began))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (c *counts) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = 0
	select {
	case <-c.whole:
	default:
		close(c.whole)
	}
}

// countAll reads the newest entries of all devices in the order of their tokens, in which the
// states of a device stand together: gently, one page at a time.
func (s *Store) countAll(ctx context.Context) error {
	scan := &deviceScan{store: s, tenants: map[string]*tenant{}}
	const step = math.MaxUint64/scanRanges + 1
	for i := range uint64(scanRanges) {
		from := int64(i*step) + math.MinInt64
		args := []any{from, from + int64(step-1)}
		rows := newPages(s, countRange, args, pageRows, (*scanRow).into)
		for {
			r, err := rows.Head(ctx)
			if err != nil {
				return err
			}
			if r == nil {
				break
			}
			if err := scan.take(ctx, rows.Take()); err != nil {
				return err
			}
		}
	}
	if err := scan.flush(ctx); err != nil {
		return err
	}
	return scan.prune(ctx)
}

// scanRanges is how many parts the ring is read in, one after the other.
const scanRanges = 64

var countRange = question{"SELECT tenant, device, state, time, retired, heard " +
	"FROM latest_by_device WHERE token(tenant, device) >= ? AND token(tenant, device) <= ?", 0}

// deviceScan joins the rows of each device.
type deviceScan struct {
	store   *Store
	tenants map[string]*tenant // by key; nil: that life is over

	tenant, device string
	view           view
}

type scanRow struct {
	tenant, device string
	state          string
	time           int64 // 0: there is no row, only what is static
	retired, heard int64
}

func (r *scanRow) into() []any {
	return []any{&r.tenant, &r.device, &r.state, &r.time, &r.retired, &r.heard}
}

func (d *deviceScan) take(ctx context.Context, r scanRow) error {
	if r.tenant != d.tenant || r.device != d.device {
		if err := d.flush(ctx); err != nil {
			return err
		}
		d.tenant, d.device = r.tenant, r.device
		d.view = view{retired: andon.Time(r.retired), heard: andon.Time(r.heard)}
	}
	if r.time != 0 {
		d.view.states = append(d.view.states, last{
			state: andon.State(r.state), time: andon.Time(r.time),
		})
	}
	return nil
}

func (d *deviceScan) flush(ctx context.Context) error {
	if len(d.view.states) == 0 {
		return nil
	}
	t, err := d.life(ctx, d.tenant)
	if t != nil {
		d.store.counts.raise(t, andon.DeviceID(d.device),
			d.view.newestKey(t.record.States), d.view.retired, d.view.heard)
		d.store.counts.progress()
	}
	d.view = view{}
	return err
}

// prune forgets the lives that are over.
func (d *deviceScan) prune(ctx context.Context) error {
	for _, key := range d.store.counts.keys() {
		t, err := d.life(ctx, key)
		if err != nil {
			return err
		}
		if t == nil {
			d.store.counts.forget(key)
		}
	}
	return nil
}

func (c *counts) keys() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sorted(c.tenants)
}

func (c *counts) progress() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read++
}

// life returns the tenant of a key, nil where that life is over.
func (d *deviceScan) life(ctx context.Context, key string) (*tenant, error) {
	if t, known := d.tenants[key]; known {
		return t, nil
	}
	id, _, _ := strings.Cut(key, "\t")
	t, err := d.store.tenant(ctx, andon.TenantID(id))
	if err != nil && andon.KindOf(err) != andon.NotFound {
		return nil, err
	}
	if err != nil || t.key != key {
		t = nil
	}
	d.tenants[key] = t
	return t, nil
}
