package kinesis

import (
	"bytes"
	"crypto/md5"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
)

// The Kinesis Producer Library packs many user records into one record of the stream:
//
//	f3 89 9a c2 | AggregatedRecord | MD5 of that
//
//	message AggregatedRecord { repeated string keys = 1; repeated Record records = 3; }
//	message Record           { uint64 key_index = 1; bytes data = 3; }
//
// as its page on the aggregation format has it. Other fields do not matter.
var magic = []byte{0xf3, 0x89, 0x9a, 0xc2}

// userRecord is what a producer sent: a record of the stream, or one of those in it.
type userRecord struct {
	key  string
	data []byte
}

// leastRecord is how many bytes a record takes that has a key and a byte of data. Those that have
// less would take a hundred times as much memory as what they came in.
const leastRecord = 7

// unpack returns the records that are packed into one. What is not packed, or damaged, is one.
func unpack(key string, data []byte) (all []userRecord, packed bool) {
	asItIs := []userRecord{{key, data}}
	body, packed := bytes.CutPrefix(data, magic)
	n := len(body) - md5.Size
	if !packed || n < 0 || md5.Sum(body[:n]) != [md5.Size]byte(body[n:]) {
		return asItIs, false
	}
	var keys []string // they come before the records
	for f := range fields(body[:n]) {
		switch f.number {
		case 1:
			keys = append(keys, string(f.value))
		case 3:
			r, index := userRecord{}, uint64(0)
			for f := range fields(f.value) {
				switch f.number {
				case 1:
					index = f.n
				case 3:
					r.data = f.value
				}
			}
			if index >= uint64(len(keys)) {
				return asItIs, false
			}
			r.key = keys[index]
			all = append(all, r)
		}
		if len(all) > len(data)/leastRecord {
			return asItIs, false
		}
	}
	return all, true
}

// field is one of a message: a number, or bytes.
type field struct {
	number protowire.Number
	n      uint64
	value  []byte
}

// fields returns the fields of a message, as far as it is one.
func fields(b []byte) iter.Seq[field] {
	return func(yield func(field) bool) {
		for len(b) > 0 {
			number, kind, size := protowire.ConsumeField(b)
			if size < 0 {
				return
			}
			f := field{number: number}
			_, _, start := protowire.ConsumeTag(b)
			switch kind {
			case protowire.BytesType:
				f.value, _ = protowire.ConsumeBytes(b[start:])
			case protowire.VarintType:
				f.n, _ = protowire.ConsumeVarint(b[start:])
			}
			if b = b[size:]; !yield(f) {
				return
			}
		}
	}
}
