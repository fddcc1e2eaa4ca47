package changelog

import (
	"encoding/json"

	"github.com/klauspost/compress/zstd"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/tenants"
)

// The data of an item is JSON, compressed with zstd. A field that a later version adds needs no
// other format.

type block struct {
	Bytes   int64             `json:"bytes"` // of the items before it, since the log began
	Changes []json.RawMessage `json:"changes"`
}

// mark is the data of the mark of a partition, not compressed.
type mark struct {
	Feed  uint64 `json:"feed"`  // the random number of the log
	Bytes int64  `json:"bytes"` // of the items before the partition
}

type row struct {
	Version int64            `json:"version"`
	Kind    andon.ChangeKind `json:"kind"`
	Device  andon.DeviceID   `json:"device,omitempty"`
	Before  *andon.Device    `json:"before,omitempty"`
	After   *andon.Device    `json:"after,omitempty"`
	Entry   andon.EntryRef   `json:"entry,omitzero"`
	Tenant  string           `json:"tenant,omitempty"` // its document
}

func (c *Change) encode() ([]byte, error) {
	r := row{
		Version: c.Version, Kind: c.Kind, Device: c.Device,
		Before: c.Before, After: c.After, Entry: c.Entry,
	}
	if c.Tenant != nil {
		record, err := tenants.Encode(c.Tenant, tenants.Own{})
		if err != nil {
			return nil, err
		}
		r.Tenant = string(record.Data)
	}
	return json.Marshal(r)
}

func decode(id andon.TenantID, text []byte) (c Change, err error) {
	var r row
	if err := json.Unmarshal(text, &r); err != nil {
		return c, err
	}
	c.Version, c.Change = r.Version, andon.Change{
		Kind: r.Kind, Device: r.Device, Before: r.Before, After: r.After, Entry: r.Entry,
	}
	if c.Kind == andon.OfTenant {
		record := andon.Record{Kind: andon.TenantKind, ID: string(id), Version: uint64(r.Version)}
		record.Data = andon.JSON(r.Tenant)
		t, _, err := tenants.Decode(record)
		if err != nil {
			return c, err
		}
		c.Tenant = &t
	}
	return c, nil
}

// codec compresses the data of items. It may be used concurrently.
type codec struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCodec() codec {
	// These options are valid, so there is no error.
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(mostBytes))
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	return codec{e, d}
}

// Bytes returns how many bytes an item has whose only change is c.
func Bytes(c Change) (int, error) {
	text, err := c.encode()
	if err != nil {
		return 0, err
	}
	codec := newCodec()
	data, err := codec.encode(&block{Changes: []json.RawMessage{text}})
	return len(data), err
}

func (c *codec) encode(b *block) ([]byte, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return c.encoder.EncodeAll(text, nil), nil
}

func (c *codec) decode(id andon.TenantID, i Item) (e entry, err error) {
	var b block
	text, err := c.decoder.DecodeAll(i.Data, nil)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	e = entry{
		number: i.Number, at: i.At, expires: i.Expires, size: 2 * len(text), bytes: b.Bytes +
			int64(len(i.Data)),
		changes: make([]Change, len(b.Changes)),
	}
	for n, text := range b.Changes {
		if err == nil {
			e.changes[n], err = decode(id, text)
		}
	}
	if err != nil {
		err = andon.Errorf(andon.Damaged, "item %d of the changes of tenant %q is damaged: %w",
			i.Number, id, err)
	}
	return e, err
}
