package layout

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
//	s  supervisors   tenant 4 | supervisor 0 | time 8 | device 0 | state 0  -, index row
//	k  reading       tenant 4 | generation 6 | day 4 | device 0 | ^time 8 |
//	                 number 6                                               reading
//	v  reading block tenant 4 | day 4 | run 7 | device 0 | ^newest 5 |
//	                 oldest 5                                               readings
//	r  reading run   tenant 4 | day 4 | run 7                               run
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
// with one entry that of the highest sequence wins. The sequence of a run of readings is the
// generation of the rows that it was made of. The number of a row of readings rises within its
// generation: of several of one device and time a later one wins.
//
// The day first makes expiry a range deletion, and keeps what is written together together. p, s
// and m are index rows: each hit is checked against the truth. Of y, the escalations of a present
// incident outlive the entries, as all that a device shows does: memory has only some of them
// (current.Device). j are the records of andon.Records, tenants among them; each that has a time is
// in u, which is written with it. Only rows of deleted tenants stay in u, until a reader finds
// them.
const (
	TableRow          = 'g'
	TableBlock        = 'B'
	TableRun          = 'R'
	TableDay          = 'i'
	TableEscalation   = 'y'
	TablePosting      = 'p'
	TableSupervisor   = 's'
	TableReading      = 'k'
	TableReadingBlock = 'v'
	TableReadingRun   = 'r'
	TableReadingDay   = 'q'
	TableMetric       = 'm'
	TableAssignment   = 'a'
	TableWithdrawal   = 'w'
	TableRetirement   = 'z'
	TableStateSeen    = 'n'
	TableDocument     = 'j'
	TableDue          = 'u'
	TableCheckpoint   = 'c'
	TableChange       = 'h'
	TableFixed        = 'f'
)

// TenantTables are those whose keys begin with the tenant's number.
const TenantTables = "BRiypskvrqmawzncjh"

// What follows a text in a key.
const (
	EndOfText byte = 0
	AfterText byte = 1 // in place of EndOfText: after all keys that begin with the text
)

// TimeBytes is the length of a time in a key.
const TimeBytes = 8

const longestEventKey = 1 + 4 + 4 + andon.MaxIDBytes + 1 +
	andon.MaxStateBytes + 1 + 2*TimeBytes + andon.MaxIDBytes

// Key is a key, or the beginning of several, while it is being built.
type Key []byte

// NewKey returns the prefix of a tenant's keys in a table, with capacity for the longest key.
func NewKey(table byte, tenant uint32) Key {
	return make(Key, 0, longestEventKey).Begin(table, tenant)
}

// Begin starts another key in the memory of k.
func (k Key) Begin(table byte, tenant uint32) Key {
	return binary.BigEndian.AppendUint32(append(k[:0], table), tenant)
}

// Text appends a text and its end.
func (k Key) Text(s string) Key { return append(append(k, s...), EndOfText) }

// Number appends a number of 4 bytes.
func (k Key) Number(n uint32) Key { return binary.BigEndian.AppendUint32(k, n) }

// Inverted appends a number so that the greatest sorts first.
func (k Key) Inverted(n uint32) Key { return k.Number(^n) }

// Time appends a time.
func (k Key) Time(t andon.Time) Key { return binary.BigEndian.AppendUint64(k, uint64(t)) }

// InvertedTime appends a time so that the newest sorts first.
func (k Key) InvertedTime(t andon.Time) Key { return binary.BigEndian.AppendUint64(k, ^uint64(t)) }

// End returns the first key after all that begin with k, which is not all 0xff.
func (k Key) End() Key {
	e := bytes.Clone(k)
	for i := len(e) - 1; i >= 0; i-- {
		if e[i]++; e[i] != 0 {
			return e[:i+1]
		}
	}
	panic("layout: no key is after this one")
}

// Uint appends the last bytes of a number.
func (k Key) Uint(n uint64, bytes int) Key {
	for ; bytes > 0; bytes-- {
		k = append(k, byte(n>>(8*(bytes-1))))
	}
	return k
}

// Lengths of parts of keys.
const (
	inDayBytes    = 5 // a time, from the beginning of its day
	SequenceBytes = 6 // a sequence, where it is not the key of a row
)

// BlockSpan is the place of a block among those of its device and day.
type BlockSpan struct {
	Newest, Oldest andon.Time
	Sequence       uint64
}

