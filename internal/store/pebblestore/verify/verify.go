// Package verify reads a store that no process has open, and reports what is damaged: the logs, the
// list of tables, the checksums of all tables, each row, whether rows agree with each other, and
// whether devices show what their entries say.
//
// Passes. Run goes over everything three times. It compares the checksums of all blocks of Pebble's
// tables, which finds flipped bits. It decodes each row of each table of the layout and looks for
// the rows that lead to it: a block has its day and its run, an entry its posting, a reading its
// metrics. And it has the store compute again what each device shows. So a defect of the program is
// found as well as one of the disk.
//
// What a crash leaves is no damage: blocks of a flush that was interrupted, runs that were merged
// and are not deleted yet, index rows that lead nowhere, and a torn end of the newest log.
//
// Contract:
//
//   - Nothing is written: Pebble is opened for reading only.
//   - Each report names the place, and says what it means for the user who reads it: which entries
//     are lost, which list lacks them. One report for each damage, as far as that can be seen
//     apart.
//   - Where something can't be read, the rest is checked all the same. An error of Run is that it
//     could not go on: the context has ended, or the store belongs to another program.
//   - Progress is called often, with bytes of all passes.
//
// The package knows the layout and the files of Pebble. It does not know how the store loads what
// it has in memory, nor how it computes what a device shows: Store is all that it asks of it.
package verify

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/walcheck"
)

// Store is the store that is verified.
type Store interface {
	// Load reads from the database what opening keeps in memory, without what opening writes. With
	// an error the result has what could be read.
	Load(ctx context.Context, db *pebble.DB) (Loaded, error)
	// CheckRow decodes a row of a request of a tenant as opening does.
	CheckRow(row []byte) error
	// Devices computes again, from their entries, what devices show, and reports each difference.
	// It returns how many devices there are.
	Devices(
		ctx context.Context, report func(device andon.DeviceID, what string),
		progress func(done, total int),
	) (int64, error)
}

// Loaded is what opening keeps in memory.
type Loaded struct {
	Tenants       map[uint32]Tenant
	Shown         uint64 // the first row that the checkpoint does not hold
	Flushed       uint64 // the first row whose entries are not in blocks
	FirstReadings uint64 // the first generation of readings that is not in blocks
	Complete      bool   // devices, with their numbers, could be read
}

// Tenant is what is in memory of a tenant.
type Tenant struct {
	ID       andon.TenantID
	Device   func(number uint32) (id andon.DeviceID, ok bool)
	States   map[andon.State]andon.State // that have entries
	Floor    andon.Horizon               // what is earlier may have expired
	Entries  Runs
	Readings Runs
}

// Runs are the runs of blocks of a tenant.
type Runs struct {
	Days []uint32 // that have any, in ascending order
	On   func(day uint32) []layout.Run
	// Dropped reports whether a run was merged into another one, and will be deleted.
	Dropped func(day uint32, id layout.RunID) bool
}

// Config says what to verify.
type Config struct {
	FS      vfs.FS
	Dir     string
	Desc    *pebble.DBDesc
	Options func() *pebble.Options
	Store   Store
	// OpenError explains why Pebble can't open the directory.
	OpenError func(error) error
	Report    func(place, what string)
	Progress  func(done, total int64)
}

// Run verifies a store. It returns how many rows it has read of each table, by what they are.
func Run(ctx context.Context, c Config) (rows map[string]int64, err error) {
	v := verifier{
		Config: c, ctx: ctx, rows: map[string]int64{}, inRuns: map[byte]map[runOf]uint64{
			layout.TableBlock: {}, layout.TableReadingBlock: {},
		},
	}
	return v.rows, v.run()
}

type verifier struct {
	Config
	ctx      context.Context
	db       *pebble.DB
	loaded   Loaded
	rows     map[string]int64
	bytes    int64 // of all tables
	done     int64
	inRuns   map[byte]map[runOf]uint64 // values by table of blocks, of those that could be read
	next     uint64                    // the sequence that the next row of a request has
	postings postings
}

type tenant struct {
	Tenant
	number uint32
}

// passes is how often all is gone over: the checksums, the rows, the devices.
const passes = 3

func (v *verifier) progress(part int64) { v.Progress(v.done+part, passes*v.bytes) }

func (v *verifier) run() error {
	if err := v.logs(); err != nil {
		return err
	}
	p := v.Options()
	p.ReadOnly = true
	db, err := pebble.Open(v.Dir, p)
	if err != nil {
		v.Report(v.Dir, fmt.Sprintf("the engine can't open it: %v. The sums of its tables alone "+
			"are checked, and of tables that are no part of it any more", v.OpenError(err)))
		return v.sums(v.allTables())
	}
	defer func() { _ = db.Close() }() // nothing is written
	v.db = db
	if err := v.tables(); err != nil {
		return err
	}
	v.done += v.bytes
	if v.loaded, err = v.Store.Load(v.ctx, db); err != nil {
		if e, ok := errors.AsType[*andon.Error](err); ok && e.Kind == andon.Conflict {
			return err
		}
		v.Report(v.Dir, fmt.Sprintf("what devices show can't be read: %v. The store does not open",
			err))
	}
	if err := v.everyRow(); err != nil {
		return err
	}
	v.done += v.bytes
	return v.devices()
}

