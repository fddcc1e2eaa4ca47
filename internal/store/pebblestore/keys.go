package pebblestore

import (
	"bytes"
	"encoding/binary"

	"github.com/andonhq/andon"
)

// Every key begins with one byte that names its table. Numbers are big-endian, so that their
// order is that of the bytes; ^x is x inverted, so that the newest comes first. A text ends in a
// zero byte, which no identifier holds (no control characters), so that a text sorts before all
// that it is a prefix of. A tenant is the number that it was given when it was made; numbers are
// not used twice.
//
//	   table         key                                                    value
//	g  row           sequence 8                                             row
//	B  block         tenant 4 | day 4 | run 7 | number 4 | ^newest 5 |
//	                 oldest 5                                               block
//	R  run           tenant 4 | day 4 | run 7                               run
//	i  block days    tenant 4 | number 4 | ^day 4                           -
//	y  escalation    tenant 4 | device 0 | ^time 8 | state 0 | ^at 8 | to   escalation
//	p  posting       tenant 4 | operator 0 | hour 4 | sequence 6 | part 2   devices, index row
//	x  set aside     tenant 4 | device 0 | ^entry 8 | state 0 | ^at 8 | to  -
//	s  supervisors   tenant 4 | supervisor 0 | time 8 | device 0 | state 0  -, index row
//	k  reading       tenant 4 | generation 6 | day 4 | device 0 | ^time 8   reading, merged
//	v  reading block tenant 4 | day 4 | device 0 | ^newest 5 | oldest 5 |
//	                 ^generation 6                                          readings
//	q  reading days  tenant 4 | device 0 | ^day 4                           -
//	m  metrics       tenant 4 | metric 0 | device 0                         -, index row
//	a  assignment    tenant 4 | device 0 | ^from 8                          operator
//	w  withdrawal    tenant 4 | device 0 | time 8 | state 0                 withdrawal
//	z  retirement    tenant 4 | device 0 | time 8                           -
//	n  states seen   tenant 4 | state 0                                     -
//	j  document      tenant 4, 0 for none | kind 0 | id 0                   document
//	u  due           kind 0 | due 8 | tenant id 0 | id 0                    tenant 4
//	c  checkpoint    tenant 4 | number 4                                    id 0 | device
//	h  changes       tenant 4 | sequence 8                                  changes
//	f  fixed         name                                                   see store.go
//
// number is that of the device. The newest and the oldest time of a block are from the beginning of
// its day. A run is a sequence, 6 bytes, and how often it was merged, 1 byte: of several blocks
// with one entry that of the highest sequence counts.
//
// The day first makes expiry a range deletion, and keeps what is written together together. p, s
// and m are index rows: each hit is checked against the truth. x holds the escalations of a present
// incident that are too many for memory (current.Device): they outlive the entries, as all that a
// device shows does. j are the records of andon.Records, tenants among them; each that has a time
// is in u, which is written with it. Only rows of tenants that were deleted stay in u until they
// are met.
const (
	tableRow        = 'g'
	tableBlock      = 'B'
	tableRun        = 'R'
	tableDay        = 'i'
	tableEscalation = 'y'
	tablePosting    = 'p'
	tableAside      = 'x'
	tableSupervisor = 's'
	tableReading    = 'k'
	tableMeasured   = 'v'
	tableReadingDay = 'q'
	tableMetric     = 'm'
	tableAssignment = 'a'
	tableWithdrawal = 'w'
	tableRetirement = 'z'
	tableStateSeen  = 'n'
	tableDocument   = 'j'
	tableDue        = 'u'
	tableCheckpoint = 'c'
	tableChange     = 'h'
	tableFixed      = 'f'
)

// tablesOfATenant are those whose keys begin with the tenant's number.
const tablesOfATenant = "BRiypxskvqmawzncjh"

const (
	textEnd    byte = 0
	behindText byte = 1 // in place of textEnd: behind all that begins with the text
)

const (
	timeBytes       = 8
	longestEventKey = 1 + 4 + 4 + andon.MaxIDBytes + 1 +
		andon.MaxStateBytes + 1 + 2*timeBytes + andon.MaxIDBytes
)

// key is a key, or the beginning of several, while it is being built.
type key []byte

func newKey(table byte, tenant uint32) key {
	return make(key, 0, longestEventKey).begin(table, tenant)
}

