package wrap_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
	"github.com/andonhq/andon/storetest"
)

var errRefused = errors.New("refused")

// refusing is a store that writes down what is called, and refuses all but the tenant's record.
func refusing(called *[]string) andon.Store {
	return wrap.Around(memstore.New(), func(_ context.Context, method string) (func(error), error) {
		*called = append(*called, method)
		if method == "Tenant" && len(*called) == 1 {
			return nil, nil
		}
		return nil, errRefused
	})
}

// methods are those of a store that a hook runs around and that return its error.
func methods() (all []reflect.Method) {
	store := reflect.TypeFor[andon.Store]()
	for i := range store.NumMethod() {
		m := store.Method(i)
		if !slices.Contains([]string{"Capabilities", "Close", "Damage", "Figures"}, m.Name) {
			all = append(all, m)
		}
	}
	return all
}

// call calls a method for the default tenant, with arguments that are all zero, and returns its
// error. A list is read to its end.
func call(t *testing.T, s andon.Store, m reflect.Method) error {
	t.Helper()
	args := []reflect.Value{}
	for i := range m.Type.NumIn() {
		switch of := m.Type.In(i); of {
		case reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(t.Context()))
		case reflect.TypeFor[andon.TenantID]():
			args = append(args, reflect.ValueOf(andon.DefaultTenant))
		default:
			args = append(args, reflect.Zero(of))
		}
	}
	results := reflect.ValueOf(s).MethodByName(m.Name).Call(args)
	last := results[len(results)-1]
	if last.Kind() == reflect.Func {
		for _, last = range last.Seq2() {
			continue
		}
	}
	err, _ := last.Interface().(error)
	return err
}

// TestEachMethodReachesItsOwn: a wrapper calls the method of the same name, and returns its error.
// That the hooks have all methods is the compiler's to check, since they have no store embedded.
func TestEachMethodReachesItsOwn(t *testing.T) {
	now := func() andon.Time { return andon.MinTime }
	pass := func(context.Context, string) (func(error), error) { return func(error) {}, nil }
	for name, wrapped := range map[string]func(andon.Store) andon.Store{
		"retain": func(s andon.Store) andon.Store { return wrap.Retain(s, now) },
		"guard":  wrap.Guard,
		"around": func(s andon.Store) andon.Store { return wrap.Around(s, pass) },
		"faults": func(s andon.Store) andon.Store { return wrap.Around(s, new(wrap.Faults).Hook) },
	} {
		for _, m := range methods() {
			var called []string
			if m.Name == "Tenant" { // which is called first by what asks for the horizon
				called = append(called, "no call")
			}
			err := call(t, wrapped(refusing(&called)), m)
			if !errors.Is(err, errRefused) || called[len(called)-1] != m.Name {
				t.Errorf("%s: %s calls %v and returns %v", name, m.Name, called, err)
			}
		}
	}
}

// passing are the methods that retention passes through: their answers do not expire. The others
// ask for the horizon first.
const passing = "AdmitStates Append AppendReadings Assign Assignments AwaitChange ChangesKept " +
	"Counts DeleteRecord DeleteTenant Diagnose Divide DueRecords Expire Finish Had Names Purge " +
	"PutRecord PutTenant Ready RebuildLatest Record Records Regroup Reorder Retire Retirements " +
	"Size Snapshot Sweep Tenant Tenants"

// TestRetentionIsDecided: a method that nobody has thought about would pass through retention.
// Those that pass are named above.
func TestRetentionIsDecided(t *testing.T) {
	var names []string
	for _, m := range methods() {
		var called []string
		s := wrap.Retain(refusing(&called), func() andon.Time { return andon.MinTime })
		_ = call(t, s, m) // it is refused
		if called[0] == m.Name {
			names = append(names, m.Name)
		}
	}
	if got := strings.Join(names, " "); got != passing {
		t.Errorf("retention passes through\n%s, want\n%s", got, passing)
	}
}

