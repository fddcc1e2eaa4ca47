package shared

import (
	"context"
	"time"

	"github.com/andonhq/andon/internal/sleep"
)

// Job is work in the background: it is done at the start, when it is woken, and periodically.
type Job struct {
	Do     func(context.Context) error
	Every  time.Duration
	Retry  time.Duration   // from a failure to the next try; Every unless set; doubled after each
	Wake   <-chan struct{} // may be nil
	Failed string          // what Warn, of a log, is called with after a failure
	Warn   func(text string, args ...any)
}

// Recount is the job of scanning all devices, which calls Counts.Done.
func Recount(
	every time.Duration, warn func(text string, args ...any), scan func(context.Context) error,
) Job {
	return Job{
		Do: scan, Every: every, Retry: time.Second, Warn: warn,
		Failed: "the devices can't be counted",
	}
}

// Run does the work until ctx ends.
func (j Job) Run(ctx context.Context) {
	retry := j.Retry
	for {
		pause := j.Every
		if err := j.Do(ctx); err == nil {
			retry = j.Retry
		} else if ctx.Err() == nil {
			j.Warn(j.Failed, "error", err)
			if retry > 0 {
				pause, retry = retry, min(2*retry, time.Minute)
			}
		}
		if _, err := sleep.Until(ctx, j.Wake, pause); err != nil {
			return
		}
	}
}
