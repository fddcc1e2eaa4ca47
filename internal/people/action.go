package people

import (
	"cmp"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

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
	Shown     uint8          // of acknowledge: the highest severity that By knows of; 0: all
	To        andon.PersonID // of escalate
	Undone    bool           // of escalate: the device is not escalated to To now
	Until     andon.Time     // of shelve; or For; or Once
	For       andon.Duration
	Once      bool
	Reason    string // of shelve, required; of out-of-service
}

// MaxNoteBytes is how long what somebody says of an incident may be.
const MaxNoteBytes = 1000

// FirstError says that somebody else was first.
type FirstError struct {
	By   andon.PersonID
	What string // what that person did: "has taken"
}

func (e *FirstError) Error() string {
	return string(e.By) + " " + e.What + " this incident already"
}

func first(by andon.PersonID, what string) error {
	return andon.Errorf(andon.Conflict, "%w", &FirstError{By: by, What: what})
}

// check reports what is wrong with an action by itself, or nil.
func (a *Action) check(s *Setting) error {
	if isBlank(string(a.By)) {
		return andon.AtField("body.by", "is missing: say who does it")
	}
	if err := a.By.Validate(); err != nil {
		return andon.AtField("body.by", "%s", err)
	}
	if len(a.Note) > MaxNoteBytes {
		return andon.AtField("body.note", "is longer than %d bytes", MaxNoteBytes)
	}
	if len(a.Reason) > MaxNoteBytes {
		return andon.AtField("body.reason", "is longer than %d bytes", MaxNoteBytes)
	}
	switch a.Do {
	case Acknowledge, Take, Unshelve, Remove, Restore, ResetIt:
		return nil
	case Comment:
		if isBlank(a.Note) {
			return andon.AtField("body.note", "is missing: a comment says something")
		}
		return nil
	case EscalateTo:
		if a.To == "" {
			return andon.AtField("body.to", "is missing: say to whom")
		}
		if err := a.To.Validate(); err != nil {
			return andon.AtField("body.to", "%s", err)
		}
		if len(s.People) > 0 && s.People[a.To] == nil {
			return andon.AtField("body.to", "there is no person %q", a.To)
		}
		return nil
	case ShelveIt:
		return a.checkShelf(s)
	}
	return andon.Errorf(andon.Invalid, "there is no action %q", a.Do)
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

func (a *Action) checkShelf(s *Setting) error {
	until, given, longest := a.Until, 0, cmp.Or(s.LongestShelf, andon.DefaultShelf)
	place := "body.until"
	for _, is := range []bool{a.Until != 0, a.For != 0, a.Once} {
		if is {
			given++
		}
	}
	if a.For != 0 {
		until, place = s.Now.Add(a.For), "body.for"
	}
	switch {
	case isBlank(a.Reason):
		return andon.AtField("body.reason", "is missing: say why it is shelved")
	case given != 1:
		return andon.AtField("body.until", "say until when: one of until, for and once")
	case until != 0 && until <= s.Now:
		return andon.AtField(place, "%s is past", until)
	case until > s.Now.Add(longest):
		return andon.AtField(place, "it would end at %s, more than %s from now, the "+
			"longest_shelf of the tenant", until, longest)
	}
	return nil
}

// Act does an action. changed is false where it was done already. Conflict, with a FirstError, when
// somebody else was first. What is wrong with the action by itself is Invalid.
func (in *Incident) Act(s *Setting, a *Action) (changed bool, err error) {
	if err := a.check(s); err != nil {
		return false, err
	}
	before := len(in.Steps)
	if in.Ended != 0 && !in.closedAllows(a) {
		return false, andon.Errorf(andon.Conflict, "the incident is closed")
	}
	switch a.Do {
	case Acknowledge:
		err = in.acknowledge(s, a)
	case Take:
		err = in.takeBy(s, a)
	case Comment, EscalateTo:
		if !in.said(a) {
			in.say(s, a)
		}
	case ShelveIt:
		err = in.shelve(s, a)
	case Remove:
		err = in.remove(s, a)
	case Unshelve:
		if in.Shelf != nil {
			in.Shelf = nil
			in.note(s, Step{What: "unshelved", By: a.By, Note: a.Note})
		}
	case Restore:
		if in.Removed != nil {
			in.Removed = nil
			in.note(s, Step{What: "back in service", By: a.By, Note: a.Note})
		}
	case ResetIt:
		err = in.reset(s, a)
	}
	if err != nil || len(in.Steps) == before {
		return false, err
	}
	in.settle(s, s.Now)
	return true, nil
}

// closedAllows reports whether an action on a closed incident is done already.
func (in *Incident) closedAllows(a *Action) bool {
	return a.Do == Acknowledge && in.Acknowledged != nil || a.Do == Take && in.TakenBy != "" ||
		a.Do == Unshelve || a.Do == Restore || a.Do == ResetIt && (!in.Latch || in.Reset) ||
		(a.Do == Comment || a.Do == EscalateTo) && in.said(a)
}

func (in *Incident) acknowledge(s *Setting, a *Action) error {
	if is := in.Acknowledged; is != nil {
		if is.By != a.By {
			return first(is.By, "has acknowledged")
		}
		if a.ExpiresIn == 0 || in.Ended != 0 || is.Expires == is.At.Add(a.ExpiresIn) {
			return nil
		}
	}
	if a.Shown != 0 && a.Shown < in.Worst {
		return andon.Errorf(andon.Conflict, "it is worse than what %s was shown, so nothing was "+
			"acknowledged", a.By)
	}
	is := &Acknowledgement{By: a.By, At: s.Now, Note: a.Note}
	holds := a.ExpiresIn
	if p := s.policy(in.Policy); holds == 0 && p != nil {
		holds = p.AckExpires
	}
	if holds > 0 {
		is.Expires = s.Now.Add(holds)
	}
	in.Acknowledged = is
	in.note(s, Step{What: "acknowledged", By: a.By, Note: a.Note})
	return nil
}

func (in *Incident) takeBy(s *Setting, a *Action) error {
	switch in.TakenBy {
	case a.By:
		return nil
	case "":
	default:
		return first(in.TakenBy, "has taken")
	}
	in.TakenBy, in.Operator, in.Appointed = a.By, a.By, nil
	in.note(s, Step{What: "taken", By: a.By, Note: a.Note})
	in.do(s, Assign, a.By, "taken by "+string(a.By))
	return nil
}

// said reports whether a comment is the newest of its person, or an escalation is the newest one
// and was not undone through the device.
func (in *Incident) said(a *Action) bool {
	line := a.line()
	for _, was := range slices.Backward(in.Steps) {
		if was.What == line.What && (was.By == a.By || a.Do == EscalateTo) {
			was.At = 0
			return was == line && (!a.Undone || in.Ended != 0 || in.escalating(a.To))
		}
	}
	return false
}

// line is that of the log about a comment or an escalation.
func (a *Action) line() Step {
	if a.Do == EscalateTo {
		return Step{What: "escalated", By: a.By, To: a.To, Note: a.Note}
	}
	return Step{What: "commented", By: a.By, Note: a.Note}
}

// say comments or escalates.
func (in *Incident) say(s *Setting, a *Action) {
	in.note(s, a.line())
	if a.Do == EscalateTo {
		what := Escalate
		if in.Kind != StateKind {
			what = Notify
		}
		in.do(s, what, a.To, a.Note)
		in.Doing[len(in.Doing)-1].By = a.By
	}
}

// escalating reports whether the device is about to be escalated to somebody by this incident.
func (in *Incident) escalating(to andon.PersonID) bool {
	return slices.ContainsFunc(in.Doing, func(e Effect) bool {
		return e.Do == Escalate && e.To == to
	})
}

func (in *Incident) shelve(s *Setting, a *Action) error {
	is := &Shelf{
		By: a.By, At: s.Now, Until: a.Until, For: a.For, Once: a.Once, Reason: a.Reason,
	}
	if a.For != 0 {
		is.Until = s.Now.Add(a.For)
	}
	if was := in.Shelf; was != nil {
		if was.By != a.By {
			return first(was.By, "has shelved")
		}
		same := was.For == is.For && (was.For != 0 || was.Until == is.Until)
		if same && was.Reason == is.Reason && was.Once == is.Once {
			return nil
		}
	}
	if a.Once && in.Until != 0 {
		return andon.Errorf(andon.Conflict, "the device has returned to normal already")
	}
	in.Shelf = is
	note := a.Reason
	if is.Until != 0 {
		note = "until " + is.Until.String() + ": " + note
	}
	in.note(s, Step{What: "shelved", By: a.By, Note: note})
	return nil
}

func (in *Incident) reset(s *Setting, a *Action) error {
	in.latch(s)
	asks := in.Latch && !in.Reset
	if !asks && in.Until == 0 && s.Resets != nil {
		asks, in.Unread = s.Resets(in)
	}
	switch {
	case !asks:
		return nil
	case in.Until == 0:
		return andon.Errorf(andon.Conflict, "the device has not returned to normal")
	}
	in.Reset = true
	in.note(s, Step{What: "reset", By: a.By, Note: a.Note})
	return nil
}

func (in *Incident) remove(s *Setting, a *Action) error {
	if was := in.Removed; was != nil {
		if was.By != a.By {
			return first(was.By, "has taken out of service")
		}
		return nil
	}
	in.Removed = &Removal{By: a.By, At: s.Now, Reason: a.Reason}
	in.note(s, Step{What: "out of service", By: a.By, Note: a.Reason})
	return nil
}
