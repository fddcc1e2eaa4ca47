package cassandrastore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared"
)

// A tenant's name in keys. A tenant that was deleted and made again must not meet what is left of
// its former incarnation, and deleting by tombstones would shadow entries whose time, which is
// their write timestamp, is older. So each incarnation has a name of its own in keys: the id, and
// from the second incarnation on a tab, which no id holds, and the number of incarnations before
// it.
func tenantKey(id andon.TenantID, incarnation int) string {
	if incarnation == 0 {
		return string(id)
	}
	return string(id) + "\t" + strconv.Itoa(incarnation)
}

// Times are µs since 1970, as CQL bigint; its timestamp has milliseconds only. They are the write
// timestamps too, which must be above 0.

// An entry's content is one frozen value of a type, so that it stays whole at equal write
// timestamps:
//
//	entry (delivery bigint, operator text, message text, attributes text)
//
// The delivery, µs on the writer's clock, comes first: of two deliveries of one entry the later
// one's bytes are greater.
type entry shared.Content

func packEntry(stamp int64, e *andon.Event) cql.Packed {
	size := 4*4 + 8 + len(e.Operator) + len(e.Message) + len(e.Attributes)
	b := make([]byte, 0, size)
	b = cql.AppendBigint(b, stamp)
	b = cql.AppendText(b, string(e.Operator))
	b = cql.AppendText(b, e.Message)
	return cql.AppendText(b, string(e.Attributes))
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (e *entry) UnmarshalCQL(_ cql.TypeInfo, b []byte) error {
	f := cql.Fields{Rest: b}
	*e = entry{
		Delivery: f.Bigint(), Operator: andon.PersonID(f.Text()), Message: f.Text(),
		Attributes: andon.JSON(f.Text()),
	}
	return f.Err
}

// record (escalated_by text, note text) is what else is kept of an escalation.
type record struct{ by, note string }

func packRecord(r *andon.Escalation) cql.Packed {
	return cql.AppendText(cql.AppendText(nil, string(r.By)), r.Note)
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (r *record) UnmarshalCQL(_ cql.TypeInfo, b []byte) error {
	f := cql.Fields{Rest: b}
	*r = record{f.Text(), f.Text()}
	return f.Err
}

// assigned (delivery bigint, since bigint, operator text) is the newest assignment of a device. Of
// two for one instant the later delivery stands, here as in the list of assignments.
type assigned struct {
	delivery, since int64
	operator        string
}

func packAssigned(stamp int64, a andon.Assignment) cql.Packed {
	b := cql.AppendBigint(cql.AppendBigint(nil, stamp), int64(a.From))
	return cql.AppendText(b, string(a.Operator))
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (a *assigned) UnmarshalCQL(_ cql.TypeInfo, b []byte) error {
	f := cql.Fields{Rest: b}
	*a = assigned{f.Bigint(), f.Bigint(), f.Text()}
	return f.Err
}

// A row of latest_by_device is named by a state, or by an entry of a state that was withdrawn:
//
//	[0][time in 16 hexadecimal digits][state]
//
// The latter says that the entry was withdrawn. In its columns is the newest entry of the state
// that is older and was not withdrawn, if there is one, since in the row of the state the one that
// was withdrawn stands. No state begins with a zero byte, so these rows come first, by time.
func withdrawnRow(w andon.EntryRef) string {
	return fmt.Sprintf("\x00%016x%s", int64(w.Time), w.State)
}

func withdrawnIn(row string) (w andon.EntryRef, ok bool) {
	const state = 1 + 16
	if len(row) < state || row[0] != 0 {
		return w, false
	}
	at, err := strconv.ParseInt(row[1:state], 16, 64)
	return andon.EntryRef{Time: andon.Time(at), State: andon.State(row[state:])}, err == nil
}

// A start (of the present run or incident) is kept as
//
//	[severity of the base][its state][0][inverted first, 8][final, 1]
//
// with the time of the base as write timestamp. So the start behind the newest base stands, of one
// base that of the earliest entry, and of one entry the final one, in whatever order they are
// written. From the second generation on the time of the base comes first, in 8 bytes, and the
// write timestamp is that of the generation, which is above all times: so a later generation
// stands.
func packStart(m shared.Start) []byte {
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

func startStamp(m shared.Start) int64 {
	if m.Gen > 0 {
		return aboveTimes + int64(m.Gen)
	}
	return max(1, int64(m.Base.Time))
}

// aboveTimes is a write timestamp above all that are times.
const aboveTimes = 1 << 61

// unpackStart reads what packStart wrote. The time of the base is the value's write timestamp.
func unpackStart(b []byte, stamp int64) (shared.Start, bool) {
	gen := shared.Generation(0)
	if stamp > aboveTimes && len(b) >= 8 {
		gen = shared.Generation(stamp - aboveTimes)
		stamp = max(1, int64(binary.BigEndian.Uint64(b)))
		b = b[8:]
	}
	end := bytes.IndexByte(b[min(1, len(b)):], 0) + 1
	if end < 1 || len(b) != end+1+8+1 {
		return shared.Start{}, false
	}
	m := shared.Start{
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

// deviceBuckets is how many partitions the devices of a tenant and those of a metric have. It is
// part of what is stored.
const deviceBuckets = 16

// bucketOf is the bucket of an id. All incarnations of a device are in one, so that a list that
// goes on bucket by bucket finds the next device where one was purged meanwhile.
func bucketOf(id string) int {
	id, _, _ = strings.Cut(id, "\t")
	return shared.Spread(shared.Hash(id), deviceBuckets)
}
