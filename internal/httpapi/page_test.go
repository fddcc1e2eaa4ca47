package httpapi_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
)

// generous is a store whose lists are as long as is asked for, of entries as large as they may be.
// Each is made anew, as those of a store on a disk are.
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

// DeviceEvents returns events of the seconds before total, newest first.
func (s *generous) DeviceEvents(
	_ context.Context, _ andon.TenantID, device andon.DeviceID, q andon.EventQuery,
) iter.Seq2[andon.Event, error] {
	s.ask(q.Limit)
	at := andon.Time(s.total)
	if q.After != nil {
		at = q.After.Time - 1
	}
	return func(yield func(andon.Event, error) bool) {
		for n := 0; n < q.Limit && at > 0; n, at = n+1, at-1 {
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

// readers asks n times for a path, by clients that do not read. It returns how often there was each
// status; letGo ends them.
func (w *world) readers(n int, method, path, body string) (statuses map[int]int, letGo func()) {
	begun, goOn := make(chan int), make(chan struct{})
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			r := httptest.NewRequestWithContext(w.Context(), method, base+path, strings.NewReader(body))
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

// TestSlowReaders: what clients hold that do not read their answers.
func TestSlowReaders(t *testing.T) {
	w, _ := newGenerous(t)
	const n = 20
	for path, body := range map[string]string{
		"/devices/d/events?limit=1000": "",
		"/readings/latest":             thousandDevices(),
	} {
		before, method := heap(), http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		statuses, letGo := w.readers(n, method, path, body)
		held := (heap() - before) >> 20
		letGo()
		t.Logf("%s: %d MB, %v", path, held, statuses)
		if held > 300 {
			t.Errorf("%s: %d slow readers hold %d MB", path, n, held)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("heap at most %d MB", m.HeapSys>>20)
}

func thousandDevices() string {
	var ids []string
	for i := range 1000 {
		ids = append(ids, fmt.Sprintf(`"d%d"`, i))
	}
	return `{"devices":[` + strings.Join(ids, ",") + `]}`
}
