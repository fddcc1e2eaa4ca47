package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/outage"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/sleep"
)

const (
	messageKind andon.RecordKind = "message"

	day          = 24 * 60 * 60 * second
	triedFor     = day         // then a message is given up
	keptFor      = 7 * day     // messages are listed, once nothing is sent any more
	leased       = 90 * second // a process that sends and dies loses its message for so long
	damagedAgain = 60 * second
	busyAgain    = 5 * second  // a message waits where its channel has too many under way
	followEvery  = 30 * second // what has become of the incidents of a message
	firstAgain   = 5 * second  // after a failure; then twice as long each time
	mostAgain    = 30 * 60 * second
	maxAttempts  = 20 // that are kept of a message
	atOnce       = 8  // messages under way in a channel
	page         = 200
	waitsFor     = int(day / followEvery) // tries, for a process that has the channel
)

// Status is how far a message is.
type Status string

// The statuses of messages and attempts.
const (
	Waiting   Status = "waiting"   // nothing was tried yet, or it is under way
	Delivered Status = "delivered" // the other side has it
	Failed    Status = "failed"    // it is tried again
	GivenUp   Status = "given-up"  // it is not
	// Listed: it is not sent, because the one before it says where all is listed, or because it was
	// held and needs no attention any more.
	Listed Status = "listed"
	Held   Status = "held" // it waits for the end of quiet hours, and grows until then
)

// Attempt is an attempt to deliver a message, and what the other side answered.
type Attempt struct {
	At     andon.Time `json:"at"`
	Status Status     `json:"status"`
	Answer string     `json:"answer,omitempty"`
}

