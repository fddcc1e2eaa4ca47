// Package pebblestore stores the data of Andon in Pebble, in one directory on one machine. It joins
// the packages below it to an andon.Store: it knows tenants, and what a call changes.
//
// A write is computed concurrently with others: its rows, and the current states that follow. In
// the ordered section it becomes pending: what other writes have changed meanwhile is computed
// again, and the write goes into the write-ahead log. When it is on the disk it is published, in
// the order of the log, and acknowledged (write.go, commit.go, package pipeline). Writes that wait
// for the disk at the same time share one fsync.
//
// Entries are rows of requests first, which a memtable knows. A flush writes them as blocks, and
// with them what devices show (flush.go, packages entries, blocks and checkpoint). Current states
// are in memory (package current); opening reads them from the checkpoint and the rows since.
// Layout draws every key and value.
//
// The order of the locks is in engine/locks.go. The package knows no transport, no clock and no
// retention: times are passed in, and a wrapper hides what has expired.
package pebblestore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
	"github.com/andonhq/andon/internal/store/pebblestore/checkpoint"
	"github.com/andonhq/andon/internal/store/pebblestore/directory"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/entries"
	"github.com/andonhq/andon/internal/store/pebblestore/feed"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/pipeline"
	"github.com/andonhq/andon/internal/store/pebblestore/readings"
	"github.com/andonhq/andon/internal/store/pebblestore/records"
	"github.com/andonhq/andon/internal/written"
)

// The version of the stored format. A store of another one is refused. It changes whenever another
// program could misread what this one writes.
const formatVersion = 1

// The fixed keys.
const (
	fixedFormat = "format"      // formatVersion, 4 bytes
	fixedTenant = "next tenant" // the next tenant's number, 4 bytes
)

const (
	defaultReserve = 512 << 20
	defaultCache   = 128 << 20

	defaultChangesFor   = 24 * time.Hour
	defaultChangesBytes = 256 << 20

	defaultArrivalsFor   = 24 * time.Hour
	defaultArrivalsBytes = 1 << 30
)

// Options are how a store is opened. The zero value works.
type Options struct {
	Log     *slog.Logger
	Reserve int64  // bytes of the disk that are left free: 512 MiB unless set
	Cache   int64  // bytes of blocks that are kept in memory: 128 MiB unless set
	Memory  int64  // bytes of the memtables of entries: entries.DefaultMemory unless set
	Owner   string // what this process says of itself to a second one that opens the directory
	// Changes are kept for the feed for about so long, by the arrival of events, and up to about so
	// many bytes: a day and 256 MiB unless set.
	ChangesFor   time.Duration
	ChangesBytes int64
	// Entries are kept in the order of their arrival for about so long, and up to about so many
	// bytes: a day and 1 GiB unless set.
	ArrivalsFor   time.Duration
	ArrivalsBytes int64
	// Fatal is called when the disk failed, or the store is in a state that it must not go on in.
	// It must end the process: nothing that was acknowledged is lost. It panics unless set.
	Fatal func(error)
	// Ordered is called with how long each write waited for the ordered section, and how long it
	// was in it. It must return quickly. Nil: it is not called.
	Ordered func(waited, took time.Duration)
	// FS is the file system; the operating system's unless set.
	FS vfs.FS

	memTable uint64        // bytes of one; tests have small ones
	maxWait  time.Duration // of a write while the memtables are full; tests set it
	table    int           // bytes of a table that a flush makes
	lag      int64         // see checkpoint.Writer
	unread   int64         // see Finish
	readings int64         // bytes of rows of readings that are a reason for a flush
	pause    time.Duration // see directory.Config
	pacing   *engine.Pacing
	// watch replaces the context of background work; tests have it end at any check.
	watch func(context.Context) context.Context
}

// Store is an open directory.
type Store struct {
	andon.NoMaintenance // but for what it declares itself

	dir     *directory.Directory
	db      *pebble.DB // of dir
	options Options
	name    string // with the version of the engine
	fleets
	pipe *pipeline.Pipeline[pending]
	logs
	written *written.Rows // rows that need not be written again
	records *records.Records
	background
}

