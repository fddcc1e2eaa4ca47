package wrap

import (
	"context"

	"github.com/andonhq/andon"
)

// Rebuilder is a store whose engine has several designs of what devices are found by state with. A
// store need not be one.
type Rebuilder interface {
	// RebuildLatest makes a design again from the truth, and uses it from then on; "" is the one in
	// use. buckets is its number of partitions where it has one; "" leaves it as it is. progress is
	// told how many devices of how many are done. Serving goes on meanwhile. What was broken off
	// can be begun again.
	RebuildLatest(
		ctx context.Context, to, buckets string, progress func(done, total int64),
	) error
}

// RebuildLatest makes again what a store finds devices by state with, as Rebuilder has it. It is
// Unsupported where the store has nothing to rebuild.
func RebuildLatest(
	ctx context.Context, s andon.Store, to, buckets string, progress func(done, total int64),
) error {
	return Ask(ctx, s, "RebuildLatest", "finds devices by state without anything that could be "+
		"rebuilt", func(r Rebuilder) error { return r.RebuildLatest(ctx, to, buckets, progress) })
}
