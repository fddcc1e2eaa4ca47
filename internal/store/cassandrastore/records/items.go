package records

import (
	"bytes"
	"context"
	"math"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/cassandrastore/cql"
	"github.com/andonhq/andon/internal/store/shared/changelog"
)

// Items are the items of the feeds, in the table changes.
type Items struct {
	DB    *cql.Session
	Now   func() time.Time
	Stamp func() int64 // a rising write timestamp
}

// Insert implements changelog.Store.
func (s *Items) Insert(
	ctx context.Context, partition string, i changelog.Item,
) (inserted bool, err error) {
	inserted, _, err = s.DB.Swap(ctx, insertChange+" IF NOT EXISTS USING TTL ?",
		append(valuesOf(partition, i), s.ttlOf(i))...)
	return inserted, cql.Failure("append to the changes", err)
}

const insertChange = "INSERT INTO changes (part, number, at, expires, data) VALUES (?, ?, ?, ?, ?)"

func valuesOf(partition string, i changelog.Item) []any {
	return []any{partition, int64(i.Number), int64(i.At), int64(i.Expires), i.Data}
}

// ttlOf returns for how many seconds an item is stored; 0: for ever.
func (s *Items) ttlOf(i changelog.Item) int {
	if i.Expires == 0 {
		return 0
	}
	return max(int(i.Expires.Std().Sub(s.Now())/time.Second), 1)
}

// Extend implements changelog.Store.
func (s *Items) Extend(ctx context.Context, partition string, i changelog.Item) error {
	return s.DB.Write(ctx, cql.One(insertChange+" USING TIMESTAMP ? AND TTL ?",
		append(valuesOf(partition, i), s.Stamp(), s.ttlOf(i))...))
}

// Read implements changelog.Store.
func (s *Items) Read(
	ctx context.Context, partition string, from uint64, o andon.Order, limit int,
) (all []changelog.Item, err error) {
	text := "SELECT number, at, expires, data FROM changes WHERE part = ? AND number >= ?"
	if o == andon.Desc {
		text += " ORDER BY number DESC"
	}
	q := cql.Ask(text+" LIMIT ?", 1)
	var number, at, expires int64
	var data []byte
	args := []any{partition, int64(min(from, math.MaxInt64)), limit}
	err = s.DB.Each(ctx, q, args, []any{&number, &at, &expires, &data}, func() {
		all = append(all, changelog.Item{
			Number: uint64(number), At: andon.Time(at), Expires: andon.Time(expires),
			Data: bytes.Clone(data),
		})
	})
	return all, err
}

// Drop implements changelog.Store.
func (s *Items) Drop(ctx context.Context, partition string, before uint64) error {
	return s.DB.Write(ctx, cql.One(
		"DELETE FROM changes USING TIMESTAMP ? WHERE part = ? AND number < ?",
		s.Stamp(), partition, int64(min(before, math.MaxInt64))))
}
