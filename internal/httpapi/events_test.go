package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
)

func TestEventIsKeptWhole(t *testing.T) {
	w := newWorld(t)
	sent := `{"device":"d#12345","time":"2020-04-24T10:40:00Z","state":"WARNING1","operator":"Liz",
		"message":"overheat <b>","attributes":{"line":"L3"},"escalated_to":"Sara","extra":1}`
	w.post("/events", sent).equals(`{"accepted":1,"rejected":[]}`)
	w.get("/devices/d%2312345/events").equals(`{"items":[{"device":"d#12345",
		"time":"2020-04-24T10:40:00Z","state":"WARNING1","operator":"Liz","escalated_to":"Sara",
		"escalation":{"at":"2020-04-24T10:40:00Z"},
		"message":"overheat <b>","attributes":{"line":"L3","extra":1}}]}`)
	w.get("/devices/d%2312345/events/2020-04-24T10:40:00Z/WARNING1").equals(`{"device":"d#12345",
		"time":"2020-04-24T10:40:00Z","state":"WARNING1","operator":"Liz","escalated_to":"Sara",
		"message":"overheat <b>","attributes":{"line":"L3","extra":1},
		"escalations":[{"to":"Sara","at":"2020-04-24T10:40:00Z"}]}`)
}

func TestPrecision(t *testing.T) {
	w := newWorld(t)
	for unit, number := range map[string]string{
		"s": "1587722400.5", "ms": "1587722400500",
		"us": "1587722400500000", "ns": "1587722400500000999",
	} {
		sent := fmt.Sprintf(`{"device":%q,"time":%s,"state":"NORMAL"}`, unit, number)
		w.post("/events?precision="+unit, sent).is(http.StatusOK)
		const want = "2020-04-24T10:00:00.5Z"
		if at := w.get("/devices/" + unit + "/events").page().column("time")[0]; at != want {
			t.Errorf("%s: %s", unit, at)
		}
	}
	w.post("/events?precision=h", `{}`).
		fails(400, "query.precision", "precision is s, ms, us or ns")
}

func TestOneBadLineOfAThousand(t *testing.T) {
	w := newWorld(t)
	var body strings.Builder
	for i := range 1000 {
		if i == 2 {
			body.WriteString("{\"device\":\"x\",\n")
			continue
		}
		fmt.Fprintf(&body, `{"device":"d%d","time":"2020-04-24T10:00:00Z","state":"NORMAL"}`+"\n",
			i)
	}
	got := w.post("/events", body.String(), "Content-Type: application/x-ndjson").is(http.StatusOK)
	var account struct {
		Accepted int
		Rejected []andon.Rejection
	}
	if err := json.Unmarshal([]byte(got.body), &account); err != nil {
		t.Fatal(err)
	}
	if account.Accepted != 999 || len(account.Rejected) != 1 {
		t.Fatalf("got %s", got.body)
	}
	r := account.Rejected[0]
	if r.Index != 2 || r.Line != 3 || r.Error == "" {
		t.Errorf("got %+v", r)
	}
	if total := parse(t, w.get("/states").body).(map[string]any)["total"]; total != 999.0 {
		t.Errorf("%v devices", total)
	}
}

