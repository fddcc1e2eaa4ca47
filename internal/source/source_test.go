package source_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/mapping"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/source"
	"github.com/andonhq/andon/internal/store/memstore"
)

const now = andon.Time(1_764_851_696_000_000) // 2025-12-04T12:34:56Z

func clock() andon.Time { return now }

// bench is a writer before a store, and what it logs.
type bench struct {
	*testing.T
	store   andon.Store
	list    *source.Rejections
	writer  *source.Writer
	options source.Options
	log     strings.Builder
}

func newBench(t *testing.T, store andon.Store) *bench {
	b := &bench{T: t, store: store}
	b.list = &source.Rejections{Store: store, Now: clock, Keep: 1000}
	b.options = source.Options{
		Name: "line-3", Tenant: andon.DefaultTenant, Refused: b.list,
		Intake:  intake.New(store, intake.Options{Now: clock}),
		Metrics: source.NewMetrics(prometheus.NewRegistry()),
		Log:     slog.New(slog.NewTextHandler(&b.log, nil)), Now: clock,
	}
	b.writer = source.New(b.options)
	return b
}

// messages are texts at places from 0 on.
func messages(values ...string) (all []mapping.Message) {
	for i, value := range values {
		all = append(all, mapping.Message{
			Place: fmt.Sprintf("events/0/%d", i), Topic: "events", Value: []byte(value),
			Time: now - andon.Time(1000-i),
		})
	}
	return all
}

func (b *bench) write(values ...string) {
	b.Helper()
	if err := b.writer.Write(b.Context(), messages(values...)); err != nil {
		b.Fatal(err)
	}
}

// events are the entries of a device, oldest first: time before now, state, message.
func (b *bench) events(device andon.DeviceID) (all []string) {
	b.Helper()
	q := andon.EventQuery{Order: andon.Asc, Limit: 100}
	for e, err := range b.store.DeviceEvents(b.Context(), andon.DefaultTenant, device, q) {
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d %s %s", e.Time-now, e.State, e.Message))
	}
	return all
}

// refused are the rejections, newest first.
func (b *bench) refused() (all []string) {
	b.Helper()
	found, err := b.list.List(b.Context(), "", andon.Span{}, "", 10_000)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s#%d %s: %s", f.Place, f.Index, f.Tenant, f.Reason))
	}
	return all
}

func (b *bench) same(want, got []string) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Error(diff)
	}
}

// TestOwnJSON: messages of Andon's own JSON become what HTTP makes of them, and what is wrong in
// one is in the list, next to what is good in it.
func TestOwnJSON(t *testing.T) {
	b := newBench(t, memstore.New())
	future := now.Add(601_000_000)
	for range 2 { // it is delivered twice
		b.write(
			`{"device":"d","state":"NORMAL"}`,
			`[{"device":"d","state":"WARNING1","message":"hot"},{"device":"d"},{"state":"X"}]`,
			`{"device":"e","state":"NORMAL","metrics":{"t":21.5}}`,
			"{\"device\":\"e\",\"metrics\":{\"t\":22}}\nnonsense\n"+
				`{"device":"e","state":"WARNING2"}`,
			`[{"device":"d","state":"LOST"},`,
			"\x00\xff\xfe",
			`{"device":"d","state":"\ud800"}`,
			strings.Repeat(`{"a":`, 100_000),
			`{"device":"d","state":"NORMAL","time":"`+future.String()+`"}`,
			"",
			`{"device":"d","state":"LAST"}`,
		)
	}
	b.same([]string{"-1000 NORMAL ", "-999 WARNING1 hot", "-990 LAST "}, b.events("d"))
	b.same([]string{"-998 NORMAL ", "-997 WARNING2 "}, b.events("e"))
	readings, err := seq.Collect(b.store.DeviceReadings(t.Context(), andon.DefaultTenant, "e",
		andon.ReadingQuery{Limit: 9}))
	if err != nil || len(readings) != 2 || readings[0].Time != now-997 {
		t.Errorf("%v, %v", readings, err)
	}
	b.same([]string{
		"events/0/1#1 : state is missing",
		"events/0/1#2 : device is missing",
		"events/0/3#1 : at byte 0: want a value, found nonsense",
		"events/0/4#0 : at byte 31: want a value, found the end; nothing of the array was kept: " +
			"fix it at entry 1, or send NDJSON, where a broken line costs only itself",
		`events/0/5#0 : nothing could be read: line 1, at byte 0: want a value, found '\x00'`,
		"events/0/6#0 : at byte 23: state: an escape that is half of a surrogate pair",
		"events/0/7#0 : nothing could be read: line 1, at byte 500000: want a value, found the end",
		"events/0/9#0 : the body is empty",
		"events/0/8#0 default: time 2025-12-04T12:44:57Z is more than 10m ahead of the clock, " +
			"which says 2025-12-04T12:34:56Z",
	}, b.refused())
}

