package merge

import (
	"strings"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/shared"
)

// Reviews is a queue of the devices that are to be reviewed, first in, first out.
type Reviews struct {
	mu    sync.Mutex
	queue []DueReview
	quiet map[shared.DeviceKey]bool // what readers asked for, each once
}

// DueReview is a device that is to be reviewed.
type DueReview struct {
	Tenant andon.TenantID
	Device andon.DeviceID
	Former andon.State // that it may have left; absent where it is not known
	Due    time.Time
	// Withdrawn says that an entry was withdrawn, so that index rows of an earlier generation may
	// be left.
	Withdrawn bool
	Review
}

// mostReviews is how many devices wait at most. More are left to the readers.
const mostReviews = 1 << 20

// NewReviews returns an empty queue.
func NewReviews() *Reviews { return &Reviews{quiet: map[shared.DeviceKey]bool{}} }

// Add asks for a review. They are done in this order, so those that are due later are asked for
// later.
func (r *Reviews) Add(d DueReview) {
	d.Device = andon.DeviceID(strings.Clone(string(d.Device))) // it may be a part of a request
	r.mu.Lock()
	defer r.mu.Unlock()
	most := mostReviews
	if d.Quiet {
		most /= 2 // what was seen to change goes first
		if r.quiet[d.key()] {
			return
		}
	}
	if len(r.queue) >= most {
		return
	}
	r.queue = append(r.queue, d)
	if d.Quiet {
		r.quiet[d.key()] = true
	}
}

func (d *DueReview) key() shared.DeviceKey {
	return shared.DeviceKey{Tenant: string(d.Tenant), Device: d.Device}
}

// Due takes out what is due at a time, at most so many.
func (r *Reviews) Due(now time.Time, most int) []DueReview {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for n < len(r.queue) && n < most && !r.queue[n].Due.After(now) {
		n++
	}
	due := append([]DueReview(nil), r.queue[:n]...)
	r.queue = r.queue[n:]
	for i := range due {
		if due[i].Quiet {
			delete(r.quiet, due[i].key())
		}
	}
	return due
}

// Len returns how many devices wait.
func (r *Reviews) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue)
}
