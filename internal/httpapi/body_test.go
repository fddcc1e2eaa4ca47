package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/intake"
)

const oneEvent = `{"device":"d","time":"2020-04-24T10:00:00Z","state":"NORMAL"}`

func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

func zstandard(t *testing.T, text string, options ...zstd.EOption) string {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, append(options, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = z.Write([]byte(text))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCompressedBodies(t *testing.T) {
	w := newWorld(t)
	for range 3 { // so that pooled decompressors are used again, after failures too
		w.post("/events", gzipped(oneEvent), "Content-Encoding: gzip").is(http.StatusOK)
		w.post("/events", zstandard(t, oneEvent), "Content-Encoding: zstd").is(http.StatusOK)
		w.post("/events", oneEvent, "Content-Encoding: gzip").fails(400, "can't be read")
		w.post("/events", oneEvent, "Content-Encoding: zstd").fails(400, "can't be read")
		w.post("/events", "", "Content-Encoding: gzip").fails(http.StatusBadRequest)
		w.post("/events", "", "Content-Encoding: zstd").fails(http.StatusBadRequest)
	}
	twice := gzipped(oneEvent+"\n") + gzipped("") + gzipped(oneEvent)
	w.post("/events", twice, "Content-Encoding: gzip", "Content-Type: application/x-ndjson").
		equals(`{"accepted":2,"rejected":[]}`)
	w.put("/devices/d/operator", gzipped(`{"operator":"Liz"}`), "Content-Encoding: gzip").is(200)
	got := w.post("/events", oneEvent, "Content-Encoding: br")
	got.fails(http.StatusUnsupportedMediaType, "gzip, zstd")
	if got.header.Get("Accept-Encoding") != "gzip, zstd" {
		t.Errorf("got %v", got.header)
	}
	w.post("/events", oneEvent, "Content-Encoding: gzip, gzip").
		fails(http.StatusUnsupportedMediaType)
}

// TestByteOrderMarks: a body of any call may begin with one.
func TestByteOrderMarks(t *testing.T) {
	w := newWorld(t)
	const (
		mark  = "\uFEFF"
		csv   = "Content-Type: text/csv"
		lines = "Content-Type: application/x-ndjson"
	)
	for _, accepted := range []answer{
		w.post("/events", mark+`{"device":"a","state":"NORMAL"}`),
		w.post("/events", mark+`{"device":"b","state":"NORMAL"}`, lines),
		w.post("/groups/devices", mark+"device,group\na,p\n", csv),
		w.post("/groups/devices", mark+`[{"device":"a","group":"p"}]`),
		w.post("/groups/devices", mark+`{"device":"a","group":"p"}`, lines),
		w.post("/groups/devices", gzipped(mark+`{"device":"a","group":"p"}`),
			"Content-Encoding: gzip"),
	} {
		accepted.is(http.StatusOK)
	}
	for path, body := range map[string]string{
		"/devices/a/operator": `{"operator":"Liz"}`, "/devices/a": `{"name":"A"}`,
		"/groups/rules": `[{"prefix":"a","group":"p"}]`, "/tenants/default": `{}`,
	} {
		w.put(path, mark+body).is(http.StatusOK)
	}
	w.put("/devices/a", mark+mark+`{"name":"A"}`).fails(http.StatusBadRequest)
	w.post("/events", mark).fails(http.StatusBadRequest, "the body is empty")
}

func TestHalfBodiesKeepNothing(t *testing.T) {
	w := newWorld(t)
	lines := strings.Repeat(oneEvent+"\n", 100)
	half := func(s string) string { return s[:len(s)/2] }
	w.post("/events", half(gzipped(lines)), "Content-Encoding: gzip").fails(400, "complete")
	w.post("/events", half(zstandard(t, lines)), "Content-Encoding: zstd").fails(400)
	damaged := []byte(gzipped(lines))
	damaged[len(damaged)-6] ^= 1 // in the checksum
	w.post("/events", string(damaged), "Content-Encoding: gzip").fails(http.StatusBadRequest)
	whole := gzipped(lines)
	for _, garbage := range []string{"x", "\x00", "garbage that is longer than a header"} {
		w.post("/events", whole+garbage, "Content-Encoding: gzip").
			fails(400, fmt.Sprintf("first %d bytes of the body are gzip", len(whole)))
	}

	// A client that says more than it sends, and then hangs up its side.
	got := w.raw("POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
		"Content-Type: application/x-ndjson\r\nContent-Length: 5000\r\n\r\n" + lines[:2000])
	got.fails(http.StatusBadRequest, "ends before it is complete")
	got = w.raw("POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
		"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + lines)
	got.fails(http.StatusBadRequest)
	w.get("/devices/d/events").equals(`{"items":[]}`)
}

// raw sends bytes, closes its side, and reads one answer.
func (w *world) raw(request string) answer {
	w.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		w.Fatal(err)
	}
	_ = conn.(*net.TCPConn).CloseWrite() // the server may have answered and closed already
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer{t: w.TB, status: response.StatusCode, header: response.Header, body: string(text)}
}

func TestSerialBombsEndAtTheLimit(t *testing.T) {
	w := newWorld(t)
	zeros := strings.Repeat("0", 64<<20)
	w.post("/events", gzipped(zeros), "Content-Encoding: gzip").
		fails(http.StatusRequestEntityTooLarge, "16 MB")
	w.post("/events", zstandard(t, zeros, zstd.WithWindowSize(1<<20)), "Content-Encoding: zstd").
		fails(http.StatusRequestEntityTooLarge)
	w.post("/events", zstandard(t, zeros, zstd.WithWindowSize(64<<20)), "Content-Encoding: zstd").
		fails(http.StatusRequestEntityTooLarge)
	spaces := strings.Repeat(" ", andon.MaxRequestBytes)
	w.post("/events", spaces+oneEvent).fails(http.StatusRequestEntityTooLarge)
	justFits := gzipped(spaces[len(oneEvent):] + oneEvent)
	w.post("/events", justFits, "Content-Encoding: gzip").is(http.StatusOK)
	w.post("/events", gzipped(spaces+oneEvent), "Content-Encoding: gzip").
		fails(http.StatusRequestEntityTooLarge)
	many := strings.Repeat("{}\n", andon.MaxRequestEntries+1)
	w.post("/events", many, "Content-Type: application/x-ndjson").
		fails(http.StatusRequestEntityTooLarge, "100000 entries")
}

func TestContentTypes(t *testing.T) {
	w := newWorld(t)
	for kind, status := range map[string]int{
		"application/json":                    200,
		"Application/JSON; charset=UTF-8":     200,
		"application/json;charset=\"utf-8\"":  200,
		"application/x-ndjson":                200,
		"application/x-ndjson; charset=utf-8": 200,
		"application/json; charset=latin1":    415,
		"text/plain":                          415,
		"application/x-www-form-urlencoded":   415,
		"multipart/form-data; boundary=x":     415,
		"application/problem+json":            415,
		"nonsense":                            415,
		";":                                   415,
	} {
		got := w.post("/events", oneEvent, "Content-Type: "+kind).is(status)
		if status == 415 {
			got.fails(status, "send the body as application/json or application/x-ndjson")
		}
	}
	w.post("/events", oneEvent).is(http.StatusOK)
	w.post("/events", "").fails(http.StatusBadRequest, "empty")
	w.put("/devices/d/operator", "", "Content-Type: application/json").fails(400, "empty")
	w.put("/devices/d/operator", `{"operator":null}`, "Content-Type: application/x-ndjson").
		fails(http.StatusUnsupportedMediaType)
}

func TestBodiesAreStrict(t *testing.T) {
	w := newWorld(t)
	for sent, want := range map[string]string{
		`{}`:                              "body.operator",
		`[]`:                              "want an object",
		`{"operator":1}`:                  "can't be of type number",
		`{"operator":{}}`:                 "can't be of type object",
		`{"Operator":"x"}`:                "did you mean operator?",
		`{"operator":"x","operator":"y"}`: "twice",
		`{"operator":"x","by":"y"}`:       "body.by",
		`{"operator":"x"} {}`:             "want the end",
		`{"operator":"x",}`:               "there is nothing",
		`{"operator":"\ud800"}`:           "surrogate",
		"{\"operator\":\"\xff\"}":         "UTF-8",
		`{"operator":"a\u0000b"}`:         "control character",
		`{"operator":"` + strings.Repeat("x", 129) + `"}`: "129 bytes",
		`{"operator":` + strings.Repeat("[", 10_000):      "nested deeper",
		`{"operator":"x"`: "the end",
		`null`:            "want an object",
	} {
		w.put("/devices/d/operator", sent).fails(http.StatusBadRequest, want, `"location":"body`)
	}
}

func TestBodyBudget(t *testing.T) {
	var budget *intake.Budget
	w := newWorld(t, func(o *httpapi.Options) {
		o.Intake = intake.New(o.Store, intake.Options{Now: o.Now, MaxBytes: 128 << 10})
		budget = o.Intake.Requests
	})
	others := budget.Most() - 1<<10
	if err := budget.Take(others); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{strings.Repeat(" ", 2000) + oneEvent, "[" + oneEvent + "]"} {
		got := w.post("/events", body)
		got.fails(http.StatusTooManyRequests)
		if got.header.Get("Retry-After") != "1" {
			t.Errorf("got %v", got.header)
		}
	}
	budget.Give(others)
	for range 20 {
		w.post("/events", oneEvent).is(http.StatusOK)
		w.post("/events", gzipped(oneEvent), "Content-Encoding: gzip").is(http.StatusOK)
		w.post("/events", gzipped(oneEvent+"["), "Content-Encoding: gzip").is(400)
		w.post("/events", strings.Repeat("[", 40_000)).is(http.StatusRequestEntityTooLarge)
	}
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes of the budget are not given back", n)
	}
}

// TestLargeBodiesGiveTheirMemoryBack: all of it, whether they are taken, refused or damaged.
func TestLargeBodiesGiveTheirMemoryBack(t *testing.T) {
	var budget *intake.Budget
	w := newWorld(t, func(o *httpapi.Options) {
		o.Intake = intake.New(o.Store, intake.Options{Now: o.Now})
		budget = o.Intake.Requests
	})
	long := strings.Repeat(" ", 1<<20)
	for range 3 {
		w.post("/events", long+oneEvent).is(http.StatusOK)
		w.post("/events", gzipped(long+oneEvent), "Content-Encoding: gzip").is(http.StatusOK)
		w.post("/events", long+"{").is(http.StatusBadRequest)
	}
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes of the budget are not given back", n)
	}
}

