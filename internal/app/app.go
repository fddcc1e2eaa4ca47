// Package app wires Andon together: the store, intake, services that listen or consume, and
// tasks that are done again and again. It starts and stops them in the right order, and is what the
// end-to-end tests start.
//
// It knows which parts there are and nothing of what they do. It reads no environment and no flags,
// and prints nothing.
package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/kafka"
	"github.com/andonhq/andon/internal/kinesis"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people/keeper"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/rules/runner"
	"github.com/andonhq/andon/internal/sink"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/source"
	"github.com/andonhq/andon/internal/wallclock"
)

// Options are what an App is made with. All but Fatal must be given.
type Options struct {
	Config Config
	Now    func() andon.Time
	// Passed is how much time has passed since any moment, by a clock that can't be set; nil: that
	// of the machine.
	Passed  func() time.Duration
	Log     *slog.Logger
	Version client.Version
	// Fatal is called when the store's disk failed. It must end the process: what is acknowledged
	// is on the disk, and nothing more can be promised. The store panics unless it is set.
	Fatal func(error)
}

// App is one running Andon. Start comes first and Stop last, each once.
type App struct {
	Options
	store     andon.Store
	clock     *wallclock.Clock
	intake    *intake.Intake
	api       *httpapi.API
	ordered   ordered
	calls     *calls
	memory    memoryBound
	http      *httpService
	gateway   *gateway // nil unless the program is one
	services  *services
	feeds     []*sink.Feed
	ends      []func()                  // close what feeds are delivered to
	alerts    *mapping.Mapping          // nil: none are taken
	channels  map[string]notify.Channel // by name
	documents *records.Documents        // of people; one, so that all know a change at once
	notify    *notify.Service           // once the store is open
	kafka     []*kafka.Consumer
	kinesis   []*kinesis.Consumer
	keeper    *keeper.Keeper // of incidents; nil: they are not kept
	made      chan struct{}  // wakes it when a tenant was made
	calendars records.Calendars
	rules     *runner.Runner // nil: they are not evaluated
	tasks     *tasks
	// What sources refused, and what they count; there before services start.
	rejections *source.Rejections
	sources    *source.Metrics
	failed     context.Context // ends with the first service that ended by itself
	fail       context.CancelCauseFunc
	expiring   *prometheus.GaugeVec // days that an archive could not get, by archive
}

// New makes an App. It touches nothing yet.
func New(o Options) *App {
	a := &App{
		Options: o, ordered: newOrdered(), calls: newCalls(o.Config.Store),
		tasks: newTasks(o.Now, o.Log), expiring: newExpiring(),
		made: make(chan struct{}, 1),
	}
	if a.Passed == nil {
		a.Passed = passing()
	}
	a.failed, a.fail = context.WithCancelCause(context.Background())
	a.memory.app = a
	a.http = &httpService{app: a}
	members := []service{a.http}
	if o.Config.Forward != nil {
		a.gateway = newGateway(a)
		members = append(members, a.gateway)
	}
	if o.Config.Profiles != "" {
		members = append(members, &profiles{config: &a.Config, log: o.Log})
	}
	a.services = newServices(members...)
	if o.Config.Incidents && o.Config.Forward == nil { // a gateway has no devices of its own
		a.newKeeper()
	}
	if o.Config.Forward == nil {
		a.newRules()
	}
	return a
}

// Start opens the store and answers requests. When it returns an error, nothing is left open. What
// is wrong with the configuration is Invalid.
func (a *App) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			a.closeFeeds()
		}
	}()
	if a.http.token, err = readToken(a.Config.TokenFile); err != nil {
		return err
	}
	if err := a.openWays(); err != nil {
		return err
	}
	if err := a.services.open(ctx); err != nil {
		return err
	}
	if err := a.openStore(ctx); err != nil {
		return errors.Join(err, a.services.stop(context.WithoutCancel(ctx)))
	}
	a.wire()
	a.tasks.start(a.background()...)
	a.services.start(a.fail)
	a.Log.Info("started", "url", a.URL(), "store", a.store.Capabilities().Name)
	return nil
}

