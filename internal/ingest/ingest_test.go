package ingest_test

import (
	"errors"
	"testing"

	"github.com/andonhq/andon/internal/ingest"
)

// TestCheck: an item is looked at until nothing was found wrong with it, and not again then.
func TestCheck(t *testing.T) {
	item, looks := ingest.Item[int]{Value: 1}, 0
	wrong := errors.New("wrong")
	validate := func(n *int) error {
		if looks++; *n != 2 {
			return wrong
		}
		return nil
	}
	for i, step := range []struct {
		value, looks int
		err          error
	}{{1, 1, wrong}, {1, 2, wrong}, {2, 3, nil}, {2, 3, nil}} {
		item.Value = step.value
		if err := item.Check(validate); !errors.Is(err, step.err) || looks != step.looks {
			t.Errorf("check %d: %v at look %d, want %v at %d", i, err, looks, step.err, step.looks)
		}
	}
}