// flaky is an intake that is busy, or worse, for some calls.
type flaky struct {
	*intake.Intake
	mu   sync.Mutex
	left int
	err  error
}

func (f *flaky) Enter(ctx context.Context, bytes, memory int64) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left >= 0 {
		return nil, f.err
	}
	return f.Intake.Enter(ctx, bytes, memory)
}

// TestRetry: a store that is out of reach is waited for, and that is logged when it begins and when
// it ends.
func TestRetry(t *testing.T) {
	for _, kind := range []andon.Kind{
		andon.Busy, andon.Unavailable, andon.Full, andon.Internal, andon.Damaged,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, memstore.New())
			b.options.Intake = &flaky{
				Intake: intake.New(b.store, intake.Options{Now: clock}), left: 20,
				err: andon.Errorf(kind, "not now"),
			}
			b.writer = source.New(b.options)
			b.write(`{"device":"d","state":"NORMAL"}`)
			b.same([]string{"-1000 NORMAL "}, b.events("d"))
			if n := strings.Count(b.log.String(), "\n"); n != 2 {
				t.Errorf("%d lines:\n%s", n, b.log.String())
			}
		})
	}
}

// TestEnd: a write that can't go on ends with its context, and the messages may come again.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, memstore.New())
		b.options.Intake = &flaky{
			Intake: intake.New(b.store, intake.Options{Now: clock}), left: 1000,
			err: andon.Errorf(andon.Unavailable, "not now"),
		}
		b.writer = source.New(b.options)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := b.writer.Write(ctx, messages(`{"device":"d","state":"NORMAL"}`))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		b.same(nil, b.events("d"))
	})
}

// TestLaterWins: of two messages of one entry the later one counts, also in one write, as if they
// came in two requests; and so it does where both come again.
func TestLaterWins(t *testing.T) {
	b := newBench(t, memstore.New())
	event := func(message string) string {
		return fmt.Sprintf(`{"device":"d","time":%d,"state":"NORMAL","message":%q}`,
			now/1000, message)
	}
	reading := func(value int) string {
		return fmt.Sprintf(`{"device":"d","time":%d,"metrics":{"t":%d}}`, now/1000, value)
	}
	for range 2 {
		b.write(event("1"), event("2"), reading(1), event("2"), event("1"), event("3"), reading(2))
		b.same([]string{"0 NORMAL 3"}, b.events("d"))
	}
	latest, err := b.store.LatestReadings(
		t.Context(), andon.DefaultTenant, []andon.DeviceID{"d"}, 0)
	if err != nil || len(latest) != 1 || latest[0].Metrics[0].Value != 2 {
		t.Errorf("%v, %v", latest, err)
	}
	b.same(nil, b.refused())
}

