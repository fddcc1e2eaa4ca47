package readings

import (
	"bytes"
	"math"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/layout"
)

// FuzzReadingMerge proves that messages of one time join to the same reading however the engine
// groups them.
func FuzzReadingMerge(f *testing.F) {
	f.Add("a", "b", "c", 1.0, 2.0, `{"x":1}`, "")
	f.Add("a", "a", "a", math.MaxFloat64, -0.5, "", `{}`)
	f.Fuzz(func(t *testing.T, m1, m2, m3 string, v1, v2 float64, j1, j2 string) {
		message := func(metric string, value float64, metadata string) []byte {
			metrics := andon.Metrics{{Name: andon.MetricName(metric), Value: value}}
			return layout.AppendReading(nil, metrics, andon.JSON(metadata))
		}
		messages := [][]byte{message(m1, v1, j1), message(m2, v2, j2), message(m3, v1, "")}
		join := func(older bool, values ...[]byte) []byte {
			first, rest := values[0], values[1:]
			if older {
				first, rest = values[len(values)-1], values[:len(values)-1]
			}
			m, err := Merger.Merge(nil, first)
			for i := range rest {
				if err != nil {
					t.Fatal(err)
				}
				if older {
					err = m.MergeOlder(rest[len(rest)-1-i])
				} else {
					err = m.MergeNewer(rest[i])
				}
			}
			joined, _, finish := m.Finish(true)
			if err != nil || finish != nil {
				t.Fatal(err, finish)
			}
			return joined
		}
		want := join(false, messages...)
		for _, got := range [][]byte{
			join(true, messages...),
			join(false, join(false, messages[:2]...), messages[2]),
			join(true, messages[0], join(true, messages[1:]...)),
		} {
			if !bytes.Equal(got, want) {
				t.Errorf("joined %x, want %x", got, want)
			}
		}
	})
}
