package memstore_test

import (
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/storetest"
)

func open(*testing.T) andon.Store { return memstore.New() }

func TestStore(t *testing.T) { storetest.Run(t, open) }

func TestHistories(t *testing.T) { storetest.Histories(t, open, storetest.Options{}) }
