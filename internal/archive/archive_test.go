package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/golden"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

const (
	hour    = andon.Duration(3600 * 1e6)
	dayLong = 24 * hour
)

// noon is the middle of the day that the tests archive.
var noon = andon.TimeOf(time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC))

// plant is a store and an archive of it in a directory.
type plant struct {
	testing.TB
	store andon.Store
	dir   string
	now   andon.Time
	conf  Config
}

func newPlant(t testing.TB) *plant {
	dir, err := os.MkdirTemp("/dev/shm", "archive-") // where a sync takes no time
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &plant{TB: t, dir: filepath.Join(dir, "archive"), now: noon.Add(3 * dayLong)}
	Group(&p.conf)
	p.conf.Name, p.conf.To = "cold", p.dir
	p.store = wrap.Retain(memstore.New(), func() andon.Time { return p.now })
	return p
}

// archive opens the archive as another process would.
func (p *plant) archive() *Archive {
	p.Helper()
	a, err := Open(p.Context(), Archive{
		Config: p.conf, Store: p.store, Now: func() andon.Time { return p.now },
		Progress: func(int, int) {},
	})
	if err != nil {
		p.Fatal(err)
	}
	return a
}

func (p *plant) run() Result {
	p.Helper()
	done, err := p.archive().Run(p.Context(), Selection{})
	if err != nil {
		p.Fatal(err)
	}
	return done
}

