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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/dynamostore/provision"
)

// page is the page of the store, which has what these tests measure.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/stores/dynamodb.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// createTable creates a table that is not one of a store.
func createTable(t *testing.T, table ddb.Table) {
	t.Helper()
	o := defaults()
	o.Endpoint, o.Region, o.Key, o.Secret = enginetest.DynamoDB(t).URL, "us-east-1", "any", "any"
	p, err := provision.Begin(t.Context(), o.access(), provision.Setting{
		Capacity: o.Capacity, Report: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Table(t.Context(), table); err != nil {
		t.Fatal(err)
	}
}

// guideModel makes a table of one of the reference's models, with its items.
func guideModel(t *testing.T, db *dynamodb.Client, number int, key ddb.Keys) string {
	t.Helper()
	path := fmt.Sprintf("../../../../shared/data/devicestatelog/DeviceStateLog_%d.json", number)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the reference's items are not next to the checkout: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	var model struct {
		DataModel []struct{ TableData []map[string]any }
	}
	if err := json.Unmarshal(data, &model); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("model%d_%08x", number, rand.Uint32())
	createTable(t, ddb.Table{Name: name, Key: key})
	for _, of := range model.DataModel[0].TableData {
		i := ddb.Item{}
		for name, value := range of {
			i[name] = attribute(value)
		}
		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: i})
		if err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// attribute reads {"S": ...} and {"M": ...}.
func attribute(value any) types.AttributeValue {
	m := value.(map[string]any)
	if s, is := m["S"].(string); is {
		return ddb.Text(s)
	}
	of := map[string]types.AttributeValue{}
	for name, value := range m["M"].(map[string]any) {
		of[name] = attribute(value)
	}
	return &types.AttributeValueMemberM{Value: of}
}

// TestSerialGuideComparison asks for the warnings of a device as the guide does at each step.
func TestSerialGuideComparison(t *testing.T) {
	db := rawClient(t, enginetest.DynamoDB(t).URL)
	byDate, byState := ddb.Keys{Hash: items.AttrDevice, Sort: items.AttrDate}, items.LogKeys()
	names := map[string]string{"#d": items.AttrDevice, "#s": "State"}
	values := ddb.Item{":d": ddb.Text("d#12345"), ":s": ddb.Text("WARNING")}
	for _, c := range []struct {
		model  int
		key    ddb.Keys
		how    string
		filter bool
	}{
		{2, byDate, "a filter on State", true},
		{3, byState, "a key condition on State#Date", false},
		{7, byState, "a key condition on State#Date", false},
	} {
		name := guideModel(t, db, c.model, c.key)
		in := &dynamodb.QueryInput{TableName: &name, ExpressionAttributeNames: names,
			ExpressionAttributeValues: values,
			KeyConditionExpression:    aws.String("#d = :d"),
			FilterExpression:          aws.String("begins_with(#s, :s)"),
			ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
		}
		if !c.filter {
			in.KeyConditionExpression, in.FilterExpression = aws.String(
				"#d = :d AND begins_with(#s, :s)"), nil
			names["#s"] = items.AttrStateDate
		}
		out, err := db.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		row := fmt.Sprintf("| %d | %s | %d of %d | %s |", c.model, c.how, out.Count,
			out.ScannedCount, units(aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)))
		if !strings.Contains(page(t), row) {
			t.Errorf("docs/stores/dynamodb.md lacks the row that was measured:\n%s", row)
		}
	}
}