// TestTooLongIsRefusedUnread: a body that says that it is too long is refused before any of it is
// there.
func TestTooLongIsRefusedUnread(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) { o.BodyTimeout = time.Second })
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Length: %d\r\n\r\n", andon.MaxRequestBytes+1)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", response.StatusCode)
	}
}

// TestClaimsTakeNoMemory: what a client says that it will send takes nothing from the others.
func TestClaimsTakeNoMemory(t *testing.T) {
	var budget *intake.Budget
	w := newWorld(t, func(o *httpapi.Options) {
		o.Intake = intake.New(o.Store, intake.Options{Now: o.Now, MaxBytes: 1 << 20})
		budget = o.Intake.Requests
	})
	const clients = 300
	for range clients {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"+
			"Content-Length: %d\r\n\r\n{", andon.MaxRequestBytes)
	}
	for budget.Used() < clients*100 { // until all are being read
		w.post("/events", oneEvent).is(http.StatusOK)
	}
	w.post("/events", oneEvent).is(http.StatusOK)
}

// TestRefusedWhileSending: a client that looks for its answer only once it has sent all gets it.
func TestRefusedWhileSending(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) {
		o.Intake = intake.New(o.Store, intake.Options{Now: o.Now, MaxBytes: 2 << 20})
		if err := o.Intake.Requests.Take(1<<20 - 4096); err != nil {
			t.Fatal(err)
		}
	})
	const size = 8 << 20
	for name, head := range map[string]string{
		"length":  fmt.Sprintf("Content-Length: %d\r\n\r\n", size),
		"chunked": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", size),
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn, "POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"+head)
			part := bytes.Repeat([]byte(" "), 64<<10)
			for sent := 0; sent < size; sent += len(part) {
				if _, err := conn.Write(part); err != nil {
					t.Fatalf("after %d bytes: %v", sent, err)
				}
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusTooManyRequests ||
				response.Header.Get("Retry-After") != "1" || !response.Close {
				t.Errorf("got %s, %v", response.Status, response.Header)
			}
		})
	}
}

