package pebblestore

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

// TestSerialDamageIsReported flips a bit of the tables, here and there. Each query has the whole
// answer or none, also where a day has several runs. What runs in the background then deletes
// nothing: once the bit is flipped back, everything is there.
func TestSerialDamageIsReported(t *testing.T) {
	image := stepImage(t)
	want := stepAnswers(t.Context(), stepReference(t), 0)
	names, err := image.List("store")
	if err != nil {
		t.Fatal(err)
	}
	var refused, places atomic.Int64
	t.Run("places", func(t *testing.T) {
		for i, name := range names {
			if !strings.HasSuffix(name, ".sst") {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				path := image.PathJoin("store", name)
				info, err := image.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, offset := range []int64{30 + int64(i%7), info.Size() / 3} {
					places.Add(1)
					refused.Add(damageAt(t, image, path, offset, want))
				}
			})
		}
	})
	t.Logf("%d queries were refused, at %d places", refused.Load(), places.Load())
	if refused.Load() == 0 {
		t.Error("no query met damage")
	}
}

// damageAt flips a bit of a table, and returns how many queries were refused.
func damageAt(
	t *testing.T, image *crashable, path string, offset int64, want []string,
) (refused int64) {
	t.Helper()
	mem := image.copied()
	flip := func() {
		if _, err := mem.Stat(path); err != nil {
			return // it was merged away, so what was read of it was whole
		}
		f, err := mem.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1)
		_, err = f.ReadAt(b, offset)
		b[0] ^= 4
		_, err2 := f.WriteAt(b, offset)
		if err := errors.Join(err, err2, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	flip()
	s, err := Open("store", stepOptions(mem))
	if err == nil {
		for i, got := range stepAnswers(t.Context(), s, 0) {
			switch {
			case strings.HasSuffix(got, ": "+andon.Damaged.String()):
				refused++
			case got != want[i]:
				t.Errorf("%s damaged at %d: %s", path, offset, gocmp.Diff(want[i], got))
			}
		}
		_, _ = s.mergeAll(), s.flushDue()
		_ = s.flushReadings()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	} else if andon.KindOf(err) != andon.Damaged {
		t.Errorf("%s damaged at %d: open: %v", path, offset, err)
	}
	flip()
	if s, err = Open("store", stepOptions(mem)); err != nil {
		t.Fatal(err)
	}
	if got := stepAnswers(t.Context(), s, 0); !slices.Equal(got, want) {
		t.Errorf("%s was damaged at %d: %s", path, offset, gocmp.Diff(want, got))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return refused
}
