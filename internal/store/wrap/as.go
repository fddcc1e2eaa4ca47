package wrap

import (
	"context"

	"github.com/andonhq/andon"
)

// As finds what a store can do beside the contract, below whatever is wrapped around it. What it
// returns does not know when the store closes: use it no longer than the store, or call it by Ask.
func As[T any](s andon.Store) (T, bool) {
	for {
		if t, ok := s.(T); ok {
			return t, true
		}
		wrapper, ok := s.(interface{ Unwrap() andon.Store })
		if !ok {
			var none T
			return none, false
		}
		s = wrapper.Unwrap()
	}
}

// Ask calls what a store can do beside the contract as a method of the contract is called: through
// every hook that is around the store. method is its name. A store that can't do it is Unsupported,
// with what it can't do in words.
func Ask[T any](
	ctx context.Context, s andon.Store, method, words string, ask func(T) error,
) error {
	t, ok := As[T](s)
	if !ok {
		return andon.Errorf(andon.Unsupported, "%s %s", s.Capabilities().Name, words)
	}
	return through(ctx, s, method, func() error { return ask(t) })
}

// through makes a call through all hooks around a store, the outermost first.
func through(ctx context.Context, s andon.Store, method string, call func() error) error {
	switch w := s.(type) {
	case *around:
		return w.do(ctx, method, func() error { return through(ctx, w.next, method, call) })
	case interface{ Unwrap() andon.Store }:
		return through(ctx, w.Unwrap(), method, call)
	}
	return call()
}
