package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
)

// task is work that is done again and again, next to requests: once at the start, because a program
// that is restarted often would else never do it, and then once in each period.
type task struct {
	name  string
	every time.Duration
	wake  <-chan struct{} // it is also done when this says so, unless nil
	do    func(context.Context) error
}

// tasks run until they are stopped. A task that fails is logged and tried again when its time has
// come; one that panics ends the process, as a defect anywhere else does.
type tasks struct {
	now  func() andon.Time
	log  *slog.Logger
	quit context.CancelFunc
	all  sync.WaitGroup

	succeeded, period *prometheus.GaugeVec
	failures          *prometheus.CounterVec
}

func newTasks(now func() andon.Time, log *slog.Logger) *tasks {
	gauge := func(name, help string) *prometheus.GaugeVec {
		o := prometheus.GaugeOpts{Name: "andon_task_" + name, Help: help}
		return prometheus.NewGaugeVec(o, []string{"task"})
	}
	return &tasks{
		now: now, log: log, quit: func() {},
		succeeded: gauge("last_success_timestamp_seconds",
			"When a background task last succeeded; until it first does, when it was started."),
		period: gauge("period_seconds", "How often a background task is done."),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "andon_task_failures_total", Help: "How often a background task failed.",
		}, []string{"task"}),
	}
}

// start starts tasks. It is called once.
func (t *tasks) start(all ...task) {
	ctx, cancel := context.WithCancel(context.Background())
	t.quit = cancel
	for _, work := range all {
		t.succeeded.WithLabelValues(work.name).Set(seconds(t.now()))
		t.period.WithLabelValues(work.name).Set(work.every.Seconds())
		t.failures.WithLabelValues(work.name)
		t.all.Go(func() { t.run(ctx, work) })
	}
}

// run repeats a task until the context ends.
func (t *tasks) run(ctx context.Context, work task) {
	ticks := time.NewTicker(work.every)
	defer ticks.Stop()
	for failed := ""; ; {
		failed = t.once(ctx, work, failed)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		case <-work.wake:
		}
	}
}

// once does a task and returns why it failed, or "". failed is what it returned the time before:
// what fails every few seconds is logged when that begins, changes and ends.
func (t *tasks) once(ctx context.Context, work task, failed string) string {
	err := work.do(ctx)
	if andon.KindOf(err) == andon.Unsupported { // the store has nothing for the task to do
		err = nil
	}
	switch {
	case err == nil:
		t.succeeded.WithLabelValues(work.name).Set(seconds(t.now()))
		if failed != "" {
			t.log.Info("background task succeeds again", "task", work.name)
		}
		return ""
	case ctx.Err() != nil: // it was broken off, which is no failure
		return failed
	}
	t.failures.WithLabelValues(work.name).Inc()
	if err.Error() != failed {
		t.log.Error("background task failed", "task", work.name, "error", err)
	}
	return err.Error()
}

// stop ends the tasks; wait returns once they have ended.
func (t *tasks) stop() { t.quit() }
func (t *tasks) wait() { t.all.Wait() }

func seconds(t andon.Time) float64 { return float64(t) / 1e6 }
