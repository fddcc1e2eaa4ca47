package mapping_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/andonhq/andon/internal/golden"
	"github.com/andonhq/andon/internal/mapping"
)

// TestRead reads each testdata/bad/*.yaml, and compares the error with the .err file next to it:
// each mistake has file and line, all of them together.
func TestRead(t *testing.T) {
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	for _, file := range files {
		_, err := mapping.Read(file)
		if err == nil {
			t.Errorf("%s: no error", file)
			continue
		}
		golden.File(t, strings.TrimSuffix(file, ".yaml")+".err", err.Error()+"\n")
	}
	if len(files) == 0 {
		t.Error("there is no file")
	}
	if _, err := mapping.Read("testdata/none.yaml"); err == nil {
		t.Error("a file that is not there is read")
	}
}
