// Package notify tells people of incidents: what goes to one person within a short wait is one
// message, which is kept until it is delivered.
package notify

import (
	"context"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// Notice is one thing that one person is to be told.
type Notice struct {
	Key      string // the same whenever it is given again
	To       andon.PersonID
	Why      string // the step of the policy, or what somebody did
	Due      andon.Time
	Incident *people.Incident
}

// Notifier takes notices. It is what the keeper of incidents calls.
type Notifier interface {
	// Notify returns nil once all notices are durable: they will be told, together with others to
	// the same person. A notice whose Key is known already is not told twice.
	Notify(ctx context.Context, tenant andon.TenantID, notices []Notice) error
}
