package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/kafka"
	"github.com/andonhq/andon/internal/kinesis"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/source"
	"github.com/andonhq/andon/internal/store/adapter"
)

func (c *Config) sourceGroups() []config.Group {
	topics := config.Mappings(&c.Kafka, (*kafka.Source).ConfigGroup,
		func(s *kafka.Source) string { return s.Name })
	streams := config.Mappings(&c.Kinesis, (*kinesis.Source).ConfigGroup,
		func(s *kinesis.Source) string { return s.Name })
	return []config.Group{
		{Name: "kafka", Settings: []config.Setting{{Key: "sources", Value: topics,
			Help: "topics of Kafka that entries are read from: a list of mappings"}}},
		{Name: "kinesis", Settings: []config.Setting{{Key: "sources", Value: streams,
			Help: "streams of Amazon Kinesis that are read"}}},
	}
}

// openSources makes what reads.
func (a *App) openSources() error {
	var wrong []error
	for i := range a.Config.Kafka {
		s := &a.Config.Kafka[i]
		c, err := kafka.NewConsumer(s, a.Config.Place() != adapter.Elsewhere, a.Now, a.Log)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("kafka source %s: %w", s.Name, err))
		}
		a.kafka = append(a.kafka, c)
		run := func(ctx context.Context, w *source.Writer) error { return c.Run(ctx, w) }
		wrong = append(wrong, a.addSource("kafka", s.Config, run))
	}
	for _, s := range a.Config.Kinesis {
		c := &kinesis.Consumer{Source: s, Now: a.Now, Log: a.Log}
		a.kinesis = append(a.kinesis, c)
		run := func(ctx context.Context, w *source.Writer) error {
			c.Writer, c.Leases = w, a.leases()
			return c.Run(ctx)
		}
		wrong = append(wrong, a.addSource("kinesis", s.Config, run))
	}
	return errors.Join(wrong...)
}

// addSource adds the service of a source, which is given what keeps its messages.
func (a *App) addSource(
	of string, c source.Config, read func(context.Context, *source.Writer) error,
) error {
	m, err := readMapping(c.Mapping)
	a.services.add(&worker{label: of + " " + c.Name, run: func(ctx context.Context) error {
		w, err := a.writer(c.Name, c.Tenant, m)
		if err != nil {
			return err
		}
		return read(ctx, w)
	}})
	return err
}

// readMapping reads the mapping in a file; nil where none is named.
func readMapping(file string) (*mapping.Mapping, error) {
	if file == "" {
		return nil, nil
	}
	return mapping.Read(file)
}

// writer makes what keeps the messages of a source, once the store is open.
func (a *App) writer(name, tenant string, m *mapping.Mapping) (*source.Writer, error) {
	if able := a.store.Capabilities(); !able.Whole {
		return nil, andon.Errorf(andon.Invalid, "the store %s keeps no records, so it can't keep "+
			"what source %s refuses: choose another store, or remove the source", able.Name, name)
	}
	return source.New(source.Options{
		Name: name, Tenant: andon.TenantID(tenant), Mapping: m, Intake: a.intake,
		Refused: a.rejections, Metrics: a.sources, Log: a.Log, Now: a.Now,
	}), nil
}

func (a *App) registerSources(registry *prometheus.Registry) {
	for _, c := range a.kafka {
		m := meterOf(registry, "andon_kafka_", "source", c.Source.Name)
		m.gauge("behind_records", "Records that a source has not kept yet, as of when it last "+
			"fetched some.", func() float64 { return float64(c.Behind()) })
		m.counter("failures_total", "How often brokers were out of reach, or refused something.",
			c.Failures.Count.Load)
		m.counter("missed_records_total", "Records that the retention of their topic deleted "+
			"before they were read.", c.Missed.Load)
	}
	for _, c := range a.kinesis {
		m := meterOf(registry, "andon_kinesis_", "source", c.Source.Name)
		m.gauge("behind_seconds", "How far this process is behind the tip of the shard in which "+
			"it is furthest behind (MillisBehindLatest).",
			func() float64 { return c.Behind().Seconds() })
		m.counter("failures_total", "How often a stream could not be read.", c.Failures.Count.Load)
	}
}
