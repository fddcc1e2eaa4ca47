package pebblestore_test

import (
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore"
	"github.com/andonhq/andon/storetest"
)

func TestStore(t *testing.T) { storetest.Run(t, open) }

func open(t *testing.T) andon.Store { return openDir(t, t.TempDir()) }

func openDir(t *testing.T, dir string) andon.Store {
	t.Helper()
	s, err := pebblestore.Open(dir, pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
