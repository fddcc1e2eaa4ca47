package app

import (
	"context"
	"testing"

	"github.com/andonhq/andon"
)

// waiting is a store that says why it is not ready.
type waiting struct {
	andon.Store
	err error
}

func (w *waiting) Ready(context.Context) error { return w.err }

func TestReadyGauge(t *testing.T) {
	store := &waiting{}
	a := &App{store: store}
	if got := a.ready(); got != 1 {
		t.Errorf("ready is %v", got)
	}
	store.err = andon.Errorf(andon.Full, "no room")
	if got := a.ready(); got != 0 {
		t.Errorf("without room ready is %v", got)
	}
}
