package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
)

// Counts counts attempts by channel.
type Counts struct {
	mu  sync.Mutex
	all map[string]map[Status]int
}

func newCounts() *Counts { return &Counts{all: map[string]map[Status]int{}} }

func (c *Counts) add(channel string, s Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[channel] == nil {
		c.all[channel] = map[Status]int{}
	}
	c.all[channel][s]++
}

// Of returns how many attempts of a channel ended so.
func (c *Counts) Of(channel string, s Status) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[channel][s]
}

// Logged is an attempt of a message as it is listed; that of a message that waits has no answer.
type Logged struct {
	ID      string         `json:"id" doc:"Of the message, which attempts share"`
	To      andon.PersonID `json:"to"`
	Channel string         `json:"channel"`
	At      andon.Time     `json:"at"`
	Status  Status         `json:"status" doc:"waiting, delivered, failed or given-up"`
	Answer  string         `json:"answer,omitempty" doc:"What the other side said"`
	NextAt  andon.Time     `json:"next_at,omitempty" doc:"When it is tried again"`
	Subject string         `json:"subject"`

	Key string `json:"-"` // place in the list
}

// scanned is how many messages are read to find one page of a list.
const scanned = 20_000

// List returns attempts, those of the newest message first, after a key.
func (s *Service) List(
	ctx context.Context, tenant andon.TenantID, to andon.PersonID, status Status, after string,
) iter.Seq2[Logged, error] {
	return func(yield func(Logged, error) bool) {
		q := andon.RecordQuery{Limit: scanned}
		if len(after) > 4 { // of the same message there may be more
			q.After = after[:len(after)-4]
			q.After = q.After[:len(q.After)-1]
		}
		for r, err := range s.Store.Records(ctx, tenant, messageKind, q) {
			var m Message
			if err == nil {
				err = json.Unmarshal([]byte(r.Data), &m)
			}
			if err != nil {
				yield(Logged{}, err)
				return
			}
			if to != "" && m.To != to {
				continue
			}
			for _, one := range m.logged(r.Due) {
				if one.Key > after && (status == "" || one.Status == status) && !yield(one, nil) {
					return
				}
			}
		}
	}
}

// logged are the attempts of a message, the newest first.
func (m *Message) logged(due andon.Time) (all []Logged) {
	attempts := slices.Clone(m.Attempts)
	if len(attempts) == 0 {
		attempts = []Attempt{{At: m.At, Status: Waiting}}
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

// Test sends a message to each contact of a person now, and returns the attempts.
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
	now := s.Now()
	for _, c := range p.Contacts {
		m := newMessage(p, c, &leaving{ID: fmt.Sprint("test ", int64(now)), At: now})
		m.Test, m.Tries = true, 1
		r, err := s.put(ctx, m.record(tenant, now.Add(leased)), m)
		if err == nil {
			err = s.deliver(ctx, r, m)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, m.logged(0)[0])
	}
	return all, nil
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
