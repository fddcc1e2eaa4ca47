package cql

import (
	"encoding/binary"
	"errors"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Packed is a value whose CQL bytes are known.
type Packed []byte

// MarshalCQL implements gocql.Marshaler.
func (p Packed) MarshalCQL(gocql.TypeInfo) ([]byte, error) { return p, nil }

// AppendText appends a text field. A field of a value is its length in 4 bytes, -1 for none, and
// its bytes.
func AppendText(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
}

// AppendBigint appends a bigint field.
func AppendBigint(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(n))
}

// Fields takes fields from the front of a value. Those after its end are absent.
type Fields struct {
	Rest []byte
	Err  error
}

// ErrDamaged is the error of a value that can't be read.
var ErrDamaged = errors.New("a value is damaged")

// Next takes the bytes of a field; nil where it is absent.
func (f *Fields) Next() []byte {
	if len(f.Rest) < 4 {
		return nil
	}
	n := int32(binary.BigEndian.Uint32(f.Rest))
	f.Rest = f.Rest[4:]
	if n < 0 {
		return nil
	}
	if int(n) > len(f.Rest) {
		f.Rest, f.Err = nil, ErrDamaged
		return nil
	}
	value := f.Rest[:n]
	f.Rest = f.Rest[n:]
	return value
}

// Text takes a text field.
func (f *Fields) Text() string { return string(f.Next()) }

// Bigint takes a bigint field; 0 where it is absent.
func (f *Fields) Bigint() int64 {
	b := f.Next()
	if len(b) != 8 {
		if len(b) != 0 {
			f.Err = ErrDamaged
		}
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// TypeInfo is what UnmarshalCQL is called with.
type TypeInfo = gocql.TypeInfo