// openWays opens what reads from other systems, and what writes to them and to people. It comes
// before the services are opened, and says all that is wrong.
func (a *App) openWays() error {
	return errors.Join(a.openSources(), a.openFeeds(), a.openChannels(), a.openAlerts())
}

func (a *App) wire() {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a.documents = records.NewDocuments(a.store, a.Now)
	a.notify = a.newNotify()
	a.documents.CheckContact = a.notify.CheckContact
	a.registerGauges(registry)
	limits, t := a.Config.Limits, a.Config.Timeouts
	var after andon.Time
	if a.gateway != nil {
		registry.MustRegister(a.gateway.gauges())
		after = a.gateway.queue.Latest(a.Now())
	}
	a.intake = intake.New(a.store, intake.Options{
		Now: a.Now, Clock: a.clock, MaxBytes: limits.Memory, MaxRequests: limits.Requests,
		MaxReads: limits.Reads, MaxWait: limits.Wait, MaxStates: limits.States,
		Audit: a.audit(), After: after, Purged: a.purged, Measured: a.measured(),
		Made: a.made,
	})
	a.documents.Changed = a.changed
	a.rejections = &source.Rejections{Store: a.store, Now: a.Now, Keep: a.Config.Rejections}
	a.sources = source.NewMetrics(registry)
	var incidents httpapi.Incidents
	if a.keeper != nil {
		incidents = a.wireKeeper()
		a.registerIncidents(registry)
	}
	if a.rules != nil {
		a.wireRules(registry)
	}
	a.api = httpapi.New(httpapi.Options{
		Incidents: incidents, Maintenance: a.maintenance,
		Store: a.store, Ready: a.ready,
		Intake: a.intake, Now: a.Now, Log: a.Log, Registry: registry,
		Version: a.Version, Token: a.http.token, Loopback: a.http.loopback,
		BodyTimeout: t.Body, Timeout: t.Request,
		Slow: a.Config.Log.Slow, Backup: a.backup,
		Documents: a.documents, Rules: a.rules, Notifications: a.notify, Alerts: a.takesAlerts(),
	})
	a.http.use(a.api)
}

// ready reports why the program can't serve now, or nil.
func (a *App) ready(ctx context.Context) error {
	if a.gateway != nil {
		if err := a.gateway.ready(); err != nil {
			return err
		}
	}
	return a.store.Ready(ctx)
}

// background is what is done again and again, next to requests.
func (a *App) background() []task {
	every := a.Config.Expiry.Every
	all := []task{
		{name: "sweep", every: every, wake: a.intake.Wanted(), do: a.intake.Expire},
		{name: "clock", every: every, do: a.intake.KeepClock},
	}
	if a.memory.isOurs() {
		all = append(all, task{name: "memory", every: 10 * time.Second, do: a.memory.follow},
			task{name: "garbage", every: time.Second, do: a.memory.giveBack})
	}
	return append(all, a.archives()...)
}

// URL returns the address of the running App.
func (a *App) URL() string { return a.http.url() }

// Wait returns when the context ends (nil) or when a service ended by itself.
func (a *App) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.failed.Done():
		return context.Cause(a.failed)
	}
}

// Stop ends the App: /readyz says no, then the services end, with requests under way, then the
// tasks, then the store finishes and closes. It takes no longer than the timeouts of the
// configuration and the context allow; requests that take longer are cut off, and that is the
// error.
func (a *App) Stop(ctx context.Context) error {
	a.api.Drain()
	_ = sleep.For(ctx, a.Config.Timeouts.Drain)
	ctx, cancel := context.WithTimeout(ctx, a.Config.Timeouts.Stop)
	defer cancel()
	a.tasks.stop()
	cut := a.services.stop(ctx)
	a.tasks.wait()
	if err := a.store.Finish(ctx); err != nil {
		a.Log.Info("the store could not finish: the next start takes longer", "error", err)
	}
	err := errors.Join(cut, a.store.Close()) // it waits for requests that were cut off
	a.Log.Info("stopped")
	return err
}
