package rows

import (
	"time"

	"github.com/andonhq/andon"
)

// Lifetime is how long Cassandra keeps rows under a retention.
type Lifetime struct {
	Retention andon.Retention
	Now       andon.Time
}

// slack is how much longer than the retention rows are kept, so that neither the clocks of the
// nodes matter nor where in a day a row of the directory was written. What is returned is decided
// exactly, above the store.
const slack = 2 * 24 * 3600

// endOfTimes is the last expiry that Cassandra accepts, unless it is configured for no node of an
// earlier version (storage_compatibility_mode). What would expire later does not expire.
var endOfTimes = time.Date(2038, 1, 18, 0, 0, 0, 0, time.UTC)

// Seconds returns the TTL of a row of a time; 0 is for ever.
func (l Lifetime) Seconds(at andon.Time) int {
	if l.Retention == andon.Forever {
		return 0
	}
	left := max((int64(at)+int64(l.Retention)-int64(l.Now))/1_000_000+slack, 1)
	if l.Now.Std().Add(time.Duration(left) * time.Second).After(endOfTimes) {
		return 0
	}
	return int(left)
}

// stamp is the write timestamp of an index row that expires: of several for one thing the one that
// lives longest wins, whatever their order and the retention at the time.
func (l Lifetime) stamp(at andon.Time) int64 {
	if l.Retention == andon.Forever {
		return int64(andon.MaxTime) - 1
	}
	return min(int64(at)+int64(l.Retention), int64(andon.MaxTime)-2)
}
