package notify

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/andonhq/andon"
)

// longestWait is for how long a message waits at most until it is tried again.
const longestWait = 60 * 60 * second

// lookAgain has what waits not wait longer because the clock was ahead as its time was worked out.
func (s *Service) lookAgain(ctx context.Context) error {
	for r, err := range s.Store.DueRecords(ctx, gatheringKind, andon.MaxTime, math.MaxInt) {
		if err == nil && r.Due > s.Now() {
			err = s.gatherSooner(ctx, r)
		}
		if err != nil && !ofOne(ctx, err) {
			return err
		}
	}
	for r, err := range s.Store.DueRecords(ctx, messageKind, andon.MaxTime, math.MaxInt) {
		var m Message
		now := s.Now()
		if err == nil && r.Due > now && json.Unmarshal([]byte(r.Data), &m) == nil && !m.Ended &&
			(r.Due > now.Add(longestWait) || m.noted() > now) {
			r.Due = now
			_, err = s.Store.PutRecord(ctx, r)
		}
		if ignored(err) != nil {
			return err
		}
	}
	return nil
}

// noted returns when the message was tried last, or made.
func (m *Message) noted() andon.Time {
	if n := len(m.Attempts); n > 0 {
		return m.Attempts[n-1].At
	}
	return m.At
}

// gatherSooner works out again when a gathering becomes messages.
func (s *Service) gatherSooner(ctx context.Context, r andon.Record) error {
	known, err := s.Known(ctx, r.Tenant)
	if err != nil {
		return err
	}
	return s.change(ctx, place{r.Tenant, r.ID}, func(r *andon.Record, g *gathering) (bool, error) {
		now, p := s.Now(), known.People[g.To]
		switch {
		case g.Leaving != nil:
			r.Due = now
			return true, nil
		case g.Open == nil:
			return false, nil
		case !strings.HasPrefix(r.ID, heldPrefix):
			g.Until = g.due()
		case p == nil:
			g.Until = now
		default:
			end, _ := p.QuietUntil(0, now)
			g.Until = min(g.Until, max(now, end))
		}
		r.Due = g.Until
		return true, nil
	})
}