// TestRefusedBeforeSending: a client that waits for 100 Continue gets an error instead.
func TestRefusedBeforeSending(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) {
		o.Intake = intake.New(o.Store, intake.Options{Now: o.Now, MaxBytes: 2 << 20})
		if err := o.Intake.Requests.Take(1 << 20); err != nil {
			t.Fatal(err)
		}
	})
	got := w.raw("POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\n" +
		"Expect: 100-continue\r\nContent-Length: 5000\r\n\r\n")
	got.fails(http.StatusTooManyRequests)
}

func TestSlowBodies(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) { o.BodyTimeout = 50 * time.Millisecond })
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Length: 100\r\n\r\n{")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d", response.StatusCode)
	}
}

// TestLargeWindowsAreRefused: a zstd body can't have its decoder keep more than 8 MB.
func TestLargeWindowsAreRefused(t *testing.T) {
	w := newWorld(t)
	for window, refused := range map[int]bool{8 << 20: false, 16 << 20: true} {
		var b bytes.Buffer
		z, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = z.Write([]byte(oneEvent[:10]))
		if err := z.Flush(); err != nil { // else the frame has the size of the body as its window
			t.Fatal(err)
		}
		_, _ = z.Write([]byte(oneEvent[10:]))
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		got := w.post("/events", b.String(), "Content-Encoding: zstd")
		if refused {
			got.fails(http.StatusRequestEntityTooLarge, "window")
		} else {
			got.is(http.StatusOK)
		}
	}
}
