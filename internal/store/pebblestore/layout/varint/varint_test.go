package varint

import (
	"encoding/binary"
	"math"
	"testing"
)

func TestPartsAreReadBack(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 63, 64, 127, 128, 300, math.MaxInt64, math.MinInt64} {
		b := binary.AppendVarint(binary.AppendUvarint(nil, uint64(n)), n)
		b = AppendText(append(b, 7), "text")
		b = append(AppendText(b, AppendText(nil, []byte("inner"))), "rest"...)
		r := Reader{Rest: b}
		count, signed, c, text := r.Count(), r.Signed(), r.Byte(), string(r.Text())
		inner := r.Sized()
		if count != uint64(n) || signed != n || c != 7 || text != "text" {
			t.Errorf("%d: %d, %d, %d, %q", n, count, signed, c, text)
		}
		if got := string(inner.Text()); got != "inner" || len(inner.Rest) > 0 || inner.Bad {
			t.Errorf("%d: %q in a part of its own", n, got)
		}
		if string(r.Rest) != "rest" || r.Bad {
			t.Errorf("%d: %q remains", n, r.Rest)
		}
		if Unzigzag(Zigzag(n)) != n {
			t.Errorf("zigzag of %d gives back %d", n, Unzigzag(Zigzag(n)))
		}
	}
}

func TestWhatIsNotOfItsFormIsBadAndZeros(t *testing.T) {
	tooLong := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}
	reads := map[string]func(*Reader) bool{
		"count":  func(r *Reader) bool { return r.Count() == 0 },
		"signed": func(r *Reader) bool { return r.Signed() == 0 },
		"number": func(r *Reader) bool { return r.Number(100) == 0 },
		"text":   func(r *Reader) bool { return r.Text() == nil },
		"sized":  func(r *Reader) bool { part := r.Sized(); return part.Rest == nil && part.Bad },
	}
	for name, zero := range reads {
		for _, b := range [][]byte{nil, {0x80}, tooLong} {
			r := Reader{Rest: b}
			if !zero(&r) || !r.Bad || len(r.Rest) != 0 {
				t.Errorf("%s of %x: bad %t, %x remains", name, b, r.Bad, r.Rest)
			}
			if !zero(&r) || !r.Bad {
				t.Errorf("%s after what is bad", name)
			}
		}
	}
	if r := (Reader{Rest: []byte{101, 1}}); r.Number(100) != 0 || !r.Bad {
		t.Error("a number above its most is taken")
	}
	if r := (Reader{Rest: []byte{3, 'a', 'b'}}); r.Text() != nil || !r.Bad {
		t.Error("a text is longer than what there is")
	}
	if r := (Reader{}); r.Byte() != 0 || !r.Bad {
		t.Error("a byte after the end is read")
	}
}
