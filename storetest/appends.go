package storetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/intake"
)

// append sends a request of events. Some are given up at first, and sent again.
func (g *generator) append() step {
	tenant := pick(g, g.tenants)
	if g.IntN(6) == 0 {
		return g.abort(g.appendOf(tenant, g.timed(tenant)))
	}
	return g.appendOf(tenant, g.events(tenant))
}

func (g *generator) abort(s step) step {
	s.lookups = 1 + g.IntN(12)
	s.text = fmt.Sprintf("(given up after %d lookups, and again) %s", s.lookups, s.text)
	return s
}

func (g *generator) events(tenant andon.TenantID) (events []andon.Event) {
	for range 1 + g.IntN(1+g.IntN(8)) {
		e := g.event(tenant)
		g.sent[tenant] = append(g.sent[tenant], e)
		events = append(events, e)
	}
	return events
}

// timed draws events that have a time: those without get another one whenever they are sent.
func (g *generator) timed(tenant andon.TenantID) []andon.Event {
	events := g.events(tenant)
	return slices.DeleteFunc(events, func(e andon.Event) bool { return e.Time == 0 })
}

func (g *generator) appendOf(tenant andon.TenantID, events []andon.Event) step {
	return sending("append", tenant, events, func(ctx context.Context, s *subject) (any, error) {
		return s.intake.Events(ctx, tenant, intake.RequestOf(events))
	})
}

// event draws a new event, or one that was sent before with or without other content.
func (g *generator) event(tenant andon.TenantID) andon.Event {
	sent := g.sent[tenant]
	if len(sent) == 0 || g.IntN(5) > 0 {
		e := andon.Event{Device: g.device(), Time: g.time(sent), State: pick(g, g.states)}
		g.content(&e)
		return e
	}
	e := pick(g, sent[max(0, len(sent)-30):])
	if g.IntN(2) == 0 {
		e.EscalatedTo = ""
		g.content(&e)
	}
	return e
}

func (g *generator) content(e *andon.Event) {
	e.Operator = g.person(60)
	if g.IntN(8) == 0 {
		e.EscalatedTo = g.person(20)
	}
	e.Message = pick(g, []string{"", "hot", "cold"})
	e.Attributes = pick(g, []andon.JSON{"", `{"a":1}`, `{"n":1}`, `{"n":"2"}`})
}

// time draws when an event was: now or about now, late by much or little, or at or next to the time
// of one that was sent.
func (g *generator) time(sent []andon.Event) andon.Time {
	switch n := g.IntN(20); {
	case n < 2:
		return g.now
	case n < 6:
		return g.now + andon.Time(g.IntN(60)-30)*andon.Time(second)
	case n < 14 && len(sent) > 0:
		near := pick(g, sent[max(0, len(sent)-30):])
		return max(near.Time+andon.Time(g.IntN(3)-1), andon.MinTime)
	case n < 17:
		return g.now - andon.Time(g.IntN(120))*andon.Time(minute)
	case n < 19:
		return g.now - andon.Time(g.IntN(5*24))*andon.Time(hour)
	}
	return 0 // the arrival
}
