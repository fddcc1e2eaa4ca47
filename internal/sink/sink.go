// Package sink carries the feed of changes of tenants to other systems: in order, at least once,
// from where it stopped. A feed of a tenant is work of one process at a time, under a lease that
// holds its position.
//
// It knows no protocol, which is what a Destination is for, and no form of an answer: how a device
// is written is a function that it is given.
package sink

import (
	"context"
	"encoding/json"
	"time"

	"github.com/andonhq/andon"
)

// Message is a change of what a device shows. As JSON it is its Value.
type Message struct {
	// ID is the same whenever the change is sent again, and no other change has it.
	ID     string         `json:"id"`
	Tenant andon.TenantID `json:"tenant"`
	Device andon.DeviceID `json:"device"`
	// Kind is that of the change, or "snapshot": what the device shows anyway.
	Kind     string         `json:"kind"`
	Position andon.Position `json:"position"` // after it
	Before   andon.State    `json:"before,omitempty"`
	After    andon.State    `json:"after,omitempty"`
	// Shows is the device as the API answers it; absent: it shows nothing any more.
	Shows json.RawMessage `json:"shows,omitempty"`

	// Key is the device. In a feed that may have several tenants it is a JSON array of tenant and
	// device.
	Key   string `json:"-"`
	Value []byte `json:"-"`
	// Gone says that the device shows nothing any more. What keeps the newest message of each key
	// deletes the key.
	Gone bool `json:"-"`
}

// Batch is what is sent at once: messages of one tenant, in their order.
type Batch struct {
	// ID is the same whenever these messages are sent again together, also after a restart. It has
	// only letters, digits, hyphens and underscores.
	ID       string
	Feed     string // its name
	Tenant   andon.TenantID
	Time     andon.Time // when it was made
	Messages []Message
}

// Destination is where a feed is delivered.
type Destination interface {
	// Deliver returns nil once all messages of a batch are safe with the receiver, so that they
	// need never be sent again. After an error any of them may be; the same batch is delivered
	// again before the next one. It is called by one goroutine for each tenant, and keeps nothing
	// of the batch after it has returned. An error may be a *Failure.
	Deliver(ctx context.Context, b *Batch) error
}

// Failure is an error of a Destination that says how to go on.
type Failure struct {
	Err   error
	After time.Duration // not again before; 0: as the sink sees fit
	Stop  bool          // the receiver wants no more: the feed ends until the program starts again
}

func (f *Failure) Error() string { return f.Err.Error() }