// mappingOf reads a mapping from its text.
func mappingOf(t *testing.T, text string) *mapping.Mapping {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := mapping.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTenants: messages go to the tenants that a mapping names, and one for a tenant that is not
// there is refused, next to the others.
func TestTenants(t *testing.T) {
	b := newBench(t, memstore.New())
	if _, err := b.store.PutTenant(t.Context(), andon.NewTenant("metro")); err != nil {
		t.Fatal(err)
	}
	b.options.Mapping = mappingOf(t, "tenant: $.of\ndevice: $.device\nstate: $.state\n")
	b.writer = source.New(b.options)
	b.write(`{"of":"default","device":"d","state":"A"}`, `{"of":"nobody","device":"d","state":"B"}`,
		`{"of":"metro","device":"d","state":"C"}`, `{"of":" ","device":"d","state":"D"}`,
		`{"device":"d","state":"E"}`, `{"of":"default","device":"d","state":"F"}`)
	b.same([]string{"-1000 A ", "-995 F "}, b.events("d"))
	if d, err := b.store.Device(t.Context(), "metro", "d"); err != nil || d.State != "C" {
		t.Error(d, err)
	}
	b.same([]string{
		`events/0/4#0 : there is no $.of`,
		`events/0/1#0 nobody: there is no tenant "nobody"`,
		`events/0/3#0  : there is no tenant " "`,
	}, b.refused())
}

// wary is an intake that refuses a request as a whole for one entry of it.
type wary struct {
	*intake.Intake
	calls int
}

func (w *wary) Events(
	ctx context.Context, tenant andon.TenantID, batch ingest.Batch[andon.Event],
) (intake.Result, error) {
	w.calls++
	for _, item := range batch.Items {
		if item.Value.State == "POISON" {
			return intake.Result{}, andon.Errorf(andon.Conflict, "not this one")
		}
	}
	return w.Intake.Events(ctx, tenant, batch)
}

// TestPoison: an entry for which a whole request is refused costs only itself.
func TestPoison(t *testing.T) {
	b := newBench(t, memstore.New())
	w := &wary{Intake: intake.New(b.store, intake.Options{Now: clock})}
	b.options.Intake = w
	b.writer = source.New(b.options)
	var values []string
	for i := range 1000 {
		state := "NORMAL"
		if i == 700 {
			state = "POISON"
		}
		values = append(values, fmt.Sprintf(`{"device":"d%d","state":%q}`, i, state))
	}
	b.write(values...)
	b.same([]string{"events/0/700#0 default: not this one"}, b.refused())
	b.same([]string{"-301 NORMAL "}, b.events("d699"))
	b.same([]string{"-299 NORMAL "}, b.events("d701"))
	if w.calls > 21 {
		t.Errorf("%d requests", w.calls)
	}
}

// faulty is an intake before a store that fails for some devices, or for all.
type faulty struct {
	*intake.Intake
	kind   andon.Kind
	device andon.DeviceID // "": for all
}

func (f *faulty) Events(
	ctx context.Context, tenant andon.TenantID, batch ingest.Batch[andon.Event],
) (intake.Result, error) {
	for _, item := range batch.Items {
		if f.device == "" || item.Value.Device == f.device {
			return intake.Result{}, andon.Errorf(f.kind, "a block can't be read")
		}
	}
	return f.Intake.Events(ctx, tenant, batch)
}

// TestFaultOfADevice: an entry for which the store fails is refused after a minute, next to others
// that it keeps, and alone. Where it fails for all it is waited for, unless it says that what there
// is of each is damaged.
func TestFaultOfADevice(t *testing.T) {
	for _, c := range []struct {
		kind    andon.Kind
		device  andon.DeviceID
		devices string // a letter for each
		refused int
		waits   bool
	}{
		{andon.Damaged, "b", "abcb", 2, false},
		{andon.Internal, "b", "abcb", 2, false},
		{andon.Internal, "b", "bb", 2, false},
		{andon.Damaged, "", "abc", 0, true},
		{andon.Internal, "", "abc", 0, true},
		{andon.Internal, "", "abcdefghijklmnopqrst", 0, true},
		{andon.Unavailable, "b", "abc", 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, memstore.New())
			b.options.Intake = &faulty{
				Intake: intake.New(b.store, intake.Options{Now: clock}), kind: c.kind,
				device: c.device,
			}
			b.writer = source.New(b.options)
			var values []string
			for _, device := range c.devices {
				values = append(values,
					fmt.Sprintf(`{"device":%q,"state":"NORMAL"}`, string(device)))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			began := time.Now()
			err := b.writer.Write(ctx, messages(values...))
			if waits := err != nil; waits != c.waits || len(b.refused()) != c.refused {
				t.Errorf("%+v: %v, refused are %q", c, err, b.refused())
			}
			took := time.Since(began)
			if took < 50*time.Second || !c.waits && took > 2*time.Minute {
				t.Errorf("%+v: it took %s", c, took)
			}
			if c.device == "b" && c.devices[0] == 'a' && !c.waits {
				b.same([]string{"-1000 NORMAL "}, b.events("a"))
			}
		})
	}
}

