package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// morning is when the examples happen.
const morning = "2020-04-24T08:00:00Z"

// serve starts a server in this process, whose clock does not move, and a client of it.
func serve(change ...func(*client.Options)) (c *client.Client, stop func()) {
	now := func() andon.Time { return at(morning) }
	memory := memstore.New()
	store := wrap.Retain(memory, now)
	server := httptest.NewServer(httpapi.New(httpapi.Options{
		Store: store, Intake: intake.New(store, intake.Options{Now: now}), Now: now,
		Version: client.Version{Version: "v1.0.0"},
	}))
	o := client.Options{URL: server.URL}
	for _, f := range change {
		f(&o)
	}
	c, err := client.New(o)
	if err != nil {
		panic(err)
	}
	return c, func() {
		c.Close()
		server.Close()
		memory.Close()
	}
}

func at(text string) andon.Time {
	t, err := andon.ParseTime(text)
	if err != nil {
		panic(err)
	}
	return t
}

// lastHour sends what happened before the examples begin.
func lastHour(ctx context.Context, c *client.Client) {
	_, err := c.AppendEvents(ctx, []andon.Event{
		{Device: "press-7", Time: at("2020-04-24T07:00:00Z"), State: "NORMAL"},
		{Device: "press-7", Time: at("2020-04-24T07:30:00Z"), State: "WARNING1", Operator: "Liz"},
		{Device: "press-8", Time: at("2020-04-24T07:30:00Z"), State: "NORMAL"},
	})
	if err != nil {
		panic(err)
	}
}

// Events are sent many at once, and each is accounted for.
func Example() {
	c, stop := serve() // client.New(client.Options{URL: "http://127.0.0.1:8080"})
	defer stop()
	ctx := context.Background()

	result, err := c.AppendEvents(ctx, []andon.Event{
		{Device: "press-7", Time: at("2020-04-24T07:30:00Z"), State: "WARNING1", Operator: "Liz"},
		{Device: "press-7", Time: at("2020-04-24T07:35:00Z")},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println("accepted:", result.Accepted)
	for _, r := range result.Rejected {
		fmt.Printf("event %d: %s\n", r.Index, r.Error)
	}
	d, err := c.Device(ctx, "press-7")
	if err != nil {
		panic(err)
	}
	fmt.Println(d.State, "since", d.Since, "is with", d.Operator)
	// Output:
	// accepted: 1
	// event 1: state is missing
	// WARNING1 since 2020-04-24T07:30:00Z is with Liz
}

// A list ends at its first error. It asks for the next page when it is needed.
func ExampleClient_Devices() {
	c, stop := serve()
	defer stop()
	ctx := context.Background()
	lastHour(ctx, c)

	for d, err := range c.Devices(ctx, client.DeviceQuery{State: "WARNING*", Sort: "severity"}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(d.Device, d.State, d.Operator)
	}
	// Output: press-7 WARNING1 Liz
}

func ExampleClient_DeviceEvents() {
	c, stop := serve()
	defer stop()
	ctx := context.Background()
	lastHour(ctx, c)

	q := client.Query{From: at("2020-04-24T07:15:00Z")}
	for e, err := range c.DeviceEvents(ctx, "press-7", q) {
		if err != nil {
			panic(err)
		}
		fmt.Println(e.Time, e.State)
	}
	// Output: 2020-04-24T07:30:00Z WARNING1
}

func ExampleClient_Escalate() {
	c, stop := serve()
	defer stop()
	ctx := context.Background()
	lastHour(ctx, c)

	kept, _, err := c.Escalate(ctx, andon.Escalation{
		Device: "press-7", To: "Sara", By: "Liz", Note: "the third time",
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(kept.State, "of", kept.Time, "to", kept.To)
	entry, err := c.Entry(ctx, "press-7", kept.Time, kept.State)
	if err != nil {
		panic(err)
	}
	fmt.Println(entry.Escalations[0].By, "said:", entry.Escalations[0].Note)
	// Output:
	// WARNING1 of 2020-04-24T07:30:00Z to Sara
	// Liz said: the third time
}

func ExampleClient_Assign() {
	c, stop := serve()
	defer stop()
	ctx := context.Background()

	if _, err := c.Assign(ctx, "press-7", "Liz"); err != nil {
		panic(err)
	}
	for a, err := range c.Assignments(ctx, "press-7", client.Query{}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(a.Operator, "from", a.From)
	}
	// Output: Liz from 2020-04-24T08:00:00Z
}

func ExampleClient_PutTenant() {
	c, stop := serve()
	defer stop()
	ctx := context.Background()

	month := andon.Retention(30 * 24 * 3600 * 1_000_000)
	t, err := c.PutTenant(ctx, "metro", client.TenantChange{
		Retention: client.RetentionChange{Events: &month},
		States:    []andon.StateDef{{Name: "OK"}, {Name: "DOWN", Severity: 80}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Tenant, "keeps events for", t.Retention.Events)
	for _, s := range t.States {
		fmt.Println(s.Symbol, s.Name, s.Severity)
	}
	// Output:
	// metro keeps events for 30d
	// ● OK 0
	// ✖ DOWN 80
}

// What the server refuses is an *client.Error, with its status and the fields at fault.
func ExampleError() {
	c, stop := serve()
	defer stop()

	_, err := c.Device(context.Background(), "press-7")
	var e *client.Error
	if errors.As(err, &e) {
		fmt.Println(e.Status, e.Detail)
	}
	// Output: 404 device "press-7" was never seen, or is retired
}
