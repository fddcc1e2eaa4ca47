package app

import (
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
)

func TestReadyGauge(t *testing.T) {
	store, fail := withFaults(memstore.New())
	a := &App{store: store, services: newServices()}
	if got := a.readyGauge(); got != 1 {
		t.Errorf("ready is %v", got)
	}
	fail(andon.Errorf(andon.Full, "no space"), "Ready")
	if got := a.readyGauge(); got != 0 {
		t.Errorf("without space ready is %v", got)
	}
}