// begin begins another key in the room of k.
func (k key) begin(table byte, tenant uint32) key {
	return binary.BigEndian.AppendUint32(append(k[:0], table), tenant)
}

func (k key) text(s string) key             { return append(append(k, s...), textEnd) }
func (k key) number(n uint32) key           { return binary.BigEndian.AppendUint32(k, n) }
func (k key) inverted(n uint32) key         { return binary.BigEndian.AppendUint32(k, ^n) }
func (k key) time(t andon.Time) key         { return binary.BigEndian.AppendUint64(k, uint64(t)) }
func (k key) invertedTime(t andon.Time) key { return binary.BigEndian.AppendUint64(k, ^uint64(t)) }

// end returns the key behind all that begin with k, whose last byte is not 0xff.
func (k key) end() key {
	e := bytes.Clone(k)
	for i := len(e) - 1; i >= 0; i-- {
		if e[i]++; e[i] != 0 {
			return e[:i+1]
		}
	}
	panic("pebblestore: no key is behind this one")
}

// short appends the last bytes of a number.
func (k key) short(n uint64, bytes int) key {
	for ; bytes > 0; bytes-- {
		k = append(k, byte(n>>(8*(bytes-1))))
	}
	return k
}

// The bytes of a time of day, and of a sequence where it is not the key of a row.
const (
	inDayBytes    = 5
	sequenceBytes = 6
)

// spanned is where a block stands among those of its device and day.
type spanned struct {
	newest, oldest andon.Time
	sequence       uint64
}

// runID names a run of a day. A merged run has the sequence of the last of those that it was made
// of, and a higher level.
type runID struct {
	sequence uint64
	level    byte // how often its entries were merged
}

// runBytes is how many bytes a runID takes.
const runBytes = sequenceBytes + 1

// run continues a key of tableRun, or of tableBlock with a run of a day.
func (k key) run(day uint32, id runID) key {
	return append(k.number(day).short(id.sequence, sequenceBytes), id.level)
}

// takeRun takes a run off a key. The caller has looked whether it is long enough.
func takeRun(b []byte) (id runID, rest []byte) {
	return runID{low(b[:sequenceBytes]), b[sequenceBytes]}, b[runBytes:]
}

// runKey is the key of a run in tableRun.
func runKey(tenant, day uint32, id runID) key { return newKey(tableRun, tenant).run(day, id) }

// times continues a key with when a block of a day begins and ends.
func (k key) times(day uint32, newest, oldest andon.Time) key {
	start := andon.DayStart(day)
	return k.short(^uint64(newest-start), inDayBytes).short(uint64(oldest-start), inDayBytes)
}

// measured continues a key of tableMeasured. The sequence is that of the generation.
func (k key) measured(day uint32, device andon.DeviceID, b spanned) key {
	return k.number(day).text(string(device)).times(day, b.newest, b.oldest).
		short(^b.sequence, sequenceBytes)
}

// splitMeasured takes apart what follows the device.
func splitMeasured(rest []byte, day uint32) (b spanned, ok bool) {
	if len(rest) != 2*inDayBytes+sequenceBytes {
		return b, false
	}
	b, ok = splitTimes(rest[:2*inDayBytes], day)
	b.sequence = low(rest[2*inDayBytes:]) ^ (1<<(8*sequenceBytes) - 1)
	return b, ok
}

// splitTimes takes apart what follows the device: when a block begins and ends.
func splitTimes(rest []byte, day uint32) (b spanned, ok bool) {
	if len(rest) != 2*inDayBytes {
		return b, false
	}
	start := andon.DayStart(day)
	b.newest = start + andon.Time(low(rest[:inDayBytes])^(1<<(8*inDayBytes)-1))
	b.oldest = start + andon.Time(low(rest[inDayBytes:]))
	return b, b.oldest <= b.newest
}

// placed is where a block stands.
type placed struct {
	day, number uint32
	run         runID
	spanned
}

// splitBlock takes apart what follows the tenant in a key of tableBlock.
func splitBlock(rest []byte) (b placed, ok bool) {
	const place = 4 + runBytes + 4
	if len(rest) < place {
		return b, false
	}
	b.day, rest, _ = takeNumber(rest)
	b.run, rest = takeRun(rest)
	b.number, rest, _ = takeNumber(rest)
	b.spanned, ok = splitTimes(rest, b.day)
	b.sequence = b.run.sequence
	return b, ok
}