// TestHookIsToldTheEnd of calls, of lists that were read and of those that were left.
func TestHookIsToldTheEnd(t *testing.T) {
	var ended []error
	s := wrap.Around(memstore.New(), func(context.Context, string) (func(error), error) {
		return func(err error) { ended = append(ended, err) }, nil
	})
	for _, err := range s.Devices(t.Context(), andon.DefaultTenant, andon.DeviceQuery{Limit: 1}) {
		t.Error(err)
	}
	for range s.Devices(t.Context(), "none", andon.DeviceQuery{Limit: 1}) {
		break
	}
	_, err := s.Tenant(t.Context(), "none")
	if len(ended) != 3 || ended[0] != nil || andon.KindOf(ended[1]) != andon.NotFound ||
		ended[2] != err || err == nil {
		t.Errorf("got %v; the last was %v", ended, err)
	}
}

// TestFigures: a store reports its figures through whatever is around it, and none once it is
// closed.
func TestFigures(t *testing.T) {
	var called []string
	seen := func(_ context.Context, method string) (func(error), error) {
		called = append(called, method)
		return nil, nil
	}
	now := func() andon.Time { return andon.MinTime }
	s := wrap.Retain(wrap.Around(wrap.Guard(&talkative{Store: memstore.New()}), seen), now)
	for _, want := range []float64{5, 0} {
		var got float64
		s.Figures(func(_, _ string, value float64, _ ...string) { got = value })
		if got != want || !slices.Contains(called, "Figures") {
			t.Errorf("reported %v, want %v; called %v", got, want, called)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGuardRefusesOnceClosed(t *testing.T) {
	s := wrap.Guard(memstore.New())
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, m := range methods() {
		if err := call(t, s, m); err == nil || andon.KindOf(err) != andon.Unavailable {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

// closing is a store that says when it was closed.
type closing struct {
	andon.Store
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// TestGuardWaits: closing waits for the calls under way, but not for ever; then it leaves the
// engine open.
func TestGuardWaits(t *testing.T) {
	for name, ends := range map[string]bool{"a call that ends": true, "one that does not": false} {
		synctest.Test(t, func(t *testing.T) {
			var faults wrap.Faults
			faults.Set(wrap.Hang, "Ready")
			engine := &closing{Store: memstore.New()}
			s := wrap.Guard(wrap.Around(engine, faults.Hook))
			ctx, cancel := context.WithCancel(t.Context())
			go s.Ready(ctx)
			synctest.Wait()
			closed := make(chan error, 1)
			go func() { closed <- s.Close() }()
			synctest.Wait()
			if _, err := s.Tenants(t.Context()); andon.KindOf(err) != andon.Unavailable {
				t.Errorf("%s: a call next to it: %v", name, err)
			}
			if len(closed) > 0 || engine.closed {
				t.Errorf("%s: it was closed below it", name)
			}
			if ends {
				cancel()
			}
			if err := <-closed; (err == nil) != ends || engine.closed != ends {
				t.Errorf("%s: %v, closed %v", name, err, engine.closed)
			}
			cancel()
		})
	}
}

// TestGuardEndsWaiting: who waits for a change learns when the store is closed, and is not waited
// for.
func TestGuardEndsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := wrap.Guard(memstore.New())
		_, at, err := s.ChangesKept(t.Context(), andon.DefaultTenant)
		if err != nil {
			t.Fatal(err)
		}
		woken := make(chan error, 1)
		go func() { woken <- s.AwaitChange(t.Context(), andon.DefaultTenant, at) }()
		synctest.Wait()
		begun := time.Now()
		if err := s.Close(); err != nil || time.Since(begun) > 0 {
			t.Errorf("closing: %v after %v", err, time.Since(begun))
		}
		if err := <-woken; andon.KindOf(err) != andon.Unavailable {
			t.Errorf("who waits gets %v", err)
		}
	})
}

func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults wrap.Faults
		s := wrap.Around(memstore.New(), faults.Hook)
		faults.Set(wrap.Fail(errRefused), "Ready")
		if err := s.Ready(t.Context()); err != errRefused {
			t.Error(err)
		}
		faults.Set(wrap.Hang, "Ready")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		faults.Set(nil, "Ready")
		if err := s.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		defer func() {
			if recover() == nil {
				t.Error("a method that is not there got a fault")
			}
		}()
		faults.Set(wrap.Hang, "Raedy")
	})
}

// TestStore: with hooks around it a store is what it was; each argument and each answer arrives.
func TestStore(t *testing.T) {
	pass := func(context.Context, string) (func(error), error) { return nil, nil }
	storetest.Run(t, func(*testing.T) andon.Store {
		return wrap.Around(wrap.Guard(memstore.New()), pass)
	})
}
