package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/notify"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
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
		*to = notify.New(notify.Options{
			Store: o.Store, Now: o.Now, Log: o.Log, Known: documents.Known,
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
	ask("GET", url, 200, "<h1>&lt;b&gt;press: FAILURE</h1>")
	ask("HEAD", url, 200, "")
	ask("GET", url, 200, `<button type="submit">`)
	ask("GET", url+"x", 400, "not made here")
	ask("POST", url+"x", 400, "not made here")
	ask("PUT", url, 405, "")
	if len(k.asked) != 0 {
		t.Fatalf("done: %+v", k.asked)
	}
	ask("POST", url, 200, "FAILURE")
	want := people.Action{Do: people.Acknowledge, By: "Liz"}
	if len(k.asked) != 1 || k.asked[0] != want {
		t.Errorf("done: %+v", k.asked)
	}
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
