package cassandrastore

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/cassandrastore/provision"
)

var benchRing = flag.Bool("ring", false,
	"measure lists and partitions on a ring of three nodes, with three replicas")

// measuredEngine is what a benchmark measures, and what it may ask of it.
type measuredEngine struct {
	nodes   []*enginetest.Node
	options Options
}

// engineFor returns one node with a keyspace, or with -ring a ring with one of three replicas.
func engineFor(b *testing.B) measuredEngine {
	b.Helper()
	e := measuredEngine{nodes: []*enginetest.Node{}}
	if !*benchRing {
		e.nodes = append(e.nodes, enginetest.Cassandra(b))
		e.options = newKeyspace(b, "buckets")
		return e
	}
	ring := enginetest.OwnRing(b, 3)
	e.nodes = ring.Nodes
	e.options = on(e.nodes[0], "buckets")
	e.options.Hosts = ring.Addrs()
	makeSchema(b, e.options, provision.Setup{Replication: "3"})
	return e
}

// cpu is the processor time of all nodes.
func (e measuredEngine) cpu() (all time.Duration) {
	for _, n := range e.nodes {
		all += n.CPUTime()
	}
	return all
}

// contender is one of several ways to read the same.
type contender struct {
	name string
	read func(context.Context) error

	took           []time.Duration
	engine, client time.Duration // processor time
}

// block reads so many times by each of some readers, one after the other.
func (c *contender) block(b *testing.B, e measuredEngine, readers, each int) {
	b.Helper()
	engine, client := e.cpu(), enginetest.CPUTime(os.Getpid())
	var work sync.WaitGroup
	var mu sync.Mutex
	for range readers {
		work.Go(func() {
			for range each {
				began := time.Now()
				err := c.read(b.Context())
				took := time.Since(began)
				mu.Lock()
				if c.took = append(c.took, took); err != nil {
					b.Errorf("%s: %v", c.name, err)
				}
				mu.Unlock()
			}
		})
	}
	work.Wait()
	c.engine += e.cpu() - engine
	c.client += enginetest.CPUTime(os.Getpid()) - client
}

// quantile is the latency that a share of the reads had at most.
func (c *contender) quantile(share float64) time.Duration {
	slices.Sort(c.took)
	return c.took[int(float64(len(c.took)-1)*share)]
}

func (c *contender) report(b *testing.B) {
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	n := float64(len(c.took))
	b.ReportMetric(micros(c.quantile(0.5)), c.name+"-p50-µs")
	b.ReportMetric(micros(c.quantile(0.99)), c.name+"-p99-µs")
	b.ReportMetric(micros(c.engine)/n, c.name+"-engine-µs")
	b.ReportMetric(micros(c.client)/n, c.name+"-client-µs")
}

// contend measures several ways in turn, in blocks, so that what else the machine does meets all of
// them alike. The first block of each warms up.
func contend(b *testing.B, e measuredEngine, readers, each int, all ...*contender) {
	b.Helper()
	for _, c := range all {
		c.block(b, e, readers, each)
		c.took, c.engine, c.client = nil, 0, 0
	}
	for b.Loop() {
		for _, c := range all {
			c.block(b, e, readers, each)
		}
	}
	b.ReportMetric(0, "ns/op") // of all ways together, so it says nothing
	for _, c := range all {
		c.report(b)
	}
}

// warnings are how many warnings of large partitions the nodes have logged.
func (e measuredEngine) warnings() (all string) {
	n := 0
	for _, node := range e.nodes {
		for _, line := range strings.Split(node.LogTail(1_000_000), "\n") {
			if strings.HasPrefix(line, "WARN") && strings.Contains(line, "partition") {
				n, all = n+1, line
			}
		}
	}
	return fmt.Sprintf("%d warnings %s", n, all)
}
