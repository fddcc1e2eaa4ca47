package dynamostore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/dynamostore/reference"
	"github.com/andonhq/andon/internal/store/wrap"
)

// referenceTest is a table with the items of the reference's final schema, opened.
type referenceTest struct {
	*testing.T
	*reference.Store
	raw *dynamodb.Client
}

func newReferenceTest(t *testing.T, change ...func(*Options)) referenceTest {
	t.Helper()
	const file = "../../../../shared/data/devicestatelog/DeviceStateLog_7.json"
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the reference's items are not next to the checkout: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	service := enginetest.DynamoDB(t)
	o := defaults()
	o.Now, o.Endpoint, o.Key, o.Secret = realClock, service.URL, "any", "any"
	o.Layout, o.Table = layoutReference, fmt.Sprintf("DeviceStateLog_%08x", rand.Uint32())
	for _, change := range change {
		change(&o)
	}
	if err := Init(t.Context(), o, adapter.Setup{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	rt := referenceTest{T: t, raw: rawClient(t, service.URL)}
	var model struct {
		DataModel []struct {
			TableData []map[string]struct{ S string }
		}
	}
	if err := json.Unmarshal(data, &model); err != nil {
		t.Fatal(err)
	}
	for _, of := range model.DataModel[0].TableData {
		i := ddb.Item{}
		for name, value := range of {
			i[name] = ddb.Text(value.S)
		}
		_, err := rt.raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &o.Table, Item: i})
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := openGuide(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	rt.Store = s.(*reference.Store)
	t.Cleanup(func() { rt.Close() })
	return rt
}

func (rt referenceTest) time(text string) andon.Time {
	rt.Helper()
	at, err := andon.ParseTime(text)
	if err != nil {
		rt.Fatal(err)
	}
	return at
}

// list is a list as text: "d#12345 WARNING1 14:50 Liz".
func (rt referenceTest) list(events iter.Seq2[andon.Event, error]) string {
	rt.Helper()
	var all []string
	for e, err := range events {
		if err != nil {
			rt.Fatal(err)
		}
		all = append(all, string(e.State)+" "+e.Time.Std().Format("02T15:04"))
	}
	return strings.Join(all, ", ")
}

func states(t *testing.T, text string) andon.StateFilter {
	t.Helper()
	f, err := andon.ParseStateFilter(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSerialReference asks the seven queries of the reference, of its own items.
func TestSerialReference(t *testing.T) {
	rt := newReferenceTest(t)
	ctx, def := t.Context(), andon.DefaultTenant
	of := func(from, to string, f string) andon.EventQuery {
		q := andon.EventQuery{Limit: 100}
		if f != "" {
			q.States = states(t, f)
		}
		if from != "" {
			q.Span = andon.Span{From: rt.time(from), To: rt.time(to)}
		}
		return q
	}
	liz := func(from, to string) string {
		return rt.list(rt.OperatorEvents(ctx, def, "Liz", of(from, to, "")))
	}
	sara := func(from, to, f string) string {
		return rt.list(rt.SupervisorEvents(ctx, def, "Sara", of(from, to, f)))
	}
	device := func(id andon.DeviceID, q andon.EventQuery) string {
		return rt.list(rt.DeviceEvents(ctx, def, id, q))
	}
	const warnings = "WARNING1 24T14:50, WARNING1 24T14:45, WARNING1 24T14:40"
	one := of("", "", "")
	one.Limit = 1
	for name, c := range map[string][2]string{
		"a device":     {device("d#12345", of("", "", "")), "NORMAL 24T14:55, " + warnings},
		"its newest":   {device("d#12345", one), "NORMAL 24T14:55"},
		"in a state":   {device("d#12345", of("", "", "WARNING1")), warnings},
		"its warnings": {device("d#12345", of("", "", "WARNING*")), warnings},
		"Liz, a week":  {liz("2020-04-20", "2020-04-26"), "NORMAL 24T14:55, " + warnings},
		"Liz, both included": {
			liz("2020-04-11T05:58:00", "2020-04-24T14:50:00"), warnings + ", NORMAL 11T06:00",
		},
		"Sara":          {sara("", "", ""), "WARNING4 27T16:15"},
		"Sara, a state": {sara("", "", "WARNING4"), "WARNING4 27T16:15"},
		"Sara, a date": {
			sara("2020-04-27", "2020-04-27T23:59:59", "WARNING4"), "WARNING4 27T16:15",
		},
		"Sara, none": {sara("", "", "WARNING3"), ""},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: got %q, want %q", name, c[0], c[1])
		}
	}
	for id, want := range map[andon.DeviceID]string{
		"d#12345": "NORMAL since 2020-04-24T14:55:00Z, Liz, to ",
		"d#54321": "NORMAL since 2020-04-11T09:30:00Z, Sue, to ",
		"d#11223": "WARNING4 since 2020-04-27T16:10:00Z, Sue, to Sara",
	} {
		d, err := rt.Device(ctx, def, id)
		got := fmt.Sprintf("%s since %s, %s, to %s", d.State, d.Since, d.Operator, d.EscalatedTo)
		if err != nil || got != want {
			t.Errorf("%s shows %s, %v, want %s", id, got, err, want)
		}
	}
	if _, err := rt.Device(ctx, def, "d#0"); andon.KindOf(err) != andon.NotFound {
		t.Errorf("a device that is not there: %v", err)
	}
}

// TestSerialReferenceWrites: what is written is as the model has it, and a redelivery undoes
// nothing.
func TestSerialReferenceWrites(t *testing.T) {
	rt := newReferenceTest(t)
	ctx, def := t.Context(), andon.DefaultTenant
	e := andon.Event{Device: "d#11223", State: "WARNING4", Time: rt.time("2020-04-27T16:20:00.5"),
		Operator: "Sue", Message: "hot"}
	send := func() {
		t.Helper()
		if err := rt.Append(ctx, def, e.Time, []andon.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	send()
	to := func(person andon.PersonID) bool {
		t.Helper()
		_, added, err := rt.Escalate(ctx, def, andon.Escalation{Device: e.Device, Time: e.Time,
			State: e.State, At: e.Time + 1, To: person})
		if err != nil {
			t.Fatal(err)
		}
		return added
	}
	if !to("Sam") || to("Sam") {
		t.Error("the first escalation is no change, or the second is one")
	}
	e.Message = "hotter"
	send()
	entry, err := rt.Entry(ctx, def, e.Device, e.Time, e.State)
	if err != nil || entry.EscalatedTo != "Sam" || entry.Message != "hotter" {
		t.Errorf("after a redelivery there is %+v, %v", entry, err)
	}
	if got := rt.raws("d#11223", "WARNING4#2020-04-27T16:20:00.5"); got !=
		"Date 2020-04-27T16:20:00.5, EscalatedTo Sam, Operator Sue, State WARNING4" {
		t.Errorf("the item has %s", got)
	}
	if !to("") {
		t.Error("withdrawing an escalation is no change")
	}
	if got := rt.list(rt.SupervisorEvents(ctx, def, "Sam", andon.EventQuery{Limit: 9})); got != "" {
		t.Errorf("after the escalation was withdrawn there is %q", got)
	}
	for d, err := range rt.Devices(ctx, def, andon.DeviceQuery{Limit: 1}) {
		if andon.KindOf(err) != andon.Unsupported {
			t.Errorf("a list of devices has %+v, %v", d, err)
		}
	}
}

// TestSerialReferenceForeign: items of other users of the table that are no entries are left out.
func TestSerialReferenceForeign(t *testing.T) {
	rt := newReferenceTest(t)
	ctx, def, all := t.Context(), andon.DefaultTenant, andon.EventQuery{Limit: 100}
	lists := func() string {
		t.Helper()
		warnings := all
		warnings.States = states(t, "WARN*")
		d, err := rt.Device(ctx, def, "d#12345")
		return fmt.Sprint(d, err, rt.list(rt.DeviceEvents(ctx, def, "d#12345", all)),
			rt.list(rt.DeviceEvents(ctx, def, "d#12345", warnings)),
			rt.list(rt.OperatorEvents(ctx, def, "Liz", all)),
			rt.list(rt.SupervisorEvents(ctx, def, "Sara", all)))
	}
	want := lists()
	for _, key := range []string{"#", "A", "META#1", "META#2", "NORMAL#2020-x", "WARN", "~"} {
		i := items.LogKeys().Item("d#12345", key)
		i[items.AttrOperator], i[items.AttrDate] = ddb.Text("Liz"), ddb.Text("2020-04-24")
		i[items.AttrEscalated] = ddb.Text("Sara")
		_, err := rt.raw.PutItem(ctx, &dynamodb.PutItemInput{TableName: &rt.Table, Item: i})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := lists(); got != want {
		t.Errorf("with items of others:\n%s\nwithout:\n%s", got, want)
	}
}

// TestSerialReferenceTooLarge: other programs may keep so much in an item that an entry does not
// fit any more. The error names the entry, and what to do.
func TestSerialReferenceTooLarge(t *testing.T) {
	rt := newReferenceTest(t)
	e := andon.Event{Device: "d#11223", State: "WARNING4", Time: rt.time("2020-04-27T16:20:00"),
		Message: strings.Repeat("m", andon.MaxMessageBytes)}
	large := items.LogKeys().Item(string(e.Device), reference.SortKey(e.State, e.Time))
	large["Drawing"] = ddb.Text(strings.Repeat("d", 390<<10))
	_, err := rt.raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &rt.Table, Item: large})
	if err != nil {
		t.Fatal(err)
	}
	err = rt.Append(t.Context(), andon.DefaultTenant, e.Time, []andon.Event{e})
	if andon.KindOf(err) != andon.Invalid {
		t.Errorf("an entry that does not fit: %v", err)
	}
	for _, want := range []string{`"d#11223"`, "WARNING4", "2020-04-27T16:20:00", "400 KB"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}

// TestSerialReferenceExpires: with a retention an entry has the attribute by which the service
// deletes it. What has expired is not shown, and a sweep deletes it, also what others wrote.
func TestSerialReferenceExpires(t *testing.T) {
	const days = 30
	rt := newReferenceTest(t, func(o *Options) { o.Retention = days * 24 * 3600 * 1e6 })
	ctx, def := t.Context(), andon.DefaultTenant
	now := realClock()
	e := andon.Event{Device: "d#12345", State: "WARNING1", Time: now, Message: "m"}
	if err := rt.Append(ctx, def, now, []andon.Event{e}); err != nil {
		t.Fatal(err)
	}
	key := items.LogKeys().Item("d#12345", reference.SortKey(e.State, e.Time))
	out, err := rt.raw.GetItem(ctx, &dynamodb.GetItemInput{TableName: &rt.Table, Key: key})
	want := now.Std().Unix() + days*24*3600 + 1
	if got := ddb.Item(out.Item).Int(items.AttrTTL); err != nil || got != want {
		t.Errorf("it expires at %d, %v, want %d", got, err, want)
	}
	if got := reference.Table(rt.Table, rt.Retention).TTL; got != items.AttrTTL {
		t.Errorf("the table expires by %q", got)
	}
	kept := wrap.Retain(rt.Store, realClock)
	all := andon.EventQuery{Limit: 100}
	if got := rt.list(kept.DeviceEvents(ctx, def, "d#12345", all)); strings.Count(got, " ") != 1 {
		t.Errorf("of the entries there are %s", got)
	}
	record, err := rt.Tenant(ctx, def)
	if err != nil {
		t.Fatal(err)
	}
	deleted, err := rt.Sweep(ctx, def, record.Horizon(now))
	if err != nil || deleted != 11 {
		t.Errorf("a sweep deletes %d, %v, want the 11 items of the reference", deleted, err)
	}
	if got := rt.list(rt.DeviceEvents(ctx, def, "d#12345", all)); strings.Count(got, " ") != 1 {
		t.Errorf("after the sweep there are %s", got)
	}
	record.UpdateFloor(now, true, false)
	if record, err = rt.PutTenant(ctx, record); err != nil || record.Version != 2 {
		t.Errorf("its floor is not kept: %+v, %v", record, err)
	}
	record.Events++
	if _, err = rt.PutTenant(ctx, record); andon.KindOf(err) != andon.Unsupported {
		t.Errorf("another retention: %v", err)
	}
}

// raws are attributes of an item, as other users of the table see them.
func (rt referenceTest) raws(device, key string) string {
	rt.Helper()
	out, err := rt.raw.GetItem(rt.Context(), &dynamodb.GetItemInput{TableName: &rt.Table,
		Key: items.LogKeys().Item(device, key)})
	if err != nil {
		rt.Fatal(err)
	}
	var all []string
	for _, name := range []string{items.AttrDate, items.AttrEscalated, items.AttrOperator,
		"State"} {
		all = append(all, name+" "+ddb.Item(out.Item).Text(name))
	}
	return strings.Join(all, ", ")
}

// TestSerialReferencePlans prints what each query costs on the reference's own items.
func TestSerialReferencePlans(t *testing.T) {
	rt := newReferenceTest(t)
	ctx, plan := andon.WithPlan(context.Background())
	q := andon.EventQuery{States: states(t, "WARNING1"), Limit: 100}
	for _, err := range rt.DeviceEvents(ctx, andon.DefaultTenant, "d#12345", q) {
		if err != nil {
			t.Fatal(err)
		}
	}
	steps := plan.Steps()
	if len(steps) != 1 || steps[0].Rows != 3 || steps[0].Scanned != 3 || steps[0].Units != 1 {
		t.Errorf("the warnings of a device cost %+v, want one call of 3 items, 1 unit", steps)
	}
}
