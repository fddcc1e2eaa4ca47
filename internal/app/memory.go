package app

import (
	"context"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/adapter"
)

// What the program takes of memory in addition to what its settings name.
const (
	// programMemory is the program itself, what the embedded store writes before it is on the disk
	// (two tables of 32 MiB and what compactions hold), and what pages hold while they are read.
	programMemory = 384 << 20
	// deviceMemory is what a device with a long name takes, while the table of them grows too.
	deviceMemory = 1 << 10
	// connectionMemory is the buffers and the stack of a connection.
	connectionMemory = 32 << 10
)

// memoryBound is the memory that the program takes at most, as docs/operations.md states it. Go's
// own limit is set to it, so that garbage does not pile up on top of what is in use.
type memoryBound struct {
	app         *App
	connections atomic.Int64
	devices     int64 // when they were last counted
	set         int64 // the limit that Go was given last
	heap        heap
}

// isOurs reports whether there is a bound to keep: GOMEMLIMIT names one that counts more, and the
// store that keeps all of its history in memory has none.
func (m *memoryBound) isOurs() bool {
	return os.Getenv("GOMEMLIMIT") == "" && m.app.Config.Place() != adapter.Memory
}

// follow sets the limit as the fleet and the connections have grown. Where devices can't be counted
// it goes by how many there were.
func (m *memoryBound) follow(ctx context.Context) error {
	n, err := countDevices(ctx, m.app.store)
	if err == nil {
		m.devices = n
	}
	if m.set == 0 { // the store was just opened
		debug.FreeOSMemory()
		if os.Getenv("GOGC") == "" {
			t := &tuner{set: func(percent int) { debug.SetGCPercent(percent) }}
			context.AfterFunc(ctx, t.stop) // a cleanup is no place to ask a context
			t.tune()
		}
	}
	if bytes := m.bytes(); bytes != m.set {
		m.set = bytes
		debug.SetMemoryLimit(bytes - bytes/10) // Go goes a little beyond it
	}
	return err
}

// bytes is the present bound. Devices are counted now and then only, so it is never below
// what is in use: a limit that can't be kept would keep the processor busy and nothing else.
func (m *memoryBound) bytes() int64 {
	c := m.app.Config
	takes := c.Takes()
	stated := programMemory + c.Limits.Memory + takes.Cache.Bytes + takes.Newest.Bytes +
		m.devices*deviceMemory + m.connections.Load()*connectionMemory
	return max(stated, inUse()+inUse()/4)
}

func countDevices(ctx context.Context, store andon.Store) (n int64, err error) {
	tenants, err := store.Tenants(ctx)
	for i := 0; i < len(tenants) && err == nil; i++ {
		var counts []andon.StateCount
		counts, err = store.Counts(ctx, tenants[i].ID, 0)
		for _, c := range counts {
			n += int64(c.Count)
		}
	}
	return n, err
}

// connected counts connections; it is a hook of http.Server.
func (m *memoryBound) connected(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		m.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		m.connections.Add(-1)
	}
}
