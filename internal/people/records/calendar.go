package records

import (
	"fmt"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/wallclock"
)

// Calendars know which windows of maintenance are open. The rule of a window is followed from its
// start, so what it says is kept until the window ends. The zero value is ready.
type Calendars struct {
	mu sync.Mutex
	of map[andon.TenantID]*calendar
}

type calendar struct {
	known *people.Known // of which open is
	at    andon.Time    // when that was worked out
	until andon.Time    // the next begin or end of a window; 0: there is none
	open  []people.Window
	spans map[string]span // by what decides on them
}

type span struct{ begin, end andon.Time }

// Open returns the windows of a tenant that are open.
func (c *Calendars) Open(
	tenant andon.TenantID, known *people.Known, now andon.Time,
) []people.Window {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.of[tenant]
	if was != nil && now.Add(wallclock.Least) < was.at { // the clock was set back
		was = nil
	}
	switch {
	case len(known.Maintenance) == 0:
		delete(c.of, tenant)
		return nil
	case was != nil && was.known == known && (was.until == 0 || now < was.until):
		return was.open
	}
	next := &calendar{known: known, at: now, spans: map[string]span{}}
	for i := range known.Maintenance {
		m := &known.Maintenance[i]
		key := fmt.Sprint(m.Start, m.Length, m.Rule, " ", m.Zone)
		is, there := span{}, false
		if was != nil {
			is, there = was.spans[key]
		}
		if !there || is.begin != 0 && is.end <= now {
			is.begin, is.end = m.Window(now)
		}
		next.spans[key] = is
		switch {
		case is.begin > now:
			next.until = andon.Earlier(next.until, is.begin)
		case is.begin != 0:
			w := people.Window{Maintenance: m, Begins: is.begin, Ends: is.end}
			next.open = append(next.open, w)
			next.until = andon.Earlier(next.until, is.end)
		}
	}
	if c.of == nil {
		c.of = map[andon.TenantID]*calendar{}
	}
	c.of[tenant] = next
	return next.open
}