// RunID names a run of a day. A merged run has the sequence of the last of those that it was made
// of, and a higher level.
type RunID struct {
	Sequence uint64
	Level    byte // how often its entries were merged
}

// runBytes is the length of a RunID in a key.
const runBytes = SequenceBytes + 1

// Run continues a key of a table of runs, or of blocks, with a run of a day.
func (k Key) Run(day uint32, id RunID) Key {
	return append(k.Number(day).Uint(id.Sequence, SequenceBytes), id.Level)
}

// takeRun takes a run off a key. The caller has checked its length.
func takeRun(b []byte) (id RunID, rest []byte) {
	return RunID{Uint(b[:SequenceBytes]), b[SequenceBytes]}, b[runBytes:]
}

// Times continues a key with when a block of a day begins and ends.
func (k Key) Times(day uint32, newest, oldest andon.Time) Key {
	start := andon.DayStart(day)
	return k.Uint(^uint64(newest-start), inDayBytes).Uint(uint64(oldest-start), inDayBytes)
}

// SplitTimes takes apart what follows the device: when a block begins and ends.
func SplitTimes(rest []byte, day uint32) (b BlockSpan, ok bool) {
	if len(rest) != 2*inDayBytes {
		return b, false
	}
	start := andon.DayStart(day)
	b.Newest = start + andon.Time(Uint(rest[:inDayBytes])^(1<<(8*inDayBytes)-1))
	b.Oldest = start + andon.Time(Uint(rest[inDayBytes:]))
	return b, b.Oldest <= b.Newest
}

// BlockKey is a key of a table of blocks without the tenant.
type BlockKey struct {
	Day    uint32
	Run    RunID
	Device []byte // as the table has it; valid for as long as the key
	BlockSpan
}

// SplitBlock takes apart what follows the tenant in a key of a table of blocks.
func SplitBlock(rest []byte) (b BlockKey, ok bool) {
	const place, times = 4 + runBytes, 2 * inDayBytes
	if len(rest) < place+times {
		return b, false
	}
	b.Day, rest, _ = TakeNumber(rest)
	b.Run, rest = takeRun(rest)
	device := len(rest) - times
	b.Device = rest[:device]
	b.BlockSpan, ok = SplitTimes(rest[device:], b.Day)
	b.Sequence = b.Run.Sequence
	return b, ok
}

