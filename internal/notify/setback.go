package notify

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/andonhq/andon"
)

const (
	// longestWait is for how long a message waits at most until it is tried again.
	longestWait = 60 * 60 * second
	// quietEvery is how often what is held is compared with quiet hours, which may change.
	quietEvery = 30 * second
)

// lookAgain has what waits not wait longer because the clock was ahead as its time was worked out,
// or because quiet hours were changed.
func (s *Service) lookAgain(ctx context.Context, unread *error) error {
	_, back := s.set()
	s.isBack = back > 0 || s.isBack
	now := s.Now()
	if !s.isBack && now < s.quiet.Add(quietEvery) {
		return nil
	}
	for r, err := range s.Store.DueRecords(ctx, gatheringKind, andon.MaxTime, math.MaxInt) {
		if err != nil {
			return err
		}
		if r.Due > now && (s.isBack || strings.HasPrefix(r.ID, heldPrefix)) {
			err := ignored(s.gatherSooner(ctx, r))
			if err := s.passOver(ctx, r, err, unread); err != nil {
				return err
			}
		}
	}
	if s.isBack {
		if err := s.sendSooner(ctx, unread); err != nil {
			return err
		}
	}
	s.isBack, s.quiet = false, now
	return nil
}

// sendSooner has messages sent that wait for a time of a clock that was ahead.
func (s *Service) sendSooner(ctx context.Context, unread *error) error {
	for r, err := range s.Store.DueRecords(ctx, messageKind, andon.MaxTime, math.MaxInt) {
		if err != nil {
			return err
		}
		var m Message
		now := s.Now()
		if r.Due > now && json.Unmarshal([]byte(r.Data), &m) == nil && !m.Ended &&
			(r.Due > now.Add(longestWait) || m.noted() > now) {
			r.Due = now
			_, err := s.Store.PutRecord(ctx, r)
			if err := s.passOver(ctx, r, ignored(err), unread); err != nil {
				return err
			}
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
		now, was := s.Now(), r.Due
		switch {
		case g.Leaving != nil:
			r.Due = now
			return true, nil
		case g.Open == nil:
			return false, nil
		case !strings.HasPrefix(r.ID, heldPrefix):
			g.Until = g.due()
		default:
			g.Until = max(min(g.Until, now), g.quietUntil(known.People[g.To], now))
		}
		r.Due = g.Until
		return r.Due != was, nil
	})
}
