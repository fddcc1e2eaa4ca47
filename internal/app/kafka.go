package app

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/kafka"
	"github.com/andonhq/andon/internal/store/adapter"
)

func (c *Config) kafkaGroup() config.Group {
	name := func(s *kafka.Source) string { return s.Name }
	return config.Group{Name: "kafka", Settings: []config.Setting{{
		Key: "sources", Value: config.Mappings(&c.Kafka, (*kafka.Source).ConfigGroup, name),
		Help: "topics of Kafka that entries are read from: a list of mappings",
	}}}
}

// openKafka makes the consumers. It comes before the services are opened.
func (a *App) openKafka() error {
	for i := range a.Config.Kafka {
		s := &a.Config.Kafka[i]
		alone := a.Config.Place() != adapter.Elsewhere
		c, err := kafka.NewConsumer(s, alone, a.Now, a.Log)
		if err != nil {
			return fmt.Errorf("kafka source %s: %w", s.Name, err)
		}
		a.kafka = append(a.kafka, c)
		a.services.add(&worker{label: "kafka " + s.Name, run: func(ctx context.Context) error {
			w, err := a.writer(s.Config)
			if err != nil {
				return err
			}
			return c.Run(ctx, w)
		}})
	}
	return nil
}

// kafkaMetrics shows how far consumers are.
func kafkaMetrics(consumers []*kafka.Consumer) looked {
	desc := labelled("andon_kafka_", "source")
	behind := desc("behind_records", "Records that a source has not kept yet, as of when it last "+
		"fetched some.")
	failures := desc("failures_total", "How often brokers were out of reach, or refused something.")
	missed := desc("missed_records_total", "Records that the retention of their topic deleted "+
		"before they were read.")
	return func(to chan<- prometheus.Metric) {
		for _, c := range consumers {
			send := sending(to, c.Source.Name)
			send(behind, prometheus.GaugeValue, float64(c.Behind()))
			send(failures, prometheus.CounterValue, float64(c.Failures.Load()))
			send(missed, prometheus.CounterValue, float64(c.Missed.Load()))
		}
	}
}
