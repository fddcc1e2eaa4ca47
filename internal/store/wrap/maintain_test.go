package wrap_test

import (
	"context"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/memstore"
	"github.com/andonhq/andon/internal/store/wrap"
)

// designed is a store that can be rebuilt.
type designed struct {
	andon.Store
	to, buckets string
}

func (d *designed) RebuildLatest(
	_ context.Context, to, buckets string, progress func(done, total int64),
) error {
	d.to, d.buckets = to, buckets
	progress(2, 2)
	return nil
}

func TestRebuildLatest(t *testing.T) {
	d := &designed{}
	var done, total int64
	progress := func(d, t int64) { done, total = d, t }
	if err := wrap.RebuildLatest(t.Context(), d, "state", "16", progress); err != nil {
		t.Fatal(err)
	}
	if d.to != "state" || d.buckets != "16" || done != 2 || total != 2 {
		t.Errorf("got %q, %q, %d of %d", d.to, d.buckets, done, total)
	}
	err := wrap.RebuildLatest(t.Context(), memstore.New(), "", "", progress)
	if andon.KindOf(err) != andon.Unsupported {
		t.Errorf("a store that has nothing to rebuild: %v", err)
	}
}
