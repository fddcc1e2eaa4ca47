package app

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/notify/channel"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/wallclock"
)

// NotifyConfig says how people are told of incidents.
type NotifyConfig struct {
	URL      string // of this server, as people reach it
	Channels []channel.Config
}

func (c *NotifyConfig) group() config.Group {
	name := func(c *channel.Config) string { return c.Name }
	return config.Group{Name: "notify", Settings: []config.Setting{
		{Key: "url", Value: config.Text(&c.URL), Help: "address of this server, as people reach " +
			"it, for the links in messages; none unless set"},
		{Key: "channels", Value: config.Mappings(&c.Channels, (*channel.Config).Group, name),
			Help: "how people are told of incidents: a list of mappings (docs/notify.md)"},
	}}
}

// openChannels makes the ways to people.
func (a *App) openChannels() (err error) {
	if a.channels, err = a.Config.Notify.open(a.Now); err != nil {
		return err
	}
	if len(a.channels) > 0 || a.keeper != nil {
		a.services.add(&worker{label: "notify", run: a.tellPeople})
	}
	return nil
}

// open makes all channels, and sends nothing. What is wrong with any of them is Invalid.
func (c *NotifyConfig) open(now func() andon.Time) (map[string]notify.Channel, error) {
	all := map[string]notify.Channel{}
	var wrong []error
	for i := range c.Channels {
		open, err := c.Channels[i].Open(now)
		if err != nil {
			wrong = append(wrong,
				andon.Errorf(andon.Invalid, "channel %s: %w", c.Channels[i].Name, err))
		}
		all[c.Channels[i].Name] = open
	}
	return all, errors.Join(wrong...)
}

// newNotify makes what tells people, once the store is open.
func (a *App) newNotify() *notify.Service {
	return notify.New(notify.Options{
		Store: a.store, Channels: a.channels, URL: a.Config.Notify.URL, Now: a.Now, Log: a.Log,
		Acknowledges: a.keeper != nil,
		Clock:        wallclock.New(a.Now, a.Passed, andon.ClockMark{}, nil),
		Known:        a.documents.Known,
		Incident:     records.NewIncidents(a.store, a.Now).Get,
	})
}

// tellPeople sends messages until the context ends, where the store keeps them.
func (a *App) tellPeople(ctx context.Context) error {
	switch able := a.store.Capabilities(); {
	case able.Whole:
		return a.notify.Run(ctx)
	case len(a.channels) > 0:
		return andon.Errorf(andon.Invalid, "the store %s keeps no records, so it can't keep "+
			"messages: choose another store, or remove notify.channels", able.Name)
	}
	<-ctx.Done()
	return nil
}

// registerChannels shows how sending goes.
func (a *App) registerChannels(registry *prometheus.Registry) {
	for name := range a.channels {
		m := meterOf(registry, "andon_notify_", "channel", name)
		count := func(as notify.Status) func() int64 {
			return func() int64 { return int64(a.notify.Count(name, as)) }
		}
		m.counter("delivered_total", "Messages that a channel delivered, and what became of them "+
			"where it is told.", count(notify.Delivered))
		m.counter("failures_total", "Attempts to deliver a message that failed.",
			count(notify.Failed))
		m.counter("given_up_total", "Messages that are not tried again.", count(notify.GivenUp))
	}
}
