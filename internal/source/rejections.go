package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/andonhq/andon"
)

// Kind is the kind of the records that hold what was refused. They belong to no tenant, because it
// may be the tenant that is wrong. A record is a JSON array of Rejection, which were
// refused together at its Due. Its id is the hash of what the first one is, so that a redelivery
// finds it.
const Kind andon.RecordKind = "rejection"

// Rejection is an entry that is not kept.
type Rejection struct {
	andon.SourceRejection
	// Digest is of the message, its time, and the entry, or the reason why there is none. A place
	// may have another message after a topic was made again, and another entry by another mapping.
	Digest string `json:"digest"`
	// Key is the place in the list: newest first.
	Key string `json:"-"`
}

func same(x, y *Rejection) bool {
	return x.Source == y.Source && x.Place == y.Place && x.Index == y.Index && x.Digest == y.Digest
}

func idOf(r *Rejection) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %s", r.Source, r.Place, r.Index, r.Digest))
	return hex.EncodeToString(sum[:16])
}

// legibleBytes is how much of a message is kept.
const legibleBytes = 2 << 10

// legible returns the beginning of a text without what no terminal should get.
func legible(text []byte) string {
	cut := strings.ToValidUTF8(string(text[:min(len(text), legibleBytes)]), "\uFFFD")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, cut)
}

// Rejections is the list of what sources refused: the newest ones, in the records of the store. Its
// methods may be called concurrently, in several processes.
type Rejections struct {
	Store andon.Records
	Now   func() andon.Time
	Keep  int // about so many are kept: each process may add a quarter before it counts again

	added atomic.Int64 // since they were counted
}

// Add adds to the list. What is there already is not added again. A list that is damaged can't be
// shortened, which is no error: sources would wait until it is repaired.
func (l *Rejections) Add(ctx context.Context, refused []Rejection) error {
	for len(refused) > 0 {
		rest, err := l.add(ctx, refused)
		if err != nil {
			return err
		}
		added := l.added.Add(int64(len(refused) - len(rest)))
		if refused = rest; added > int64(l.Keep/4) {
			if err := l.trim(ctx); err != nil && andon.KindOf(err) != andon.Damaged {
				return err
			}
		}
	}
	return nil
}

// add adds a record with the first of the list, and returns those that are not in it. Where it is
// there already, it stays as it is.
func (l *Rejections) add(ctx context.Context, refused []Rejection) (rest []Rejection, err error) {
	data, n := Join(refused)
	r := andon.Record{Kind: Kind, ID: idOf(&refused[0]), Due: l.Now(), Data: data}
	if _, err = l.Store.PutRecord(ctx, r); andon.KindOf(err) != andon.Conflict {
		return refused[n:], err
	}
	if r, err = l.Store.Record(ctx, "", Kind, r.ID); err != nil {
		return nil, err
	}
	kept, err := split(&r)
	return slices.DeleteFunc(slices.Clone(refused[1:]), func(r Rejection) bool {
		return slices.ContainsFunc(kept, func(k Rejection) bool { return same(&k, &r) })
	}), err
}

// Join writes the first of some values as the data of a record, which is an array of them, and
// returns how many.
func Join[T any](values []T) (data andon.JSON, n int) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // the attributes of an event are kept as they are written
	for ; n < len(values); n++ {
		size := b.Len()
		b.WriteByte(',')
		if err := encoder.Encode(&values[n]); err != nil {
			panic("source: a value can't be written: " + err.Error())
		}
		if n > 0 && b.Len() >= andon.MaxRecordBytes {
			b.Truncate(size)
			break
		}
	}
	return andon.JSON("[" + string(b.Bytes()[1:]) + "]"), n
}

func split(r *andon.Record) (all []Rejection, err error) {
	if err := json.Unmarshal([]byte(r.Data), &all); err != nil {
		return nil, andon.Errorf(andon.Damaged, "read the record %s: %w", r, err)
	}
	for i := range all {
		all[i].At = r.Due
	}
	return all, nil
}

// each passes on the records of the list, in no order, a few in memory at a time.
func (l *Rejections) each(
	ctx context.Context, use func(andon.Record, []Rejection),
) error {
	q := andon.RecordQuery{Limit: 16}
	for n := q.Limit; n == q.Limit; {
		n = 0
		for r, err := range l.Store.Records(ctx, "", Kind, q) {
			if err != nil {
				return err
			}
			all, err := split(&r)
			if err != nil {
				return err
			}
			use(r, all)
			n, q.After = n+1, r.ID
		}
	}
	return nil
}

// trim counts the list, and deletes the records that are older than those which have enough. One of
// a time that has not come is the oldest: the clock was ahead then.
func (l *Rejections) trim(ctx context.Context) error {
	const minute = 60_000_000 // by which the clocks of processes may differ
	var records []andon.Record
	sizes := map[string]int{}
	err := l.each(ctx, func(r andon.Record, all []Rejection) {
		sizes[r.ID], r.Data = len(all), ""
		if r.Due > l.Now().Add(minute) {
			r.Due = 0
		}
		records = append(records, r)
	})
	slices.SortFunc(records, func(x, y andon.Record) int { return y.CompareDue(&x) })
	for count := 0; err == nil && len(records) > 0; records = records[1:] {
		if count >= l.Keep {
			err = l.Store.DeleteRecord(ctx, records[0])
		}
		count += sizes[records[0].ID]
		if andon.KindOf(err) == andon.NotFound { // another process was faster
			err = nil
		}
	}
	if err == nil || andon.KindOf(err) == andon.Damaged {
		l.added.Store(0)
	}
	return err
}

// List returns the newest rejections of a source, or of all where that is "", that come after a
// key. It reads the whole list, and has two answers in memory at most.
func (l *Rejections) List(
	ctx context.Context, source string, span andon.Span, after string, limit int,
) (found []Rejection, err error) {
	shorten := func() {
		slices.SortFunc(found, func(x, y Rejection) int { return strings.Compare(x.Key, y.Key) })
		found = found[:min(len(found), limit)]
	}
	err = l.each(ctx, func(r andon.Record, all []Rejection) {
		for n := range all {
			key := fmt.Sprintf("%018d %s %06d", andon.MaxTime-r.Due, r.ID, n)
			if (source == "" || all[n].Source == source) && span.Holds(r.Due) && key > after {
				all[n].Key = key
				found = append(found, all[n])
			}
		}
		if len(found) >= 2*limit {
			shorten()
		}
	})
	shorten()
	return found, err
}
