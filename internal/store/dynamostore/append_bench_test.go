package dynamostore

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/enginetest"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
	"github.com/andonhq/andon/internal/store/dynamostore/items"
	"github.com/andonhq/andon/internal/store/shared"
)

// appendFleet is how many devices report.
const appendFleet = 4000

// appendLoad is one way to write.
type appendLoad struct {
	name                      string
	writers, devices, repeats int
}

// BenchmarkAppend writes what a fleet reports in three ways: as Andon, as the SDK alone that puts
// the same items, and as the SDK alone that puts one item an event and nothing else. The last is
// the ceiling of the engine. The processor time of the engine, which uses one core, is steadier
// than the rate on a machine that has other work.
//
//	ANDON_ENGINES=1 go test -run '^$' -bench Append -benchtime 20x ./internal/store/dynamostore
func BenchmarkAppend(b *testing.B) {
	for _, l := range []appendLoad{
		{"1 event by 32", 32, 1, 1},
		{"1000 events of 10 devices by 4", 4, 10, 100},
		{"1000 events of 1000 devices by 4", 4, 1000, 1},
	} {
		b.Run(l.name, func(b *testing.B) { l.compare(b) })
	}
}

func (l appendLoad) compare(b *testing.B) {
	o := newTables(b)
	s := open(b, o)
	t, err := s.tenant(b.Context(), andon.DefaultTenant)
	if err != nil {
		b.Fatal(err)
	}
	alone := &sdkAlone{db: rawClient(b, o.Endpoint), s: s, t: t}
	b.Run("andon", func(b *testing.B) {
		l.run(b, func(ctx context.Context, e []andon.Event) error {
			return s.Append(ctx, andon.DefaultTenant, realClock(), e)
		})
	})
	b.Run("same items", func(b *testing.B) { l.run(b, alone.entriesAndDevices) })
	b.Run("one item", func(b *testing.B) { l.run(b, alone.entries) })
}

// run writes with all writers, after the fleet has reported once.
func (l appendLoad) run(b *testing.B, write func(context.Context, []andon.Event) error) {
	fill := appendLoad{devices: 1000, repeats: 1}
	for n := range int64(appendFleet / fill.devices) {
		if err := write(b.Context(), fill.events(n, 0)); err != nil {
			b.Fatal(err)
		}
	}
	var next atomic.Int64
	engine, own := enginetest.DynamoDB(b).CPUTime(), enginetest.CPUTime(os.Getpid())
	b.SetParallelism(max(l.writers/runtime.GOMAXPROCS(0), 1))
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if err := write(b.Context(), l.events(next.Add(1)-1, 1)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	events := float64(b.N * l.devices * l.repeats)
	report := func(spent time.Duration, unit string) {
		b.ReportMetric(float64(spent.Microseconds())/events, unit)
	}
	report(enginetest.DynamoDB(b).CPUTime()-engine, "engine-µs/event")
	report(enginetest.CPUTime(os.Getpid())-own, "own-µs/event")
	b.ReportMetric(events/b.Elapsed().Seconds(), "events/s")
}

// events returns what is reported in the n-th request after so many repeats: one report in twenty
// is a warning.
func (l appendLoad) events(n int64, before int) (all []andon.Event) {
	groups := int64(appendFleet / l.devices)
	first, begin := int(n%groups)*l.devices, before+int(n/groups)*l.repeats
	for device := first; device < first+l.devices; device++ {
		for n := begin; n < begin+l.repeats; n++ {
			e := andon.Event{
				Device:     andon.DeviceID(fmt.Sprintf("line-%02d/press-%07d", device%40, device)),
				Time:       minute(5*n) + andon.Time(device),
				State:      "NORMAL",
				Operator:   andon.PersonID(fmt.Sprintf("operator-%04d", device/1000)),
				Attributes: `{"line":"L7","temperature":71.3}`,
			}
			if (device+n)%20 == 0 {
				e.State, e.Message = "WARNING1", "overheat"
			}
			all = append(all, e)
		}
	}
	return all
}

// sdkAlone is the SDK without Andon around it: no views, no folding, no conditions, no repetition.
type sdkAlone struct {
	db *dynamodb.Client
	s  *Store // for the names of its tables
	t  *tenant
}

// entries puts the entries, in batches of 25 side by side.
func (a *sdkAlone) entries(ctx context.Context, events []andon.Event) error {
	chunks := slices.Collect(slices.Chunk(events, ddb.MaxWrites))
	return shared.Parallel(ctx, len(chunks), func(ctx context.Context, n int) error {
		var all []types.WriteRequest
		for i := range chunks[n] {
			e := event{Event: chunks[n][i], Delivery: 1}
			d := &device{Tenant: a.t}
			d.ID = e.Device
			all = append(all, types.WriteRequest{PutRequest: &types.PutRequest{
				Item: e.Item(d, 1, items.Expiry(andon.Forever)),
			}})
		}
		_, err := a.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{a.s.options.Prefix + items.TableLog: all},
		})
		return err
	})
}

// entriesAndDevices puts the entries, and then what each device shows.
func (a *sdkAlone) entriesAndDevices(ctx context.Context, events []andon.Event) error {
	if err := a.entries(ctx, events); err != nil {
		return err
	}
	var last []*andon.Event // of each device
	for i := range events {
		if i+1 == len(events) || events[i+1].Device != events[i].Device {
			last = append(last, &events[i])
		}
	}
	return shared.Parallel(ctx, len(last), func(ctx context.Context, n int) error {
		d := &device{Tenant: a.t}
		d.ID, d.Time, d.State, d.Since = last[n].Device, last[n].Time, last[n].State, last[n].Time
		d.Operator = last[n].Operator
		i, err := d.Item(int64(d.Time))
		if err != nil {
			return err
		}
		_, err = a.db.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: aws.String(a.s.options.Prefix + items.TableDevices), Item: i,
		})
		return err
	})
}
