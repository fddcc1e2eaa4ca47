package groups

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/seq"
)

// The records of a tenant. Their ids are "head", and the number of the bucket in hexadecimal.
const (
	headKind   andon.RecordKind = "groups"
	bucketKind andon.RecordKind = "profiles"
	headID                      = "head"
)

// buckets is how many records the profiles of a tenant are divided into. A bucket may have 256 KB:
// 20 million devices that only have a group.
const buckets = 4096

// concurrency is how many records or devices are read or written at once.
const concurrency = 32

// head is the record that is read again and again.
type head struct {
	Rules []andon.GroupRule `json:"rules,omitempty"`
	// Changes counts the buckets that were written, from the time on at which the first one was, in
	// microseconds: that tells it from the head of an earlier tenant of this name.
	Changes uint64 `json:"changes"`
	// Recent are the buckets of the last changes, the newest at the end: fewer than recentMost are
	// all that there were. A process that lacks more than there are reads all buckets.
	Recent []int `json:"recent,omitempty"`
}

// recentMost bounds what is read each second.
const recentMost = 512

type bucket map[andon.DeviceID]*said

// said is what is known of one device: what people say, and which values its attributes had that
// rules name.
type said struct {
	andon.Profile
	Facts map[string]string `json:"facts,omitempty"`
}

func (s *said) empty() bool { return s.Profile.Empty() && len(s.Facts) == 0 }

func (s *said) learn(facts map[string]string) {
	if s.Facts == nil {
		s.Facts = map[string]string{}
	}
	maps.Copy(s.Facts, facts)
}

func bucketOf(id andon.DeviceID) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return int(h.Sum32() % buckets)
}

// find reads a record into a value. One that is not there has version 0.
func (g *Groups) find(
	ctx context.Context, t *tenant, kind andon.RecordKind, id string, into any,
) (andon.Record, error) {
	r, err := g.store.Record(ctx, t.id, kind, id)
	switch {
	case err != nil && andon.KindOf(err) == andon.NotFound:
		return andon.Record{Tenant: t.id, Kind: kind, ID: id}, nil
	case err != nil:
		return r, err
	}
	return r, r.Decode(into)
}

func (g *Groups) bucket(
	ctx context.Context, t *tenant, number int,
) (andon.Record, bucket, error) {
	b := bucket{}
	r, err := g.find(ctx, t, bucketKind, fmt.Sprintf("%03x", number), &b)
	return r, b, err
}

// put changes a record by a function, which reads it and sets its data, until nobody else changed
// it in between.
func (g *Groups) put(
	ctx context.Context, change func() (is andon.Record, data any, err error),
) (r andon.Record, err error) {
	for {
		r, data, err := change()
		if err != nil {
			return r, err
		}
		text, err := json.Marshal(data)
		if err != nil {
			return r, err
		}
		if len(text) > andon.MaxRecordBytes {
			return r, andon.Errorf(andon.Full, "what is said of devices takes more than %d bytes "+
				"in one of %d records", andon.MaxRecordBytes, buckets)
		}
		r.Data = andon.JSON(text)
		r, err = g.store.PutRecord(ctx, r)
		if err == nil || andon.KindOf(err) != andon.Conflict {
			return r, err
		}
	}
}

// unread is the version of a head that must be read, and its changes, so that all buckets are read
// with it, also where no head is there any more. No record has either.
const unread = math.MaxUint64

// refresh reads the head and what changed since it was read before. The caller holds writing.
func (g *Groups) refresh(ctx context.Context, t *tenant) error {
	h := head{}
	r, err := g.find(ctx, t, headKind, headID, &h)
	if err == nil && r.Version != t.version {
		err = g.take(ctx, t, r.Version, &h)
	}
	return err
}

// take takes in a new head, and the buckets that changed with it: all or nothing.
func (g *Groups) take(ctx context.Context, t *tenant, version uint64, h *head) error {
	ctx = context.WithoutCancel(ctx)
	was := t.head
	t.head, t.version = head{Changes: unread}, unread // if that fails, all is read again
	var err error
	if numbers, known := h.since(&was); known {
		err = g.load(ctx, t, numbers)
	} else {
		err = g.loadAll(ctx, t)
	}
	if err != nil {
		return err
	}
	t.head, t.version = *h, version
	if !slices.Equal(h.Rules, t.rules.all) {
		t.setRules(h.Rules)
	}
	return nil
}