func units(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// costTest is a store with a small fleet, of which each query is asked.
type costTest struct {
	*testing.T
	s *Store
}

// consumed are the units that something consumed.
func (ct costTest) consumed(do func(ctx context.Context) error) (reads, writes float64) {
	ct.Helper()
	before := ct.units()
	if err := do(ct.Context()); err != nil {
		ct.Fatal(err)
	}
	for of, n := range ct.units() {
		switch of.operation {
		case "GetItem", "BatchGetItem", "Query", "Scan":
			reads += n - before[of]
		default:
			writes += n - before[of]
		}
	}
	return reads, writes
}

// consumer is an operation on a table, or on an index of it.
type consumer struct{ operation, table, index string }

func (ct costTest) units() map[consumer]float64 {
	all := map[consumer]float64{}
	ct.s.Figures(func(name, _ string, value float64, labels ...string) {
		if name == "consumed_units_total" {
			all[consumer{labels[1], labels[3], labels[5]}] = value
		}
	})
	return all
}

// TestSerialCosts measures what each query and each write costs, as the page of the store has it.
func TestSerialCosts(t *testing.T) {
	o := newTables(t)
	o.Shards = "1"
	ct := costTest{t, open(t, o)}
	s, def := ct.s, andon.DefaultTenant
	start := andon.TimeOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	at := func(n int) andon.Time { return start.Add(andon.Duration(n) * 60e6) }
	send := func(n int, device andon.DeviceID, state andon.State) func(context.Context) error {
		return func(ctx context.Context) error {
			return s.Append(ctx, def, at(n), []andon.Event{{
				Device: device, Time: at(n), State: state, Operator: "Liz",
				Message: "a message of some length, as machines send it",
			}})
		}
	}
	type list = func(context.Context) iter.Seq2[andon.Event, error]
	read := func(all list) func(context.Context) error {
		return func(ctx context.Context) error {
			for _, err := range all(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	device := func(q andon.EventQuery) func(context.Context) iter.Seq2[andon.Event, error] {
		return func(ctx context.Context) iter.Seq2[andon.Event, error] {
			return s.DeviceEvents(ctx, def, "press-7", q)
		}
	}
	for n := range 200 {
		state := andon.State("NORMAL")
		if n%20 > 17 {
			state = "WARNING2"
		}
		if err := send(n, "press-7", state)(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	warnings := andon.EventQuery{Limit: 100, States: states(t, "WARNING*")}
	hour := andon.EventQuery{Limit: 100, Span: andon.Span{From: at(100), To: at(160)}}
	for _, c := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"an entry with the state that the device has", send(200, "press-7", "WARNING2")},
		{"an entry with another state", send(201, "press-7", "NORMAL")},
		{"what a device shows", func(ctx context.Context) error {
			_, err := s.Device(ctx, def, "press-7")
			return err
		}},
		{"the last 100 entries of a device", read(device(andon.EventQuery{Limit: 100}))},
		{"its warnings, 21 entries", read(device(warnings))},
		{"an operator's hour, 61 entries", read(
			func(ctx context.Context) iter.Seq2[andon.Event, error] {
				return s.OperatorEvents(ctx, def, "Liz", hour)
			})},
	} {
		ct.row(c.what, c.do)
	}
}

// TestSerialCostsOfMore measures what grows with what else is kept: the devices of an operator, an
// escalation, and metrics that a process that starts has not seen.
func TestSerialCostsOfMore(t *testing.T) {
	o := newTables(t)
	o.Shards = "1"
	ct := costTest{t, open(t, o)}
	def, start := andon.DefaultTenant, andon.MinTime
	var events []andon.Event
	for n := range 100 {
		events = append(events, andon.Event{
			Device: andon.DeviceID(fmt.Sprintf("press-%03d", n)), Time: start + andon.Time(n),
			State: "WARNING2", Operator: "Sue",
			Message: "a message of some length, as machines send it",
		}, andon.Event{
			Device: "press-7", Time: start + andon.Time(n), State: "WARNING2",
			Message: "a message of some length, as machines send it",
		})
	}
	if err := ct.s.Append(t.Context(), def, start, andon.SortBatch(events)); err != nil {
		t.Fatal(err)
	}
	escalate := func(device andon.DeviceID, at andon.Time) {
		_, _, err := ct.s.Escalate(t.Context(), def, andon.Escalation{
			Device: device, Time: at, State: "WARNING2", At: start + 1000, To: "Sara",
			Note: "the spindle is hot",
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	escalate("press-7", start)
	read := func(n int) []andon.Reading {
		return []andon.Reading{reading("press-7", n, andon.Metric{Name: "humidity", Value: 40.5},
			andon.Metric{Name: "temperature", Value: 21.25})}
	}
	measure(t, ct.s, read(1)...)
	page := andon.EventQuery{Limit: 100}
	ct.row("a page of 100 entries of an operator, of 100 devices", func(ctx context.Context) error {
		return drain(ct.s.OperatorEvents(ctx, def, "Sue", page))
	})
	eventual := func(ctx context.Context) context.Context {
		return andon.WithConsistency(ctx, andon.Eventual)
	}
	ct.row("the same page, eventual", func(ctx context.Context) error {
		return drain(ct.s.OperatorEvents(eventual(ctx), def, "Sue", page))
	})
	ct.row("the last 100 entries of a device, one of them escalated",
		func(ctx context.Context) error {
			return drain(ct.s.DeviceEvents(ctx, def, "press-7", page))
		})
	for _, e := range events {
		if e.Operator == "Sue" {
			escalate(e.Device, e.Time)
		}
	}
	ct.row("a page of 100 entries of a supervisor, of 100 devices",
		func(ctx context.Context) error {
			ctx = andon.CollectEscalations(ctx)
			return noted(ctx, ct.s.SupervisorEvents(ctx, def, "Sara", page))
		})
	ct.row("such a page, eventual", func(ctx context.Context) error {
		ctx = andon.CollectEscalations(eventual(ctx))
		return noted(ctx, ct.s.SupervisorEvents(ctx, def, "Sara", page))
	})
	end(t, ct.s)
	ct.s = open(t, o)
	if err := ct.s.counts.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	newestPosition(t, ct.s) // its first write opens the feed, too
	ct.row("a reading of two metrics, the first after a start", func(ctx context.Context) error {
		return ct.s.AppendReadings(ctx, def, start, read(2))
	})
}

func drain(list iter.Seq2[andon.Event, error]) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// noted is drain of a list that notes the escalation of each of its entries.
func noted(ctx context.Context, list iter.Seq2[andon.Event, error]) error {
	for e, err := range list {
		if err != nil {
			return err
		}
		of := andon.EntryRef{Time: e.Time, State: e.State}
		if r, _ := andon.NotedEscalation(ctx, e.Device, of); r.Note == "" {
			return fmt.Errorf("of %+v the escalation is %+v", e, r)
		}
	}
	return nil
}

// row measures what something costs, which the page of the store has to have as a row.
func (ct costTest) row(what string, do func(context.Context) error) {
	ct.Helper()
	if err := ct.s.Ready(ct.Context()); err != nil { // the record of the tenant is read each second
		ct.Fatal(err)
	}
	if _, err := ct.s.tenant(ct.Context(), andon.DefaultTenant); err != nil {
		ct.Fatal(err)
	}
	reads, writes := ct.consumed(do)
	row := fmt.Sprintf("| %s | %s | %s | $%.2f |", what, units(reads), units(writes),
		reads*0.25+writes*1.25)
	ct.Log(row)
	if !strings.Contains(page(ct.T), row) {
		ct.Errorf("docs/stores/dynamodb.md lacks the row that was measured:\n%s", row)
	}
}

// TestSerialReadingCosts measures what queries about readings cost, by the table and by the
// optional indexes, as the page of the store has it.
func TestSerialReadingCosts(t *testing.T) {
	o := newTables(t)
	o.Prefix, o.Shards = o.Prefix+"idx_", "1"
	indexed(items.ProjectsMetrics)(&o)
	if err := Init(t.Context(), o, adapter.Setup{}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	ct := costTest{t, open(t, o)}
	var sent []andon.Reading
	var ids []andon.DeviceID
	for d := range 50 {
		ids = append(ids, andon.DeviceID(fmt.Sprintf("press-%03d", d)))
		for n := range 2 {
			sent = append(sent, reading(ids[d], n,
				andon.Metric{Name: "humidity", Value: 40.5},
				andon.Metric{Name: "temperature", Value: 21.25}))
		}
	}
	measure(t, ct.s, sent...)
	latest := func(as andon.Consistency, of int) float64 {
		return ct.asked(as, func(ctx context.Context) error {
			_, err := ct.s.LatestReadings(ctx, andon.DefaultTenant, ids[:of], 0)
			return err
		})
	}
	metric := func(as andon.Consistency) float64 {
		q := andon.MetricQuery{Metric: "temperature", Limit: 100,
			Span: andon.Span{From: minute(1)}}
		return ct.asked(as, func(ctx context.Context) error {
			if n := len(listOf(t, ct.s.MetricReadings(ctx, andon.DefaultTenant, q))); n != 50 {
				t.Errorf("there are %d readings, want 50", n)
			}
			return nil
		})
	}
	without := func(ask func(andon.Consistency) float64) float64 {
		set := &ct.s.options
		latest, metric := set.LatestIndex, set.MetricIndex
		defer func() { set.LatestIndex, set.MetricIndex = latest, metric }()
		set.LatestIndex, set.MetricIndex = items.ProjectsNone, nil
		return ask(andon.Eventual)
	}
	for _, c := range []struct {
		what string
		ask  func(andon.Consistency) float64
	}{
		{"the newest reading of a device", func(as andon.Consistency) float64 {
			return latest(as, 1)
		}},
		{"the newest readings of 50 devices", func(as andon.Consistency) float64 {
			return latest(as, 50)
		}},
		{"a metric of 50 devices, one reading of each", metric},
	} {
		row := fmt.Sprintf("| %s | %s | %s | %s |", c.what, units(c.ask(andon.Strong)),
			units(without(c.ask)), units(c.ask(andon.Eventual)))
		t.Log(row)
		if !strings.Contains(page(t), row) {
			t.Errorf("docs/stores/dynamodb.md lacks the row that was measured:\n%s", row)
		}
	}
}

// asked are the read units of a query, without those of the tenant's record.
func (ct costTest) asked(as andon.Consistency, ask func(context.Context) error) float64 {
	ct.Helper()
	ctx, plan := andon.WithPlan(andon.WithConsistency(ct.Context(), as))
	if _, err := ct.s.tenant(ct.Context(), andon.DefaultTenant); err != nil {
		ct.Fatal(err)
	}
	if err := ask(ctx); err != nil {
		ct.Fatal(err)
	}
	sum := 0.0
	for _, step := range plan.Steps() {
		sum += step.Units
	}
	return sum
}
