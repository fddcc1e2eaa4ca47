package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
)

// TestBackup: what the store writes is the answer, a failure before that is a problem, and one
// after it must not look whole.
func TestBackup(t *testing.T) {
	var mu sync.Mutex // of both
	var parts []string
	var failure error
	set := func(is []string, err error) {
		mu.Lock()
		defer mu.Unlock()
		parts, failure = is, err
	}
	w := newWorld(t, func(o *httpapi.Options) {
		o.Token = "s3cret"
		o.Backup = func(_ context.Context, to io.Writer) error {
			mu.Lock()
			defer mu.Unlock()
			for _, part := range parts {
				if _, err := io.WriteString(to, part); err != nil {
					return err
				}
			}
			return failure
		}
	})
	const token = "Authorization: Bearer s3cret"
	set([]string{"one ", "two"}, nil)
	w.post("/backup", "").fails(http.StatusUnauthorized, "a token is needed")
	got := w.post("/backup", "", token).is(http.StatusOK)
	if got.body != "one two" || got.header.Get("Content-Type") != "application/x-tar" {
		t.Errorf("%q, %v", got.body, got.header)
	}
	w.do(http.MethodGet, base+"/backup", "", token).fails(http.StatusMethodNotAllowed)

	set([]string{"one ", "two"}, errors.New("the disk is gone"))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+base+"/backup",
		strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer s3cret")
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil {
		t.Error("an answer that was broken off looks whole")
	}

	set(nil, andon.Errorf(andon.Conflict, "another backup is being taken"))
	w.post("/backup", "", token).fails(http.StatusConflict, "another backup")
}

func TestAStoreWithoutBackup(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) { o.Backup = nil })
	w.post("/backup", "").fails(http.StatusNotImplemented, "takes no backup")
}
