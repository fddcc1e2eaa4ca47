package rows

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/shared"
)

// Times are µs since 1970, as CQL bigint, since CQL timestamps have milliseconds only. They are
// also write timestamps, which must be above 0.

// EntryValue is the content of an entry: one frozen value, so that it stays whole at equal write
// timestamps:
//
//	entry (delivery bigint, operator text, message text, attributes text)
//
// The delivery, µs on the writer's clock, comes first: of two deliveries of one entry the later
// one has the greater bytes.
type EntryValue merge.Content

// PackEntry encodes the content of an entry.
func PackEntry(stamp int64, e *andon.Event) cql.Packed {
	size := 4*4 + 8 + len(e.Operator) + len(e.Message) + len(e.Attributes)
	b := make([]byte, 0, size)
	b = cql.AppendBigint(b, stamp)
	b = cql.AppendText(b, string(e.Operator))
	b = cql.AppendText(b, e.Message)
	return cql.AppendText(b, string(e.Attributes))
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (e *EntryValue) UnmarshalCQL(_ cql.TypeInfo, b []byte) error {
	f := cql.Fields{Rest: b}
	*e = EntryValue{
		Delivery: f.Bigint(), Operator: andon.PersonID(f.Text()), Message: f.Text(),
		Attributes: andon.JSON(f.Text()),
	}
	return f.Err
}

// recordValue (escalated_by text, note text) is what is stored of an escalation next to its key.
type recordValue andon.Escalation

func packRecord(r *andon.Escalation) cql.Packed {
	return cql.AppendText(cql.AppendText(nil, string(r.By)), r.Note)
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (r *recordValue) UnmarshalCQL(_ cql.TypeInfo, b []byte) error {
	f := cql.Fields{Rest: b}
	r.By, r.Note = andon.PersonID(f.Text()), f.Text()
	return f.Err
}

// AssignedValue (delivery bigint, since bigint, operator text) is the newest assignment of a
// device. Of two for one instant the later delivery wins, here as in the list of assignments.
type AssignedValue andon.Assignment

// PackAssigned encodes an assignment.
func PackAssigned(stamp int64, a andon.Assignment) cql.Packed {
	b := cql.AppendBigint(cql.AppendBigint(nil, stamp), int64(a.From))
	return cql.AppendText(b, string(a.Operator))
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (a *AssignedValue) UnmarshalCQL(_ cql.TypeInfo, b []byte) error {
	f := cql.Fields{Rest: b}
	f.Next()
	a.From, a.Operator = andon.Time(f.Bigint()), andon.PersonID(f.Text())
	return f.Err
}

// WithdrawnRow names the row of a withdrawn entry in latest_by_device. Other rows are named by
// their state:
//
//	[0][time in 16 hexadecimal digits][state]
//
// Its columns have the newest entry of the state that is older and was not withdrawn, if there is
// one, since the row of the state has the withdrawn one. No state begins with a zero byte, so these
// rows come first, by time.
func WithdrawnRow(w andon.EntryRef) string {
	return fmt.Sprintf("\x00%016x%s", int64(w.Time), w.State)
}

// WithdrawnIn returns the withdrawn entry that a row is named by.
func WithdrawnIn(row string) (w andon.EntryRef, ok bool) {
	const state = 1 + 16
	if len(row) < state || row[0] != 0 {
		return w, false
	}
	at, err := strconv.ParseInt(row[1:state], 16, 64)
	return andon.EntryRef{Time: andon.Time(at), State: andon.State(row[state:])}, err == nil
}

// packStart encodes a start (of the present run or incident) as
//
//	[severity of the base][its state][0][inverted first, 8][final, 1]
//
// with the time of the base as write timestamp. So the start after the newest base wins, of one
// base that of the earliest entry, and of one entry the final one, in whatever order they are
// written. From the second generation on the time of the base comes first, in 8 bytes, and the
// write timestamp is that of the generation, which is above all times: so a later generation wins.
func packStart(m merge.Start) []byte {
	var b []byte
	if m.Gen > 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(m.Base.Time))
	}
	b = append(append(b, m.Base.Severity), m.Base.State...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(math.MaxInt64-int64(m.First)))
	if m.Final {
		return append(b, 1)
	}
	return append(b, 0)
}

func startStamp(m merge.Start) int64 {
	if m.Gen > 0 {
		return AboveTimes + int64(m.Gen)
	}
	return max(1, int64(m.Base.Time))
}

// SetStarts writes the starts that changed, unless better ones are stored.
func SetStarts(
	tenant string, device andon.DeviceID, run, incident merge.NewStart,
) (m cql.Mutation) {
	set := func(column string, s merge.NewStart) {
		if s.Write {
			stamp, start := startStamp(s.Start), packStart(s.Start)
			m = append(m, SetLatest(tenant, device, column, stamp, start))
		}
	}
	set("run", run)
	set("incident", incident)
	return m
}

// AboveTimes is a write timestamp above all times.
const AboveTimes = 1 << 61

// UnpackStart decodes a start. The time of the base is the write timestamp of the value.
func UnpackStart(b []byte, stamp int64) (merge.Start, bool) {
	gen := shared.Generation(0)
	if stamp > AboveTimes && len(b) >= 8 {
		gen = shared.Generation(stamp - AboveTimes)
		stamp = max(1, int64(binary.BigEndian.Uint64(b)))
		b = b[8:]
	}
	end := bytes.IndexByte(b[min(1, len(b)):], 0) + 1
	if end < 1 || len(b) != end+1+8+1 {
		return merge.Start{}, false
	}
	m := merge.Start{
		Gen:   gen,
		First: andon.Time(math.MaxInt64 - binary.BigEndian.Uint64(b[end+1:])),
		Final: b[len(b)-1] == 1,
	}
	m.Base = andon.EventKey{
		Time: andon.Time(stamp), Severity: b[0], State: andon.State(b[1:end]),
	}
	if stamp == 1 {
		m.Base = andon.EventKey{}
	}
	return m, true
}
