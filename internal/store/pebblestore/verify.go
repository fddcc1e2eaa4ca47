package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/engine"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/walcheck"
)

// Verify reads all of the store in dir, which no process may have open and which stays as it is:
// the logs, the sums of all tables, each row, and whether rows agree with each other. It tells what
// is damaged: where, and what that means. rows is how many rows it has read of each table, by what
// they are. An error is that it could not go on.
func Verify(
	ctx context.Context, dir string, o Options,
	tell func(place, what string), progress func(done, total int64),
) (rows map[string]int64, err error) {
	desc, release, err := closedStore(dir, &o)
	if err != nil {
		return nil, err
	}
	defer release()
	if !desc.Exists {
		return nil, andon.Errorf(andon.Invalid, "there is no store in %s", dir)
	}
	o.damages = newDamages(slog.New(slog.DiscardHandler))
	o.damages.pause = 0
	v := verification{
		ctx: ctx, tell: tell, show: progress, options: o, dir: dir,
		rows: map[string]int64{}, inRuns: map[runOf]uint64{},
	}
	return v.rows, v.all(desc)
}

// verification is a Verify under way.
type verification struct {
	inRuns  map[runOf]uint64 // entries of blocks; nil where not all could be read
	ctx     context.Context
	options Options
	dir     string
	store   *Store
	tell    func(place, what string)
	show    func(done, total int64)
	rows    map[string]int64
	bytes   int64 // of all tables
	done    int64
	// whole says that devices, with their numbers, could be read.
	whole   bool
	tenants map[uint32]*tenant
	marker  marker
	settled uint64 // the first generation of readings that is not in blocks
	next    uint64 // the sequence that the next row of a request has
	postings
}

// passes is how often all is gone over: the sums, the rows, the devices.
const passes = 3

func (v *verification) progress(part int64) { v.show(v.done+part, passes*v.bytes) }

func (v *verification) all(desc *pebble.DBDesc) error {
	if err := v.manifest(desc); err != nil {
		return err
	}
	if err := v.logs(desc); err != nil {
		return err
	}
	db, err := v.open()
	if err != nil {
		v.tell(v.dir, fmt.Sprintf("the engine can't open it: %v. The sums of its tables alone are "+
			"checked, and of tables that are no part of it any more", lostFormat(v.dir, err)))
		return v.sums(v.allTables())
	}
	defer func() { _ = db.Close() }() // nothing is written
	if err := v.tables(db); err != nil {
		return err
	}
	v.done += v.bytes
	if err := v.load(db); err != nil {
		if e, ok := errors.AsType[*andon.Error](err); ok && e.Kind == andon.Conflict {
			return err
		}
		v.tell(v.dir, fmt.Sprintf("what devices show can't be read: %v. The store does not open",
			err))
	}
	if err := v.everyRow(); err != nil {
		return err
	}
	v.done += v.bytes
	return v.devices()
}

// manifest reads the list of tables. The engine takes it up to the first record that it can't read
// and says nothing: the end may be torn, which a crash leaves.
func (v *verification) manifest(desc *pebble.DBDesc) error {
	d, err := walcheck.ScanManifest(v.options.FS, desc)
	if d != nil {
		v.tell(v.options.FS.PathBase(desc.ManifestFilename), fmt.Sprintf("it is damaged at byte "+
			"%d of %d: the tables that it lists after that byte are not part of the store any "+
			"more", d.Offset, d.Size))
	}
	return err
}

// logs looks at the write-ahead logs.
func (v *verification) logs(desc *pebble.DBDesc) error {
	l, err := walcheck.Find(v.options.FS, v.dir, desc)
	if err != nil {
		return err
	}
	found, err := l.Damage()
	for _, d := range found {
		v.tell(d.File, d.String()+". What was acknowledged after that can't be replayed: "+
			"andon store repair says what giving it up costs")
	}
	return err
}

// open opens the engine so that it writes nothing.
func (v *verification) open() (*pebble.DB, error) {
	p := pebbleOptions(&v.options)
	p.ReadOnly = true
	return pebble.Open(v.dir, p)
}

