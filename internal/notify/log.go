package notify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/people"
)

// ended is how attempts of a channel ended.
type ended struct {
	channel string
	as      Status
}

// Count returns how many attempts of a channel ended so.
func (s *Service) Count(channel string, as Status) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[ended{channel, as}]
}

// Logged is an attempt of a message as it is listed; that of a message that waits has no answer.
type Logged struct {
	ID      string         `json:"id" doc:"Of the message, which attempts share"`
	To      andon.PersonID `json:"to"`
	Channel string         `json:"channel"`
	At      andon.Time     `json:"at"`
	Status  Status         `json:"status" doc:"held, waiting, delivered, failed, given-up, listed"`
	Answer  string         `json:"answer,omitempty" doc:"What the other side said"`
	NextAt  andon.Time     `json:"next_at,omitempty" doc:"When it is tried again"`
	Subject string         `json:"subject"`

	Key string `json:"-"` // place in the list
}

// scanned is how many messages are read to find one page of a list.
const scanned = 20_000

// Wanted selects from a list. What is not set selects all.
type Wanted struct {
	To     andon.PersonID
	Status Status
	After  string // a Key
	// Stopped is called with a Key where so many messages were read that a page ends early; the
	// list goes on after it. nil: it does not end early.
	Stopped func(key string)
}

// List returns attempts, those of the newest message first.
func (s *Service) List(
	ctx context.Context, tenant andon.TenantID, w Wanted,
) iter.Seq2[Logged, error] {
	return func(yield func(Logged, error) bool) {
		if w.After < afterHeld && !s.held(ctx, tenant, w, yield) {
			return
		}
		q := andon.RecordQuery{Limit: page}
		if w.After > afterHeld { // of the same message there may be more
			q.After = w.After[:len(w.After)-keyTail-1]
		}
		for looked := 0; ; {
			n := 0
			for r, err := range s.Store.Records(ctx, tenant, messageKind, q) {
				n, q.After = n+1, r.ID
				if !w.from(&r, err, yield) {
					return
				}
			}
			if n < page {
				return
			}
			if looked += n; looked >= scanned && w.Stopped != nil {
				w.Stopped(q.After + lastKey)
				return
			}
		}
	}
}

// Keys of what is held are below those of messages, which begin with a hexadecimal digit.
const (
	heldKey   = "!"
	afterHeld = "0"
)

// held yields what waits for the end of quiet hours, and reports whether the list goes on.
func (s *Service) held(
	ctx context.Context, tenant andon.TenantID, w Wanted, yield func(Logged, error) bool,
) bool {
	q := andon.RecordQuery{
		Prefix: heldPrefix, After: strings.TrimPrefix(w.After, heldKey), Limit: math.MaxInt,
	}
	for r, err := range s.Store.Records(ctx, tenant, gatheringKind, q) {
		var g gathering
		if err == nil {
			err = json.Unmarshal([]byte(r.Data), &g)
		}
		if err != nil {
			return yield(Logged{}, err)
		}
		if g.Open == nil || w.To != "" && w.To != g.To || w.Status != "" && w.Status != Held {
			continue
		}
		m := Message{Summary: *g.Open}
		if !yield(Logged{
			ID: r.ID, To: g.To, At: g.First, Status: Held, NextAt: g.Until, Subject: m.Subject(),
			Key: heldKey + r.ID,
		}, nil) {
			return false
		}
	}
	return true
}

// keyTail is the length of what a Key has after the ID of its message; lastKey comes after all.
const (
	keyTail = len(lastKey)
	lastKey = "/999"
)

// from yields what is wanted of a record, and reports whether there may be more.
func (w *Wanted) from(r *andon.Record, err error, yield func(Logged, error) bool) bool {
	var m Message
	if err == nil {
		err = json.Unmarshal([]byte(r.Data), &m)
	}
	if err != nil {
		yield(Logged{}, err)
		return false
	}
	if w.To != "" && m.To != w.To {
		return true
	}
	for _, one := range m.logged(r.Due) {
		if one.Key > w.After && (w.Status == "" || one.Status == w.Status) && !yield(one, nil) {
			return false
		}
	}
	return true
}

// logged are the attempts of a message, the newest first.
func (m *Message) logged(due andon.Time) (all []Logged) {
	attempts := slices.Clone(m.Attempts)
	if len(attempts) == 0 {
		attempts = []Attempt{{At: m.At, Status: m.Status}}
	}
	slices.Reverse(attempts)
	for i, a := range attempts {
		one := Logged{
			ID: m.ID, To: m.To, Channel: m.Channel, At: a.At, Status: a.Status, Answer: a.Answer,
			Subject: m.Subject(), Key: fmt.Sprintf("%s/%03d", m.ID, i),
		}
		if i == 0 && !m.Ended && a.Status != Delivered {
			one.NextAt = due
		}
		all = append(all, one)
	}
	return all
}

// testedFor is how long a contact may take to answer a test.
const testedFor = 30 * time.Second

// Test sends a message to each contact of a person now, to all at once, and returns the attempts.
func (s *Service) Test(
	ctx context.Context, tenant andon.TenantID, to andon.PersonID,
) (all []Logged, err error) {
	known, err := s.Known(ctx, tenant)
	if err != nil {
		return nil, err
	}
	p := known.People[to]
	switch {
	case p == nil:
		return nil, andon.Errorf(andon.NotFound, "there is no person %q", to)
	case len(p.Contacts) == 0:
		return nil, andon.Errorf(andon.Invalid, "%s has no contact", to)
	}
	all = make([]Logged, len(p.Contacts))
	err = parallel.Do(ctx, len(all), len(all), func(ctx context.Context, i int) (err error) {
		all[i], err = s.test(ctx, tenant, p, p.Contacts[i])
		return err
	})
	return all, err
}

func (s *Service) test(
	ctx context.Context, tenant andon.TenantID, p *people.Person, c people.Contact,
) (Logged, error) {
	m := newMessage(p, c, &leaving{ID: rand.Text(), At: s.Now()})
	m.Test, m.Tries = true, 1
	r, err := s.put(ctx, m.record(tenant, m.At.Add(leased)), m)
	if err != nil {
		return Logged{}, err
	}
	limited, cancel := context.WithTimeout(ctx, testedFor)
	defer cancel()
	answer, err := s.send(limited, tenant, s.Channels[c.Channel], m)
	if ctx.Err() != nil {
		return Logged{}, context.Cause(ctx)
	}
	if limited.Err() != nil {
		err = fmt.Errorf("there was no answer within %s", testedFor)
	}
	s.outcome(&r, m, answer, err)
	m.Ended, r.Due = true, s.Now().Add(keptFor)
	_, err = s.put(ctx, r, m)
	return m.logged(0)[0], err
}

// CheckContact reports why a contact can't be told anything, at a place of a request.
func (s *Service) CheckContact(at string, c people.Contact) error {
	channel := s.Channels[c.Channel]
	if channel == nil {
		return andon.AtField(at+".channel", "there is no channel %q in notify.channels", c.Channel)
	}
	if err := channel.Check(c.Address); err != nil {
		return andon.AtField(at+".address", "%s", err)
	}
	return nil
}