// logs reads the list of tables, and the logs. Pebble uses that list up to the first record that it
// can't read and reports nothing, since the end may be torn, which a crash leaves.
func (v *verifier) logs() error {
	l, err := walcheck.Find(v.FS, v.Dir, v.Desc)
	if err != nil {
		return err
	}
	if d := l.Manifest; d != nil {
		v.Report(d.File, fmt.Sprintf("it is damaged at byte "+
			"%d of %d: the tables that it lists after that byte are not part of the store any "+
			"more", d.Offset, d.Size))
	}
	found, err := l.Damage()
	for _, d := range found {
		v.Report(d.File, d.String()+". What was acknowledged after that can't be replayed: "+
			"andon store repair says what giving it up costs")
	}
	return err
}

func (v *verifier) tables() error {
	levels, err := v.db.SSTables()
	if err != nil {
		return err
	}
	var names []string
	for _, level := range levels {
		for _, table := range level {
			names = append(names, fmt.Sprintf("%06d.sst", uint64(table.BackingSSTNum)))
		}
	}
	slices.Sort(names)
	return v.sums(slices.Compact(names))
}

func (v *verifier) allTables() (names []string) {
	all, _ := v.FS.List(v.Dir) // what can't be listed has none
	for _, name := range all {
		if strings.HasSuffix(name, ".sst") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sums reads all blocks of tables, and compares their checksums.
func (v *verifier) sums(names []string) error {
	sizes := make([]int64, len(names))
	for i, name := range names {
		if is, err := v.FS.Stat(v.FS.PathJoin(v.Dir, name)); err == nil {
			sizes[i] = is.Size()
			v.bytes += sizes[i]
		}
	}
	read := int64(0)
	for i, name := range names {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		if err := v.table(v.FS.PathJoin(v.Dir, name)); err != nil {
			v.Report(name, blockError(err)+
				". Queries that need what can't be read of it are refused")
		}
		read += sizes[i]
		v.progress(read)
	}
	v.rows["tables of the engine"] = int64(len(names))
	return nil
}

// damagedBlock is how Pebble names a block that is damaged: by its offset and its length.
var damagedBlock = regexp.MustCompile(`block (\d+)/(\d+): ([^<]*)`)

func blockError(err error) string {
	text := err.Error()
	if m := damagedBlock.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("the block of %s bytes at byte %s is damaged: %s", m[2], m[1],
			strings.TrimSpace(m[3]))
	}
	return text
}

func (v *verifier) table(path string) error {
	f, err := v.FS.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	p := v.Options()
	p.EnsureDefaults()
	r, err := sstable.NewReader(v.ctx, readable, p.MakeReaderOptions())
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}

// someRows is how many rows are read between two checks of the context.
const someRows = 4096

// everyRow reads all rows, table by table: where one can't be read further, the next one is.
func (v *verifier) everyRow() error {
	before := int64(0)
	for _, t := range tables() {
		if err := v.rowsOf(t, before); err != nil {
			return err
		}
		prefix := layout.Key{t.name}
		if size, err := v.db.EstimateDiskUsage(prefix, prefix.End()); err == nil {
			before += int64(size)
		}
	}
	return nil
}

func (v *verifier) rowsOf(t table, before int64) error {
	what, prefix := layout.Describe(t.name), layout.Key{t.name}
	it, err := v.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefix.End()})
	if err != nil {
		return err
	}
	defer it.Close()
	n := int64(0)
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n%someRows == 0 {
			if err := v.ctx.Err(); err != nil {
				return err
			}
			if size, err := v.db.EstimateDiskUsage(prefix, it.Key()); err == nil {
				v.progress(min(before+int64(size), v.bytes))
			}
		}
		value, err := it.ValueAndErr()
		if err == nil {
			err = t.row(v, it.Key()[1:], value)
		}
		if err != nil {
			v.Report(fmt.Sprintf("%s, key %x", what, it.Key()), err.Error())
		}
	}
	v.rows[what] = n
	if err := it.Error(); err != nil {
		delete(v.inRuns, t.name) // these are not all
		v.Report(what, fmt.Sprintf("after %d rows they can't be read any further: %v", n,
			engine.ReadError(err)))
	}
	return nil
}

// devices has the store compute again what each device shows.
func (v *verifier) devices() error {
	if !v.loaded.Complete {
		return nil
	}
	n, err := v.Store.Devices(v.ctx, func(device andon.DeviceID, what string) {
		v.Report("device "+string(device), what)
	}, func(done, total int) {
		v.progress(v.bytes * int64(done) / int64(max(total, 1)))
	})
	v.rows["devices"] = n
	return err
}
