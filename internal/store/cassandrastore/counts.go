package cassandrastore

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
)

// counts are how many devices are in each state, by tenant, without asking for each device.
//
// It is the histogram of a map from device to its newest entry, of about 50 bytes a device. Two
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
}

// tallyKey is the order of the log: time, severity, name.
type tallyKey struct {
	time     andon.Time
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

// raise takes in what is known of a device: its newest entry and its retirement, 0 where there was
// none.
func (c *counts) raise(
	tenant string, device andon.DeviceID, newest andon.EventKey, retired andon.Time,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tenants[tenant]
	if t == nil {
		t = &tally{devices: map[uint64]counted{}}
		c.tenants[tenant] = t
	}
	sum := hash(string(device))
	was, known := t.devices[sum]
	is := was
	next := tallyKey{newest.Time, newest.Severity, t.index(newest.State)}
	if !known || t.less(was.key, next) {
		is.key = next
	}
	is.retired = max(is.retired, retired)
	t.devices[sum] = is
	if known && was.key.time > was.retired {
		t.in[was.key.state]--
	}
	if is.key.time > is.retired {
		t.in[is.key.state]++
	}
}

func (t *tally) less(a, b tallyKey) bool {
	if a.time != b.time {
		return a.time < b.time
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
func (s *Store) Counts(ctx context.Context, id andon.TenantID) ([]andon.StateCount, error) {
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
	var all []andon.StateCount
	if tally := c.tenants[t.key]; tally != nil {
		for i, n := range tally.in {
			if n > 0 {
				all = append(all, andon.StateCount{State: tally.states[i], Count: n})
			}
		}
	}
	return all, nil
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
// states of a device stand together.
func (s *Store) countAll(ctx context.Context) error {
	scan := &deviceScan{store: s, tenants: map[string]*tenant{}}
	err := s.scan(ctx, "SELECT tenant, device, state, time, retired FROM latest_by_device",
		func() []any { return scan.row.into() }, func() { scan.take(ctx) })
	scan.flush(ctx)
	return errors.Join(err, scan.err)
}

// deviceScan joins the rows of each device.
type deviceScan struct {
	store   *Store
	tenants map[string]*tenant // by key; nil: that life is over
	row     scanRow
	err     error

	tenant, device string
	view           view
}

type scanRow struct {
	tenant, device string
	state          *string
	time           *int64
	retired        int64
}

func (r *scanRow) into() []any {
	return []any{&r.tenant, &r.device, &r.state, &r.time, &r.retired}
}

func (d *deviceScan) take(ctx context.Context) {
	if d.row.tenant != d.tenant || d.row.device != d.device {
		d.flush(ctx)
		d.tenant, d.device = d.row.tenant, d.row.device
		d.view = view{retired: andon.Time(d.row.retired)}
	}
	if d.row.state != nil && d.row.time != nil {
		d.view.states = append(d.view.states, last{
			state: andon.State(*d.row.state), time: andon.Time(*d.row.time),
		})
	}
}

func (d *deviceScan) flush(ctx context.Context) {
	if len(d.view.states) == 0 {
		return
	}
	t, err := d.life(ctx)
	if err != nil || t == nil {
		d.err = errors.Join(d.err, err)
		return
	}
	d.store.counts.raise(d.tenant, andon.DeviceID(d.device),
		d.view.newestKey(t.record.States), d.view.retired)
	d.store.counts.progress()
	d.view = view{}
}

func (c *counts) progress() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read++
}

// life returns the tenant of a key, nil where that life is over.
func (d *deviceScan) life(ctx context.Context) (*tenant, error) {
	if t, known := d.tenants[d.tenant]; known {
		return t, nil
	}
	id, _, _ := strings.Cut(d.tenant, "\t")
	t, err := d.store.tenant(ctx, andon.TenantID(id))
	if err != nil && andon.KindOf(err) != andon.NotFound {
		return nil, err
	}
	if err != nil || t.key != d.tenant {
		t = nil
	}
	d.tenants[d.tenant] = t
	return t, nil
}

// scanRanges is how many parts the ring is read in, one after the other: a reading that fails goes
// on with the part that failed.
const scanRanges = 64

// scan reads all of a table in the order of tokens, gently: one question at a time.
func (s *Store) scan(ctx context.Context, text string, into func() []any, row func()) error {
	const step = math.MaxUint64/scanRanges + 1
	key := " WHERE token(tenant, device) >= ? AND token(tenant, device) <= ?"
	for i := range uint64(scanRanges) {
		from := int64(i*step) + math.MinInt64
		to := from + int64(step-1)
		if err := s.each(ctx, question{text + key, 0}, []any{from, to}, into(), row); err != nil {
			return err
		}
	}
	return nil
}