func TestRejectedEvents(t *testing.T) {
	w := newWorld(t)
	deep := `{"a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`
	for name, test := range map[string]struct{ sent, want string }{
		"control character":  {`{"device":"d","state":"A\u0001"}`, "control character"},
		"year 99999":         {`{"device":"d","state":"A","time":"99999-01-01T00:00:00Z"}`, "time"},
		"01":                 {`{"device":"d","state":"A","time":01}`, "0"},
		"1e999":              {`{"device":"d","state":"A","time":1e999}`, "time"},
		"nested":             {`{"device":"d","state":"A","attributes":` + deep + `}`, "nested"},
		"invalid UTF-8":      {"{\"device\":\"d\xff\",\"state\":\"A\"}", "UTF-8"},
		"no state":           {`{"device":"d"}`, "state"},
		"future":             {`{"device":"d","state":"A","time":"2020-04-24T12:10:01Z"}`, "ahead"},
		"nothing but spaces": {"  \n ", "empty"},
		"not JSON":           {"device=d", "want an object"},
		"NaN":                {`{"device":"d","state":"A","time":NaN}`, "NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			w.post("/events", test.sent).fails(http.StatusBadRequest, test.want, `"location":"body`)
			// In an array the same is one rejection next to what is kept; but "01" is no JSON, so
			// the array around it is none either.
			if name == "01" {
				w.post("/events", "["+test.sent+"]").fails(http.StatusBadRequest, "of the array")
			} else if test.sent[0] == '{' {
				kept := `{"device":"kept","state":"NORMAL","time":1587722400000}`
				got := w.post("/events", "["+kept+","+test.sent+"]").is(http.StatusOK)
				if !strings.HasPrefix(got.body, `{"accepted":1,"rejected":[{"index":1,`) {
					t.Errorf("got %s", got.body)
				}
			}
		})
	}
	w.get("/devices/d").fails(http.StatusNotFound)
}

// TestBrokenArray has what is cut off on its way: the status says that all of it has to be sent
// again, so nothing of it is kept.
func TestBrokenArray(t *testing.T) {
	w := newWorld(t)
	for path, entry := range map[string]string{
		"/events":      `{"device":"cut","state":"NORMAL","time":1587722400000}`,
		"/readings":    `{"device":"cut","time":1587722400000,"metrics":{"t":1}}`,
		"/assignments": `{"device":"cut","operator":"Liz"}`,
	} {
		for _, tail := range []string{",", "," + entry[:12], "", ",]", "] {}"} {
			w.post(path, "["+entry+tail).fails(http.StatusBadRequest,
				"nothing of the array was kept", `"location":"body"`)
		}
	}
	w.get("/devices/cut").fails(http.StatusNotFound)
	w.get("/devices/cut/readings/latest").fails(http.StatusNotFound)
	w.get("/devices/cut/assignments").equals(`{"items":[]}`)
}

func TestPathsAreDecodedOnce(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{
		"d#12345", "a/b", "%", "%25", "a b", "a+b", "🚨", "ü", "a?b=c", "a;b", "a&b", "...",
		"a..b", "//", ":", "@", "~", "\\", "{device}", "*", strings.Repeat("x", 128),
	} {
		w.event(id, "2020-04-24T10:00:00Z", "NORMAL")
		got := w.get("/devices/" + url.PathEscape(id)).is(http.StatusOK)
		if device := parse(t, got.body).(map[string]any)["device"]; device != id {
			t.Errorf("%q: got %q", id, device)
		}
	}
	w.event("d", "2020-04-24T10:00:00Z", "a/b %")
	w.get("/devices/d/events/2020-04-24T10:00:00Z/" + url.PathEscape("a/b %")).is(http.StatusOK)

	for path, why := range map[string]string{
		"a%00b":                    "control character",
		"a%0Ab":                    "control character",
		"%C2%85":                   "control character",
		"%FF":                      "UTF-8",
		strings.Repeat("x", 129):   "129 bytes",
		"%2E%2E":                   "can't be",
		"%2E":                      "can't be",
		strings.Repeat("%20", 129): "129 bytes",
	} {
		p := w.get("/devices/"+path).fails(http.StatusBadRequest, why)
		if p.Errors[0].Location != "path.device" {
			t.Errorf("%s: got %+v", path, p.Errors)
		}
	}
}

func TestUncleanPathsAreNotRedirected(t *testing.T) {
	w := newWorld(t)
	w.event("events", "2020-04-24T10:00:00Z", "NORMAL")
	for _, path := range []string{
		"/devices//events", "/devices/./events", "//devices", "/x/../states", "/devices/events//",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Opaque = base + path
		w.send(r).fails(http.StatusNotFound)
	}
}

// fill keeps ten events of two devices, one a minute.
func (w *world) fill() {
	for i := range 10 {
		state := []string{"NORMAL", "WARNING1", "WARNING2"}[i%3]
		w.post("/events", fmt.Sprintf(`{"device":"d%d","time":"2020-04-24T10:%02d:00Z","state":%q,
			"operator":"Liz","escalated_to":"Sara"}`, i%2, i, state)).is(http.StatusOK)
	}
}

func TestEventsOfPeople(t *testing.T) {
	w := newWorld(t)
	w.fill()
	for path, want := range map[string]int{
		"/operators/Liz/events":                                                   10,
		"/operators/Bob/events":                                                   0,
		"/operators/Liz/events?state=WARNING*":                                    6,
		"/operators/Liz/events?state=WARNING1,NORMAL":                             7,
		"/operators/Liz/events?from=2020-04-24T10:03:00Z":                         7,
		"/operators/Liz/events?from=2020-04-24T12:03:00%2B02:00":                  7,
		"/operators/Liz/events?from=2020-04-24T12:03:00+02:00":                    7,
		"/operators/Liz/events?from=2020-04-24T10:03:00Z&to=2020-04-24T10:05:00Z": 3,
		"/operators/Liz/events?to=2020-04-24":                                     10,
		"/operators/Liz/events?to=2020-04-23":                                     0,
		"/supervisors/Sara/events":                                                10,
		"/supervisors/Sara/events?date=2020-04-24&state=NORMAL":                   4,
		"/supervisors/Sara/events?date=2020-04-25":                                0,
		"/supervisors/Sara/events?from=2020-04-24&to=2020-04-24T10:00:00":         1,
		"/supervisors/Liz/events":                                                 0,
		"/devices/d0/events?order=asc&limit=2":                                    2,
		"/devices/nobody/events":                                                  0,
	} {
		if got := len(w.get(path).page().Items); got != want {
			t.Errorf("%s: %d events, want %d", path, got, want)
		}
	}
	w.get("/devices/nobody/events").equals(`{"items":[]}`)
}

func TestWrongQueries(t *testing.T) {
	w := newWorld(t)
	const backwards = "?from=2020-04-25T00:00:01Z&to=2020-04-25T00:00:00Z"
	for path, want := range map[string]string{
		"/devices/d/events?limit=-1":                            "query.limit",
		"/devices/d/events?limit=0":                             "query.limit",
		"/devices/d/events?limit=1001":                          "1 to 1000",
		"/devices/d/events?limit=ten":                           "query.limit",
		"/devices/d/events?limit=99999999999999999999":          "query.limit",
		"/devices/d/events?order=up":                            "asc or desc",
		"/devices/d/events?from=tomorrow":                       "query.from",
		"/devices/d/events?from=99999-01-01":                    "query.from",
		"/devices/d/events?to=2020-02-30":                       "query.to",
		"/devices/d/events?from=2020-04-25&to=2020-04-24":       "is after",
		"/devices/d/events?state=A%01":                          "query.state",
		"/devices/d/events?state=A*B":                           "query.state",
		"/devices/d/events?state=A,,B":                          "query.state",
		"/devices/d/events?stat=A":                              "did you mean state?",
		"/devices/d/events?xyzzyxyzzy=A":                        "only state, from, to",
		"/devices/d/events?limit=1&limit=2":                     "given twice",
		"/devices/d/events?a=%zz":                               "can't be read",
		"/devices/d/events?a;b":                                 "can't be read",
		"/devices/d/events?cursor=AAAA":                         "damaged",
		"/supervisors/s/events?date=2020-04-24&from=2020-04-24": "date is a whole day",
		"/supervisors/s/events?date=2020-04-24T00:00:00Z":       "query.date",
		"/supervisors/s/events?date=2020-13-01":                 "query.date",
		"/supervisors/s/events?date=today":                      "date is a day such as",
		"/devices/d/events?from=1587739200000":                  "24h (ago), today, yesterday, now",
		"/devices/d/events?to=x":                                "24h (ago), today, yesterday, now",
		"/devices/d/events/now/NORMAL":                          "path.time",
		"/devices/d/events/2020-04-24/A,B":                      "path.state",
		"/devices?sort=size":                                    "query.sort",
		"/devices?device=%01*":                                  "query.device",
		"/devices?silent=maybe":                                 "query.silent",
		"/devices?silent=":                                      "query.silent",
		"/devices?operator=%FF":                                 "query.operator",
		"/states?limit=1":                                       "only cursor, group, label",
		"/devices/d/readings?metrics=a,,b":                      "query.metrics",
		"/devices/d/readings?date=2020-04-24":                   "query.date",
		"/metrics/%00/readings":                                 "path.metric",
		"/tenants/a%0Ab":                                        "path.tenant",
		"/devices/d/events?limit=0&order=up&from=x&state=,":     "query.state",
		"/devices/d/assignments?order=up":                       "query.order",
		"/devices/d/intervals" + backwards:                      "is after",
		"/devices/d/readings/latest?consistency=bogus":          "query.consistency",
		"/tenants/nope?consistency=bogus":                       "query.consistency",
	} {
		w.get(path).fails(http.StatusBadRequest, want)
	}
	p := w.get("/devices/%01/events?limit=0&order=up&from=x&state=,").fails(http.StatusBadRequest)
	if len(p.Errors) != 5 {
		t.Errorf("not all that is wrong is named: %+v", p.Errors)
	}
}

func TestUnknownTenant(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{
		"/devices", "/devices/d", "/devices/d/events", "/operators/o/events",
		"/supervisors/s/events", "/states", "/devices/d/intervals", "/devices/d/readings",
		"/devices/d/readings/latest",
		"/metrics/m/readings", "/devices/d/assignments", "/devices?device=d",
		"/devices/d/events/2020-04-24/A",
	} {
		w.get(path, "Andon-Tenant: nobody").fails(http.StatusNotFound, "nobody")
	}
	const one = `{"device":"d","state":"NORMAL","operator":"x","metrics":{"a":1},"devices":["d"]}`
	w.post("/events", one, "Andon-Tenant: nobody").fails(http.StatusNotFound, "nobody")
	w.post("/readings", one, "Andon-Tenant: nobody").fails(http.StatusNotFound, "nobody")
	w.put("/devices/d/operator", `{"operator":"x"}`, "Andon-Tenant: nobody").
		fails(http.StatusNotFound)
	w.post("/readings/latest", `{"devices":["d"]}`, "Andon-Tenant: nobody").
		fails(http.StatusNotFound)
	w.get("/devices", "Andon-Tenant: a\xff").fails(http.StatusBadRequest, "header.Andon-Tenant")
	w.get("/devices", "Andon-Tenant: a", "Andon-Tenant: b").fails(http.StatusBadRequest, "twice")
}

func TestPagesHoldEveryEntryOnce(t *testing.T) {
	w := newWorld(t)
	w.fill()
	all := w.get("/operators/Liz/events").page()
	for _, order := range []string{"desc", "asc"} {
		path, read := "/operators/Liz/events?limit=3&order="+order, page{}
		for pages := 1; ; pages++ {
			got := w.get(path)
			p := got.page()
			read.Items = append(read.Items, p.Items...)
			link := got.header.Get("Link")
			if p.Next == "" {
				if link != "" || pages != 4 {
					t.Errorf("%d pages, link %q", pages, link)
				}
				break
			}
			target, isNext := strings.CutSuffix(strings.TrimPrefix(link, "<"+base), `>; rel="next"`)
			if !isNext || !strings.Contains(target, p.Next) {
				t.Fatalf("link %q, next %q", link, p.Next)
			}
			path = target
		}
		got, want := read.column("time"), all.column("time")
		if order == "asc" {
			slices.Reverse(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(order, diff)
		}
	}
}

func TestPagesOfUnusualIdentifiers(t *testing.T) {
	w := newWorld(t)
	const id = "a/b ü>%#"
	w.event(id, "2020-04-24T10:00:00Z", "A>B")
	w.event(id, "2020-04-24T10:01:00Z", "A>B")
	got := w.get("/devices/" + url.PathEscape(id) + "/events?limit=1&state=A%3EB")
	link := strings.Split(strings.TrimPrefix(got.header.Get("Link"), "<"), ">")[0]
	p := w.do(http.MethodGet, link, "").page()
	if got := p.column("time"); len(got) != 1 || got[0] != "2020-04-24T10:00:00Z" || p.Next != "" {
		t.Errorf("%s leads to %v", link, p)
	}
}

func TestCursorBelongsToItsQuery(t *testing.T) {
	w := newWorld(t)
	w.fill()
	w.put("/tenants/other", `{}`).is(http.StatusCreated)
	next := w.get("/operators/Liz/events?limit=2&state=").page().Next
	w.get("/operators/Liz/events?limit=5&cursor=" + next).is(http.StatusOK)
	for _, path := range []string{
		"/operators/Bob/events?cursor=", "/operators/Liz/events?order=asc&cursor=",
		"/operators/Liz/events?state=NORMAL&cursor=", "/devices/Liz/events?cursor=",
		"/operators/Liz/events?from=2020-01-01&cursor=",
	} {
		w.get(path+next).fails(http.StatusBadRequest, "another query", "query.cursor")
	}
	w.get("/operators/Liz/events?cursor="+next, "Andon-Tenant: other").
		fails(http.StatusBadRequest, "another query")
	for i := range next {
		changed := []byte(next)
		changed[i] ^= 1
		w.get("/operators/Liz/events?cursor="+url.QueryEscape(string(changed))).
			fails(http.StatusBadRequest, "query.cursor")
	}
}
