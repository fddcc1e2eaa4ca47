package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/all"
	"github.com/andonhq/andon/internal/store/wrap"
)

// A store in a cluster is measured in a place of its own there, which is made for that and dropped:
// beside anything else the figures would be of that, too.

// clusterFlags adds the flags of the settings that clusters are reached with, and returns where the
// configuration is. Which place and which design it is, the run says.
func (b *benchmark) clusterFlags(cmd *cobra.Command) (sources func() config.Sources) {
	defaults := config.Default()
	var taken []config.Setting
	for _, s := range defaults.Settings() {
		group, name, _ := strings.Cut(s.Key, ".")
		if name == "keyspace" || name == "latest" || !s.HasFlag() || !inCluster(group) {
			continue
		}
		cmd.Flags().Var(&local.SettingFlag{Text: s.Value.String(), Form: s.Value.Type()},
			s.Flag(), s.Help)
		command.CompleteWords(cmd, s.Flag(), s.Value.Type())
		taken = append(taken, s)
	}
	return func() config.Sources {
		from := config.Sources{Env: b.Environ, Flags: map[string]string{}}
		for _, s := range taken {
			if cmd.Flags().Changed(s.Flag()) {
				from.Flags[s.Key] = cmd.Flags().Lookup(s.Flag()).Value.String()
			}
		}
		return from
	}
}

// inCluster reports whether a store, or a design of it, has its place in a cluster.
func inCluster(subject string) bool {
	name, _, _ := strings.Cut(subject, ":")
	return all.HasSchema(name)
}

// clusterSubjects are the names that stores in clusters are measured by: cassandra:buckets.
func clusterSubjects() (names []string) {
	for _, name := range all.Names() {
		if !inCluster(name) {
			continue
		}
		names = append(names, name)
		for _, design := range all.Designs(name) {
			names = append(names, name+":"+design)
		}
	}
	return names
}

// loadCluster reads how the cluster is reached, and refuses what can't be asked.
func (b *benchmark) loadCluster() error {
	c, err := config.Load(b.sources())
	if err != nil {
		return local.WrongConfig(err)
	}
	if len(c.Cassandra.Hosts) == 0 {
		return andon.Errorf(andon.Invalid,
			"--cassandra-hosts is missing: a store in a cluster is measured in a cluster that runs")
	}
	b.cluster = c
	return nil
}

// discarded is a store that can close itself and drop its place in the cluster.
type discarded interface {
	Discard(ctx context.Context) error
}

// tombstoneCounter is a store whose engine says how many tombstones it read past.
type tombstoneCounter interface {
	CountTombstones() wrap.Tombstoned
}

// openCluster makes a place in the cluster and opens a store in it. end drops it, also when the
// context is over by then. It is made in one piece, or half of it would be left.
func (b *benchmark) openCluster(ctx context.Context, subject string) (
	store andon.Store, end func() error, err error,
) {
	c := b.cluster
	name, design, _ := strings.Cut(subject, ":")
	c.Store, c.Cassandra.Latest = name, design
	c.Cassandra.Keyspace = strings.ReplaceAll(
		fmt.Sprintf("andon_bench_%s_%08x", strings.ReplaceAll(design, "-", "_"), rand.Uint32()),
		"__", "_")
	whole := context.WithoutCancel(ctx)
	a := local.NewQuietApp(b.Program, c)
	setup := all.Setup{Replication: c.Cassandra.Replication}
	err = a.InitStore(whole, setup, func(string) {})
	if err == nil {
		store, err = a.OpenStore(whole, "andon bench")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w (look whether keyspace %s is there, and drop it)", err,
			c.Cassandra.Keyspace)
	}
	d, ok := wrap.As[discarded](store)
	switch {
	case b.keep != "":
		fmt.Fprintf(b.Stderr, "Kept: keyspace %s\n", c.Cassandra.Keyspace)
		return store, store.Close, nil
	case !ok:
		return nil, nil, errors.Join(errors.New("its place can't be dropped"), store.Close())
	}
	return store, func() error { return d.Discard(whole) }, nil
}
