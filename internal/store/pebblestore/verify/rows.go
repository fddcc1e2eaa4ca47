package verify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/store/pebblestore/feed"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/eventlog"
	"github.com/andonhq/andon/internal/store/pebblestore/layout/readingblock"
)

// table says how the rows of a table are checked.
type table struct {
	name byte
	// form is that of a key after its table and tenant (fits); empty: check looks at it.
	form  string
	check func(v *verifier, t *tenant, k, value []byte) error // nil: the form is all
}

// tables are all tables, in the order of their names.
func tables() []table {
	return []table{
		{layout.TableBlock, "", verifyBlock},
		{layout.TableRun, "", verifyRuns(layout.TableBlock, "entries",
			func(l *Loaded) uint64 { return l.Flushed })},
		{layout.TableAssignment, "x8", nil},
		{layout.TableCheckpoint, "4", verifyCheckpoint},
		{layout.TableChange, "8", verifyChange},
		{layout.TableDay, "44", verifyDay},
		{layout.TableDocument, "4xx", verifyDocument},
		{layout.TableReading, "", verifyReading},
		{layout.TableMetric, "xx", nil},
		{layout.TableStateSeen, "x", verifyState},
		{layout.TablePosting, "x462", verifyPosting},
		{layout.TableReadingDay, "x4", nil},
		{layout.TableRow, "8", verifyRow},
		{layout.TableSupervisor, "x8xx", nil},
		{layout.TableDue, "x8xx", verifyDue},
		{layout.TableReadingBlock, "", verifyMeasured},
		{layout.TableReadingRun, "", verifyRuns(layout.TableReadingBlock, "readings",
			func(l *Loaded) uint64 { return l.FirstReadings - 1 })},
		{layout.TableWithdrawal, "x8x", verifyWithdrawal},
		{layout.TableEscalation, "", verifyEscalation},
		{layout.TableRetirement, "x8", nil},
	}
}

// row checks a row, whose key is without the table's name. What may be left of a tenant that was
// deleted belongs to no one.
func (t *table) row(v *verifier, k, value []byte) error {
	var of *tenant
	if t.name != layout.TableDocument && strings.IndexByte(layout.TenantTables, t.name) >= 0 {
		number, rest, ok := layout.TakeNumber(k)
		known, is := v.loaded.Tenants[number]
		if !is {
			return wellFormed(ok)
		}
		of, k = &tenant{known, number}, rest
	}
	if t.form != "" && !fits(k, t.form) {
		return wellFormed(false)
	}
	if t.check == nil {
		return nil
	}
	return t.check(v, of, k, value)
}

// fits reports whether a key is of a form: x is a text, and a digit is so many bytes.
func fits(k []byte, form string) (ok bool) {
	for _, part := range []byte(form) {
		if part == 'x' {
			if _, k, ok = layout.TakeText(k); !ok {
				return false
			}
		} else if n := int(part - '0'); n <= len(k) {
			k = k[n:]
		} else {
			return false
		}
	}
	return len(k) == 0
}

func wellFormed(ok bool) error {
	if !ok {
		return errors.New("it is not of its form")
	}
	return nil
}

// isStored reports whether there is a row.
func (v *verifier) isStored(k layout.Key) bool {
	_, closer, err := v.db.Get(k)
	if err == nil {
		_ = closer.Close() // nothing was taken of it
	}
	return !errors.Is(err, pebble.ErrNotFound) // that it can't be read is reported by itself
}

