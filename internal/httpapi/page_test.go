package httpapi_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
)

// generous is a store whose lists are as long as is asked for, of entries as large as they may be.
// Each is made again, as those of a store on a disk are.
type generous struct {
	andon.Store
	size  int // of the attributes of an event and the metadata of a reading
	total int // events of a device; more are not there
	mu    sync.Mutex
	asked []int // the limits of the lists
}

func newGenerous(t testing.TB, change ...func(*httpapi.Options)) (*world, *generous) {
	s := &generous{size: andon.MaxJSONBytes, total: 1 << 20}
	use := func(o *httpapi.Options) {
		s.Store, o.Store = o.Store, s
		o.Intake = newIntake(s, o.Now)
	}
	return newWorld(t, append([]func(*httpapi.Options){use}, change...)...), s
}

// large returns an object of a size.
func (s *generous) large() andon.JSON {
	const frame = `{"a":""}`
	return andon.JSON(`{"a":"` + strings.Repeat("x", max(s.size-len(frame), 0)) + `"}`)
}

func (s *generous) ask(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, n)
}

// DeviceEvents returns total events, newest first.
func (s *generous) DeviceEvents(
	_ context.Context, _ andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	s.ask(q.Limit)
	at := andon.MinTime + andon.Time(s.total)
	if q.After != nil {
		at = q.After.Time - 1
	}
	return func(yield func(andon.Event, error) bool) {
		for n := 0; n < q.Limit && at > andon.MinTime; n, at = n+1, at-1 {
			e := andon.Event{Device: device, Time: at, State: "A", Attributes: s.large()}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *generous) LatestReadings(
	_ context.Context, _ andon.TenantID, devices []andon.DeviceID, _ andon.Time,
) ([]andon.Reading, error) {
	s.ask(len(devices))
	var all []andon.Reading
	for _, d := range devices {
		all = append(all, andon.Reading{Device: d, Time: 1, Metadata: s.large()})
	}
	return all, nil
}

// stuck is a client that reads nothing of its answer until it is let go.
type stuck struct {
	*httptest.ResponseRecorder
	begun chan<- int // the status, once the answer is written
	goOn  <-chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	select {
	case s.begun <- s.Code:
		<-s.goOn
	case <-s.goOn:
	}
	return len(p), nil
}

// interrupted is a client that asks something else before it takes a part of its answer, and may be
// gone then.
type interrupted struct {
	*httptest.ResponseRecorder
	other func()
	gone  bool
	shown []byte // what was to be taken
}

func (i *interrupted) Write(p []byte) (int, error) {
	i.other()
	if i.shown = p; i.gone {
		return 0, http.ErrHandlerTimeout
	}
	return i.ResponseRecorder.Write(p)
}

// TestAnswersKeepTheirBuffer: an answer is not written into the buffer of one that is on its way,
// nor of one that could not be sent, which HTTP/2 may still be reading.
func TestAnswersKeepTheirBuffer(t *testing.T) {
	w := newWorld(t)
	w.event("d1", noon, "NORMAL")
	w.event("d2", noon, "NORMAL")
	ask := func(to http.ResponseWriter, device, path string) {
		r := httptest.NewRequestWithContext(
			t.Context(), http.MethodGet, base+"/devices/"+device+path, nil)
		w.api.ServeHTTP(to, r)
	}
	for range 10 { // with the race detector some buffers are not used again
		for _, path := range []string{"", "/events"} {
			other := func() { ask(httptest.NewRecorder(), "d2", path) }
			late := &interrupted{ResponseRecorder: httptest.NewRecorder(), other: other}
			ask(late, "d1", path)
			if got := late.Body.String(); !strings.Contains(got, `"d1"`) {
				t.Errorf("the answer of another came: %s", got)
			}
			late.gone = true
			ask(late, "d1", path)
			other()
			if got := string(late.shown); !strings.Contains(got, `"d1"`) {
				t.Errorf("the buffer was used again: %s", got)
			}
		}
	}
}

// readers asks n times for a path, by clients that do not read. It returns how often there was each
// status; letGo ends them.
func (w *world) readers(n int, method, path, body string) (statuses map[int]int, letGo func()) {
	begun, goOn := make(chan int), make(chan struct{})
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			r := httptest.NewRequestWithContext(
				w.Context(), method, base+path, strings.NewReader(body))
			w.api.ServeHTTP(stuck{httptest.NewRecorder(), begun, goOn}, r)
		})
	}
	statuses = map[int]int{}
	for range n {
		statuses[<-begun]++
	}
	return statuses, func() {
		close(goOn)
		all.Wait()
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSlowReaders: what clients hold that do not read their answers, and when it is too much.
func TestSlowReaders(t *testing.T) {
	const readers, page, budget = 20, 4 << 20, 100 << 20
	for path, most := range map[string]int64{
		"/devices/d/events?limit=1000": readers * (page + page/8),
		"/readings/latest":             budget,
	} {
		w, s := newGenerous(t, func(o *httpapi.Options) {
			o.Intake = intake.New(o.Store, intake.Options{Now: o.Now, MaxBytes: budget})
		})
		method, body := http.MethodGet, ""
		if path == "/readings/latest" {
			method, body, s.size = http.MethodPost, thousandDevices(), 15<<10
		}
		before := heap()
		statuses, letGo := w.readers(readers, method, path, body)
		held := heap() - before
		letGo()
		t.Logf("%s: %d MB, %v", path, held>>20, statuses)
		if held > most {
			t.Errorf("%s: %d slow readers hold %d MB", path, readers, held>>20)
		}
		if statuses[http.StatusOK]+statuses[http.StatusTooManyRequests] != readers {
			t.Errorf("%s: %v", path, statuses)
		}
	}
}

func thousandDevices() string {
	var ids []string
	for i := range 1000 {
		ids = append(ids, fmt.Sprintf(`"d%d"`, i))
	}
	return `{"devices":[` + strings.Join(ids, ",") + `]}`
}

// TestNoMemoryForAnswers: what slow readers hold is taken from the budget of all; it comes back
// with them.
func TestNoMemoryForAnswers(t *testing.T) {
	w, s := newGenerous(t, func(o *httpapi.Options) {
		o.Intake = intake.New(o.Store, intake.Options{Now: o.Now, MaxBytes: 10 << 20})
	})
	const path = "/devices/d/events?limit=1000"
	statuses, letGo := w.readers(3, http.MethodGet, path, "")
	if statuses[http.StatusOK] < 1 || statuses[http.StatusTooManyRequests] < 1 {
		t.Errorf("got %v", statuses)
	}
	if got := w.get(path); got.status == http.StatusTooManyRequests {
		if got.fails(429); got.header.Get("Retry-After") != "1" {
			t.Errorf("got %v", got.header)
		}
	}
	letGo()
	for range 5 {
		w.get(path).is(http.StatusOK)
	}
	// Small answers take little: sixty of them fit while no one reads them.
	s.size = 100
	statuses, letGo = w.readers(60, http.MethodGet, "/devices/d/events", "")
	defer letGo()
	if statuses[http.StatusOK] != 60 {
		t.Errorf("got %v", statuses)
	}
}

// TestMemoryIsGivenBack: an answer that fails on its way gives back what it took.
func TestMemoryIsGivenBack(t *testing.T) {
	w, s := newSick(t, func(o *httpapi.Options) {
		o.Intake = intake.New(o.Store, intake.Options{Now: o.Now, MaxBytes: 128 << 10})
	})
	for range 20 {
		w.get("/devices").fails(http.StatusInsufficientStorage)
		s.attributes = "{not JSON"
		w.get("/devices").fails(http.StatusInternalServerError)
		s.attributes = ""
	}
}

// TestSerialPagesEndEarly: a page of large items is short and leads on, and together the pages hold
// all.
func TestSerialPagesEndEarly(t *testing.T) {
	w, s := newGenerous(t)
	s.total = 200
	var got []string
	pages := 0
	path := "/devices/d/events?limit=1000"
	for next := path; next != ""; pages++ {
		a := w.get(next)
		p := a.page()
		if n := len(a.body); n > 5<<20 || (p.Next != "" && n < 4<<20) {
			t.Errorf("a page of %d bytes", n)
		}
		if (p.Next == "") != (a.header.Get("Link") == "") {
			t.Errorf("next %q, link %q", p.Next, a.header.Get("Link"))
		}
		got = append(got, p.column("time")...)
		if next = ""; p.Next != "" {
			next = path + "&cursor=" + p.Next
		}
	}
	once := map[string]bool{}
	for _, at := range got {
		once[at] = true
	}
	if len(got) != 200 || len(once) != 200 || pages != 4 {
		t.Errorf("%d items, %d of them different, on %d pages", len(got), len(once), pages)
	}
	s.size = 5 << 20 // larger than a page: it still holds one
	if n := len(w.get(path).page().Items); n != 1 {
		t.Errorf("%d items", n)
	}
}

// TestStepsAreSmall: a store is never asked for 1,000 large items at once, and for a usual page
// once.
func TestStepsAreSmall(t *testing.T) {
	w, s := newGenerous(t)
	s.size = 10
	for limit, want := range map[int][]int{
		100: {101}, 127: {128}, 128: {128, 1}, 300: {128, 128, 45},
	} {
		s.asked = nil
		path := fmt.Sprintf("/devices/d/events?limit=%d", limit)
		if n := len(w.get(path).page().Items); n != limit || !slices.Equal(s.asked, want) {
			t.Errorf("limit %d: %d items, asked for %d", limit, n, s.asked)
		}
	}
	s.asked, s.total = nil, 128
	if p := w.get("/devices/d/events?limit=1000").page(); len(p.Items) != 128 || p.Next != "" {
		t.Errorf("%d items, next %q", len(p.Items), p.Next)
	}
	s.asked = nil
	w.post("/readings/latest", thousandDevices()).is(http.StatusOK)
	if most := slices.Max(s.asked); most > 128 {
		t.Errorf("asked for %d", s.asked)
	}
}

// TestSerialLatestIsBounded: there is no next page, so what is too much is refused and not cut.
func TestSerialLatestIsBounded(t *testing.T) {
	w, s := newGenerous(t)
	w.post("/readings/latest", thousandDevices()).
		fails(http.StatusRequestEntityTooLarge, "ask for fewer devices")
	s.size = 1000
	answer := parse(t, w.post("/readings/latest", thousandDevices()).is(200).body).(object)
	if n := len(answer["items"].([]any)); n != 1000 || len(answer["missing"].([]any)) != 0 {
		t.Errorf("%d items", n)
	}
}

// TestPagesWithinAnInstant: pages that end between entries of one instant go on with the next of
// them, in each list of a device, also where a store is asked in steps.
func TestPagesWithinAnInstant(t *testing.T) {
	const states = 150 // more than are asked for in one step
	w := newWorld(t)
	var events []string
	for n := range states {
		events = append(events, fmt.Sprintf(`{"device":"d","time":"2020-04-24T11:00:00Z",`+
			`"state":"S%03d","escalated_to":"Sara"}`, n))
	}
	w.post("/events", "["+strings.Join(events, ",")+"]").is(http.StatusOK)
	for _, list := range []string{"/devices/d/events", "/devices/d/escalations"} {
		for _, limit := range []int{7, 140, 1000} {
			for _, order := range []string{"asc", "desc"} {
				path := fmt.Sprintf("%s?limit=%d&order=%s", list, limit, order)
				seen, items, pages := map[string]bool{}, 0, 0
				for next := path; next != "" && pages < states; pages++ {
					p := w.get(next).is(http.StatusOK).page()
					for _, state := range p.column("state") {
						seen[state], items = true, items+1
					}
					if next = ""; p.Next != "" {
						next = path + "&cursor=" + p.Next
					}
				}
				if items != states || len(seen) != states {
					t.Errorf("%s: %d items, %d of them different", path, items, len(seen))
				}
			}
		}
	}
}
