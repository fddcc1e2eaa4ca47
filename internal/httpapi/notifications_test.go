package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/wallclock"
)

// pager is a channel that a number is an address of.
type pager struct{}

func (pager) Check(address string) error {
	if strings.Trim(address, "0123456789") != "" || address == "" {
		return errors.New("is no number")
	}
	return nil
}
func (pager) Follows() bool { return false }
func (pager) Reminds() bool { return false }
func (pager) Send(_ context.Context, m *notify.Message) (string, error) {
	if m.Address == "13" {
		return "", errors.New("nobody there")
	}
	return "beep", nil
}

// withNotifications keeps documents and tells people by pagers.
func withNotifications(to **notify.Service) func(*httpapi.Options) {
	return func(o *httpapi.Options) {
		documents := records.NewDocuments(o.Store, o.Now)
		passed := func() time.Duration { return 0 }
		*to = notify.New(notify.Options{
			Store: o.Store, Now: o.Now, Log: o.Log, Known: documents.Known,
			Clock:    wallclock.New(o.Now, passed, andon.ClockMark{}, nil),
			Channels: map[string]notify.Channel{"pager": pager{}},
		})
		o.Documents, o.Notifications = documents, *to
		o.Alerts = func(_ context.Context, text string) error {
			if text != "[]" {
				return andon.AtField("body", "these are no alerts")
			}
			return nil
		}
	}
}

