package wrap_test

import (
	"context"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/wrap"
)

// quick answers at once.
type quick struct{ andon.Store }

func (quick) Ready(context.Context) error { return nil }

// BenchmarkCall is what the wrappers around a store cost a call, next to the call alone.
func BenchmarkCall(b *testing.B) {
	hook := func(context.Context, string) (func(error), error) { return func(error) {}, nil }
	for name, s := range map[string]andon.Store{
		"bare": quick{}, "guard": wrap.Guard(quick{}), "hook": wrap.Around(quick{}, hook),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Ready(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
