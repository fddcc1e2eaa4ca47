package live

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
)

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

// TestWatchFollowsWhatIsSelected: what people say of devices only the server knows.
func TestWatchFollowsWhatIsSelected(t *testing.T) {
	s := &script{status: http.StatusNotFound}
	q := client.DeviceQuery{Device: "press*", Selection: client.Selection{Group: "hall-1"}}
	w := watch{Program: &command.Program{Now: newClockwork(t).now}, query: q}
	w.client = s.serve(t)
	if err := w.follow(t.Context()); !command.IsStatus(err, http.StatusNotFound) {
		t.Error(err)
	}
	want := []string{"/api/v1/events/stream?device=press%2A&group=hall-1"}
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Error(diff)
	}
}

func TestWatchSelects(t *testing.T) {
	nobodys := &client.Device{Device: "press-2"}
	if w := (&watch{query: client.DeviceQuery{Operator: andon.NoPerson}}); !w.selects(nobodys) {
		t.Error("a device without an operator is not selected by none")
	}
	d := client.Device{Device: "press-1", State: "WARNING1", Operator: "Liz", EscalatedTo: "Sara"}
	for q, want := range map[client.DeviceQuery]bool{
		{}: true, {State: "NORMAL"}: false, {State: "WARNING*"}: true, {Device: "press"}: false,
		{Device: "press*"}: true, {Device: "press-1"}: true, {Operator: "Liz"}: true,
		{Operator: "Sue"}: false, {Operator: andon.NoPerson}: false, {EscalatedTo: "Sara"}: true,
		{EscalatedTo: "Omar"}: false, {State: "a*b"}: false, {Silent: new(true)}: false,
	} {
		if w := (&watch{query: q}); w.selects(&d) != want {
			t.Errorf("%+v: %v", q, !want)
		}
	}
}
