package people

import "github.com/andonhq/andon"

// ActionKind is what somebody does about an incident: the last part of the path of its request.
type ActionKind string

// The actions.
const (
	Acknowledge ActionKind = "acknowledge"
	Take        ActionKind = "take"
	Comment     ActionKind = "comment"
	EscalateTo  ActionKind = "escalate"
	ShelveIt    ActionKind = "shelve"
	Unshelve    ActionKind = "unshelve"
	Remove      ActionKind = "out-of-service"
	Restore     ActionKind = "in-service"
	ResetIt     ActionKind = "reset"
)

// Action is something that somebody does. Which fields it has depends on its kind.
type Action struct {
	Do        ActionKind
	By        andon.PersonID // required
	Note      string
	ExpiresIn andon.Duration // of acknowledge
	To        andon.PersonID // of escalate
	Until     andon.Time     // of shelve; or For; or Once
	For       andon.Duration
	Once      bool
	Reason    string // of shelve, required; of out-of-service
}
