package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/kinesis"
)

func (c *Config) kinesisGroup() config.Group {
	name := func(s *kinesis.Source) string { return s.Name }
	return config.Group{Name: "kinesis", Settings: []config.Setting{{
		Key: "sources", Value: config.Mappings(&c.Kinesis, (*kinesis.Source).ConfigGroup, name),
		Help: "streams of Amazon Kinesis that are read",
	}}}
}

// addKinesis makes what reads streams.
func (a *App) addKinesis() {
	for _, s := range a.Config.Kinesis {
		c := &kinesis.Consumer{Source: s, Now: a.Now, Log: a.Log}
		a.kinesis = append(a.kinesis, c)
		a.services.add(&worker{label: "kinesis " + s.Name, run: func(ctx context.Context) error {
			w, err := a.writer(s.Config)
			if err != nil {
				return err
			}
			c.Writer, c.Leases = w, a.leases()
			return c.Run(ctx)
		}})
	}
}

// kinesisMetrics shows how reading streams goes.
func kinesisMetrics(all []*kinesis.Consumer) looked {
	desc := labelled("andon_kinesis_", "source")
	behind := desc("behind_seconds", "How far this process is behind the tip of the shard in "+
		"which it is furthest behind (MillisBehindLatest).")
	failures := desc("failures_total", "How often a stream could not be read.")
	return func(to chan<- prometheus.Metric) {
		for _, c := range all {
			send := sending(to, c.Source.Name)
			send(behind, prometheus.GaugeValue, c.Behind().Seconds())
			send(failures, prometheus.CounterValue, float64(c.Failures.Load()))
		}
	}
}
