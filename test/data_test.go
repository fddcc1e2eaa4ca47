package test

import (
	"compress/gzip"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andonhq/andon"
)

// data returns where a real input is.
func data(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "data", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the real input %s is not next to this checkout", name)
	}
	return path
}

// readData returns a real input, decompressed.
func readData(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(data(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parseTime(t *testing.T, text string) andon.Time {
	t.Helper()
	at, err := andon.ParseTime(text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// collect returns all items of a list.
func collect[T any](t *testing.T, list iter.Seq2[T, error]) (items []T) {
	t.Helper()
	for item, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	return items
}