// Failure is an error of a Channel that says more.
type Failure struct {
	Err   error
	Final bool           // trying again does not help
	After andon.Duration // not before so long
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns what failed.
func (f *Failure) Unwrap() error { return f.Err }

// Run makes and sends messages until the context ends, next to other processes. Without channels it
// sends nothing: what it has gathered waits for a process that has some.
func (s *Service) Run(ctx context.Context) error {
	ctx = andon.Urgent(ctx)
	stuck := outage.Log{
		Logger: s.Log, Begins: "notifications wait for the store", Ends: "notifications go on",
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	for ctx.Err() == nil {
		err := s.Round(ctx, sending.Go)
		if ctx.Err() == nil {
			stuck.Note("", err)
		}
		_, _ = sleep.Until(ctx, s.wake, time.Second)
	}
	return nil
}

// Round does what is due. Messages are sent by functions that start gets. What can't be read of one
// message or tenant holds up no other: its error is returned after the others were looked at.
func (s *Service) Round(ctx context.Context, start func(func())) error {
	var unread error
	if err := s.lookAgain(ctx, &unread); err != nil {
		return fmt.Errorf("look at what waits: %w", err)
	}
	if len(s.Channels) == 0 {
		return nil
	}
	for r, err := range s.Store.DueRecords(ctx, gatheringKind, s.Now(), page) {
		if err != nil {
			return fmt.Errorf("read what was gathered: %w", err)
		}
		if err = s.flush(ctx, r); err != nil {
			err = fmt.Errorf("make messages of %s: %w", r.Tenant, err)
		}
		if err = s.passOver(ctx, r, err, &unread); err != nil {
			return err
		}
	}
	due, err := seq.Collect(s.Store.DueRecords(ctx, messageKind, s.Now(), page))
	if err != nil {
		return fmt.Errorf("read messages: %w", err)
	}
	for _, r := range due {
		err := ignored(s.begin(ctx, r, start))
		if err != nil {
			err = fmt.Errorf("send message %s of %s: %w", r.ID, r.Tenant, err)
		}
		if err = s.passOver(ctx, r, err, &unread); err != nil {
			return err
		}
	}
	if len(due) == page {
		sleep.Wake(s.wake)
	}
	return unread
}

// passOver keeps the first error that may be about one record or tenant, and returns one about the
// whole store. A record that is damaged is due again after a while: many of them would else be all
// that is looked at.
func (s *Service) passOver(ctx context.Context, r andon.Record, err error, first *error) error {
	if err == nil || ctx.Err() != nil ||
		andon.Ignore(err, andon.Busy, andon.Unavailable, andon.Full) == nil {
		return err
	}
	if *first == nil {
		*first = err
	}
	// Stores take nothing but JSON, so what is damaged has a value of another type.
	if _, damaged := errors.AsType[*json.UnmarshalTypeError](err); !damaged {
		return nil
	}
	r.Due = s.Now().Add(damagedAgain)
	if _, err := s.Store.PutRecord(ctx, r); ignored(err) != nil {
		return fmt.Errorf("postpone %s %s of %s: %w", r.Kind, r.ID, r.Tenant, err)
	}
	return nil
}

// ignored is nil for what another process did first.
func ignored(err error) error { return andon.Ignore(err, andon.Conflict, andon.NotFound) }

// begin takes a message that is due, and has it sent.
func (s *Service) begin(ctx context.Context, r andon.Record, start func(func())) error {
	var m Message
	if err := json.Unmarshal([]byte(r.Data), &m); err != nil {
		return err
	}
	if m.Ended {
		return s.Store.DeleteRecord(ctx, r)
	}
	now := s.Now()
	if m.Status != Delivered && m.At.Add(triedFor) < s.Clock.Sure() {
		m.Tries++
		s.outcome(&r, &m, "", &Failure{Err: errors.New("it is older than a day"), Final: true})
		r.Due = now.Add(keptFor)
		_, err := s.put(ctx, r, &m)
		return err
	}
	if m.Status == Delivered && s.Channels[m.Channel] == nil && m.Tries < waitsFor {
		m.Tries++
		r.Due = now.Add(followEvery)
		_, err := s.put(ctx, r, &m)
		return err
	}
	if !s.enter(m.Channel) {
		r.Due = now.Add(busyAgain)
		_, err := s.Store.PutRecord(ctx, r)
		return err
	}
	m.Tries++
	r.Due = now.Add(leased)
	r, err := s.put(ctx, r, &m)
	if err != nil {
		s.leave(m.Channel)
		return err
	}
	start(func() {
		defer s.leave(m.Channel)
		if err := ignored(s.deliver(ctx, r, &m)); err != nil && ctx.Err() == nil {
			s.Log.Warn("the outcome of a message could not be stored; it is sent again",
				"id", m.ID, "error", err)
		}
	})
	return nil
}

func (s *Service) enter(channel string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[channel] >= atOnce {
		return false
	}
	s.busy[channel]++
	return true
}

func (s *Service) leave(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[channel]--
}

// deliver sends a message that this process has taken, and stores the outcome.
func (s *Service) deliver(ctx context.Context, r andon.Record, m *Message) error {
	channel := s.Channels[m.Channel]
	isNews, over, err := true, false, error(nil)
	told := *m
	if m.Status != Delivered {
		if s.update(ctx, r.Tenant, &told) && (channel == nil || !channel.Follows()) {
			m.Status, m.Ended, r.Due = Listed, true, s.Now().Add(keptFor)
			m.Attempts = append(m.Attempts, Attempt{At: s.Now(), Status: Listed, Answer: noneLeft})
			_, err = s.put(ctx, r, m)
			return err
		}
	} else { // it is sent what became of its incidents
		if isNews, over, err = s.follow(ctx, r.Tenant, m); err != nil {
			return err
		}
		told = *m
	}
	if isNews || channel != nil && channel.Reminds() {
		answer, err := s.send(ctx, r.Tenant, channel, &told)
		if ctx.Err() != nil {
			return nil // it is sent again once its lease is over
		}
		if s.outcome(&r, m, answer, err); err == nil {
			m.Worst = told.Worst
		}
	} else {
		m.Tries, r.Due = 0, s.Now().Add(followEvery)
	}
	follows := channel != nil && channel.Follows() && !m.Test
	if m.Status == Delivered && (!follows || over && m.arrived()) {
		m.Ended = true
	}
	if m.Ended {
		r.Due = s.Now().Add(keptFor)
	}
	_, err = s.put(ctx, r, m)
	return err
}

// update has a message that is sent for the first time, or again, tell what is so now. It reports
// whether it waited and nothing of it needs attention any more. One that can't be read stays as it
// was noted: people are told in any case.
func (s *Service) update(ctx context.Context, tenant andon.TenantID, m *Message) (over bool) {
	items, err := s.present(ctx, tenant, m.Worst)
	if err != nil || m.Test {
		return false
	}
	waited := m.Tries > 1 || m.At.Add(heldUp) < s.Now()
	over = waited && m.Count <= len(items)
	for i := range items {
		over = over && !items[i].needed(&m.Worst[i])
	}
	m.Worst = items
	return over
}

// arrived reports whether the last change of a message did.
func (m *Message) arrived() bool { return m.Attempts[len(m.Attempts)-1].Status == Delivered }

// follow reads what became of the incidents of a message, and reports whether that is new or did
// not arrive, and whether all are over for good.
func (s *Service) follow(
	ctx context.Context, tenant andon.TenantID, m *Message,
) (isNews, over bool, err error) {
	isNews, over = !m.arrived(), true
	for i := range m.Worst {
		item := &m.Worst[i]
		in, err := s.Incident(ctx, tenant, item.Incident)
		if andon.KindOf(err) == andon.NotFound { // it expired
			in.Until, err = s.Now(), nil
		}
		if err != nil {
			return false, false, err
		}
		isNews = item.follow(&in) || isNews
		over = over && item.Ended != 0 && !in.MayReopen()
	}
	return isNews, over, nil
}

func (s *Service) send(
	ctx context.Context, tenant andon.TenantID, c Channel, m *Message,
) (answer string, err error) {
	if m.Channel == "" {
		return "", &Failure{Err: fmt.Errorf("%s has no contact", m.To), Final: true}
	}
	m.Tenant = tenant
	if c == nil {
		err = fmt.Errorf("there is no channel %q in the settings", m.Channel)
	} else if err = s.link(ctx, tenant, m); err == nil {
		answer, err = c.Send(ctx, m)
	}
	if ctx.Err() == nil { // else it is the end of the server, or of a test
		s.failing.Note(m.Channel, err)
	}
	return answer, err
}

// outcome notes what became of an attempt, and when there is another one.
func (s *Service) outcome(r *andon.Record, m *Message, answer string, err error) {
	now := s.Now()
	a := Attempt{At: now, Status: Delivered, Answer: clip(answer)}
	r.Due = now.Add(followEvery)
	if err == nil {
		m.Status, m.Tries = Delivered, 0
	} else {
		a.Status, a.Answer = Failed, clip(err.Error())
		wait := min(firstAgain<<min(m.Tries-1, 12), mostAgain)
		f, says := errors.AsType[*Failure](err)
		if says {
			wait = max(wait, min(f.After, longestWait))
		}
		r.Due = now.Add(wait)
		if m.Test || says && f.Final ||
			m.Status != Delivered && s.Clock.Sure().Add(wait) > m.At.Add(triedFor) {
			a.Status, m.Ended = GivenUp, true
		}
		if m.Status != Delivered {
			m.Status = a.Status
		}
	}
	s.mu.Lock()
	s.counts[ended{m.Channel, a.Status}]++
	s.mu.Unlock()
	m.Attempts = append(m.Attempts, a)
	m.Attempts = m.Attempts[max(len(m.Attempts)-maxAttempts, 0):]
}