func TestContactsAndTheirTests(t *testing.T) {
	var s *notify.Service
	w := newWorld(t, withNotifications(&s))
	w.post("/people/Liz/contacts", `{"channel":"pager","address":"12"}`).fails(404, "Liz")
	w.put("/people/Liz", `{}`).is(http.StatusCreated)
	w.post("/people/Liz/test", "").fails(400, "Liz has no contact")
	w.post("/people/Liz/contacts", `{"channel":"fax"}`).fails(400, "no channel")
	w.post("/people/Liz/contacts", `{"channel":"pager","address":"x"}`).fails(400, "is no number")
	for _, status := range []int{http.StatusCreated, http.StatusOK} {
		w.post("/people/Liz/contacts", `{"channel":"pager","address":"12"}`).is(status)
	}
	w.post("/people/Liz/contacts", `{"channel":"pager","address":"13"}`).is(http.StatusCreated)
	w.get("/people/Liz").equals(`{"name":"Liz",
		"contacts":[{"channel":"pager","address":"12"},{"channel":"pager","address":"13"}]}`)
	got := w.post("/people/Liz/test", "").is(http.StatusOK).body
	for _, want := range []string{
		`"delivered","answer":"beep"`, `"given-up","answer":"nobody there"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in %s", want, got)
		}
	}
	w.get("/notifications?status=lost").fails(400, "status")
	if p := w.get("/notifications?to=Bob").page(); len(p.Items) > 0 {
		t.Errorf("Bob got %v", p.Items)
	}
	p := w.get("/notifications?limit=1").page()
	rest := w.get("/notifications?limit=1&cursor=" + p.Next).page()
	if len(p.Items) != 1 || len(rest.Items) != 1 || rest.Next != "" {
		t.Errorf("%v, %v", p, rest)
	}
	if p := w.get("/notifications?to=Liz&status=given-up").page(); len(p.Items) != 1 {
		t.Errorf("%v", p)
	}
}

// TestLinkOfAcknowledgement: to open it, or to look at it, changes nothing.
func TestLinkOfAcknowledgement(t *testing.T) {
	var s *notify.Service
	k := factory()
	w := newWorld(t, withIncidents(k), withNotifications(&s),
		func(o *httpapi.Options) { o.Token = "secret" })
	token, err := s.Sign(t.Context(), notify.Linked{
		Tenant: andon.DefaultTenant, Incident: "d", By: "Liz", Until: andon.MaxTime,
		Device: "<b>press", State: "FAILURE",
	})
	if err != nil {
		t.Fatal(err)
	}
	url := w.url + "/acknowledge/" + token
	ask := func(method, url string, status int, want string) {
		t.Helper()
		askOpenly(t, method, url, status, want)
	}
	in := k.open[2]
	ask("GET", url, 200, "<h1>&lt;b&gt;press: WARNING1</h1>")
	ask("GET", url, 200, "<p>Severity 48. The message said FAILURE.</p>")
	ask("HEAD", url, 200, "")
	ask("GET", url, 200, `<button type="submit">`)
	ask("GET", url+"x", 400, "not made here")
	ask("POST", url+"x", 400, "not made here")
	ask("PUT", url, 405, "")
	if len(k.asked) != 0 {
		t.Fatalf("done: %+v", k.asked)
	}
	for _, shown := range []string{"", "?severity=0", "?severity=47", "?severity=256"} {
		ask("POST", url+shown, 409, "worse than what Liz was shown")
		ask("POST", url+shown, 409, `action="?severity=48"`)
	}
	ask("POST", url+"?severity=48", 200, "Liz has acknowledged it.")
	if last := k.asked[len(k.asked)-1]; last.Do != people.Acknowledge || last.By != "Liz" {
		t.Errorf("done: %+v", last)
	}
	in.Worst = 80 // meanwhile; the policy of that began
	ask("GET", url, 200, "Severity 48, 80 at worst.")
	ask("POST", url+"?severity=48", 409, `action="?severity=80"`)
	in.Until = in.Since + 1
	ask("GET", url, 200, "It is normal again.")
	in.Ended = in.Since + 1
	ask("POST", url+"?severity=80", 409, "the incident is closed")
	ask("GET", url, 200, "It is over.")
	in.Acknowledged = &people.Acknowledgement{By: "Sara"}
	ask("GET", url, 200, "Sara has acknowledged it.")
	ask("POST", url, 409, "Sara has acknowledged this incident already")
	in.Acknowledged.By = "Liz"
	ask("POST", url, 200, "Liz has acknowledged it.")
}

// hanging can't read what links are signed with.
type hanging struct{ httpapi.Notifications }

var errHangs = andon.Errorf(andon.Unavailable, "the disk hangs")

func (hanging) Linked(context.Context, string) (is notify.Linked, err error) {
	return is, errHangs
}

func (hanging) LinkedCalendar(context.Context, string) (is notify.Calendar, err error) {
	return is, errHangs
}

// TestNoLinkInTheLog: the path of a signed link is a secret, also where the request fails.
func TestNoLinkInTheLog(t *testing.T) {
	var s *notify.Service
	var log strings.Builder
	w := newWorld(t, withIncidents(factory()), withNotifications(&s), func(o *httpapi.Options) {
		o.Notifications = hanging{s}
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	for _, links := range []string{notify.Acknowledgements, notify.Calendars} {
		log.Reset()
		askOpenly(t, "GET", w.url+links+"abc.def", http.StatusServiceUnavailable, "")
		if got := log.String(); strings.Contains(got, "abc") ||
			!strings.Contains(got, "path="+links+"...") {
			t.Errorf("the log is %s", got)
		}
	}
}

// askOpenly asks without a token.
func askOpenly(t *testing.T, method, url string, status int, want string) {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), method, url, nil)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text := make([]byte, 4096)
	n, _ := answer.Body.Read(text)
	if answer.StatusCode != status || !strings.Contains(string(text[:n]), want) {
		t.Errorf("%s: %d %s", method, answer.StatusCode, text[:n])
	}
}

// TestLinkOfCalendar: its address needs no token, and opens nothing else.
func TestLinkOfCalendar(t *testing.T) {
	var s *notify.Service
	w := newWorld(t, withIncidents(factory()), withNotifications(&s),
		func(o *httpapi.Options) { o.Token = "secret" })
	const authorized = "Authorization: Bearer secret"
	w.put("/people/Liz", `{}`, authorized).is(http.StatusCreated)
	w.put("/schedules/line-3", `{"layers":[{"people":["Liz"],"from":"2020-01-01","turn":"1d",
		"hand_over":"06:00"}]}`, authorized).is(http.StatusCreated)
	w.get("/schedules/line-3/calendar").fails(401)
	w.get("/schedules/line-4/calendar", authorized).fails(404, "line-4")
	var is client.CalendarLink
	text := w.get("/schedules/line-3/calendar", authorized).is(200).body
	if err := json.Unmarshal([]byte(text), &is); err != nil {
		t.Fatal(err)
	}
	address := w.url + is.URL
	askOpenly(t, "GET", address, 200, "SUMMARY:Liz")
	askOpenly(t, "GET", address+"x", 400, "not made here")
	token := address[strings.LastIndex(address, "/")+1:]
	askOpenly(t, "POST", w.url+"/acknowledge/"+token, 400, "not made here")
	other, err := s.Sign(t.Context(), notify.Linked{
		Tenant: andon.DefaultTenant, Incident: "d", By: "Liz", Until: andon.MaxTime,
	})
	if err != nil {
		t.Fatal(err)
	}
	askOpenly(t, "GET", w.url+"/calendars/"+other, 400, "not made here")
	const again = `{"layers":[{"people":["Sara"],"from":"2020-01-01","turn":"1d",
		"hand_over":"06:00"}]}`
	w.put("/people/Sara", `{}`, authorized).is(http.StatusCreated)
	w.now.Add(1)
	w.put("/schedules/line-3", again, authorized).is(http.StatusOK)
	askOpenly(t, "GET", address, 200, "SUMMARY:Sara")
	w.do("DELETE", "/api/v1/schedules/line-3", "", authorized).is(http.StatusNoContent)
	askOpenly(t, "GET", address, 404, "line-3")
	w.put("/schedules/line-3", again, authorized).is(http.StatusCreated)
	askOpenly(t, "GET", address, 410, "the schedule of this link was deleted")
}

func TestAlerts(t *testing.T) {
	var s *notify.Service
	w := newWorld(t, withNotifications(&s))
	for body, want := range map[string]int{"[]": 200, "{}": 400} {
		answer, err := http.Post(w.url+"/api/v2/alerts", "application/json",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d", body, answer.StatusCode)
		}
	}
}

// TestContactsOfADocument: a contact that is new is checked, with its place. What a person has
// already stays, even if its channel is gone.
func TestContactsOfADocument(t *testing.T) {
	var s *notify.Service
	w := newWorld(t, withNotifications(&s), func(o *httpapi.Options) {
		o.Documents.CheckContact = s.CheckContact
	})
	w.put("/people/Liz", `{"contacts":[{"channel":"pager","address":"12"},{"channel":"fax"}]}`).
		fails(400, "body.contacts[1].channel", "no channel")
	w.put("/people/Liz", `{"contacts":[{"channel":"pager","address":"x"}]}`).
		fails(400, "body.contacts[0].address", "is no number")
	w.get("/people/Liz").fails(404)
	w.put("/people/Liz", `{"contacts":[{"channel":"pager","address":"12"}]}`).is(201)
	w.post("/documents", `{"documents":[{"kind":"person","name":"Bob","content":
		{"contacts":[{"channel":"fax"}]}}]}`).
		fails(400, "body.documents[0].content.contacts[0].channel")
	for sent, place := range map[string]string{
		`{"kind":"person","name":"Bob","content":{"name":"Tom"}}`:         "content.name",
		`{"kind":"person","name":"","content":{}}`:                        "name",
		`{"kind":"schedule","name":"line-3.ics","content":{"layers":[]}}`: "name",
		`{"kind":"person","name":"Bob","content":{"zone":"Mars"}}`:        "content.zone",
		`{"kind":"person","name":"Bob","content":null}`:                   "content",
	} {
		w.post("/documents", `{"documents":[`+sent+`]}`).
			fails(400, `"location":"body.documents[0].`+place+`"`)
	}
	w.put("/people/Bob", `{"name":"Tom"}`).fails(400, `"location":"body.name"`)
	delete(s.Channels, "pager")
	w.put("/people/Liz", `{"zone":"UTC","contacts":[{"channel":"pager","address":"12"}]}`).is(200)
	w.put("/people/Liz", `{"contacts":[{"channel":"pager","address":"14"}]}`).fails(400)
}

// TestConditions: If-Match is * or a list, as RFC 9110, section 13.1.1, has it.
func TestConditions(t *testing.T) {
	var s *notify.Service
	w := newWorld(t, withNotifications(&s))
	const path, zone = "/people/Liz", `{"zone":"UTC"}`
	w.put(path, `{}`, "If-Match: *").fails(409, "there is no person")
	w.put(path, `{}`, `If-Match: "1"`).fails(409, "there is no person")
	w.do(http.MethodDelete, base+path, "", "If-Match: *").fails(404)
	first := w.put(path, `{}`, "If-None-Match: *").is(201).header.Get("ETag")
	second := w.put(path, zone, "If-Match: *").is(200).header.Get("ETag")
	w.put(path, `{}`, "If-Match: "+first+`, "999"`).fails(409, "changed meanwhile")
	third := w.put(path, `{}`, "If-Match: "+first+" ,W/"+second).is(200).header.Get("ETag")
	w.put(path, zone, "If-Match: "+first+",,", "If-Match: "+third).is(200)
	for _, wrong := range []string{"x", "*, " + third, ",", `"0"`} {
		w.put(path, `{}`, "If-Match: "+wrong).fails(400, "header.If-Match",
			"ETags of answers, not "+strings.ReplaceAll(wrong, `"`, `\"`)+`"`)
	}
	w.do(http.MethodDelete, base+path, "", "If-Match: "+first+", "+third).fails(409, "meanwhile")
	w.put("/schedules/s/overrides", `{"overrides":[]}`, "If-Match: *").fails(404)
	w.put("/people/Tom", `{}`).is(201)
	w.put("/schedules/s", `{"layers":[{"people":["Tom"],"from":"2020-01-01","turn":"1d",
		"hand_over":"06:00"}]}`).is(201)
	w.put("/schedules/s/overrides", `{"overrides":[]}`, "If-Match: *").is(200)
	w.do(http.MethodDelete, base+path, "", "If-Match: *").is(204)
}

// TestOverrides: they are replaced or added with If-Match or without, and nothing else is lost.
func TestOverrides(t *testing.T) {
	var s *notify.Service
	w := newWorld(t, withNotifications(&s))
	for _, name := range []string{"Liz", "Tom"} {
		w.put("/people/"+name, `{}`).is(201)
	}
	const layers = `"layers":[{"people":["Liz"],"from":"2020-01-01","turn":"1d",
		"hand_over":"06:00"}]`
	const tom = `{"from":"2020-04-24T12:00:00Z","to":"2020-04-24T14:00:00Z","person":"Tom"}`
	const path = "/schedules/line-3/overrides"
	w.put(path, `{"overrides":[]}`).fails(404, "line-3")
	w.put("/schedules/line-3.ics", `{`+layers+`}`).fails(400, `"location":"path.name"`, ".ics")
	first := w.put("/schedules/line-3", `{`+layers+`}`).is(201).header.Get("ETag")
	got := w.put(path, `{"overrides":[`+tom+`]}`, "If-Match: "+first)
	got.equals(`{"name":"line-3",` + layers + `,"overrides":[` + tom + `]}`)
	if second := got.header.Get("ETag"); second == first || second == "" {
		t.Errorf("the ETag is %q", second)
	}
	w.put(path, `{"overrides":[]}`, "If-Match: "+first).fails(409, "changed meanwhile")
	w.put(path, `{"overrides":[]}`, "If-Match: W/"+first).fails(409, "changed meanwhile")
	w.put("/schedules/line-3", `{`+layers+`}`, "If-None-Match: *").fails(409, "already")
	w.post(path, tom, "If-Match: "+first).fails(409, "changed meanwhile")
	w.get("/schedules/line-3/on-call").equals(`{"from":"2020-04-24T12:00:00Z",
		"to":"2020-04-24T14:00:00Z","person":"Tom"}`)
	w.post(path, `{"from":"2020-04-24T12:00:00Z","to":"2020-04-24T13:00:00Z","person":"Liz",
		"reason":"swap"}`).is(200)
	w.get("/schedules/line-3/on-call").equals(`{"from":"2020-04-24T12:00:00Z",
		"to":"2020-04-24T13:00:00Z","person":"Liz","reason":"swap"}`)
	w.post(path, tom).is(200) // it is the newest one now
	w.get("/schedules/line-3/on-call").equals(`{"from":"2020-04-24T12:00:00Z",
		"to":"2020-04-24T14:00:00Z","person":"Tom"}`)
	w.post(path, `{"from":"2020-04-24T12:00:00Z","to":"2020-04-24T12:00:00Z","person":"Tom"}`).
		fails(400, "body.to")
	w.post(path, `{"from":"2020-04-24T12:00:00Z","to":"2020-04-25","person":"Bob"}`).
		fails(400, "body.person", "Bob")
	w.put(path, `{"overrides":[`+tom+`,{"from":"2020-04-24","to":"2020-04-25","person":""}]}`).
		fails(400, "body.overrides[1].person")
	if n := strings.Count(w.get("/schedules/line-3").body, `"from":`); n != 3 {
		t.Errorf("%d times", n)
	}
	calendar := w.get("/schedules/line-3.ics?tenant=default").is(200)
	if calendar.header.Get("Content-Type") != "text/calendar; charset=utf-8" ||
		!strings.Contains(calendar.body, "SUMMARY:Tom (override)\r\n") {
		t.Errorf("%v: %s", calendar.header, calendar.body)
	}
	w.get("/schedules/line-9.ics").fails(404, "line-9")
	long := "/schedules/" + strings.Repeat("s", 128)
	w.put(long, `{`+layers+`}`).is(201)
	w.get(long + ".ics").is(200)
	w.get(long+"s.ics").fails(400, "path.name")
	w.get("/schedules/line-3.ics?tenant=nobody").fails(404)
}
