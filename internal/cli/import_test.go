package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImportOutlivesTheServer: a server that goes away during an import is waited for.
func TestImportOutlivesTheServer(t *testing.T) {
	d := newDesk(t)
	file := filepath.Join(t.TempDir(), "log.csv")
	text := "device,time,state\n"
	for i := range 10 {
		text += fmt.Sprintf("a,2020-01-%02d,NORMAL\n", i+1)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	posts := 0
	d.OnRequest(func(r *http.Request) {
		if r.Method == http.MethodPost {
			if posts++; posts == 2 || posts == 3 {
				panic(http.ErrAbortHandler) // the connection breaks without an answer
			}
		}
	})
	said := d.does("import", file, "--batch", "2")
	if !strings.HasPrefix(said, "imported 10, rejected 0 of ") || posts != 7 {
		t.Errorf("%d requests: %s", posts, said)
	}
}