// verifyBlock checks that a block has the entries that its key says, in their order, and that all
// that leads to them is there.
func verifyBlock(v *verifier, t *tenant, k, value []byte) error {
	at, ok := layout.SplitBlock(k)
	if !ok {
		return errors.New("its key is not of its form")
	}
	number, rest, ok := layout.TakeNumber(at.Device)
	if !ok || len(rest) > 0 {
		return errors.New("its key is not of its form")
	}
	day := at.Day
	var d eventlog.Decoder
	entries, err := d.Entries(value, at.Newest)
	if err != nil {
		return fmt.Errorf("it can't be decoded: up to all entries of device %s from %s to %s are "+
			"lost", v.name(t, number), at.Oldest, at.Newest)
	}
	v.rows["entries in blocks"] += int64(len(entries))
	v.counted(layout.TableBlock, runOf{t.number, day, at.Run}, len(entries))
	oldest := entries[len(entries)-1].Time
	sorted := slices.IsSortedFunc(entries, eventlog.CompareEntries)
	switch {
	case !sorted:
		return fmt.Errorf("its entries of device %s are not in their order", v.name(t, number))
	case oldest != at.Oldest || oldest.Day() != day || at.Newest.Day() != day:
		return fmt.Errorf("its oldest entry is of %s, and its key says %s, on day %d",
			oldest, at.Oldest, day)
	}
	if _, known := t.Device(number); v.loaded.Complete && !known {
		return fmt.Errorf("its entries are of device number %d, which there is not", number)
	}
	if at.Sequence > v.loaded.Flushed {
		return nil // of a flush that was interrupted: rows have its entries, and it is done again
	}
	if t.Entries.Dropped(day, at.Run) {
		return nil // of a merge that was interrupted: other runs have its entries
	}
	if !v.isStored(layout.NewKey(layout.TableDay, t.number).Number(number).Inverted(day)) {
		return fmt.Errorf("nothing says that device %s has entries on the day of %s: they are "+
			"not found", v.name(t, number), at.Oldest)
	}
	if !holds(t.Entries, &at) {
		return fmt.Errorf("no run of the day has its entries of device %s from %s to %s: they "+
			"are not found", v.name(t, number), oldest, at.Newest)
	}
	return v.entries(t, number, entries)
}

func holds(runs Runs, at *layout.BlockKey) bool {
	return slices.ContainsFunc(runs.On(at.Day), func(r layout.Run) bool {
		return r.RunID == at.Run && r.Oldest <= at.Oldest && at.Newest <= r.Newest
	})
}

// verifyRuns checks the rows of a table of runs: that the blocks of a run have as many entries, or
// readings, as it says. One that is newer than the last flush belongs to a flush that was broken
// off.
func verifyRuns(
	blocks byte, what string, flushed func(l *Loaded) uint64,
) func(v *verifier, t *tenant, k, value []byte) error {
	return func(v *verifier, t *tenant, k, value []byte) error {
		day, r, ok := layout.ReadRun(k, value)
		if !ok {
			return wellFormed(ok)
		}
		there := v.inRuns[blocks][runOf{t.number, day, r.RunID}]
		counts := v.inRuns[blocks] != nil && !r.Dropped && r.Entries != layout.Uncounted
		if !counts || r.Sequence > flushed(&v.loaded) || r.Entries == there {
			return nil
		}
		if r.Entries < there {
			return fmt.Errorf("the blocks of the day that begins at %s have %d %s more than "+
				"was written", andon.DayStart(day), there-r.Entries, what)
		}
		return fmt.Errorf("%d %s of the day that begins at %s are lost, of %d that were written "+
			"in one step", r.Entries-there, what, andon.DayStart(day), r.Entries)
	}
}

type runOf struct {
	tenant, day uint32
	id          layout.RunID
}

func (v *verifier) counted(blocks byte, r runOf, values int) {
	if in := v.inRuns[blocks]; in != nil {
		in[r] += uint64(values)
	}
}

// verifyDay checks that a device has blocks on a day. Days before all blocks of the tenant have
// expired: their blocks are deleted before their days.
func verifyDay(v *verifier, t *tenant, k, _ []byte) error {
	number, rest, _ := layout.TakeNumber(k)
	inverted, _, _ := layout.TakeNumber(rest)
	day := ^inverted
	if days := t.Entries.Days; len(days) == 0 || day < days[0] {
		return nil
	}
	for _, r := range t.Entries.On(day) {
		k := layout.NewKey(layout.TableBlock, t.number).Run(day, r.RunID).Number(number)
		if there, err := v.begins(k); err != nil || there {
			return err
		}
	}
	return fmt.Errorf("device %s has no block of the day that begins at %s: its entries of that "+
		"day are lost", v.name(t, number), andon.DayStart(day))
}

// begins reports whether there is a row whose key begins with a prefix.
func (v *verifier) begins(prefix layout.Key) (bool, error) {
	it, err := v.db.NewIter(&pebble.IterOptions{
		LowerBound: prefix, UpperBound: prefix.End(),
	})
	if err != nil {
		return false, err
	}
	defer it.Close()
	return it.First() || it.Error() != nil, nil // damage is reported by itself
}

func (v *verifier) name(t *tenant, number uint32) string {
	if id, ok := t.Device(number); ok {
		return string(id)
	}
	return fmt.Sprintf("number %d", number)
}

