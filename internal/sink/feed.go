package sink

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/outage"
)

// Config is how a feed is set up, whatever its destination.
type Config struct {
	Name    string
	Tenants []string // none named: all, those that come later too
	Start   string   // now, snapshot
	Batch   int      // most messages at once
	Wait    time.Duration
}

// Settings sets the defaults, and returns what sets the rest.
func (c *Config) Settings() []config.Setting {
	*c = Config{Start: "now", Batch: 500, Wait: time.Second}
	return []config.Setting{
		{Key: "name", Value: config.Given(&c.Name),
			Help: "its name, under which its positions are kept"},
		{Key: "tenants", Value: config.List(&c.Tenants),
			Help: "the tenants whose changes it has; all unless set, those that come later too"},
		{Key: "start", Value: config.Choice(&c.Start, "now", "snapshot"),
			Help: "how it begins: with the next change, or with all devices as they are"},
		{Key: "batch", Value: config.Count(&c.Batch), Help: "most changes that are sent at once"},
		{Key: "wait", Value: config.Span(&c.Wait, 0),
			Help: "how long a change waits for others to be sent with"},
	}
}

// Check reports what is wrong with the settings.
func (c *Config) Check(check *config.Check) {
	const longest = 64
	err := andon.TenantID(c.Name).Validate() // a record has it in its id, as it has tenants
	if err != nil || len(c.Name) > longest || strings.Contains(c.Name, "/") {
		check.Wrong("name", "is missing, has a slash, or has more than %d bytes", longest)
	}
	if c.Batch > andon.MaxLimit {
		check.Wrong("batch", "is more than %d", andon.MaxLimit)
	}
}

// Feed delivers the changes of its tenants to one destination.
type Feed struct {
	Config
	Store       andon.Store
	Destination Destination
	// Show returns what appends a device of a tenant to a text as the API answers it.
	Show   func(context.Context, *andon.Tenant) func([]byte, *andon.Device) ([]byte, error)
	Leases *lease.Holder
	Now    func() andon.Time
	Log    *slog.Logger

	Delivered, Snapshots atomic.Int64 // messages, and how often it began again
	Failures             outage.Log   // by tenant; "": what is of all

	once sync.Once
	// told are the tenants, as parts, whose feed begins as the settings say. One that comes later
	// begins with its devices, so that none is missed, also where it is made again.
	told sync.Map

	mu      sync.Mutex
	waiting map[andon.TenantID]andon.Time // since when a change is not delivered
}

// Lag returns how long the oldest change that is not delivered has waited; 0: there is none. Those
// that another process delivers do not count.
func (f *Feed) Lag() (longest andon.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, since := range f.waiting {
		longest = max(longest, f.Now().Sub(since))
	}
	return longest
}

// waits notes since when a change of a tenant is not delivered; 0: all are, or another process
// delivers them.
func (f *Feed) waits(id andon.TenantID, since andon.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[id] = since; since == 0 {
		delete(f.waiting, id)
	}
}

// Run delivers until the context ends. An error is that the store has no feed.
func (f *Feed) Run(ctx context.Context) error {
	if able := f.Store.Capabilities(); !able.Changes {
		return andon.Errorf(andon.Invalid,
			"feeds: %s can't be delivered: the store %s has no feed of changes", f.Name, able.Name)
	}
	f.waiting = map[andon.TenantID]andon.Time{}
	f.Failures.Logger, f.Failures.Part = f.Log.With("feed", f.Name), "tenant"
	f.Failures.Begins = "a feed can't be delivered: it is tried again and again"
	f.Failures.Ends = "a feed is delivered again"
	g := lease.Group{
		Holder: f.Leases, Name: "feed/" + f.Name, Parts: f.parts, Failed: f.failed,
		Work: func(ctx context.Context, part string, l *lease.Lease) error {
			id := tenantOf(part)
			defer f.Failures.Forget(string(id)) // another process may have it next
			defer f.waits(id, 0)
			return (&delivery{feed: f, tenant: id, lease: l}).run(ctx)
		},
	}
	g.Run(ctx)
	return nil
}

// partOf precedes the tenant in a part of a lease.Group, whose other leases have other names.
const partOf = "of "

func tenantOf(part string) andon.TenantID {
	return andon.TenantID(strings.TrimPrefix(part, partOf))
}

// parts returns the tenants of the feed that are there, and those that are gone.
func (f *Feed) parts(
	ctx context.Context, positions map[string]andon.JSON,
) (ready, gone []string, err error) {
	all, err := f.Store.Tenants(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range all {
		if f.Tenants == nil || slices.Contains(f.Tenants, string(t.ID)) {
			ready = append(ready, partOf+string(t.ID))
		}
	}
	for part, position := range positions {
		if !slices.Contains(ready, part) {
			gone = append(gone, part)
		}
		if position != "" {
			f.told.Delete(part)
		}
	}
	f.once.Do(func() {
		if len(positions) == 0 {
			for _, part := range ready {
				f.told.Store(part, true)
			}
		}
		for _, id := range f.Tenants {
			if !slices.Contains(ready, partOf+id) {
				f.Log.Warn("a feed waits for a tenant that is not there", "feed", f.Name,
					"tenant", id)
			}
		}
	})
	return ready, gone, nil
}

// failed takes the errors of a lease.Group. What comes of a tenant itself is reported where it
// happens, and a tenant that was deleted is no failure.
func (f *Feed) failed(part string, err error) {
	if !strings.HasPrefix(part, partOf) {
		f.Failures.Note("", err)
	} else if err != nil && andon.KindOf(err) != andon.NotFound {
		f.Failures.Note(string(tenantOf(part)), err)
	}
}