// TestRefusedAtAPlace: a place may have another message once a topic was made again, and its
// message another fault once the mapping was changed: each is in the list, and a redelivery adds
// none.
func TestRefusedAtAPlace(t *testing.T) {
	b := newBench(t, memstore.New())
	one := messages(`{"device":"d"}`)
	other := messages(`{"device":"e"}`)
	later := messages(`{"device":"d"}`)
	later[0].Time += 7
	write := func(all []mapping.Message) {
		t.Helper()
		for range 2 {
			if err := b.writer.Write(t.Context(), all); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(one)
	write(other)
	write(later)
	b.options.Mapping = mappingOf(t, "device: $.name\nstate: $.state\n")
	b.writer = source.New(b.options)
	write(one)
	b.options.Mapping = mappingOf(t, "tenant: nobody\ndevice: $.device\nstate: x\n")
	b.writer = source.New(b.options)
	write(one)
	reasons := b.refused()
	slices.Sort(reasons)
	b.same([]string{
		`events/0/0#0 : state is missing`, `events/0/0#0 : state is missing`,
		`events/0/0#0 : state is missing`, `events/0/0#0 : there is no $.name`,
		`events/0/0#0 nobody: there is no tenant "nobody"`,
	}, reasons)
}

// TestLargeMessages: a message of a megabyte with many entries is kept, and one with a field of
// that length is refused; its beginning is shown legibly.
func TestLargeMessages(t *testing.T) {
	b := newBench(t, memstore.New())
	var all []string
	for i := range 10_000 {
		all = append(all, fmt.Sprintf(`{"device":"d%d","state":"NORMAL","message":"as it was%s"}`,
			i, strings.Repeat(" ", 60)))
	}
	b.write("["+strings.Join(all, ",")+"]",
		`{"device":"x","state":"A","message":"`+strings.Repeat("\u00e4", 1<<19)+`"}`,
		`{"device":"x","state":"B","note":"`+strings.Repeat("x", 1<<20)+`"}`,
		"\x1b[2J\x00"+strings.Repeat("\xff", 1<<20))
	b.same([]string{"-1000 NORMAL "}, strip(b.events("d9999")))
	found, err := b.list.List(t.Context(), "line-3", andon.Span{}, "", 9)
	if err != nil || len(found) != 3 {
		t.Fatal(found, err)
	}
	for _, f := range found {
		if len(f.Message) < 5 || len(f.Message) > 3*2048 || len(f.Reason) > 2048 ||
			!utf8.ValidString(f.Message) || strings.ContainsAny(f.Message, "\x00\x1b") {
			t.Errorf("%d bytes %q: %.100s", len(f.Message), f.Reason, f.Message)
		}
	}
}

func strip(all []string) []string {
	for i := range all {
		all[i] = strings.TrimSuffix(all[i], "as it was"+strings.Repeat(" ", 60))
	}
	return all
}

// TestSharedLimits: a source waits for the memory that requests have taken, and takes its turn
// however small that is.
func TestSharedLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, memstore.New())
		in := intake.New(b.store, intake.Options{Now: clock, MaxBytes: 64 << 10})
		b.options.Intake = in
		b.writer = source.New(b.options)
		if err := in.Requests.Take(in.Requests.Most()); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		all.Go(func() { b.write(`{"device":"d","state":"NORMAL"}` + strings.Repeat(" ", 1<<20)) })
		_ = sleep.For(t.Context(), time.Minute)
		b.same(nil, b.events("d"))
		in.Requests.Give(in.Requests.Most())
		all.Wait()
		b.same([]string{"-1000 NORMAL "}, b.events("d"))
		if in.Requests.Used() != 0 {
			t.Errorf("%d bytes are kept", in.Requests.Used())
		}
	})
}

// TestHostileTenant: what a message says its tenant is may be of any length, and nothing that a
// terminal obeys is in the list.
func TestHostileTenant(t *testing.T) {
	b := newBench(t, memstore.New())
	file := filepath.Join(t.TempDir(), "m.yaml")
	text := "tenant: $.tenant\ndevice: $.d\nstate: $.s\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.options.Mapping, err = mapping.Read(file); err != nil {
		t.Fatal(err)
	}
	b.writer = source.New(b.options)
	b.write(`{"tenant":"`+strings.Repeat("x", 300_000)+`","d":"d","s":"NORMAL"}`,
		`{"tenant":"\u001b]0;x\u0007","d":"d","s":"NORMAL"}`,
		`{"tenant":"default","d":"d","s":"NORMAL"}`)
	if got := b.refused(); len(got) != 2 || strings.Contains(strings.Join(got, ""), "\x1b") {
		t.Errorf("%q", got)
	}
	b.same([]string{"-998 NORMAL "}, b.events("d"))
}
