package httpapi_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/session"
)

const secret = "0123456789abcdef"

func withToken(o *httpapi.Options) { o.Token = secret }

// signIn signs a browser in and returns its cookie as a header.
func (w *world) signIn(headers ...string) (cookie string, set *http.Cookie) {
	w.Helper()
	got := w.post("/session", `{"token":"`+secret+`"}`, headers...).is(http.StatusNoContent)
	set = got.cookie()
	if set == nil {
		w.Fatalf("there is no cookie: %v", got.header)
	}
	return "Cookie: " + set.Name + "=" + set.Value, set
}

// cookie returns the one that an answer sets; nil: none.
func (a answer) cookie() *http.Cookie {
	a.t.Helper()
	all := (&http.Response{Header: a.header}).Cookies()
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

const fromTheBoard = "Sec-Fetch-Site: same-origin"

func TestSignIn(t *testing.T) {
	w := newWorld(t, withToken)
	w.get("/session").equals(`{"required":true,"signed_in":false,"incidents":false}`)
	w.get("/session", "Authorization: Bearer "+secret).
		equals(`{"required":true,"signed_in":true,"incidents":false}`)
	w.get("/devices", fromTheBoard).fails(http.StatusUnauthorized)
	cookie, set := w.signIn()
	if !set.HttpOnly || set.SameSite != http.SameSiteStrictMode || set.Path != "/" || set.Secure ||
		set.Domain != "" || set.MaxAge != int(session.Life/time.Second) ||
		strings.Contains(set.Value, secret) {
		t.Errorf("cookie %v", set)
	}
	w.get("/session", cookie, fromTheBoard).
		equals(`{"required":true,"signed_in":true,"incidents":false}`)
	w.get("/devices", cookie, fromTheBoard).is(http.StatusOK)
	w.get("/devices", cookie).is(http.StatusOK) // plain HTTP beyond loopback has no Sec-Fetch-Site
	w.post("/events", oneEvent, cookie, fromTheBoard).is(http.StatusOK)
	w.post("/events", oneEvent, cookie, "Origin: "+w.url).is(http.StatusOK)
	w.stream("", cookie, fromTheBoard).begun()

	out := w.do(http.MethodDelete, base+"/session", "", cookie, fromTheBoard)
	if c := out.is(http.StatusNoContent).cookie(); c == nil || c.MaxAge != -1 || c.Value != "" {
		t.Errorf("signed out: %v", c)
	}
	w.get("/devices", cookie).fails(http.StatusUnauthorized, "sign in again") // a copy
	w.get("/session", cookie).equals(`{"required":true,"signed_in":false,"incidents":false}`)
	w.do(http.MethodDelete, base+"/session", "").is(http.StatusNoContent)
}

func TestSignInWithoutToken(t *testing.T) {
	w := newWorld(t, loopback)
	w.get("/session").equals(`{"required":false,"signed_in":false,"incidents":false}`)
	got := w.post("/session", `{"token":"x"}`).is(http.StatusNoContent)
	if got.cookie() != nil {
		t.Errorf("a cookie: %v", got.header)
	}
	w.do(http.MethodDelete, base+"/session", "").is(http.StatusNoContent)
}

// TestSecureCookie: over TLS, here or at a proxy, the cookie goes over nothing else.
func TestSecureCookie(t *testing.T) {
	w := newWorld(t, withToken)
	cookie, set := w.signIn("X-Forwarded-Proto: https")
	if !set.Secure || !strings.HasPrefix(set.Name, "__Host-") {
		t.Errorf("behind a proxy: %v", set)
	}
	w.get("/devices", cookie, "X-Forwarded-Proto: https").is(http.StatusOK)
	w.get("/devices", cookie).fails(http.StatusUnauthorized)

	r := httptest.NewRequest(http.MethodPost, base+"/session",
		strings.NewReader(`{"token":"`+secret+`"}`))
	r.TLS = &tls.ConnectionState{}
	recorder := httptest.NewRecorder()
	w.api.ServeHTTP(recorder, r)
	if all := recorder.Result().Cookies(); len(all) != 1 || !all[0].Secure {
		t.Errorf("over TLS: %v", all)
	}
}

// TestForgedRequests: what another page makes a browser send with the cookie is refused, and what
// is not known to come from the board is, where it could change something.
func TestForgedRequests(t *testing.T) {
	w := newWorld(t, withToken)
	cookie, _ := w.signIn()
	const form = "Content-Type: application/x-www-form-urlencoded"
	changes := map[string]string{
		"/events": oneEvent, "/assignments": `[{"device":"press-7","operator":"Eve"}]`,
		"/sweep": "", "/restore": "{}",
	}
	for path, body := range changes {
		for _, headers := range [][]string{
			{"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"}, // another port
			{"Origin: https://evil.example"}, {"Origin: null"}, {"Origin: http://127.0.0.1:1"},
			{}, {form}, {"Content-Type: text/plain"}, // no Origin: an old browser, or a trick
		} {
			got := w.post(path, body, append(headers, cookie)...)
			if got.status != http.StatusForbidden {
				t.Errorf("%s %q: %d %s", path, headers, got.status, got.body)
			}
		}
	}
	for _, media := range []string{form, "Content-Type: text/plain",
		"Content-Type: multipart/form-data; boundary=x"} {
		w.post("/events", oneEvent, cookie, fromTheBoard, media).
			fails(http.StatusUnsupportedMediaType)
		w.post("/session", `{"token":"`+secret+`"}`, media).fails(http.StatusUnsupportedMediaType)
	}
	w.do(http.MethodDelete, base+"/devices/press-7", "", cookie).fails(http.StatusForbidden)
	w.do(http.MethodDelete, base+"/session", "", cookie).fails(http.StatusForbidden)
	w.post("/session", `{"token":"`+secret+`"}`, "Origin: https://evil.example").
		fails(http.StatusForbidden)
	// Nothing is read for another origin either, though a browser would not show it the answer.
	for _, site := range []string{"same-site", "cross-site"} {
		w.get("/devices", cookie, "Sec-Fetch-Site: "+site).fails(http.StatusForbidden)
		w.get("/events/stream", cookie, "Sec-Fetch-Site: "+site).fails(http.StatusForbidden)
	}
	w.get("/devices", cookie, fromTheBoard).equals(`{"items":[]}`) // nothing was changed
	// A program with the token needs none of this.
	w.post("/events", oneEvent, "Authorization: Bearer "+secret).is(http.StatusOK)
}

func TestWrongSessions(t *testing.T) {
	w := newWorld(t, withToken)
	cookie, set := w.signIn()
	other := "A"
	if set.Value[0] == 'A' {
		other = "B"
	}
	for name, value := range map[string]string{
		"the token": secret, "nothing known": "x", "tampered": other + set.Value[1:],
		"half":            set.Value[:40],
		"another token's": otherSession(t), "half of it, quoted": `"` + set.Value + `x"`,
	} {
		got := w.get("/devices", "Cookie: "+set.Name+"="+value)
		if got.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, got.status)
		}
	}
	// A wrong token is not made right by a cookie.
	w.get("/devices", cookie, "Authorization: Bearer x").fails(http.StatusUnauthorized)
	w.setClock("2020-05-24T12:00:00Z")
	w.get("/devices", cookie).is(http.StatusOK)
	w.setClock("2020-05-24T12:00:01Z")
	w.get("/devices", cookie).fails(http.StatusUnauthorized, "ended")
	again := newWorld(t, withToken) // as after a restart
	again.get("/devices", cookie).is(http.StatusOK)
}

