package wrap

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/andonhq/andon"
)

// Faults is a hook for tests: it makes methods of a store fail, wait or hang. The zero value does
// nothing.
type Faults struct {
	faults sync.Map // of Fault, by method
}

// Fault comes before a call. Its error, if any, is returned in place of the call.
type Fault func(ctx context.Context) error

// Fail is the fault of a method that fails.
func Fail(err error) Fault { return func(context.Context) error { return err } }

// Hang is the fault of a method that does not answer before its caller gives up.
func Hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// Set gives methods a fault, or with nil takes it away. It panics where andon.Store has no such
// method: a fault with a wrong name would test nothing.
func (f *Faults) Set(fault Fault, methods ...string) {
	for _, name := range methods {
		if _, ok := reflect.TypeFor[andon.Store]().MethodByName(name); !ok {
			panic(fmt.Sprintf("andon.Store has no method %s", name))
		}
		f.faults.Store(name, fault)
	}
}

// Hook is for Around.
func (f *Faults) Hook(ctx context.Context, method string) (end func(error), err error) {
	is, _ := f.faults.Load(method)
	if fault, _ := is.(Fault); fault != nil {
		err = fault(ctx)
	}
	return nil, err
}
