package layout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// TestDamagedPackedRow: what is no row is an error, and takes no memory.
func TestDamagedPackedRow(t *testing.T) {
	row := bytes.Repeat([]byte("row"), 1000)
	packed := PackRow(nil, row)
	if got, err := UnpackRow(nil, packed); !bytes.Equal(got, row) || err != nil {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if 4*len(packed) > len(row) {
		t.Errorf("%d of %d bytes", len(packed), len(row))
	}
	huge := binary.AppendUvarint([]byte{RowPacked}, 1<<31)
	for _, bad := range [][]byte{packed[:1], packed[:len(packed)-1], huge} {
		if _, err := UnpackRow(nil, bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("%.8x…: %v", bad, err)
		}
	}
}