// Uint returns what Key.Uint appended.
func Uint(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// Entry continues a key of TableEscalation with an entry.
func (k Key) Entry(device andon.DeviceID, at andon.Time, state andon.State) Key {
	return k.Text(string(device)).InvertedTime(at).Text(string(state))
}

// SplitEscalation takes apart what follows the device.
func SplitEscalation(rest []byte) (e andon.Escalation, ok bool) {
	w := NewReader(rest)
	e.Time, e.State = w.InvertedInstant(), andon.State(w.Name())
	e.At = w.InvertedInstant()
	e.To = andon.PersonID(w.Rest)
	return e, !w.Bad
}

// Reading continues a key of TableReading.
func (k Key) Reading(
	generation uint64, device andon.DeviceID, at andon.Time, number uint64,
) Key {
	return k.Uint(generation, SequenceBytes).Number(at.Day()).Text(string(device)).
		InvertedTime(at).Uint(number, SequenceBytes)
}

// ReadingKey is a key of TableReading without the tenant.
type ReadingKey struct {
	Generation uint64
	Day        uint32
	Device     []byte
	At         andon.Time
}

// SplitReading takes apart what follows the tenant. The device is valid for as long as the key.
func SplitReading(rest []byte) (r ReadingKey, ok bool) {
	if len(rest) < SequenceBytes {
		return r, false
	}
	r.Generation = Uint(rest[:SequenceBytes])
	r.Day, rest, ok = TakeNumber(rest[SequenceBytes:])
	i := bytes.IndexByte(rest, EndOfText)
	if !ok || i < 0 {
		return r, false
	}
	r.Device = rest[:i]
	r.At, rest, ok = TakeInvertedTime(rest[i+1:])
	return r, ok && len(rest) == SequenceBytes && r.At.Day() == r.Day
}

// SupervisorKey is the key of an entry that was escalated to a supervisor.
func SupervisorKey(tenant uint32, supervisor andon.PersonID, e andon.EventKey) Key {
	return NewKey(TableSupervisor, tenant).Text(string(supervisor)).
		Time(e.Time).Text(string(e.Device)).Text(string(e.State))
}

// RowKey is the key of a row.
func RowKey(sequence uint64) Key { return Key(nil).Row(sequence) }

// Row is RowKey in the memory of k.
func (k Key) Row(sequence uint64) Key {
	return binary.BigEndian.AppendUint64(append(k[:0], TableRow), sequence)
}

// FixedKey is the key of a value that there is once in a store.
func FixedKey(name string) Key { return append(Key{TableFixed}, name...) }

// HadReadingsKey is there where a purge deleted readings of a tenant, which may have been the only
// ones.
func HadReadingsKey(tenant uint32) Key { return FixedKey("had readings ").Number(tenant) }

// NumbersKey says how many numbers the devices of a tenant were given when one of them was purged.
// Its rows may still be kept: its number must not become another device's.
func NumbersKey(tenant uint32) Key { return FixedKey("numbers ").Number(tenant) }

// DocumentKey is the key of a record of andon.Records.
func DocumentKey(tenant uint32, kind andon.RecordKind, id string) Key {
	return NewKey(TableDocument, tenant).Text(string(kind)).Text(id)
}

// DueKey is the key under which a record with a time is found when that is due.
func DueKey(r *andon.Record) Key {
	return Key{TableDue}.Text(string(r.Kind)).Time(r.Due).Text(string(r.Tenant)).Text(r.ID)
}

// EscalationKey is the key of an escalation record.
func EscalationKey(tenant uint32, e *andon.Escalation) Key {
	k := NewKey(TableEscalation, tenant).Entry(e.Device, e.Time, e.State)
	return append(k.InvertedTime(e.At), e.To...)
}

// ChangeKey is the key of what a row changed of what devices show.
func ChangeKey(tenant uint32, sequence uint64) Key {
	return binary.BigEndian.AppendUint64(NewKey(TableChange, tenant), sequence)
}

// SequenceOf returns the sequence that a key ends with.
func SequenceOf(k []byte) uint64 { return binary.BigEndian.Uint64(k[len(k)-8:]) }

// Reaches reports whether a block goes up to the end of a span in an order, or beyond it.
func (b *BlockSpan) Reaches(span andon.Span, order andon.Order) bool {
	if order == andon.Desc {
		return b.Oldest <= span.From
	}
	return span.To != 0 && b.Newest >= span.To
}

// Until returns a span up to a time in an order.
func Until(span andon.Span, t andon.Time, order andon.Order) andon.Span {
	if order == andon.Desc {
		return span.Since(t)
	}
	return span.Until(t)
}

// The functions below take apart what the builders above put together. They report a key that is
// not of the form by ok, never by a panic: what is on disk may be damaged.

// TakeText takes a text off a key.
func TakeText(b []byte) (text string, rest []byte, ok bool) {
	i := bytes.IndexByte(b, EndOfText)
	if i < 0 {
		return "", nil, false
	}
	return string(b[:i]), b[i+1:], true
}

// TakeNumber takes a number off a key.
func TakeNumber(b []byte) (n uint32, rest []byte, ok bool) {
	if len(b) < 4 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint32(b), b[4:], true
}

// TakeTime takes a time off a key.
func TakeTime(b []byte) (t andon.Time, rest []byte, ok bool) {
	if len(b) < TimeBytes {
		return 0, nil, false
	}
	return andon.Time(binary.BigEndian.Uint64(b)), b[TimeBytes:], true
}

// TakeInvertedTime takes off a key what Key.InvertedTime appended.
func TakeInvertedTime(b []byte) (t andon.Time, rest []byte, ok bool) {
	t, rest, ok = TakeTime(b)
	return andon.Time(^uint64(t)), rest, ok
}

// SplitSupervisor takes apart what follows the supervisor in a key of TableSupervisor.
func SplitSupervisor(rest []byte) (k andon.EventKey, ok bool) {
	w := NewReader(rest)
	k.Time = w.Instant()
	k.Device, k.State = andon.DeviceID(w.Name()), andon.State(w.Name())
	return k, !w.Bad && len(w.Rest) == 0
}

// SplitDue takes apart a key of TableDue.
func SplitDue(k []byte) (r andon.Record, ok bool) {
	w := NewReader(k[min(1, len(k)):])
	r.Kind, r.Due = andon.RecordKind(w.Name()), w.Instant()
	r.Tenant, r.ID = andon.TenantID(w.Name()), w.Name()
	return r, !w.Bad && len(w.Rest) == 0
}
