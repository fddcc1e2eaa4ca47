package client_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
)

const explained = `{"statements":[{"statement":"SELECT 1","partition":["default","d"],
	"consistency":"LOCAL_QUORUM","times":2,"rows":3,"ms":2.018}]}`

func TestExplain(t *testing.T) {
	asked := []string{}
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("explain"))
		io.WriteString(w, explained)
	})
	ctx := t.Context()
	for _, ask := range []func(*client.Client) error{
		func(c *client.Client) error { _, err := c.Device(ctx, "d"); return err },
		func(c *client.Client) error { return first(c.Devices(ctx, client.DeviceQuery{})) },
		func(c *client.Client) error {
			_, _, err := c.LatestReadings(ctx, []andon.DeviceID{"d"})
			return err
		},
	} {
		got, err := c.Explain(ctx, ask)
		if err != nil {
			t.Fatal(err)
		}
		want := []andon.PlanStep{{
			Statement: "SELECT 1", Partition: []string{"default", "d"},
			Consistency: "LOCAL_QUORUM", Times: 2, Rows: 3, Took: andon.Took(2018 * time.Microsecond),
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	want := []string{
		"GET /api/v1/devices/d true", "GET /api/v1/devices true",
		"POST /api/v1/readings/latest true",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

// first reads a list up to its first error.
func first[T any](list func(func(T, error) bool)) (err error) {
	list(func(_ T, e error) bool {
		err = e
		return e == nil
	})
	return err
}

// TestExplainOnlyReads: what has no plan is not sent, and the client itself goes on answering.
func TestExplainOnlyReads(t *testing.T) {
	ctx, c := start(t)
	for what, ask := range map[string]func(*client.Client) error{
		"writing": func(c *client.Client) error {
			_, err := c.AppendEvents(ctx, []andon.Event{{Device: "new", State: "NORMAL"}})
			return err
		},
		"the server": func(c *client.Client) error { _, err := c.Version(ctx); return err },
		"nothing":    func(*client.Client) error { return nil },
	} {
		if steps, err := c.Explain(ctx, ask); err == nil {
			t.Errorf("%s has a plan: %v", what, steps)
		}
	}
	if _, err := c.Device(ctx, "new"); status(err) != 404 {
		t.Errorf("it was written: %v", err)
	}
	unsupported := func(c *client.Client) error { return deviceOf(ctx, c) }
	if _, err := c.Explain(ctx, unsupported); status(err) != 501 {
		t.Errorf("got %v", err)
	}
	if err := deviceOf(ctx, c); err != nil {
		t.Error(err)
	}
}

func deviceOf(ctx context.Context, c *client.Client) error {
	_, err := c.Device(ctx, "press-7")
	return err
}