// send sends entries of some devices and times, and a reading with each.
func (p *plant) send(from andon.Time, devices, times int) {
	p.Helper()
	var all []andon.Event
	var measured []andon.Reading
	for d := range devices {
		for n := range times {
			e := andon.Event{
				Device: andon.DeviceID(fmt.Sprintf("press-%d", d)), State: "WARNING1",
				Time: from.Add(andon.Duration(n) * 1e6), Operator: "Liz", Message: "hot\n“oil”",
				Attributes: `{"n": 1}`,
			}
			all = append(all, e)
			e.State, e.Message, e.Operator, e.Attributes = "A/other", "", "", ""
			all = append(all, e)
			measured = append(measured, andon.Reading{
				Device: e.Device, Time: e.Time, Metadata: `{"unit":"C"}`,
				Metrics: andon.Metrics{{Name: "temp", Value: float64(n)}, {Name: "zero"}},
			}, andon.Reading{Device: e.Device, Time: e.Time + 1, Metadata: `{"only":true}`})
		}
	}
	err := p.store.Append(p.Context(), andon.DefaultTenant, p.now, andon.SortBatch(all))
	if err == nil {
		err = p.store.AppendReadings(p.Context(), andon.DefaultTenant, p.now, measured)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// rowsIn returns the rows of all files of a kind that a query would read, without the manifests.
func rowsIn[T any](t testing.TB, dir string, kind Kind) (all []T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "kind="+string(kind), "*", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		rows, err := parquet.ReadFile[T](file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

// isExact checks that the files have all that the store has, each once.
func (p *plant) isExact() {
	p.Helper()
	tenant, err := p.store.Tenant(p.Context(), andon.DefaultTenant)
	if err != nil {
		p.Fatal(err)
	}
	same(p, events(), rowsIn[eventRow](p, p.dir, Events), &tenant)
	same(p, readings(), rowsIn[readingRow](p, p.dir, Readings), &tenant)
}

func same[T any](p *plant, t *table[T], got []T, of *andon.Tenant) {
	p.Helper()
	order := func(a, b T) int {
		at, name := t.key(&a)
		other, named := t.key(&b)
		return cmp.Or(compareMoments(at, other), strings.Compare(name, named))
	}
	slices.SortFunc(got, order)
	var want []T
	for row, err := range t.read(p.Context(), p.store, of, andon.Span{}) {
		if err != nil {
			p.Fatal(err)
		}
		want = append(want, row)
	}
	slices.SortFunc(want, order)
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(eventRow{}, readingRow{})); diff != "" {
		p.Errorf("the files do not have what the store has: %s", diff)
	}
}

// TestRun: a day is archived once it ended a day ago, with all that the store has of it, and no
// other day.
func TestRun(t *testing.T) {
	p := newPlant(t)
	p.now = noon.Add(dayLong)
	p.send(noon, 3, 10)
	if got := p.run(); got.Days != 0 {
		t.Errorf("archived too early: %+v", got)
	}
	p.now = noon.Add(2 * dayLong)
	want := Result{Days: 2, Rows: 3*10*2 + 3*10*3, Next: 6 * hour}
	if got := p.run(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	p.isExact()
	if got := p.run(); got.Days != 0 {
		t.Errorf("archived again: %+v", got)
	}
}

// TestLate: what comes late is in further files, once the day is twice as old; what was sent again
// stays as it was.
func TestLate(t *testing.T) {
	p := newPlant(t)
	p.send(noon, 3, 10)
	p.run()
	p.send(noon.Add(hour), 5, 4)
	p.send(noon.Add(-hour), 2, 1)
	if got := p.run(); got.Days != 0 {
		t.Errorf("compared at once: %+v", got)
	}
	p.now = noon.Add(8 * dayLong)
	if got, want := p.run().Rows, int64(5*(5*4+2)); got != want {
		t.Errorf("%d rows added, want %d", got, want)
	}
	p.isExact()
	p.send(noon.Add(-48*hour), 1, 1) // of a day that is older than all
	p.run()
	p.isExact()
}

// TestExpires: what is kept shorter than a day is archived before it expires.
func TestExpires(t *testing.T) {
	p := newPlant(t)
	tenant, err := p.store.Tenant(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.Events, tenant.Readings = andon.Retention(hour), andon.Retention(2*hour)
	p.now = noon
	if _, err := p.store.PutTenant(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	for range 15 {
		p.send(p.now, 1, 2)
		done := p.run()
		p.now = p.now.Add(done.Next)
	}
	all := map[string]bool{}
	for _, r := range rowsIn[eventRow](t, p.dir, Events) {
		all[fmt.Sprint(r.Device, r.Time, r.State)] = true
	}
	if rows := rowsIn[eventRow](t, p.dir, Events); len(rows) != 15*4 || len(all) != 15*4 {
		t.Errorf("%d rows, %d of them different, want %d", len(rows), len(all), 15*4)
	}
}

// TestManyParts: a day that is larger than a part, and its comparison.
func TestManyParts(t *testing.T) {
	p := newPlant(t)
	run := func() {
		t.Helper()
		a := p.archive()
		a.most = 1
		if _, err := a.Run(t.Context(), Selection{}); err != nil {
			t.Fatal(err)
		}
	}
	p.send(noon, 5, 300)
	run()
	p.isExact()
	p.send(noon, 7, 400)
	p.now = noon.Add(8 * dayLong)
	run()
	p.isExact()
	files, _ := filepath.Glob(filepath.Join(p.dir, "*", "*", "*", "part-*.parquet"))
	if len(files) < 4 {
		t.Errorf("only %d parts", len(files))
	}
}

// faulty is a place whose n-th call fails, before or after it is done.
type faulty struct {
	place
	left  *int
	after bool
}

var errBroken = errors.New("broken off")

func (f *faulty) broken() bool {
	*f.left--
	return *f.left < 0
}

func (f *faulty) Temp() (*os.File, error) {
	if f.broken() {
		return nil, errBroken
	}
	return f.place.Temp()
}

func (f *faulty) Open(ctx context.Context, name string) (*os.File, string, error) {
	if f.broken() {
		return nil, "", errBroken
	}
	return f.place.Open(ctx, name)
}

func (f *faulty) Put(
	ctx context.Context, name string, file *os.File, version string,
) (string, error) {
	if broken := f.broken(); broken && !f.after {
		return "", errBroken
	} else if broken {
		_, err := f.place.Put(ctx, name, file, version)
		return "", errors.Join(err, errBroken)
	}
	return f.place.Put(ctx, name, file, version)
}

// TestSerialStepByStep breaks off a run at its first call of the place, then at its second, and so
// on: all later calls fail too, as if the process were gone. Another process then does it again,
// with what came late meanwhile. The files have each row once at any time.
func TestSerialStepByStep(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := 0; ; n++ {
			p := newPlant(t)
			p.send(noon, 2, 3)
			a, left := p.archive(), n
			a.place = &faulty{a.place, &left, after}
			_, err := a.Run(t.Context(), Selection{})
			p.isOnce()
			p.send(noon.Add(hour), 1, n%3)
			p.now = noon.Add(10 * dayLong)
			p.run()
			p.isExact()
			if t.Failed() {
				t.Fatalf("broken off at call %d (done: %t): %v", n, after, err)
			}
			if err == nil {
				break
			}
		}
	}
}

// TestStoreStepByStep is TestSerialStepByStep where calls of the store fail, or the context ends.
func TestStoreStepByStep(t *testing.T) {
	for _, ends := range []bool{false, true} {
		for n := 0; ; n++ {
			p := newPlant(t)
			p.send(noon, 2, 3)
			ctx, end := context.WithCancel(t.Context())
			var left atomic.Int64
			left.Store(int64(n))
			a := p.archive()
			a.Store = wrap.Around(p.store, func(
				ctx context.Context, _ string,
			) (ended func(error), err error) {
				if left.Add(-1) >= 0 {
					return nil, nil
				}
				if ends {
					end()
					return nil, ctx.Err()
				}
				return nil, errBroken
			})
			_, err := a.Run(ctx, Selection{})
			end()
			p.isOnce()
			p.run()
			p.isExact()
			if t.Failed() {
				t.Fatalf("broken off at call %d (context: %t): %v", n, ends, err)
			}
			if err == nil {
				break
			}
		}
	}
}

// isOnce checks that the files have nothing twice.
func (p *plant) isOnce() {
	p.Helper()
	seen := map[string]bool{}
	for _, r := range rowsIn[eventRow](p, p.dir, Events) {
		key := fmt.Sprint(r.Device, r.Time, r.State)
		if seen[key] {
			p.Errorf("%s is there twice", key)
		}
		seen[key] = true
	}
}

// TestDamaged: of a day that can't be read to its end the first part is archived, and the day is
// not done; other days are.
func TestDamaged(t *testing.T) {
	p := newPlant(t)
	p.send(noon, 3, 4)
	p.send(noon.Add(-dayLong), 3, 4)
	whole := p.store
	p.store = &damaged{Store: whole, device: "press-1", day: noon.Day()}
	done, err := p.archive().Run(t.Context(), Selection{})
	if andon.KindOf(err) != andon.Damaged || done.Failed != 1 || done.Days != 5 {
		t.Errorf("%+v, %v", done, err)
	}
	p.store = whole
	p.run()
	p.isExact()
}

type damaged struct {
	andon.Store
	device andon.DeviceID
	day    uint32
}

func (d *damaged) DeviceEvents(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	if device == d.device && q.Span.From.Day() == d.day {
		return func(yield func(andon.Event, error) bool) {
			yield(andon.Event{}, andon.Errorf(andon.Damaged, "a block can't be read"))
		}
	}
	return d.Store.DeviceEvents(ctx, tenant, device, q)
}

// TestExpiring: while the place can't be reached, a run says of how many days something expires
// soon, and comes to its end.
func TestExpiring(t *testing.T) {
	p := newPlant(t)
	tenant, err := p.store.Tenant(t.Context(), andon.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.Events = andon.Retention(4 * dayLong)
	if _, err := p.store.PutTenant(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	p.send(noon, 1, 2)
	a, none := p.archive(), 0
	a.place = &faulty{a.place, &none, false}
	done, err := a.Run(t.Context(), Selection{})
	if err == nil || done.Expiring != 2 || done.Failed < 2 || done.Rows > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	p.run()
	p.isExact()
}

// TestFooter: the columns are what queries and later versions of the program rely on.
func TestFooter(t *testing.T) {
	p := newPlant(t)
	p.send(noon, 1, 2)
	p.run()
	var text strings.Builder
	for _, kind := range Kinds {
		files, _ := filepath.Glob(filepath.Join(p.dir, "*", "kind="+kind, "*", "part-0001.parquet"))
		f, err := os.Open(files[0])
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		opened, err := openParquet(f, files[0])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s\n%s\n", opened.Schema(), opened.Metadata().CreatedBy)
		for _, c := range opened.Metadata().RowGroups[0].Columns {
			fmt.Fprintln(&text, c.MetaData.PathInSchema, c.MetaData.Codec, c.MetaData.Encoding)
		}
		sorted, _ := json.Marshal(opened.Metadata().RowGroups[0].SortingColumns)
		fmt.Fprintf(&text, "sorted by %s\n", sorted)
	}
	golden.File(t, "testdata/footer.txt", text.String())
}

// TestClockWasAhead: a day that was compared by a clock that was far ahead is compared again.
func TestClockWasAhead(t *testing.T) {
	p := newPlant(t)
	p.send(noon, 3, 4)
	p.now = p.now.Add(700 * dayLong)
	p.run()
	p.now = p.now.Add(-600 * dayLong)
	p.send(noon.Add(hour), 3, 1)
	p.run()
	p.isExact()
}

// TestDamagedFiles: a manifest that is another one, and a part with a byte that is wrong, are
// named, and nothing is added to them.
func TestDamagedFiles(t *testing.T) {
	p := newPlant(t)
	p.send(noon, 3, 4)
	p.run()
	date := "date=" + noon.String()[:10]
	folder := filepath.Join(p.dir, "tenant=default", "kind=events", date)
	breaks := func(name string, wrong []byte) {
		t.Helper()
		file := filepath.Join(folder, name)
		right, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if wrong == nil {
			wrong = slices.Clone(right)
			wrong[len(wrong)/2] ^= 0x10
		}
		if err := os.WriteFile(file, wrong, 0o600); err != nil {
			t.Fatal(err)
		}
		err = p.archive().Read(t.Context(), Selection{Kind: Events}, func(any) error { return nil })
		if andon.KindOf(err) != andon.Damaged || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.WriteFile(file, right, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	breaks(manifestName, []byte("null"))
	breaks(manifestName, []byte(`{"version":1}`))
	breaks("part-0001.parquet", nil)
	p.isExact()
}

// TestNamedAlready: a part whose name another process has put into the manifest meanwhile is
// refused before it is announced, and the error names the manifest. A part that was removed from a
// manifest leaves a name that is not given again.
func TestNamedAlready(t *testing.T) {
	p := newPlant(t)
	p.send(noon, 1, 2)
	d := day{andon.DefaultTenant, Events, noon.Day()}
	slow, err := p.archive().look(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	p.run()
	w := &adder[eventRow]{folder: slow}
	defer w.close()
	if err := w.add(t.Context(), &eventRow{State: "A"}); err != nil {
		t.Fatal(err)
	}
	err = w.end(t.Context())
	if andon.KindOf(err) != andon.Conflict || !strings.Contains(err.Error(), manifestName) ||
		slow.is.Pending != nil {
		t.Errorf("%v, announced is %+v", err, slow.is.Pending)
	}
	p.isExact()
	f, err := p.archive().look(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	f.is.Files[0].Name = "part-0002.parquet"
	w = &adder[eventRow]{folder: f}
	defer w.close()
	if err := w.begin(); err != nil || w.about.Name != "part-0003.parquet" {
		t.Errorf("the next is %s, %v", w.about.Name, err)
	}
}

// TestTenantIsDeleted: a tenant that is deleted while it is archived is no failure, and one of the
// same name is archived next to what is there.
func TestTenantIsDeleted(t *testing.T) {
	p := newPlant(t)
	p.send(noon, 1, 2)
	if _, err := p.store.PutTenant(t.Context(), andon.NewTenant("gone")); err != nil {
		t.Fatal(err)
	}
	e := andon.Event{Device: "d", State: "A", Time: noon}
	if err := p.store.Append(t.Context(), "gone", noon, []andon.Event{e}); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		whole, left := p.store, n
		a := p.archive()
		a.Store = wrap.Around(whole, func(
			ctx context.Context, call string,
		) (ended func(error), err error) {
			if left--; left == 0 {
				return nil, whole.DeleteTenant(ctx, "gone")
			}
			return nil, nil
		})
		if _, err := a.Run(t.Context(), Selection{}); err != nil {
			t.Errorf("deleted at call %d: %v", n, err)
		}
		_, _ = p.store.PutTenant(t.Context(), andon.NewTenant("gone"))
		err := p.store.Append(t.Context(), "gone", noon, []andon.Event{e})
		if err != nil {
			t.Fatal(err)
		}
		p.now = p.now.Add(30 * dayLong)
		p.run()
	}
	p.isOnce()
}
