package people

import "github.com/andonhq/andon"

// Known is all documents of a tenant, decoded. It is never changed once it is made.
type Known struct {
	Policies    []Policy // by name, as are the others
	Schedules   map[string]*Schedule
	People      map[andon.PersonID]*Person
	Maintenance []Maintenance
}