// tables checks the tables that the store has.
func (v *verification) tables(db *pebble.DB) error {
	levels, err := db.SSTables()
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

// allTables returns the tables in the directory.
func (v *verification) allTables() (names []string) {
	all, _ := v.options.FS.List(v.dir) // what can't be listed has none
	for _, name := range all {
		if strings.HasSuffix(name, ".sst") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sums reads all blocks of tables, and compares their sums.
func (v *verification) sums(names []string) error {
	fs := v.options.FS
	sizes := make([]int64, len(names))
	for i, name := range names {
		if is, err := fs.Stat(fs.PathJoin(v.dir, name)); err == nil {
			sizes[i] = is.Size()
			v.bytes += sizes[i]
		}
	}
	read := int64(0)
	for i, name := range names {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		if err := v.table(fs.PathJoin(v.dir, name)); err != nil {
			v.tell(name, blockError(err)+
				". Questions that need what can't be read of it are refused")
		}
		read += sizes[i]
		v.progress(read)
	}
	v.rows["tables of the engine"] = int64(len(names))
	return nil
}

// damagedBlock is how Pebble names a block that is damaged: by its place and its length.
var damagedBlock = regexp.MustCompile(`block (\d+)/(\d+): ([^<]*)`)

func blockError(err error) string {
	text := err.Error()
	if m := damagedBlock.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("the block of %s bytes at byte %s is damaged: %s", m[2], m[1],
			strings.TrimSpace(m[3]))
	}
	return text
}

func (v *verification) table(path string) error {
	f, err := v.options.FS.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	p := pebbleOptions(&v.options)
	p.EnsureDefaults()
	r, err := sstable.NewReader(v.ctx, readable, p.MakeReaderOptions())
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}

// load reads what opening keeps in memory, without what opening writes.
func (v *verification) load(db *pebble.DB) (err error) {
	defer engine.RecoverUnreadable(&err)
	o := v.options
	s := &Store{
		db: db, options: o, damages: o.damages, disk: disk{fs: o.FS, dir: v.dir},
		tenants: map[andon.TenantID]*tenant{},
	}
	s.order.turn, s.order.large = make(chan struct{}, 1), make(chan struct{}, 1)
	s.heads.begin(int(o.Head), o.patience)
	v.store, v.tenants = s, map[uint32]*tenant{}
	format, err := s.fixed(fixedFormat)
	if err != nil {
		return err
	}
	if len(format) != 4 || binary.BigEndian.Uint32(format) != formatVersion {
		return andon.Errorf(andon.Conflict, "the store is of another format than %d, which is "+
			"what this program reads: use the program that wrote it", formatVersion)
	}
	if err := s.loadTenants(); err != nil {
		return err
	}
	for _, t := range s.tenants {
		v.tenants[t.number] = t
	}
	v.marker, err = s.readMarker()
	first, err2 := s.fixed(fixedReadings)
	if err2 == nil && len(first) == 8 {
		v.settled = binary.BigEndian.Uint64(first)
	}
	// Rows of what can't be read are checked all the same.
	err = errors.Join(err, err2, s.rebuild(v.ctx), s.openRuns(v.ctx))
	v.whole = err == nil
	return err
}

// largestPart is how many rows are read between two looks at the context.
const largestPart = 4096

// everyRow reads all rows, table by table: where one can't be read on, the next one is.
func (v *verification) everyRow() error {
	before := int64(0)
	for _, table := range verified() {
		if err := v.rowsOf(table, before); err != nil {
			return err
		}
		prefix := layout.Key{table.name}
		if size, err := v.store.db.EstimateDiskUsage(prefix, prefix.End()); err == nil {
			before += int64(size)
		}
	}
	return nil
}

func (v *verification) rowsOf(table verifiedTable, before int64) error {
	prefix := layout.Key{table.name}
	it, err := v.store.db.NewIter(&pebble.IterOptions{
		LowerBound: prefix, UpperBound: prefix.End(),
	})
	if err != nil {
		return err
	}
	defer it.Close()
	n := int64(0)
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n%largestPart == 0 {
			if err := v.ctx.Err(); err != nil {
				return err
			}
			if size, err := v.store.db.EstimateDiskUsage(prefix, it.Key()); err == nil {
				v.progress(min(before+int64(size), v.bytes))
			}
		}
		value, err := it.ValueAndErr()
		if err == nil {
			err = table.check(v, it.Key()[1:], value)
		}
		if err != nil {
			v.tell(fmt.Sprintf("%s, key %x", table.what, it.Key()), err.Error())
		}
	}
	v.rows[table.what] = n
	if err := it.Error(); err != nil {
		if table.name == layout.TableBlock {
			v.inRuns = nil // these are not all
		}
		v.tell(table.what,
			fmt.Sprintf("behind %d rows they can't be read on: %v", n, engine.ReadError(err)))
	}
	return nil
}