// entries checks that states and operators lead to the entries of a block.
func (v *verifier) entries(t *tenant, number uint32, entries []eventlog.Entry) error {
	for i := range entries {
		e := &entries[i]
		if _, seen := t.States[e.State]; !seen {
			return fmt.Errorf("its state %s is not among those that have entries", e.State)
		}
		if e.Operator == "" {
			continue
		}
		found, err := v.postings.posted(v.db, t, e.Operator, e.Time, number)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("no posting says that %s has an entry of device %s in the hour of "+
				"%s: that list lacks it", e.Operator, v.name(t, number), e.Time)
		}
	}
	return nil
}

// postings are those of some operators and hours: blocks come by the day, so few are in use.
type postings struct {
	of map[postedHour]map[uint32][]layout.InHour
}

type postedHour struct {
	tenant   uint32
	operator andon.PersonID
	hour     uint32
}

func (p *postings) posted(
	db *pebble.DB, t *tenant, operator andon.PersonID, when andon.Time, number uint32,
) (bool, error) {
	at := postedHour{t.number, operator, when.Hour()}
	of := eventlog.MilliOf(when)
	leads := func(d layout.InHour) bool {
		return d.Device == number && d.Oldest <= of && of <= d.Newest
	}
	if devices, read := p.of[at]; read {
		return slices.ContainsFunc(devices[number], leads), nil
	}
	const most = 10_000
	if len(p.of) >= most || p.of == nil {
		p.of = map[postedHour]map[uint32][]layout.InHour{}
	}
	devices := map[uint32][]layout.InHour{}
	prefix := layout.NewKey(layout.TablePosting, t.number).Text(string(operator)).Number(at.hour)
	it, err := db.NewIter(nil)
	if err != nil {
		return false, err
	}
	defer it.Close()
	for ok := it.SeekGE(prefix); ok && bytes.HasPrefix(it.Key(), prefix); ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return true, nil // it is reported by itself
		}
		list, _ := layout.ReadPosting(nil, value) // likewise
		for _, d := range list {
			devices[d.Device] = append(devices[d.Device], d)
		}
	}
	p.of[at] = devices
	return slices.ContainsFunc(devices[number], leads), it.Error()
}

func verifyPosting(_ *verifier, _ *tenant, _, value []byte) error {
	numbers, err := layout.ReadPosting(nil, value)
	if err != nil {
		return err
	}
	return wellFormed(len(numbers) > 0)
}

func verifyCheckpoint(_ *verifier, _ *tenant, k, value []byte) error {
	var d current.Device
	if layout.ReadCheckpoint(&d, value, nil) != nil {
		return fmt.Errorf("what device number %x shows can't be decoded", k)
	}
	return wellFormed(d.ID != "")
}

func verifyChange(_ *verifier, t *tenant, _, value []byte) error {
	_, err := feed.ReadRow(t.ID, value)
	return err
}

func verifyDocument(_ *verifier, _ *tenant, _, value []byte) error {
	var r andon.Record
	return layout.DecodeDocument(&r, value)
}

func verifyDue(_ *verifier, _ *tenant, _, value []byte) error {
	return wellFormed(len(value) == 4)
}

func verifyState(_ *verifier, _ *tenant, k, _ []byte) error {
	return andon.State(k[:len(k)-1]).Validate()
}

// verifyReading checks that a reading is found, by its device's day and by its metrics.
func verifyReading(v *verifier, t *tenant, k, value []byte) error {
	row, ok := layout.SplitReading(k)
	if !ok {
		return errors.New("its key is not of its form")
	}
	metrics, _, err := layout.ReadReading(nil, value, nil)
	if err != nil {
		return fmt.Errorf("the reading of device %s at %s can't be decoded", row.Device, row.At)
	}
	return v.measured(t, row.Day, string(row.Device), metrics)
}

// measured checks that what leads to readings is there. To a day that has expired nothing leads,
// also where some of its readings came late, and are deleted the next time.
func (v *verifier) measured(
	t *tenant, day uint32, device string, metrics andon.Metrics,
) error {
	if day < t.Floor.Readings.Day() {
		return nil
	}
	if !v.isStored(layout.NewKey(layout.TableReadingDay, t.number).Text(device).Inverted(day)) {
		return fmt.Errorf("nothing says that device %s has readings on the day of %s: they are "+
			"not found", device, andon.DayStart(day))
	}
	for _, m := range metrics {
		k := layout.NewKey(layout.TableMetric, t.number).Text(string(m.Name)).Text(device)
		if !v.isStored(k) {
			return fmt.Errorf("nothing says that device %s has the metric %s: that list lacks it",
				device, m.Name)
		}
	}
	return nil
}

