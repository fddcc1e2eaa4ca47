package httpapi_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon/internal/httpapi"
)

// TestUnreadRequests: what net/http can't read is answered with a problem, too, and what a handler
// says stays as it is.
func TestUnreadRequests(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup // net/http waits half a second for a client whose header is too large
	server := &http.Server{
		ConnState: func(_ net.Conn, is http.ConnState) {
			switch is {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed:
				open.Done()
			}
		},
		MaxHeaderBytes: 1 << 10,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "plain", http.StatusTeapot)
		}),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(httpapi.Problems(l)) }()
	defer func() {
		server.Close()
		<-done
		open.Wait()
	}()
	for request, want := range map[string]int{
		"GET /api/v1/devices/%zz HTTP/1.1\r\nHost: a\r\n\r\n":                       400,
		"GET / HTTP/1.1\r\n\r\n":                                                    400,
		"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 9000) + "\r\n\r\n": 431,
		"what is this\r\n\r\n":                                                      400,
	} {
		status, form, body := exchangeRaw(t, l.Addr().String(), request)
		var p problem
		err := json.Unmarshal([]byte(body), &p)
		if status != want || p.Status != want || p.Detail == "" || err != nil ||
			form != "application/problem+json" {
			t.Errorf("%.40q: %d, %s: %s", request, status, form, body)
		}
	}
	status, _, body := exchangeRaw(t, l.Addr().String(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if status != http.StatusTeapot || body != "plain\n" {
		t.Errorf("a handler's answer became %d: %s", status, body)
	}
}

// exchangeRaw sends bytes and returns the status, the type and the body of what comes back.
func exchangeRaw(t *testing.T, address, request string) (status int, form, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Content-Type"), string(text)
}
