package people

import "github.com/andonhq/andon"

// First is the error of an action that somebody else did before. It is a Conflict.
type First struct {
	By   andon.PersonID // who was first
	What string         // what that person did: "took it"
}

// Error implements error.
func (f *First) Error() string { return string(f.By) + " was first, and " + f.What }

// Unwrap returns the error as one of the domain.
func (f *First) Unwrap() error { return andon.Errorf(andon.Conflict, "%s", f.Error()) }
