package app

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/kafka"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/sink"
	"github.com/andonhq/andon/internal/sink/webhook"
	"github.com/andonhq/andon/internal/store/adapter"
)

// FeedConfig is a feed of changes and where it is delivered.
type FeedConfig struct {
	sink.Config
	Kind    string
	Webhook webhook.Config
	Kafka   kafka.Target
}

func (f *FeedConfig) group() config.Group {
	f.Kind = "webhook"
	all := append(f.Config.Settings(), config.Setting{
		Key: "kind", Value: config.Choice(&f.Kind, "webhook", "kafka"),
		Help: "what it is delivered to",
	})
	all = append(append(all, f.Webhook.Settings()...), f.Kafka.Settings()...)
	return config.Group{Settings: all, Check: f.check}
}

func (f *FeedConfig) check(c *config.Check) {
	f.Config.Check(c)
	others := []string{"url", "secret_file"}
	if f.Kind == "webhook" {
		f.Webhook.Check(c)
		others = []string{"brokers", "topic"}
	} else {
		f.Kafka.Check(c)
	}
	for _, key := range others {
		if c.IsSet(key) {
			c.Wrong(key, "is not of kind %s", f.Kind)
		}
	}
}

// open makes the destination, which is closed by a function.
func (f *FeedConfig) open(now func() andon.Time) (sink.Destination, func(), error) {
	if f.Kind == "kafka" {
		to, err := f.Kafka.Open()
		if err != nil {
			return nil, nil, err
		}
		return to, to.Close, nil
	}
	f.Webhook.CA = f.Kafka.CA // it is one setting
	to, err := f.Webhook.Open(now)
	return to, func() {}, err
}

func (c *Config) feedGroup() config.Group {
	name := func(f *FeedConfig) string { return f.Name }
	return config.Group{Settings: []config.Setting{{
		Key: "feeds", Value: config.Mappings(&c.Feeds, (*FeedConfig).group, name),
		Help: "where changes of what devices show are delivered: a list of mappings",
	}}}
}

// closeFeeds closes what feeds are delivered to, where they have never run.
func (a *App) closeFeeds() {
	for _, end := range a.ends {
		end()
	}
}

// openFeeds makes the feeds.
func (a *App) openFeeds() error {
	var wrong []error
	for i := range a.Config.Feeds {
		c := &a.Config.Feeds[i]
		to, end, err := c.open(a.Now)
		if err != nil {
			wrong = append(wrong, andon.Errorf(andon.Invalid, "feed %s: %w", c.Name, err))
			continue
		}
		a.ends = append(a.ends, end)
		f := &sink.Feed{Config: c.Config, Destination: to, Now: a.Now, Log: a.Log}
		a.feeds = append(a.feeds, f)
		a.services.add(&worker{label: "feed " + c.Name, run: func(ctx context.Context) error {
			defer end()
			f.Store, f.Show, f.Leases = a.store, a.api.Show, a.leases()
			return f.Run(ctx)
		}})
	}
	return errors.Join(wrong...)
}

// leases takes leases for this process.
func (a *App) leases() *lease.Holder {
	return &lease.Holder{
		Records: a.store, Owner: lease.NewOwner(), For: 15 * time.Second,
		Alone: a.Config.Place() != adapter.Elsewhere,
	}
}

// registerFeeds shows how far feeds are delivered.
func (a *App) registerFeeds(registry *prometheus.Registry) {
	for _, f := range a.feeds {
		m := meterOf(registry, "andon_feed_", "feed", f.Name)
		m.counter("delivered_changes_total", "Changes that a feed has delivered.", f.Delivered.Load)
		m.counter("failures_total", "How often a feed could not be delivered.",
			f.Failures.Count.Load)
		m.counter("snapshots_total", "How often a feed began to send all devices.",
			f.Snapshots.Load)
		m.gauge("lag_seconds", "How long the oldest change that is not delivered has waited.",
			func() float64 { return f.Lag().Std().Seconds() })
	}
}