func otherSession(t *testing.T) string {
	other := newWorld(t, func(o *httpapi.Options) { o.Token = secret + "x" })
	got := other.post("/session", `{"token":"`+secret+`x"}`).is(http.StatusNoContent)
	return got.cookie().Value
}

// TestSessionsAreRenewed while they are used, so that a wallboard never has to sign in again.
func TestSessionsAreRenewed(t *testing.T) {
	w := newWorld(t, withToken)
	cookie, set := w.signIn()
	w.setClock("2020-04-25T11:00:00Z")
	if c := w.get("/devices", cookie).is(http.StatusOK).cookie(); c != nil {
		t.Errorf("renewed too early: %v", c)
	}
	w.setClock("2020-05-20T12:00:00Z")
	renewed := w.get("/states", cookie).is(http.StatusOK).cookie()
	if renewed == nil || renewed.Name != set.Name || !renewed.HttpOnly {
		t.Fatalf("renewed: %v", renewed)
	}
	w.setClock("2020-06-10T12:00:00Z")
	w.get("/devices", cookie).fails(http.StatusUnauthorized)
	w.get("/devices", "Cookie: "+renewed.Name+"="+renewed.Value).is(http.StatusOK)
}

// TestGuessing: a wrong token is refused after a pause, by a header or by a sign-in, and counted.
// The right one is not kept waiting meanwhile, though it comes from the same address.
func TestGuessing(t *testing.T) {
	w := newWorld(t, withToken, func(o *httpapi.Options) { o.WrongTokenPause = 30 * time.Second })
	right := "Authorization: Bearer " + secret
	guesses := 0
	guess := func(r *http.Request) {
		t.Helper()
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		answered := make(chan int, 1)
		recorder := httptest.NewRecorder()
		go func() {
			w.api.ServeHTTP(recorder, r.WithContext(ctx))
			answered <- recorder.Code
		}()
		guesses++
		count := fmt.Sprintln("andon_http_wrong_tokens_total", guesses)
		for !strings.Contains(w.do(http.MethodGet, "/metrics", "", right).body, count) {
			if runtime.Gosched(); len(answered) > 0 {
				t.Fatalf("%s: a wrong token is refused at once, or not counted", r.URL)
			}
		}
		w.post("/session", `{"token":"`+secret+`"}`).is(http.StatusNoContent)
		w.get("/devices", right).is(http.StatusOK)
		if len(answered) > 0 {
			t.Errorf("%s: a wrong token is refused at once, or the right one waits for it", r.URL)
		}
		leave()
		if code := <-answered; code != http.StatusUnauthorized {
			t.Errorf("%s: %d", r.URL, code)
		}
	}
	guess(httptest.NewRequest(http.MethodPost, base+"/session",
		strings.NewReader(`{"token":"guess"}`)))
	r := httptest.NewRequest(http.MethodGet, base+"/devices", nil)
	r.Header.Set("Authorization", "Bearer guess")
	guess(r)
	for _, body := range []string{`{}`, `{"token":""}`, `{"token":7}`, `[]`, ``} {
		w.post("/session", body).fails(http.StatusBadRequest)
	}
}

