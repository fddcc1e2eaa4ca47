package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestAnAnswerLeavesTogether: whatever its length, and from one request of a connection to the next,
// the client reads what was written.
func TestAnAnswerLeavesTogether(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("0123456789abcdef", 4<<10)
	server := &http.Server{
		ConnContext: Watched, ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			size, _ := strconv.Atoi(r.URL.Path[1:])
			w.Header().Set("Content-Length", r.URL.Path[1:])
			x := &exchange{ResponseWriter: w}
			half := size / 2
			err := x.together(r.Context(), func() error {
				if _, err := io.WriteString(x, text[:half]); err != nil {
					return err
				}
				_, err := io.WriteString(x, text[half:size])
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(Problems(l)) }()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	c := dial(t, l.Addr().String())
	answers := bufio.NewReader(c)
	for size := range len(text) {
		if size > 100 && (size < 3800 || size > 4200) && size%4099 > 0 {
			continue // the first buffer is full somewhere near 4,000
		}
		fmt.Fprintf(c, "GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", size)
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(answer.Body); string(got) != text[:size] || err != nil {
			t.Fatalf("of %d bytes %d came, %v", size, len(got), err)
		}
		answer.Body.Close()
	}
}
