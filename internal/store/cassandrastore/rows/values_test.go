package rows

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/cassandrastore/merge"
	"github.com/andonhq/andon/internal/store/shared"
)

// drawStart draws starts that are often of one base, or of bases at one instant.
func drawStart(r *rand.Rand) merge.Start {
	m := merge.Start{
		Gen: shared.Generation(r.IntN(3)) << (20 * r.IntN(2)),
		Base: andon.EventKey{
			Time:     andon.MinTime + andon.Time(r.IntN(3)),
			Severity: []uint8{0, 16, 32, 48}[r.IntN(4)],
			State:    []andon.State{"NORMAL", "WARNING1", "WARNING10", "W", "日本"}[r.IntN(5)],
		},
		Final: r.IntN(2) == 0,
	}
	switch r.IntN(6) {
	case 0:
		m.Base = andon.EventKey{}
	case 1:
		m.Base.Severity, m.Base.State = merge.Retirement, ""
	}
	m.First = m.Base.Time + 1 + andon.Time(r.IntN(3))
	return m
}

// wins reports whether a is the start that wins of two: that of the later generation, of one
// generation that of the later base, of one base that of the earlier entry, and of one entry the
// final one.
func wins(m, o merge.Start) bool {
	switch c := m.Base.Compare(o.Base); {
	case m.Gen != o.Gen:
		return m.Gen > o.Gen
	case c != 0:
		return c > 0
	case m.First != o.First:
		return m.First < o.First
	}
	return m.Final || !o.Final
}

// many calls check with one random source after another, and names that of a failure.
func many(t *testing.T, check func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for range 5000 {
		seed := rand.Uint64()
		check(t, rand.New(rand.NewPCG(seed, 0)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestRandomStartsMerge: what Cassandra keeps of two starts, by write timestamp and then by bytes,
// is the one that wins, and it is read back as it was.
func TestRandomStartsMerge(t *testing.T) {
	many(t, func(t *testing.T, r *rand.Rand) {
		a, b := drawStart(r), drawStart(r)
		kept := a
		if startStamp(b) > startStamp(a) ||
			(startStamp(b) == startStamp(a) && bytes.Compare(packStart(b), packStart(a)) > 0) {
			kept = b
		}
		if !wins(kept, a) || !wins(kept, b) {
			t.Errorf("of %+v and %+v %+v is kept", a, b, kept)
		}
		got, ok := UnpackStart(packStart(kept), startStamp(kept))
		if !ok || got != kept {
			t.Errorf("%+v is read as %+v, %v", kept, got, ok)
		}
	})
}

// TestDamagedStarts: what no start is, is none, and no one panics.
func TestDamagedStarts(t *testing.T) {
	whole := packStart(merge.Start{Base: andon.EventKey{Time: 7, State: "W"}, First: 9})
	for n := range whole {
		if m, ok := UnpackStart(whole[:n], 7); ok {
			t.Errorf("the first %d of %d bytes are read as %+v", n, len(whole), m)
		}
	}
	many(t, func(t *testing.T, r *rand.Rand) {
		UnpackStart(drawBytes(r), r.Int64())
	})
}

func drawBytes(r *rand.Rand) []byte {
	b := make([]byte, r.IntN(40))
	for i := range b {
		b[i] = byte(r.IntN(256) * r.IntN(2))
	}
	return b
}

// TestRandomValues: values come back as they were; cut and damaged ones make no one panic.
func TestRandomValues(t *testing.T) {
	many(t, func(t *testing.T, r *rand.Rand) {
		e := andon.Event{
			Operator: andon.PersonID(drawBytes(r)), Message: string(drawBytes(r)),
			Attributes: andon.JSON(drawBytes(r)),
		}
		stamp := 1 + r.Int64N(1<<60)
		whole := PackEntry(stamp, &e)
		var got EntryValue
		want := EntryValue{stamp, e.Operator, e.Message, e.Attributes}
		if err := got.UnmarshalCQL(nil, whole); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		if later := PackEntry(stamp+1, &andon.Event{}); bytes.Compare(later, whole) <= 0 {
			t.Error("a later delivery has smaller bytes")
		}
		for _, into := range []interface {
			UnmarshalCQL(cql.TypeInfo, []byte) error
		}{&EntryValue{}, &recordValue{}, &AssignedValue{}} {
			_ = into.UnmarshalCQL(nil, whole[:r.IntN(len(whole))])
			_ = into.UnmarshalCQL(nil, drawBytes(r))
		}
	})
}

// TestDamagedReadings: a number of metrics that can't be is an error, and takes no room.
func TestDamagedReadings(t *testing.T) {
	value := cql.AppendBigint(nil, 1)
	value = cql.AppendText(value, "\x00\x01\x00\x00") // 65,536 metrics, of which none follows
	var r readingValue
	err := r.UnmarshalCQL(nil, cql.AppendText(value, ""))
	if !errors.Is(err, cql.ErrDamaged) || len(r.Metrics) > 0 {
		t.Errorf("read as %d metrics, error %v", len(r.Metrics), err)
	}
}
