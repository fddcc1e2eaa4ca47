package pebblestore

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/current"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/store/pebblestore/feed"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// openFeed opens what package feed serves, once the rows were read.
func (s *Store) openFeed(context.Context) error {
	s.arrivals.For, s.arrivals.Bytes = s.options.ArrivalsFor, s.options.ArrivalsBytes
	if err := s.arrivals.Open(s.db, s.pipe.Next); err != nil {
		return err
	}
	s.feed.Config = feed.Config{
		DB: s.db, Log: s.options.Log,
		For: s.options.ChangesFor, Bytes: s.options.ChangesBytes,
		Published: s.pipe.Published, Tenants: s.followed,
	}
	return s.feed.Open(s.pipe.Next)
}

func (s *Store) followed() []*feed.Tenant {
	return ofTenants(s, func(t *tenant) *feed.Tenant { return &t.feed })
}

// ChangesKept implements andon.Feed.
func (s *Store) ChangesKept(
	ctx context.Context, id andon.TenantID,
) (oldest, newest andon.Position, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return oldest, newest, err
	}
	oldest, newest = s.feed.Kept(&t.feed)
	return oldest, newest, nil
}

// AwaitChange implements andon.Feed.
func (s *Store) AwaitChange(
	ctx context.Context, id andon.TenantID, after andon.Position,
) error {
	t, err := s.tenant(ctx, id)
	if err == nil {
		err = s.feed.Await(ctx, &t.feed, after)
	}
	if err == nil {
		_, err = s.tenant(ctx, id) // it may have been deleted meanwhile
	}
	return err
}

// Changes implements andon.Feed.
func (s *Store) Changes(
	ctx context.Context, id andon.TenantID, after andon.Position,
) iter.Seq2[andon.Change, error] {
	return listIn(ctx, s, id, func(t *tenant, yield func(andon.Change) bool) error {
		return seq.Yield(s.feed.Read(ctx, &t.feed, after), yield)
	})
}

// Arrivals implements andon.Feed.
func (s *Store) Arrivals(
	ctx context.Context, id andon.TenantID, q andon.ArrivalQuery,
) (part andon.Arrived, err error) {
	t, err := s.tenant(ctx, id)
	if err != nil {
		return part, err
	}
	r := s.reader(ctx, t)
	defer r.Close()
	return s.arrivals.Read(ctx, &s.feed, &t.feed, &q, r.Arrival)
}

// change encodes what a write changes of what a device shows, if anything.
func (w *writing) change(f *folded, was, is *current.Device) {
	c := andon.Change{Kind: w.kind, Device: was.ID, Entry: f.entry}
	if was.Alive() {
		shown := was.Show(w.states)
		c.Before = &shown
	}
	if is.Alive() {
		shown := is.Show(w.states)
		c.After = &shown
	}
	if !andon.ShowAlike(c.Before, c.After) {
		w.feed = layout.AppendChange(w.feed, &c)
	}
}
