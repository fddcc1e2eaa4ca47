package checkpoint

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// rowsOf200 opens a database with 200 rows of 5,000 bytes, some of them packed: many more than are
// unpacked at once. Row 100+n has 5,000 bytes n+1.
func rowsOf200(t *testing.T) *pebble.DB {
	db, err := pebble.Open("store", &pebble.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	batch := db.NewBatch()
	for n := range uint64(200) {
		row := slices.Repeat([]byte{byte(n) + 1}, 5000)
		if n%3 > 0 {
			row = layout.PackRow(nil, row)
		}
		if err := batch.Set(layout.RowKey(100+n), row, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestRowsAreReadAheadInTheirOrder(t *testing.T) {
	db, next := rowsOf200(t), uint64(103)
	err := readRows(db, next, func(sequence uint64, row []byte) error {
		if want := byte(next - 99); sequence != next || len(row) != 5000 ||
			row[0] != want || row[4999] != want {
			t.Fatalf("row %d is %d bytes of %d, want row %d", sequence, len(row), row[0], next)
		}
		next++
		return nil
	})
	if err != nil || next != 300 {
		t.Errorf("read up to row %d: %v", next, err)
	}
}

// TestReadingAheadEnds: at an error of the visitor, however many rows there are, and at a row that
// can't be unpacked, after which no row is visited.
func TestReadingAheadEnds(t *testing.T) {
	db, enough, visited := rowsOf200(t), errors.New("enough"), 0
	err := readRows(db, 0, func(sequence uint64, _ []byte) error {
		if visited++; sequence == 120 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || visited != 21 {
		t.Errorf("%d rows were visited: %v", visited, err)
	}
	damaged := binary.AppendUvarint([]byte{layout.RowPacked}, 1<<40)
	if err := db.Set(layout.RowKey(150), damaged, nil); err != nil {
		t.Fatal(err)
	}
	newest := uint64(0)
	err = readRows(db, 0, func(sequence uint64, _ []byte) error {
		newest = sequence
		return nil
	})
	if !errors.Is(err, layout.ErrDamaged) || newest >= 150 {
		t.Errorf("row %d is the last that was visited: %v", newest, err)
	}
}
