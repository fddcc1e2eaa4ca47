package app

import (
	"cmp"
	"context"
	"errors"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/all"
	"github.com/andonhq/andon/internal/store/wrap"
)

// openStore comes behind listening, so that the store can say whose it is by the address.
func (a *App) openStore(ctx context.Context) error {
	store, err := a.OpenStore(ctx, "andon at "+a.URL())
	if err != nil {
		return err
	}
	if err := a.startClock(ctx, store); err != nil {
		return errors.Join(err, store.Close())
	}
	a.store = wrap.RetainBelieved(wrap.Around(store, a.calls.hook), a.Now, a.clock.Believed)
	return nil
}

// OpenStore opens the store of a configuration as Start does, for what works on it without serving.
// It has no exact retention: the caller wraps it where that matters.
func (a *App) OpenStore(ctx context.Context, owner string) (andon.Store, error) {
	return all.Open(ctx, a.Config.Store, a.storeConfig(owner))
}

// InitStore makes the schema of the store of a configuration, as all.Init has it.
func (a *App) InitStore(ctx context.Context, s all.Setup, tell func(statement string)) error {
	return all.Init(ctx, a.Config.Store, a.storeConfig(""), s, tell)
}

// RepairStore looks for damage of the store of a configuration, as all.Repair has it.
func (a *App) RepairStore(giveUp bool, tell func(line string)) error {
	return all.Repair(a.Config.Store, a.storeConfig("andon store repair"), giveUp, tell)
}

func (a *App) storeConfig(owner string) all.Config {
	c := storeConfig(a.Config)
	c.Log, c.Now, c.Owner, c.Fatal = a.Log, a.Now, owner, a.Fatal
	c.Ordered = a.ordered.observe
	return c
}

// storeConfig is what the settings say of the store.
func storeConfig(c config.Config) all.Config {
	to := all.Config{Dir: c.Data, Cache: c.Pebble.Cache, Reserve: c.Pebble.Reserve}
	from, k := c.Cassandra, &to.Cassandra
	k.Hosts, k.Keyspace, k.Datacenter = from.Hosts, from.Keyspace, from.Datacenter
	k.ReadConsistency = cmp.Or(from.ReadConsistency, from.Consistency)
	k.WriteConsistency = cmp.Or(from.WriteConsistency, from.Consistency)
	k.User, k.Password, k.PasswordFile = from.User, from.Password, from.PasswordFile
	k.TLS.On, k.TLS.SkipName = from.TLS == "on", from.TLSSkipName == "on"
	k.TLS.CA, k.TLS.Cert, k.TLS.Key = from.TLSCA, from.TLSCert, from.TLSKey
	k.Timeout, k.Speculate = from.Timeout, from.Speculate
	k.Connections, k.InFlight = int(from.Connections), int(from.InFlight)
	k.Latest, k.Buckets = from.Latest, from.Buckets
	k.Recount, k.Settle = from.Recount, from.Settle
	return to
}
