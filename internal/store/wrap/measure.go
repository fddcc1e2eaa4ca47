package wrap

import (
	"context"

	"github.com/andonhq/andon"
)

// What a store may offer for measuring it, beyond what the contract of a store asks for. A
// store need not be any of them.

// Baseline is a store that can do without itself: it lets its engine take the same events with the
// same statements and nothing around them. What a store reaches beside that is what it costs.
type Baseline interface {
	// Baseline opens the engine, beside what the store has in it. keep takes the events of one
	// request, as durable as Log.Append does, and may be called concurrently. end removes what was
	// kept; it is to be called once, after the last keep.
	Baseline(ctx context.Context, tenant andon.TenantID) (
		keep func(ctx context.Context, received andon.Time, events []andon.Event) error,
		end func() error,
		err error,
	)
}

// Sized is a store that knows how much room it takes.
type Sized interface {
	// Size returns the bytes that the store has on its disks, its write-ahead log left out. It
	// writes out first what is in memory, so it may take long.
	Size(ctx context.Context) (bytes int64, err error)
}

// Figured is a store whose engine keeps figures of itself.
type Figured interface {
	// Figures tells each figure as it is now. A name that ends with _total is of a count that only
	// grows while the store is open; the unit is part of a name, as in Prometheus.
	Figures(tell func(name, help string, value float64, labels ...string))
}
