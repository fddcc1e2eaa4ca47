package app

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon/internal/archive"
	"github.com/andonhq/andon/internal/lease"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/wrap"
)

func newExpiring() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "andon_archive_expiring_days",
		Help: "Days of which something expires soon and that could not be archived.",
	}, []string{"archive"})
}

// archives are the tasks that archive what is due. One that fails is done again soon.
func (a *App) archives() (all []task) {
	const soon = 5 * time.Minute
	for _, c := range a.Config.Archives {
		again := make(chan struct{}, 1)
		all = append(all, task{
			name: "archive " + c.Name, every: c.Every, wake: again,
			do: func(ctx context.Context) error {
				done, err := a.archive(ctx, c, archive.Selection{}, func(int, int) {})
				next := done.Next.Std()
				if err != nil {
					next = min(soon, c.Every)
				}
				if next < c.Every {
					time.AfterFunc(next, func() { sleep.Wake(again) })
				}
				a.expiring.WithLabelValues(c.Name).Set(float64(done.Expiring))
				if done.Expiring > 0 {
					a.Log.Warn("entries expire soon and could not be archived",
						"archive", c.Name, "days", done.Expiring)
				}
				return err
			},
		})
	}
	return all
}

// archive archives what is due, or selected, while no other process works on the archive.
func (a *App) archive(
	ctx context.Context, c archive.Config, s archive.Selection, progress func(done, total int),
) (done archive.Result, err error) {
	to, err := archive.Open(ctx, archive.Archive{
		Config: c, Store: a.store, Now: a.Now, Progress: progress,
	})
	if err != nil {
		return done, err
	}
	name := "archive/" + c.Name
	err = a.leases().Hold(ctx, name, func(ctx context.Context, _ *lease.Lease) (err error) {
		done, err = to.Run(ctx, s)
		return err
	})
	return done, err
}

// Archive is archive for a store that is not served from here.
func (a *App) Archive(
	ctx context.Context, c archive.Config, s archive.Selection, progress func(done, total int),
) (done archive.Result, err error) {
	store, err := a.OpenStore(ctx, "andon archive run")
	if err != nil {
		return done, err
	}
	a.store = wrap.Retain(store, a.Now)
	done, err = a.archive(ctx, c, s, progress)
	return done, errors.Join(err, store.Close())
}
