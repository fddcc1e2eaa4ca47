package live

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/golden"
)

// clockwork is a clock that moves only while the command sleeps.
type clockwork struct{ time atomic.Int64 }

func newClockwork(t *testing.T) *clockwork {
	t.Helper()
	start, err := andon.ParseTime("2025-12-04T13:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	c := new(clockwork)
	c.time.Store(int64(start))
	return c
}

func (c *clockwork) now() andon.Time { return andon.Time(c.time.Load()) }

func (c *clockwork) sleep(ctx context.Context, d time.Duration) error {
	c.time.Add(d.Microseconds())
	return ctx.Err()
}

// newDemo makes a demo that lives by a clockwork, on a free port.
func newDemo(c *clockwork, out io.Writer, length time.Duration) *demo {
	return &demo{
		Program: &command.Program{Stdout: out, Stderr: io.Discard, Now: c.now}, sleep: c.sleep,
		seed: 1, devices: 60, speed: 60, listen: "127.0.0.1:0", length: length,
		to: func(c *client.Client) receiver { return c },
	}
}

// TestSerialDemoGolden: the demo prints lines, the address first; with its own clock the same ones
// on every machine, but for the port.
func TestSerialDemoGolden(t *testing.T) {
	var out bytes.Buffer
	if err := newDemo(newClockwork(t), &out, 20*time.Second).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	port := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	golden.File(t, "testdata/demo.golden", port.ReplaceAllString(out.String(), "127.0.0.1:…"))
}

// TestDemoStepsAround: a port that is taken is no reason to end, unless it was asked for.
func TestDemoStepsAround(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:8080")
	if err == nil { // else it is taken already, which is as good
		defer l.Close()
	}
	var out bytes.Buffer
	d := newDemo(newClockwork(t), &out, time.Second)
	d.listen = ""
	if err := d.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(out.String(), "\n")
	said := regexp.MustCompile(`^Andon answers at http://127\.0\.0\.1:\d+, ` +
		`since another program listens on 127\.0\.0\.1:8080$`)
	if !said.MatchString(first) || strings.Contains(first, ":8080,") {
		t.Errorf("it said %q", first)
	}
	d.listen = "127.0.0.1:8080"
	if err := d.run(t.Context()); andon.KindOf(err) != andon.Unavailable {
		t.Errorf("asked for a port that is taken: %v", err)
	}
}

// TestDemoIsInterrupted: whenever that is, it ends without an error and says what was done.
func TestDemoIsInterrupted(t *testing.T) {
	for _, after := range []int{0, 1, 20} { // pauses
		ctx, interrupt := context.WithCancel(t.Context())
		c, out, dir := newClockwork(t), new(bytes.Buffer), t.TempDir()
		d := newDemo(c, out, 0)
		d.keep = filepath.Join(dir, "kept")
		d.sleep = func(ctx context.Context, length time.Duration) error {
			if after--; after < 0 {
				interrupt()
			}
			return c.sleep(ctx, length)
		}
		if err := d.run(ctx); err != nil {
			t.Error(err)
		}
		if text := out.String(); !strings.Contains(text, "Andon has stopped. It was sent") ||
			!strings.HasSuffix(text, "Serve it with: andon serve --data "+d.keep+"/store\n") {
			t.Errorf("it said %s", text)
		}
	}
}

func TestDemoRefuses(t *testing.T) {
	for name, change := range map[string]func(*demo){
		"no device":        func(d *demo) { d.devices = 0 },
		"too many devices": func(d *demo) { d.devices = 10_001 },
		"standing still":   func(d *demo) { d.speed = 0 },
		"too fast":         func(d *demo) { d.speed = 1001 },
		"no speed at all":  func(d *demo) { d.speed = nan() },
		"back in time":     func(d *demo) { d.length = -1 },
	} {
		d := newDemo(newClockwork(t), io.Discard, 1)
		change(d)
		if err := d.run(t.Context()); andon.KindOf(err) != andon.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

// TestDemoGoesOnWithoutWhatWasTakenAway: a user may retire devices of the factory.
func TestDemoGoesOnWithoutWhatWasTakenAway(t *testing.T) {
	f := &factory{to: gone{}}
	one := andon.Escalation{Device: "d", To: "Sara"}
	err := f.escalate(t.Context(), []andon.Escalation{one})
	if err != nil || f.sent.refused != 1 || f.sent.reason == "" {
		t.Errorf("%+v, %v", f.sent, err)
	}
}

// batches notes how much it is sent at once.
type batches struct {
	*reference
	events, most int
}

func (b *batches) AppendEvents(ctx context.Context, e []andon.Event) (client.Result, error) {
	b.events, b.most = b.events+len(e), max(b.most, len(e))
	return b.reference.AppendEvents(ctx, e)
}

// TestDemoSlept: a machine that was asleep for an hour makes up for it in parts.
func TestDemoSlept(t *testing.T) {
	c := newClockwork(t)
	to := &batches{reference: newReference(c)}
	d := newDemo(c, io.Discard, 0)
	f := d.newFactory(to)
	f.until = f.past
	if err := c.sleep(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := f.sendUntil(t.Context(), c.now()); err != nil {
		t.Fatal(err)
	}
	if to.events < 40_000 || to.most > 3*d.devices || f.sent.refused > 0 {
		t.Errorf("%d events, at most %d at once, %d refused: %s",
			to.events, to.most, f.sent.refused, f.sent.reason)
	}
}

func TestPastHours(t *testing.T) {
	for devices, want := range map[int]int{1: 10, 500: 10, 1000: 10, 2000: 5, 10_000: 2} {
		if got := pastHours(devices); got != want {
			t.Errorf("%d devices: %d hours, want %d", devices, got, want)
		}
	}
}