func low(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// escalated continues a key of tableEscalation with an entry.
func (k key) escalated(device andon.DeviceID, at andon.Time, state andon.State) key {
	return k.text(string(device)).invertedTime(at).text(string(state))
}

// splitEscalation takes apart what follows the device.
func splitEscalation(rest []byte) (e andon.Escalation, ok bool) {
	w := wireOf(rest)
	e.Time, e.State = w.inverted(), andon.State(w.name())
	e.At = w.inverted()
	e.To = andon.PersonID(w.Rest)
	return e, !w.Bad
}

// reading continues a key of tableReading.
func (k key) reading(generation uint64, device andon.DeviceID, at andon.Time) key {
	return k.short(generation, sequenceBytes).number(at.Day()).text(string(device)).invertedTime(at)
}

// readingRow is where a reading stands in tableReading.
type readingRow struct {
	generation uint64
	day        uint32
	device     []byte
	at         andon.Time
}

// splitReading takes apart what follows the tenant. The device is valid for as long as the key.
func splitReading(rest []byte) (r readingRow, ok bool) {
	if len(rest) < sequenceBytes {
		return r, false
	}
	r.generation = low(rest[:sequenceBytes])
	r.day, rest, ok = takeNumber(rest[sequenceBytes:])
	i := bytes.IndexByte(rest, textEnd)
	if !ok || i < 0 {
		return r, false
	}
	r.device = rest[:i]
	r.at, rest, ok = takeInvertedTime(rest[i+1:])
	return r, ok && len(rest) == 0 && r.at.Day() == r.day
}

func supervisorKey(tenant uint32, supervisor andon.PersonID, e andon.EventKey) key {
	return newKey(tableSupervisor, tenant).text(string(supervisor)).
		time(e.Time).text(string(e.Device)).text(string(e.State))
}

func rowKey(sequence uint64) key { return key(nil).row(sequence) }

// row is rowKey in the room of k.
func (k key) row(sequence uint64) key {
	return binary.BigEndian.AppendUint64(append(k[:0], tableRow), sequence)
}

func fixedKey(name string) key { return append(key{tableFixed}, name...) }

// hadReadingsKey is there where a purge deleted readings of a tenant, which may have been the only
// ones.
func hadReadingsKey(tenant uint32) key { return fixedKey("had readings ").number(tenant) }

// settledKey has the time that no block of readings of a tenant was behind when a round ended, 8
// bytes.
func settledKey(tenant uint32) key { return fixedKey("settled readings ").number(tenant) }

func documentKey(tenant uint32, kind andon.RecordKind, id string) key {
	return newKey(tableDocument, tenant).text(string(kind)).text(id)
}

func dueKey(r *andon.Record) key {
	return key{tableDue}.text(string(r.Kind)).time(r.Due).text(string(r.Tenant)).text(r.ID)
}

// The readers below take apart what the builders above put together. They report a key that is not
// of the form by ok, never by a panic: what is on disk may be damaged.

func takeText(b []byte) (text string, rest []byte, ok bool) {
	i := bytes.IndexByte(b, textEnd)
	if i < 0 {
		return "", nil, false
	}
	return string(b[:i]), b[i+1:], true
}

func takeNumber(b []byte) (n uint32, rest []byte, ok bool) {
	if len(b) < 4 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint32(b), b[4:], true
}

func takeTime(b []byte) (t andon.Time, rest []byte, ok bool) {
	if len(b) < timeBytes {
		return 0, nil, false
	}
	return andon.Time(binary.BigEndian.Uint64(b)), b[timeBytes:], true
}

func takeInvertedTime(b []byte) (t andon.Time, rest []byte, ok bool) {
	t, rest, ok = takeTime(b)
	return andon.Time(^uint64(t)), rest, ok
}

func splitSupervisor(rest []byte) (k andon.EventKey, ok bool) {
	w := wireOf(rest)
	k.Time = w.instant()
	k.Device, k.State = andon.DeviceID(w.name()), andon.State(w.name())
	return k, !w.Bad && len(w.Rest) == 0
}

func splitDue(k []byte) (r andon.Record, ok bool) {
	w := wireOf(k[min(1, len(k)):])
	r.Kind, r.Due = andon.RecordKind(w.name()), w.instant()
	r.Tenant, r.ID = andon.TenantID(w.name()), w.name()
	return r, !w.Bad && len(w.Rest) == 0
}
