package shared

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestJobBacksOff: what fails is tried again soon, then less and less often, and soon again after
// it has worked.
func TestJobBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var at []int // seconds
		job := Job{
			Every: 10 * time.Minute, Retry: time.Second, Warn: func(string, ...any) {},
			Do: func(context.Context) error {
				at = append(at, int(time.Since(began).Seconds()))
				switch len(at) {
				case 9:
					return nil
				case 11:
					cancel()
				}
				return errors.New("wrong")
			},
		}
		job.Run(ctx)
		want := []int{0, 1, 3, 7, 15, 31, 63, 123, 183, 783, 784}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error("(-want +got):\n" + diff)
		}
	})
}
