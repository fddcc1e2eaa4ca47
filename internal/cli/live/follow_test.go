package live

import (
	"context"
	"fmt"
	"io"
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
	const timeout = time.Minute
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
	w := &watch{Program: p, Target: p.NewTarget()}
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
	out.contains("a NORMAL → WARNING1 for 59m59s\n")
	out.contains("a WARNING1 → NORMAL for 59m58s\n")
	out.contains("b NORMAL for 59m57s\n")
	out.contains("b NORMAL → WARNING2 for 59m56s\n")
	if _, err := s.Client("").Retire(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	out.contains("b is not listed any more, was WARNING2\n")
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWatchTakesInWhatIsTold(t *testing.T) {
	now := newClockwork(t).now()
	shows := func(id, state, operator string, received andon.Time) client.Update {
		return client.Update{Kind: client.Shows, Device: client.Device{
			Device: andon.DeviceID(id), State: andon.State(state), Received: received, Since: now,
			Operator: andon.PersonID(operator), Attributes: `{"long":1}`,
		}}
	}
	is := client.Device{Device: "press-1", State: "WARNING1", Received: now, Since: now}
	gone := client.Update{Kind: client.Gone, Device: client.Device{Device: "press-1"}}
	scenes := []scene{{kind(client.Begun), fleet(is)}}
	for _, u := range []client.Update{
		shows("press-1", "WARNING3", "", now-1), // before the list was read
		shows("press-1", "WARNING1", "Liz", now), shows("oven-1", "WARNING1", "", now),
		shows("press-2", "NORMAL", "", now), shows("press-2", "WARNING1", "", now),
		shows("press-2", "NORMAL", "", now), gone, gone,
	} {
		scenes = append(scenes, scene{u, nil})
	}
	q := client.DeviceQuery{State: "WARNING*", Device: "press*"}
	got, _, err := play(t, watch{query: q}, scenes...)
	want := `2025-12-04T13:00:00Z  watching here, tenant default: 1 device
2025-12-04T13:00:04Z  press-1 WARNING1 for 4s, Liz
2025-12-04T13:00:10Z  press-2 WARNING1 for 10s
2025-12-04T13:00:12Z  press-2 is not listed any more, was WARNING1
2025-12-04T13:00:14Z  press-1 is not listed any more, was WARNING1
`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestWatchSelects(t *testing.T) {
	d := client.Device{Device: "press-1", State: "WARNING1", Operator: "Liz", EscalatedTo: "Sara"}
	for q, want := range map[client.DeviceQuery]bool{
		{}: true, {State: "NORMAL"}: false, {State: "WARNING*"}: true, {Device: "press"}: false,
		{Device: "press*"}: true, {Device: "press-1"}: true, {Operator: "Liz"}: true,
		{Operator: "Sue"}: false, {NoOperator: true}: false, {EscalatedTo: "Sara"}: true,
		{EscalatedTo: "Omar"}: false, {State: "a*b"}: false, {Silent: new(true)}: false,
	} {
		if w := (&watch{query: q}); w.selects(&d) != want {
			t.Errorf("%+v: %v", q, !want)
		}
	}
}
