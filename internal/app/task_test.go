package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
)

// TestTask: a task is done at once and in each period; when it last succeeded and how often it
// failed is a metric, and a failure is logged when it begins and when it ends.
func TestTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		now := func() andon.Time { return andon.TimeOf(time.Now()) }
		all := newTasks(now, slog.New(slog.NewTextHandler(&log, nil)))
		begun := now()
		wake := make(chan struct{})
		fail := errors.New("no space")
		all.start(task{"tidy", time.Hour, wake, func(context.Context) error { return fail }})
		expect := func(failures, succeeded float64, failed, again int) {
			t.Helper()
			synctest.Wait()
			got := strings.Join(append(gather(t, all.failures), gather(t, all.succeeded)...), " ")
			want := fmt.Sprint("andon_task_failures_total tidy ", failures,
				" andon_task_last_success_timestamp_seconds tidy ", succeeded)
			if got != want {
				t.Errorf("metrics are %s, want %s", got, want)
			}
			if n, m := strings.Count(log.String(), "task failed"),
				strings.Count(log.String(), "again"); n != failed || m != again {
				t.Errorf("logged: %s", log.String())
			}
		}
		expect(1, seconds(begun), 1, 0)
		time.Sleep(2 * time.Hour)
		expect(3, seconds(begun), 1, 0)
		fail = nil
		wake <- struct{}{}
		expect(3, seconds(begun)+7200, 1, 1)
		time.Sleep(time.Minute)
		fail = andon.Errorf(andon.Unsupported, "the store has nothing of the kind")
		wake <- struct{}{}
		expect(3, seconds(begun)+7260, 1, 1)
		all.stop()
		all.wait()
	})
}

// TestStopEndsTasks: one that is under way is broken off, which is no failure.
func TestStopEndsTasks(t *testing.T) {
	var log bytes.Buffer
	all := newTasks(func() andon.Time { return 0 }, slog.New(slog.NewTextHandler(&log, nil)))
	underWay := make(chan struct{})
	all.start(task{"long", time.Hour, nil, func(ctx context.Context) error {
		close(underWay)
		<-ctx.Done()
		return ctx.Err()
	}})
	<-underWay
	all.stop()
	all.wait()
	if log.Len() > 0 {
		t.Errorf("logged: %s", log.String())
	}
}

// TestTaskPanics: it ends the process, which a supervisor starts again, and is not half alive.
func TestTaskPanics(t *testing.T) {
	const child = "ANDON_TEST_PANICS"
	if os.Getenv(child) != "" {
		all := newTasks(func() andon.Time { return 0 }, slog.New(slog.DiscardHandler))
		all.start(task{"broken", time.Hour, nil, func(context.Context) error { panic("a defect") }})
		all.wait()
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTaskPanics$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a defect") {
		t.Errorf("%v: %s", err, out)
	}
}