// verifyMeasured checks that a block has the readings that its key says, and that all that leads to
// them is there.
func verifyMeasured(v *verifier, t *tenant, k, value []byte) error {
	at, ok := layout.SplitBlock(k)
	device, rest, named := layout.TakeText(at.Device)
	if !ok || !named || len(rest) > 0 {
		return errors.New("its key is not of its form")
	}
	day := at.Day
	var d readingblock.Decoder
	readings, err := d.Readings(value, at.Newest, readingblock.Wanted{})
	if err != nil {
		return fmt.Errorf("it can't be decoded: up to all readings of device %s from %s to %s are "+
			"lost", device, at.Oldest, at.Newest)
	}
	v.rows["readings in blocks"] += int64(len(readings))
	v.counted(layout.TableReadingBlock, runOf{t.number, day, at.Run}, len(readings))
	var all andon.Metrics
	for i := range readings {
		for _, m := range readings[i].Metrics {
			if _, known := all.Get(m.Name); !known {
				all = all.Join(andon.Metrics{m})
			}
		}
	}
	if oldest := readings[len(readings)-1].Time; oldest != at.Oldest || at.Newest.Day() != day {
		return fmt.Errorf("its readings of device %s are not those from %s to %s that its key says",
			device, at.Oldest, at.Newest)
	}
	// A flush that has not ended has its readings in rows as well, and of a merge that was
	// interrupted other runs have them.
	if at.Sequence < v.loaded.FirstReadings && !t.Readings.Dropped(day, at.Run) &&
		!holds(t.Readings, &at) {
		return fmt.Errorf("no run of the day has its readings of device %s from %s to %s: they "+
			"are not found", device, at.Oldest, at.Newest)
	}
	return v.measured(t, day, device, all)
}

func verifyRow(v *verifier, _ *tenant, k, value []byte) error {
	row, err := layout.UnpackRow(nil, value)
	w := layout.NewReader(row)
	number := w.Count()
	if err != nil || w.Bad || number > math.MaxUint32 {
		return wellFormed(false)
	}
	sequence := binary.BigEndian.Uint64(k)
	if v.next == 0 { // the first row: those before it are not kept
		v.next = min(sequence, v.loaded.Shown)
	}
	gap := v.loaded.Flushed != 0 && sequence > v.next
	v.next = sequence + 1
	lost := "what a request brought is lost"
	switch {
	case sequence < v.loaded.Shown:
		lost = "what a request brought is in blocks, and is missing in the order of arrival only"
	case sequence < v.loaded.Flushed:
		lost = "entries that a request brought are in blocks, but devices may show what was before"
	}
	if err := v.Store.CheckRow(row); err != nil {
		return errors.New("it can't be decoded: " + lost)
	}
	if gap {
		return errors.New("the row before it is missing: " + lost)
	}
	return nil
}

func verifyWithdrawal(_ *verifier, _ *tenant, _, value []byte) error {
	var w andon.Withdrawal
	return layout.ReadWithdrawal(&w, value)
}

// verifyEscalation checks that an escalation is found by its supervisor, unless its entry has
// expired.
func verifyEscalation(v *verifier, t *tenant, k, value []byte) error {
	device, rest, ok := layout.TakeText(k)
	if !ok {
		return errors.New("its key is not of its form")
	}
	e, ok := layout.SplitEscalation(rest)
	if e.Device = andon.DeviceID(device); !ok {
		return errors.New("its key is not of its form")
	}
	if err := layout.ReadEscalation(&e, value); err != nil {
		return fmt.Errorf("the escalation of device %s at %s can't be decoded", device, e.Time)
	}
	if e.To == "" || e.Time < t.Floor.Events {
		return nil
	}
	entry := andon.EventKey{Time: e.Time, State: e.State, Device: e.Device}
	if !v.isStored(layout.SupervisorKey(t.number, e.To, entry)) {
		return fmt.Errorf("nothing says that %s was handed the entry of device %s at %s: that "+
			"list lacks it", e.To, device, e.Time)
	}
	return nil
}
