package jsonscan

import (
	"strings"
	"testing"
)

// TestPlainEnd puts every byte at every place of a text, next to every kind of neighbour.
func TestPlainEnd(t *testing.T) {
	for c := range 256 {
		plain := c >= ' ' && c < 0x80 && c != '"' && c != '\\'
		for place := range 20 {
			for _, other := range []string{"a", " ", "\x7f", "!", "#", "[", "]"} {
				text := strings.Repeat(other, place) + string([]byte{byte(c)})
				text += strings.Repeat(other, 19-place)
				want := place
				if plain {
					want = len(text)
				}
				if got := plainEnd(text, 0); got != want {
					t.Fatalf("%q: %d, want %d", text, got, want)
				}
			}
		}
	}
}
