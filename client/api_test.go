package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collect returns all items of a list.
func collect[T any](t *testing.T, list iter.Seq2[T, error]) (items []T) {
	t.Helper()
	for item, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	return items
}

// must takes the answer of a call that must go well.
func must[T any](t *testing.T) func(T, error) T {
	return func(answer T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

func status(err error) int {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Status
	}
	return 0
}

func start(t *testing.T) (context.Context, *client.Client) {
	c, stop := serve()
	t.Cleanup(stop)
	lastHour(t.Context(), c)
	return t.Context(), c
}

func TestPeople(t *testing.T) {
	ctx, c := start(t)
	result := must[client.Result](t)(c.AssignMany(ctx, []andon.Assignment{
		{Device: "press-8", Operator: "Sue"}, {Device: "", Operator: "Bob"}, {Device: "press-7"},
	}))
	if result.Accepted != 2 || len(result.Rejected) != 1 || result.Rejected[0].Index != 1 {
		t.Errorf("got %+v", result)
	}
	now := at(morning)
	got := collect(t, c.Assignments(ctx, "press-7", client.Query{Order: andon.Asc}))
	want := []andon.Assignment{{Device: "press-7", From: now}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, to := range []andon.PersonID{"Sara", ""} {
		kept, added, err := c.Escalate(ctx, andon.Escalation{
			Device: "press-8", Time: at("2020-04-24T07:30:00Z"), State: "NORMAL", To: to,
		})
		if kept.To != to || kept.Device != "press-8" || kept.At < now || !added || err != nil {
			t.Errorf("got %+v, %v, %v", kept, added, err)
		}
	}
	if got := collect(t, c.SupervisorEvents(ctx, "Sara", client.Query{})); len(got) != 0 {
		t.Errorf("withdrawn, and still there: %v", got)
	}
	if got := collect(t, c.OperatorEvents(ctx, "Liz", client.Query{Page: 1})); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestRetire(t *testing.T) {
	ctx, c := start(t)
	if got := must[andon.Time](t)(c.Retire(ctx, "press-7")); got != at(morning) {
		t.Errorf("retired at %s", got)
	}
	if _, err := c.Retire(ctx, "press-7"); status(err) != 404 {
		t.Errorf("got %v", err)
	}
	states, total, err := c.States(ctx)
	if err != nil || total != 1 || states[0].Count != 1 {
		t.Errorf("got %v, %d, %v", states, total, err)
	}
}

func TestReadings(t *testing.T) {
	ctx, c := start(t)
	r := andon.Reading{
		Device: "press-7", Time: at("2020-04-24T07:59:00Z"), Metadata: `{"fw":"1"}`,
		Metrics: andon.Metrics{{Name: "door", Value: 1}, {Name: "temp", Value: 21.5}},
	}
	must[client.Result](t)(c.AppendReadings(ctx, []andon.Reading{r}))
	got := must[andon.Reading](t)(c.LatestReading(ctx, "press-7"))
	if diff := cmp.Diff(r, got); diff != "" {
		t.Error(diff)
	}
	q := client.Query{From: r.Time, To: r.Time}
	if got := collect(t, c.DeviceReadings(ctx, "press-7", q, "temp")); len(got[0].Metrics) != 1 {
		t.Errorf("got %v", got)
	}
	if got := collect(t, c.MetricReadings(ctx, "temp", q)); got[0].Value != 21.5 {
		t.Errorf("got %v", got)
	}
	all, missing, err := c.LatestReadings(ctx, []andon.DeviceID{"press-7", "press-8"})
	if err != nil || len(all) != 1 || len(missing) != 1 {
		t.Errorf("got %v, %v, %v", all, missing, err)
	}
}

func TestTenants(t *testing.T) {
	ctx, c := start(t)
	silent := andon.Duration(60_000_000)
	change := client.TenantChange{SilentAfter: &silent}
	made := must[client.Tenant](t)(c.PutTenant(ctx, "metro", change))
	got := must[client.Tenant](t)(c.Tenant(ctx, "metro"))
	if diff := cmp.Diff(made, got); diff != "" || got.SilentAfter != silent {
		t.Errorf("got %+v\n%s", got, diff)
	}
	if all := collect(t, c.Tenants(ctx)); len(all) != 2 || all[1].Tenant != "metro" {
		t.Errorf("got %v", all)
	}
	if err := c.DeleteTenant(ctx, "metro"); err != nil {
		t.Error(err)
	}
	if err := c.DeleteTenant(ctx, "default"); status(err) != 409 {
		t.Errorf("got %v", err)
	}
	if _, err := c.Tenant(ctx, "metro"); status(err) != 404 {
		t.Errorf("got %v", err)
	}
}

func TestServer(t *testing.T) {
	ctx, c := start(t)
	if v := must[client.Version](t)(c.Version(ctx)); v.Version != "v1.0.0" || v.Store == "" {
		t.Errorf("got %+v", v)
	}
	if err := c.Ready(ctx); err != nil {
		t.Error(err)
	}
}

func TestListBeginsAnew(t *testing.T) {
	ctx, c := start(t)
	devices := c.Devices(ctx, client.DeviceQuery{Page: 1})
	for range 2 {
		if got := collect(t, devices); len(got) != 2 {
			t.Errorf("got %v", got)
		}
	}
}

// TestAnswersAreWrittenAsTheyCame: what is read and written again is what the server sent.
func TestAnswersAreWrittenAsTheyCame(t *testing.T) {
	same(t, `{"device":"d","operator":null,"from":"2020-01-01T00:00:00Z"}`, &andon.Assignment{})
	same(t, `{"device":"d","operator":"Liz","from":"2020-01-01T00:00:00Z",`+
		`"to":"2020-01-02T00:00:00Z"}`, &andon.Assignment{})
	same(t, `{"device":"d","time":"2020-01-01T00:00:00Z","state":"N","escalations":[`+
		`{"to":null,"at":"2020-01-01T00:00:02Z"},`+
		`{"to":"Sara","at":"2020-01-01T00:00:01Z","by":"Liz","note":"n"}]}`, &client.Entry{})
	same(t, `{"device":"d","time":"2020-01-01T00:00:00Z","state":"N","to":"Sara",`+
		`"at":"2020-01-01T00:00:01Z"}`, &andon.Escalation{})
	same(t, `{"state":"N","from":"2020-01-01T00:00:00Z","seconds":5}`, &client.Interval{})
	same(t, `{"device":"d","state":"N","severity":0,"since":"2020-01-01T00:00:00Z",`+
		`"time":"2020-01-01T00:00:00Z","received":"2020-01-01T00:00:00Z","silent":false}`,
		&client.Device{})
}

func same(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(into)
	if err != nil || string(got) != text {
		t.Errorf("got %s, %v\nwant %s", got, err, text)
	}
}
