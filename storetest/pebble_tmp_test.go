package storetest

import (
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore"
)

func openPebble(t *testing.T) andon.Store {
	s, err := pebblestore.Open(t.TempDir(), pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestPebbleTmp(t *testing.T)          { Run(t, openPebble) }
func TestPebbleHistoriesTmp(t *testing.T) {
	dirs := map[andon.Store]string{}
	open := func(t *testing.T) andon.Store {
		dir := t.TempDir()
		s, err := pebblestore.Open(dir, pebblestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dirs[s] = dir
		return s
	}
	reopen := func(s andon.Store) andon.Store {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		n, err := pebblestore.Open(dirs[s], pebblestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		dirs[n] = dirs[s]
		return n
	}
	Histories(t, open, Options{Reopen: reopen, Rounds: 60})
}