// fleets is what is in memory of tenants, and of what their devices show.
type fleets struct {
	mu      engine.RWMutex // guards tenants, and what every fleet shows
	tenants map[andon.TenantID]*tenant
	// found is a copy of tenants for lookups: mu is held while changes are shown.
	found atomic.Pointer[map[andon.TenantID]*tenant]
}

// logs are what the store keeps in the order of time.
type logs struct {
	env      *blocks.Env
	log      *entries.Log
	readings *readings.Log
	feed     feed.Changes
	arrivals feed.Arrivals
}

// background is what works in the background, but for merges.
type background struct {
	checkpoints checkpoints
	devices     checkpoint.Writer
	reclaimer   directory.Reclaimer
	flushes     flushCounts
	snapshot    engine.RWMutex // held while one is taken
}

var _ andon.Store = (*Store)(nil)

// Open is OpenContext without a context.
func Open(dir string, o Options) (*Store, error) {
	return OpenContext(context.Background(), dir, o)
}

// OpenContext opens the store in dir, and makes it when there is none. A directory that another
// process has open is a Conflict that names it, and so is a format newer than this program's. A
// disk without space for what opening writes is Full. Where opening is interrupted, by the context
// or by a disk that is full after all, the engine may still be busy with it, and keeps the
// directory until it is done; the process should end.
func OpenContext(ctx context.Context, dir string, o Options) (*Store, error) {
	o.complete()
	d := directory.New(o.directory(dir))
	if err := d.FS.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open store: make directory: %w", err)
	}
	if err := d.Occupy(); err != nil {
		return nil, err
	}
	if err := d.Open(ctx); err != nil {
		return nil, fmt.Errorf("open store in %s: %w", dir, err)
	}
	s := newStore(d, d.DB, o)
	left := d.FS.RemoveAll(d.FS.PathJoin(dir, snapshotDir))
	lift := d.LimitCache(loadCache)
	err := errors.Join(left, s.env.RemoveTables(blocks.TablePrefix), s.load(ctx))
	if lift(); andon.KindOf(err) == andon.Damaged {
		err = fmt.Errorf("the store can't be opened without it: %w", err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store in %s: %w", dir, err), d.Close())
	}
	s.checkpoints.start(s)
	s.reclaimer.Start(s.dir)
	s.log.Start()
	s.readings.Start()
	return s, nil
}

// newStore returns a store of an open database that has nothing in memory yet.
func newStore(d *directory.Directory, db *pebble.DB, o Options) *Store {
	s := &Store{
		dir: d, db: db, options: o, name: "pebble " + directory.Version(),
		fleets:  fleets{tenants: map[andon.TenantID]*tenant{}},
		written: written.New(writtenRows),
	}
	s.env = &blocks.Env{
		DB: db, FS: d.FS, Dir: d.Path, Table: o.table, MemTable: o.memTable,
		Pacing: o.pacing, Log: o.Log, Check: d.Disk.Check, Options: d.Options,
	}
	s.log = entries.NewLog(s.env, int(o.Memory), o.maxWait, s.entryTenants)
	s.readings = readings.NewLog(s.env, o.readings, s.readingTenants)
	s.mu.Rank, s.snapshot.Rank = engine.LockShown, engine.LockSnapshot
	s.pipe = pipeline.New(s.publishing())
	s.devices = checkpoint.Writer{Shown: s.mu.RLocker(), PerDevice: o.lag}
	s.records = records.New(s.db, records.Owners{
		Owns: s.owns, Failed: s.pipe.Failed, Fatal: s.pipe.End,
	})
	return s
}

func (o *Options) directory(dir string) directory.Config {
	return directory.Config{
		FS: o.FS, Path: dir, Owner: o.Owner, Log: o.Log, Fatal: o.Fatal, Reserve: o.Reserve,
		Cache: o.Cache, MemTable: o.memTable, Pause: o.pause, Pacing: o.pacing,
	}
}