// TestManyGuesses: more wrong tokens than may wait are refused at once.
func TestManyGuesses(t *testing.T) {
	w := newWorld(t, withToken, func(o *httpapi.Options) { o.WrongTokenPause = time.Hour })
	ctx, leave := context.WithCancel(t.Context())
	codes := make(chan int, 100)
	for range cap(codes) {
		go func() {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, base+"/devices", nil)
			r.Header.Set("Authorization", "Bearer guess")
			recorder := httptest.NewRecorder()
			w.api.ServeHTTP(recorder, r)
			codes <- recorder.Code
		}()
	}
	const wait = 64
	for range cap(codes) - wait {
		if code := <-codes; code != http.StatusTooManyRequests {
			t.Errorf("%d, want 429", code)
		}
	}
	leave()
	for range wait {
		if code := <-codes; code != http.StatusUnauthorized {
			t.Errorf("%d, want 401", code)
		}
	}
}

// TestSignOutEndsStreams: who signs out is sent nothing more, at once, and others are.
func TestSignOutEndsStreams(t *testing.T) {
	w := newWorld(t, withToken)
	cookie, _ := w.signIn()
	ends := w.stream("", cookie, fromTheBoard).begun()
	other, _ := w.signIn()
	stays := w.stream("", other, fromTheBoard).begun()
	w.do(http.MethodDelete, base+"/session", "", cookie, fromTheBoard).is(http.StatusNoContent)
	if e, ok := ends.next(); ok || ends.lines.Err() != nil {
		t.Errorf("after the sign-out came %+v, %v", e, ends.lines.Err())
	}
	w.post("/events", oneEvent, "Authorization: Bearer "+secret).is(http.StatusOK)
	stays.shows("d NORMAL")
}

// TestAuditOfSessions: what a browser changes is written down with its session, not its token.
func TestAuditOfSessions(t *testing.T) {
	w := newAudited(t, withToken)
	w.post("/events", oneEvent, "Authorization: Bearer "+secret).is(http.StatusOK)
	cookie, set := w.signIn(id)
	w.put("/devices/d/operator", `{"operator":"Liz"}`, cookie, id, fromTheBoard).
		is(http.StatusOK)
	w.do(http.MethodDelete, base+"/session", "", cookie, id, fromTheBoard).
		is(http.StatusNoContent)
	who := regexp.MustCompile(`"who":"(session [0-9a-f]{8})"`).FindStringSubmatch(w.log.String())
	if who == nil || strings.Contains(w.log.String(), set.Value) {
		t.Fatalf("it says %s", w.log.String())
	}
	line := func(what, more string) string {
		return `{"what":"` + what + `","outcome":"done","who":"` + who[1] + `","request_id":"r1"` +
			more + `}`
	}
	w.wrote(line("sign in", ""), line("assign", `,"tenant":"default","device":"d",`+
		`"after":"Liz","from":"2020-04-24T12:00:00Z"`), line("sign out", ""))
}
