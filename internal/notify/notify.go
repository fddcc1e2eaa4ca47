// Package notify tells people of incidents: what goes to one person within a short wait is one
// message, which is kept until it is delivered.
//
//	kind       id              data
//	gathering  now-P, held-P   what one person is to be told; P is a hash of the name; due when it
//	                           becomes a message. held-P is what waits for the end of quiet hours
//	message    T-H             a message to one contact, with its attempts; T counts backwards, so
//	                           the newest is first; due when it is tried again, or deleted
//	notify_key links           of no tenant: the key that signs links
//
// Each step is one compare-and-swap, so any process may do it: a gathering is closed under an ID
// (Leaving), its messages are made under IDs that follow from that, and then it is cleared. It
// knows no protocol: package channel does.
package notify

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/outage"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/wallclock"
)

// Notice is one thing that one person is to be told.
type Notice struct {
	Key      string // the same whenever it is given again
	To       andon.PersonID
	Why      string // the step of the policy, or what somebody did
	Due      andon.Time
	Incident *people.Incident
}

// Notifier takes notices. It is what the keeper of incidents calls.
type Notifier interface {
	// Notify returns nil once all notices are durable: they will be told, together with others to
	// the same person. A notice whose Key is known already is not told twice: of each person the
	// last 4,096 are known. Concurrent calls are stored together.
	Notify(ctx context.Context, tenant andon.TenantID, notices []Notice) error
}

// Channel is a way to people. Its methods may be called concurrently.
type Channel interface {
	// Check reports why an address is none of the channel.
	Check(address string) error
	// Send delivers a message and returns what the other side answered, without secrets. The same
	// message has the same ID whenever it is sent again. Its error may be a *Failure.
	Send(ctx context.Context, m *Message) (answer string, err error)
	// Follows reports whether what is sent is changed there later: the channel is then sent a
	// message again when its incidents are acknowledged, and when they have ended.
	Follows() bool
	// Reminds reports whether it forgets what it is not sent again within minutes.
	Reminds() bool
}

// Options are what a Service is made with. All but URL and Acknowledges must be
// given.
type Options struct {
	Store    andon.Records
	Known    func(context.Context, andon.TenantID) (*people.Known, error)
	Incident func(context.Context, andon.TenantID, string) (people.Incident, error)
	Channels map[string]Channel
	URL      string // of this server, for links; "": messages have none
	// Acknowledges says that signed links are served below Acknowledgements.
	Acknowledges bool
	Now          func() andon.Time
	Clock        *wallclock.Clock
	Log          *slog.Logger
}

// Service is a Notifier that sends what it takes. Its methods may be called concurrently.
type Service struct {
	Options
	failing outage.Log // by channel
	wake    chan struct{}
	// set is as of wallclock.Clock.Watch.
	set    func() (ahead, back andon.Duration)
	isBack bool       // it was, and what waits was not looked at again
	quiet  andon.Time // when what is held was compared with quiet hours last

	mu      sync.Mutex
	waiting map[place]*batch // that nobody writes yet
	writing map[place]*sync.Mutex
	busy    map[string]int // messages under way by channel
	counts  map[ended]int  // attempts

	key atomic.Pointer[[]byte] // that signs links; nil: not read yet
}

// New makes a Service. Run sends.
func New(o Options) *Service {
	return &Service{
		Options: o, wake: make(chan struct{}, 1), waiting: map[place]*batch{},
		writing: map[place]*sync.Mutex{}, busy: map[string]int{}, counts: map[ended]int{},
		set: o.Clock.Watch(), isBack: true, // while no process was there it may have been
		failing: outage.Log{
			Logger: o.Log, Part: "channel",
			Begins: "notifications can't be sent", Ends: "notifications are sent again",
		},
	}
}

// place is where a gathering is.
type place struct {
	tenant andon.TenantID
	id     string
}

// batch is notices that are stored together.
type batch struct {
	to      andon.PersonID
	due     andon.Time // when they become a message; 0: after the usual wait
	notices []Notice
	done    chan struct{}
	err     error // once done is closed
}

// Notify implements Notifier.
func (s *Service) Notify(ctx context.Context, tenant andon.TenantID, notices []Notice) error {
	ctx = andon.Urgent(ctx)
	known, err := s.Known(ctx, tenant)
	if err != nil {
		return err
	}
	all := map[place]*batch{}
	for _, n := range notices {
		if n.Due.Add(triedFor) < s.Clock.Sure() {
			continue // it was not told for a day
		}
		at, due := place{tenant, "now-" + hash(string(n.To))}, andon.Time(0)
		if p := known.People[n.To]; p != nil {
			severity := severityOf(n.Incident)
			if severity < p.MinSeverity {
				continue
			}
			if end, quiet := p.QuietUntil(severity, min(n.Due, s.Now())); quiet {
				at.id, due = heldPrefix+hash(string(n.To)), end
			}
		}
		if all[at] == nil {
			all[at] = &batch{to: n.To, due: due}
		}
		all[at].notices = append(all[at].notices, n)
	}
	places := slices.Collect(maps.Keys(all))
	return parallel.Each(ctx, len(all), gatherers, func(ctx context.Context, i int) error {
		return s.gather(ctx, places[i], all[places[i]])
	})
}

// gather stores notices, together with those of other calls that come while others are stored.
func (s *Service) gather(ctx context.Context, at place, mine *batch) error {
	s.mu.Lock()
	b, isFirst := s.waiting[at], false
	if b == nil || b.due != mine.due {
		b, isFirst = mine, true
		b.done = make(chan struct{})
		s.waiting[at] = b
	} else {
		b.notices = append(b.notices, mine.notices...)
	}
	turn := s.writing[at]
	if turn == nil {
		turn = new(sync.Mutex)
		s.writing[at] = turn
	}
	s.mu.Unlock()
	if !isFirst {
		select {
		case <-b.done:
			return b.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	turn.Lock()
	defer turn.Unlock()
	s.mu.Lock()
	if s.waiting[at] == b { // nobody adds to it from here on
		delete(s.waiting, at)
	}
	s.mu.Unlock()
	b.err = s.keep(ctx, at, b)
	close(b.done)
	return b.err
}
