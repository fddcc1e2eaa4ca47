package kinesis

import (
	"bytes"
	"crypto/md5"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// pack packs records as the producer library does.
func pack(keys []string, indexes []uint64, data ...string) []byte {
	var b []byte
	for _, key := range keys {
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), key)
	}
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), "12345")
	for i, text := range data {
		r := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), indexes[i])
		r = protowire.AppendVarint(protowire.AppendTag(r, 2, protowire.VarintType), 0)
		r = protowire.AppendString(protowire.AppendTag(r, 3, protowire.BytesType), text)
		b = protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), r)
	}
	sum := md5.Sum(b)
	return slices.Concat(magic, b, sum[:])
}

func TestUnpack(t *testing.T) {
	whole := pack([]string{"a", "b"}, []uint64{1, 0, 1}, "x", "", "z")
	short := pack([]string{"a"}, make([]uint64, 99), slices.Repeat([]string{"7"}, 99)...)
	empty := bytes.Repeat([]byte{0x1a, 0}, 999) // the last field of each
	empty = append([]byte{0x0a, 1, 'a'}, empty...)
	sum := md5.Sum(empty)
	empty = slices.Concat(magic, empty, sum[:])
	damaged, keyless := whole[:len(whole)-1], pack(nil, []uint64{0}, "x")
	for name, test := range map[string]struct {
		data   []byte
		want   []string
		packed bool
	}{
		"packed":        {whole, []string{"b x", "a ", "b z"}, true},
		"short":         {short, slices.Repeat([]string{"a 7"}, 99), true},
		"plain":         {[]byte("{}"), []string{"key {}"}, false},
		"magic alone":   {magic, []string{"key " + string(magic)}, false},
		"damaged":       {damaged, []string{"key " + string(damaged)}, false},
		"no such key":   {keyless, []string{"key " + string(keyless)}, false},
		"almost empty":  {empty, []string{"key " + string(empty)}, false},
		"nothing in it": {pack(nil, nil), nil, true},
	} {
		var got []string
		all, packed := unpack("key", test.data)
		for _, r := range all {
			got = append(got, r.key+" "+string(r.data))
		}
		if packed != test.packed || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v %q, want %v %q", name, packed, got, test.packed, test.want)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("{}"), false)
	f.Add(pack([]string{"a"}, []uint64{0}, "x"), false)
	f.Add([]byte{0x0a, 1, 'a', 0x1a, 5, 0x08, 0, 0x1a, 1, 'x'}, true)
	f.Fuzz(func(t *testing.T, data []byte, sign bool) {
		if sign {
			sum := md5.Sum(data)
			data = slices.Concat(magic, data, sum[:])
		}
		if all, packed := unpack("k", data); !packed && len(all) != 1 {
			t.Errorf("%d records", len(all))
		}
	})
}
