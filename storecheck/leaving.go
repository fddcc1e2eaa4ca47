package storecheck

import (
	"context"
	"sync/atomic"
)

type leaving struct {
	context.Context
	looks atomic.Int64
}

// Leaving returns the context of a client that leaves once its Err was asked for so many times.
func Leaving(ctx context.Context, looks int) context.Context {
	l := &leaving{Context: ctx}
	l.looks.Store(int64(looks))
	return l
}

func (l *leaving) Err() error {
	if l.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return l.Context.Err()
}