// since returns the buckets that may differ from those of another head, where they are known. Where
// there was no head, there was no bucket.
func (h *head) since(was *head) (numbers []int, known bool) {
	missed := h.Changes - was.Changes
	if was.Changes == 0 && len(h.Recent) < recentMost {
		missed = uint64(len(h.Recent))
	}
	if missed > uint64(len(h.Recent)) {
		return nil, false
	}
	last := h.Recent[len(h.Recent)-int(missed):]
	return slices.Compact(slices.Sorted(slices.Values(last))), true
}

// load reads some buckets.
func (g *Groups) load(ctx context.Context, t *tenant, numbers []int) error {
	return parallel.Do(ctx, len(numbers), concurrency, func(ctx context.Context, i int) error {
		_, b, err := g.bucket(ctx, t, numbers[i])
		if err != nil {
			return err
		}
		return g.replace(ctx, t, numbers[i], b)
	})
}

// loadAll lists the buckets, which is one query where a store keeps them together. The others are
// empty.
func (g *Groups) loadAll(ctx context.Context, t *tenant) error {
	var there [buckets]bool
	take := func(ctx context.Context, r *andon.Record) error {
		number, err := strconv.ParseUint(r.ID, 16, 12)
		if err != nil {
			return andon.Errorf(andon.Damaged, "read the record %s: %w", r, err)
		}
		b := bucket{}
		if err := r.Decode(&b); err != nil {
			return err
		}
		there[number] = true
		return g.replace(ctx, t, int(number), b)
	}
	found := g.store.Records(ctx, t.id, bucketKind, andon.RecordQuery{Limit: buckets})
	for some, err := range seq.Pieces(func() int { return concurrency }, found) {
		if err != nil {
			return err
		}
		if err := parallel.Do(ctx, len(some), concurrency, func(ctx context.Context, i int) error {
			return take(ctx, &some[i])
		}); err != nil {
			return err
		}
	}
	for number := range there {
		if !there[number] {
			if err := g.replace(ctx, t, number, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// replace takes in a bucket, and has the store count its devices where they are now.
func (g *Groups) replace(ctx context.Context, t *tenant, number int, b bucket) error {
	return g.store.Regroup(ctx, t.id, t.number, t.replace(number, b))
}

// change is one of what is known of a device.
type change struct {
	device andon.DeviceID
	set    func(*said)
}

// write makes changes and takes them in. The caller holds writing.
func (g *Groups) write(ctx context.Context, t *tenant, changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	by := map[int][]change{}
	for _, c := range changes {
		by[bucketOf(c.device)] = append(by[bucketOf(c.device)], c)
	}
	numbers := slices.Sorted(maps.Keys(by))
	err := parallel.Do(ctx, len(numbers), concurrency, func(ctx context.Context, i int) error {
		_, err := g.put(ctx, func() (andon.Record, any, error) {
			r, b, err := g.bucket(ctx, t, numbers[i])
			b.apply(by[numbers[i]])
			return r, b, err
		})
		return err
	})
	if err != nil {
		return err
	}
	// Also where nothing is new: a process that was killed here before may not have said it.
	return g.putHead(ctx, t, numbers, func(*head) {})
}

func (b bucket) apply(changes []change) {
	for _, c := range changes {
		s := b[c.device]
		if s == nil {
			s = &said{}
		}
		c.set(s)
		if b[c.device] = s; s.empty() {
			delete(b, c.device)
		}
	}
}

// putHead changes the head and takes it in, with the buckets that were written before.
func (g *Groups) putHead(
	ctx context.Context, t *tenant, written []int, set func(*head),
) error {
	var h head
	r, err := g.put(ctx, func() (andon.Record, any, error) {
		h = head{}
		r, err := g.find(ctx, t, headKind, headID, &h)
		if r.Version == 0 {
			h.Changes = uint64(g.known.Now())
		}
		h.Changes += uint64(len(written))
		h.Recent = append(h.Recent, written...)
		h.Recent = h.Recent[max(len(h.Recent)-recentMost, 0):]
		set(&h)
		return r, &h, err
	})
	if err != nil {
		return err
	}
	return g.take(ctx, t, r.Version, &h)
}
