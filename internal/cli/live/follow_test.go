package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/clitest"
	"github.com/andonhq/andon/internal/cli/command"
)

// printed is standard output that a test waits for.
type printed struct {
	*testing.T
	parts chan string
	text  string
}

func (p *printed) Write(text []byte) (int, error) {
	p.parts <- string(text)
	return len(text), nil
}

// has waits until a text was printed.
func (p *printed) contains(want string) {
	p.Helper()
	const timeout = 20 * time.Second
	for !strings.Contains(p.text, want) {
		select {
		case part := <-p.parts:
			p.text += part
		case <-time.After(timeout):
			p.Fatalf("no %q in %s", want, p.text)
		}
	}
}

// TestWatchFollowsTheStream: each change is printed at once, also what is over again before the
// server would be asked.
func TestWatchFollowsTheStream(t *testing.T) {
	s, out := clitest.NewServer(t), &printed{T: t, parts: make(chan string, 100)}
	s.Sends("/events", `{"device":"a","time":"2020-04-24T14:00:00Z","state":"NORMAL"}`)
	p := &command.Program{Stdout: out, Stderr: io.Discard, Now: s.Clock}
	w := &watch{Program: p, Target: p.NewTarget(), every: time.Hour}
	w.URL, w.Tenant = s.URL, string(andon.DefaultTenant)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.run(ctx) }()
	out.contains(": 1 device\n")
	for i, e := range []string{"a WARNING1", "a NORMAL", "b NORMAL", "b WARNING2"} {
		device, state, _ := strings.Cut(e, " ")
		s.Sends("/events", fmt.Sprintf(
			`{"device":%q,"time":"2020-04-24T14:00:%02dZ","state":%q}`, device, i+1, state))
	}
	out.contains("a NORMAL → WARNING1\n")
	out.contains("a WARNING1 → NORMAL\n")
	out.contains("b is new here: NORMAL for 59m57s\n")
	out.contains("b NORMAL → WARNING2\n")
	if _, err := s.Client("").Retire(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	out.contains("b is not listed any more, was WARNING2\n")
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// taken returns what a follower prints for messages of the stream.
func taken(v *follower, now andon.Time, all ...client.Update) string {
	out := new(bytes.Buffer)
	v.watch.Program = &command.Program{Stdout: out, Stderr: io.Discard}
	for i := range all {
		if err := v.take(now, &all[i]); err != nil {
			return err.Error()
		}
	}
	return strings.ReplaceAll(out.String(), now.Std().Format("2006-01-02T15:04:05Z  "), "")
}

func TestWatchTakesInWhatIsTold(t *testing.T) {
	now := newClockwork(t).now()
	shows := func(id, state, operator string, received andon.Time) client.Update {
		return client.Update{Kind: client.Shows, Device: client.Device{
			Device: andon.DeviceID(id), State: andon.State(state), Received: received, Since: now,
			Operator: andon.PersonID(operator), Attributes: `{"long":1}`,
		}}
	}
	v := &follower{
		watch: &watch{query: client.DeviceQuery{State: "WARNING*", Device: "press*"}},
		devices: devices{
			"press-1": {Device: "press-1", State: "WARNING1", Received: now, Since: now},
		},
	}
	lost := client.Update{Kind: client.Lost, Err: errors.New("it\nis away")}
	got := taken(v, now,
		shows("press-1", "WARNING3", "", now-1), // before the list was read
		shows("press-1", "WARNING1", "Liz", now), shows("oven-1", "WARNING1", "", now),
		shows("press-2", "NORMAL", "", now), shows("press-2", "WARNING1", "", now),
		lost, lost, client.Update{Kind: client.Connected},
		shows("press-2", "NORMAL", "", now),
		client.Update{Kind: client.Gone, Device: client.Device{Device: "press-1"}},
		client.Update{Kind: client.Gone, Device: client.Device{Device: "press-1"}},
	)
	want := `press-1 operator Liz
press-2 is new here: WARNING1 for 0s
no answer: it
the server answers again
press-2 is not listed any more, was WARNING1
press-1 is not listed any more, was WARNING1
`
	if diff := cmp.Diff(want, got); diff != "" || len(v.devices) != 0 || v.stale {
		t.Errorf("%s%v", diff, v.devices)
	}
	for _, kind := range []client.UpdateKind{client.Reset, client.Settings} {
		if v.stale = false; taken(v, now, client.Update{Kind: kind}) != "" || !v.stale {
			t.Errorf("%d does not make it ask for all again", kind)
		}
	}
}

func TestWatchSelects(t *testing.T) {
	d := client.Device{Device: "press-1", State: "WARNING1", Operator: "Liz", EscalatedTo: "Sara"}
	for q, want := range map[client.DeviceQuery]bool{
		{}: true, {State: "NORMAL"}: false, {State: "WARNING*"}: true, {Device: "press"}: false,
		{Device: "press*"}: true, {Device: "press-1"}: true, {Operator: "Liz"}: true,
		{Operator: "Sue"}: false, {NoOperator: true}: false, {EscalatedTo: "Sara"}: true,
		{EscalatedTo: "Omar"}: false, {State: "a*b"}: false,
	} {
		if w := (&watch{query: q}); w.selects(&d) != want {
			t.Errorf("%+v: %v", q, !want)
		}
	}
}

// TestWatchLooksForSilence now and then, since the stream does not report it.
func TestWatchLooksForSilence(t *testing.T) {
	s := &script{fleet: []client.Device{{Device: "a"}, {Device: "b"}}}
	server := httptest.NewServer(s)
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	out, now := new(bytes.Buffer), newClockwork(t).now()
	v := &follower{
		watch:  &watch{Program: &command.Program{Stdout: out}, Target: command.Target{URL: "here"}},
		client: c, stream: &stream{},
	}
	show := func(after andon.Duration) {
		t.Helper()
		now = now.Add(after)
		if err := v.update(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	show(0)
	s.fleet = []client.Device{{Device: "b", Silent: true, Received: now}}
	out.Reset()
	show(silenceEvery - 1)
	if out.Len() > 0 || len(s.asked) != 1 {
		t.Errorf("it asked %q and printed %s", s.asked, out)
	}
	show(1)
	if last := s.asked[len(s.asked)-1]; !strings.Contains(last, "silent=true") {
		t.Errorf("it asked %s", last)
	}
	s.fleet = nil
	show(silenceEvery)
	want := "b silent for 10s\nb heard again\n"
	text := ""
	for line := range strings.Lines(out.String()) {
		text += line[len("2025-12-04T13:00:00Z  "):]
	}
	if text != want {
		t.Errorf("it printed %q, want %q", text, want)
	}
}