// defaults sets what is a setting of the program.
func (o *Options) defaults() {
	o.Reserve = cmp.Or(o.Reserve, defaultReserve)
	o.Cache = cmp.Or(o.Cache, defaultCache)
	o.ChangesFor = cmp.Or(o.ChangesFor, defaultChangesFor)
	o.ChangesBytes = cmp.Or(o.ChangesBytes, defaultChangesBytes)
	o.ArrivalsFor = cmp.Or(o.ArrivalsFor, defaultArrivalsFor)
	o.ArrivalsBytes = cmp.Or(o.ArrivalsBytes, defaultArrivalsBytes)
	o.Memory = cmp.Or(o.Memory, entries.DefaultMemory)
}

func (o *Options) complete() {
	o.defaults()
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Fatal == nil {
		o.Fatal = func(err error) { panic(err) }
	}
	o.readings = cmp.Or(o.readings, checkpointBytes)
	o.maxWait = cmp.Or(o.maxWait, time.Second)
	o.table = cmp.Or(o.table, blocks.DefaultTable)
	o.lag = cmp.Or(o.lag, checkpoint.DefaultPerDevice)
	o.unread = cmp.Or(o.unread, defaultUnread)
	o.memTable = cmp.Or(o.memTable, defaultMemTable)
	o.pacing = engine.NewPacing(o.memTable)
	if o.watch != nil {
		o.pacing.Stopping = o.watch(o.pacing.Stopping)
	}
	o.Owner = cmp.Or(o.Owner, "a program that did not say its name")
}

// loadCache is how many bytes of blocks are kept in memory while the store is opened: nearly all
// that it reads then, it reads once.
const loadCache = 8 << 20

// defaultMemTable is half of what is fastest in a burst: twice as much puts off work for two
// seconds, and takes 64 bytes more for each of a million devices (docs/benchmarks.md).
const defaultMemTable = 32 << 20

// load reads what is in memory while the store is open.
func (s *Store) load(ctx context.Context) error {
	if err := s.checkFormat(); err != nil {
		return err
	}
	if err := s.records.Open(); err != nil {
		return err
	}
	if err := s.loadTenants(); err != nil {
		return err
	}
	if len(s.tenants) == 0 {
		first := andon.NewTenant(andon.DefaultTenant)
		if _, err := s.PutTenant(context.Background(), first); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{
		s.rebuild, s.readings.Open, s.openFeed,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return s.reorderAll(context.Background())
}

func (s *Store) checkFormat() error {
	value, err := s.fixed(fixedFormat)
	if err != nil {
		return err
	}
	if value == nil {
		version := binary.BigEndian.AppendUint32(nil, formatVersion)
		return s.db.Set(layout.FixedKey(fixedFormat), version, pebble.Sync)
	}
	if len(value) != 4 {
		return layout.ErrDamaged
	}
	if v := binary.BigEndian.Uint32(value); v != formatVersion {
		return andon.Errorf(andon.Conflict,
			"the store has format %d and this program reads %d: use the program that wrote it",
			v, formatVersion)
	}
	return nil
}

// fixed returns the value of a fixed key, nil when it is not there.
func (s *Store) fixed(name string) ([]byte, error) { return s.get(layout.FixedKey(name)) }

// get returns a copy of a value, nil when it is not there.
func (s *Store) get(k layout.Key) ([]byte, error) { return engine.Get(s.db, k) }

// Capabilities implements andon.Store.
func (s *Store) Capabilities() andon.Capabilities {
	return andon.Capabilities{
		Name: s.name, Durable: true, Immediate: true,
		AtomicBatch: true, AtomicAssign: true, SortDevices: true, MetricReadings: true,
		Whole: true, TenantEvents: true,
		Withdraw: true, Purge: true, Reorder: true, CountNames: true,
		Changes: true, ChangesDurable: true, ChangesShared: true,
		Arrivals: true, Explain: true,
	}
}

// Ready reports whether there is space to write, and whether writes get through.
func (s *Store) Ready(context.Context) error {
	if err := s.pipe.Failed(); err != nil {
		return err
	}
	if err := s.pipe.Ready(); err != nil {
		return err
	}
	return s.dir.Disk.Check()
}

// Close closes the directory. What is in rows stays there: opening reads it quickly.
func (s *Store) Close() error {
	s.options.pacing.Stop()
	s.reclaimer.Stop()
	s.checkpoints.Stop()
	s.log.Stop()
	s.readings.Stop()
	return s.dir.Close()
}
