package test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

// wards is a server that keeps incidents, is killed again and again, and is back each time.
type wards struct {
	t     *testing.T
	dir   string
	s     *server
	c     *client.Client
	downs [][2]andon.Time // from the kill until it answers again
	// within what time a step must be done after it was due
	within andon.Duration
}

func (w *wards) start() {
	w.t.Helper()
	w.s = start(w.t, "--store", "pebble", "--data", w.dir, "--log-level", "warn",
		"--log-audit", "off", "--incidents", "on")
	w.c = newClient(w.t, w.s)
}

func (w *wards) kill() {
	w.t.Helper()
	<-time.After(time.Duration(rand.Int64N(int64(1500 * time.Millisecond))))
	down := [2]andon.Time{instant()}
	w.s.end(syscall.SIGKILL, -1)
	w.start()
	down[1] = instant()
	w.downs = append(w.downs, down)
}

func instant() andon.Time { return andon.TimeOf(time.Now()) }

// send sends a state of many devices, some at a time.
func (w *wards) send(devices int, state andon.State) {
	w.t.Helper()
	for first := 0; first < devices; first += 100 {
		var all []andon.Event
		for i := first; i < first+100; i++ {
			all = append(all, andon.Event{Device: ward(i), State: state})
		}
		if _, err := w.c.AppendEvents(w.t.Context(), all); err != nil {
			w.t.Fatal(err)
		}
	}
}

func ward(i int) andon.DeviceID { return andon.DeviceID(fmt.Sprintf("ward-%04d", i)) }

// latest is until when a step may come that was due: a second after that, or after the restart. Of
// a machine that does other work too, no more is asked than that the step comes soon.
func (w *wards) latest(due andon.Time) andon.Time {
	latest := due.Add(w.within)
	for _, d := range w.downs {
		if d[0] <= latest && due <= d[1] {
			latest = d[1].Add(w.within)
		}
	}
	return latest
}

// onTime is within what time a step must be done after it was due, by the load of the machine.
func onTime(t *testing.T) andon.Duration {
	var load float64
	text, err := os.ReadFile("/proc/loadavg") // of the last minute
	if err == nil {
		_, err = fmt.Sscan(string(text), &load)
	}
	if err != nil || load <= float64(runtime.NumCPU()) {
		return andon.DurationOf(time.Second)
	}
	t.Logf("load is %.1f: whether steps come within a second is not judged", load)
	return andon.DurationOf(30 * time.Second)
}

// check checks the log of an open incident.
func (w *wards) check(in *client.Incident) {
	w.t.Helper()
	var began andon.Time
	var told int
	for _, s := range in.Steps {
		switch s.What {
		case "opened", "assigned":
		case "policy started":
			if began != 0 {
				w.t.Errorf("the policy of %s started twice", in.Device)
			}
			began = s.At
		case "notified", "escalated":
			told++
			due := began.Add(andon.DurationOf(time.Duration(2*told) * time.Second))
			if s.At < due || s.At > w.latest(due) {
				w.t.Errorf("step %d of %s was due at %s and done at %s", told, in.Device, due, s.At)
			}
		default:
			w.t.Errorf("%s has a step %+v", in.Device, s)
		}
	}
	if told != 3 || began == 0 {
		w.t.Errorf("%d steps of the policy of %s are done", told, in.Device)
	}
}

// TestSerialKillPolicies kills a server at random while policies of two thousand incidents run:
// each step is in the log once, in time, and what follows from it is done. What opened before is
// not opened again by what is read again.
func TestSerialKillPolicies(t *testing.T) {
	const devices, twice = 2000, 500
	w := &wards{t: t, dir: t.TempDir(), within: onTime(t)}
	w.start()
	for _, document := range [][2]string{
		{"people/Liz", `{}`},
		{"people/Sara", `{}`},
		{"policies/p", `{"match":{},"assign":"person Liz","steps":[` +
			`{"after":"2s","to":"operator"},` +
			`{"after":"4s","to":"supervisor Sara"},{"after":"6s","to":"person Liz"}]}`},
	} {
		w.s.send(t, http.MethodPut, "/api/v1/"+document[0], "application/json", document[1])
	}
	w.send(twice, "WARNING1")
	w.send(twice, "NORMAL")
	w.kill()
	w.send(devices, "WARNING2")
	for range 3 {
		w.kill()
	}
	for again := 0; ; again++ {
		done, n := 0, 0
		for in, err := range w.c.Incidents(t.Context(), client.IncidentQuery{}) {
			if n++; err != nil {
				t.Fatal(err)
			}
			if in.Escalation != nil && in.Escalation.NextAt == 0 {
				done++
			}
		}
		if n == devices && done == devices {
			break
		}
		<-time.After(100 * time.Millisecond)
	}
	w.within = max(w.within, onTime(t))
	for in, err := range w.c.Incidents(t.Context(), client.IncidentQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		whole, err := w.c.Incident(t.Context(), in.ID)
		if err != nil {
			t.Fatal(err)
		}
		w.check(&whole)
	}
	for i := range devices {
		want, got := 1, 0
		if i < twice {
			want = 2
		}
		for _, err := range w.c.DeviceIncidents(t.Context(), ward(i), client.Query{}) {
			if got++; err != nil {
				t.Fatal(err)
			}
		}
		if got != want {
			t.Errorf("%s has %d incidents, want %d", ward(i), got, want)
		}
	}
	for d, err := range w.c.Devices(t.Context(), client.DeviceQuery{}) {
		if err != nil || d.EscalatedTo != "Sara" {
			t.Fatalf("%s is escalated to %q, %v", d.Device, d.EscalatedTo, err)
		}
	}
}
