package incidents

import (
	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi/params"
	"github.com/andonhq/andon/internal/people"
)

// Body is what somebody sends who does something about an incident.
type Body interface {
	// Action returns what is to be done, and marks what is wrong with it.
	Action(r *params.Reader) people.Action
}

// Acknowledge is the body of that action.
type Acknowledge struct {
	By        andon.PersonID `json:"by"`
	Note      string         `json:"note,omitempty"`
	ExpiresIn andon.Duration `json:"expires_in,omitempty" doc:"after which it no longer counts"`
}

// Action implements Body.
func (b Acknowledge) Action(r *params.Reader) people.Action {
	if b.ExpiresIn < 0 {
		r.Mark("body.expires_in", "expires_in is negative")
	}
	return people.Action{By: person(r, "by", b.By), Note: b.Note, ExpiresIn: b.ExpiresIn}
}

// Noted is the body of an action that needs nothing else: take, comment, unshelve, in-service and
// reset.
type Noted struct {
	By   andon.PersonID `json:"by"`
	Note string         `json:"note,omitempty"`
}

// Action implements Body.
func (b Noted) Action(r *params.Reader) people.Action {
	return people.Action{By: person(r, "by", b.By), Note: b.Note}
}

// Commented is the body of a comment.
type Commented struct {
	By   andon.PersonID `json:"by"`
	Note string         `json:"note"`
}

// Action implements Body.
func (b Commented) Action(r *params.Reader) people.Action {
	given(r, "note", b.Note)
	return people.Action{By: person(r, "by", b.By), Note: b.Note}
}

// Escalate is the body of that action.
type Escalate struct {
	To   andon.PersonID `json:"to"`
	By   andon.PersonID `json:"by"`
	Note string         `json:"note,omitempty"`
}

// Action implements Body.
func (b Escalate) Action(r *params.Reader) people.Action {
	return people.Action{To: person(r, "to", b.To), By: person(r, "by", b.By), Note: b.Note}
}

// Shelve is the body of that action.
type Shelve struct {
	Until  andon.Time     `json:"until,omitempty" doc:"until, for or once"`
	For    andon.Duration `json:"for,omitempty"`
	Once   bool           `json:"once,omitempty" doc:"until the device returns to normal"`
	Reason string         `json:"reason"`
	By     andon.PersonID `json:"by"`
}

// Action implements Body.
func (b Shelve) Action(r *params.Reader) people.Action {
	n := 0
	for _, is := range []bool{b.Until != 0, b.For != 0, b.Once} {
		if is {
			n++
		}
	}
	if n != 1 || b.For < 0 {
		r.Mark("body", "shelve takes one of until, for and once")
	}
	given(r, "reason", b.Reason)
	return people.Action{
		By: person(r, "by", b.By), Until: b.Until, For: b.For, Once: b.Once, Reason: b.Reason,
	}
}

// Remove is the body of out-of-service.
type Remove struct {
	By     andon.PersonID `json:"by"`
	Reason string         `json:"reason,omitempty"`
}

// Action implements Body.
func (b Remove) Action(r *params.Reader) people.Action {
	return people.Action{By: person(r, "by", b.By), Reason: b.Reason}
}

func person(r *params.Reader, field string, is andon.PersonID) andon.PersonID {
	r.Check("body."+field, is.ValidateAs(field))
	return is
}

func given(r *params.Reader, field, text string) {
	if text == "" {
		r.Mark("body."+field, "%s is empty", field)
	}
}
