package cassandrastore

import "github.com/andonhq/andon"

// layout is how devices are found by state: a design, and what it is set to.
type layout struct {
	Design  string        `json:"design"`
	Buckets string        `json:"buckets,omitempty"` // of "buckets"
	Tables  []andon.State `json:"tables,omitempty"`  // of "tables": the states with their own
}

// settings are what all processes of a keyspace agree on. They are kept in the table of that name
// as one JSON text and looked at every second, so that a process follows a rebuild while it runs.
type settings struct {
	Schema    int             `json:"schema"`    // the newest step that was taken
	Retention andon.Retention `json:"retention"` // of events; the longest that a tenant may have
	Readings  andon.Retention `json:"readings_retention"`
	Settle    andon.Duration  `json:"settle"` // see Options
	Latest    layout          `json:"latest"` // that lists are read from
	// Next is the layout that a rebuild is under way to. Writers keep both.
	Next *layout `json:"next,omitempty"`
}

// working is settings at work.
type working struct {
	settings
	text   string   // as it is stored
	reads  design   // of Latest
	writes []design // of Latest and Next
}

func newWorking(s settings, text string) (*working, error) {
	w := &working{settings: s, text: text}
	d, err := newDesign(s.Latest)
	if err != nil {
		return nil, err
	}
	w.reads, w.writes = d, []design{d}
	if s.Next != nil {
		next, err := newDesign(*s.Next)
		if err != nil {
			return nil, err
		}
		w.writes = append(w.writes, next)
	}
	return w, nil
}
