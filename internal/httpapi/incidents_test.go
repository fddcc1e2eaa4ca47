package httpapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/httpapi"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
)

// kept are incidents in memory, without their rules: Act notes what it was asked for.
type kept struct {
	mu      sync.Mutex
	open    []*people.Incident
	closed  []people.Incident // newest first
	asked   []people.Action
	changed []*people.Incident
}

func (k *kept) Open(context.Context, andon.TenantID) ([]*people.Incident, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.open), nil
}

func (k *kept) Changed(
	_ context.Context, _ andon.TenantID, after uint64,
) (c records.IncidentChanges, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range k.changed[min(after, uint64(len(k.changed))):] {
		c.Recent = append(c.Recent, records.IncidentChange{Incident: i})
	}
	c.Number = uint64(len(k.changed))
	return c, nil
}

func (k *kept) Get(
	ctx context.Context, tenant andon.TenantID, id string,
) (people.Incident, error) {
	for _, i := range k.open {
		if i.ID == id {
			one := []people.Incident{*i}
			err := k.Follow(ctx, tenant, one)
			return one[0], err
		}
	}
	return people.Incident{}, andon.Errorf(andon.NotFound, "there is no incident %q", id)
}

func (k *kept) Past(
	_ context.Context, _ andon.TenantID, q records.PastQuery,
) (all []people.Incident, err error) {
	for _, i := range k.newestFirst() {
		if q.Span.Holds(i.Opened) && (q.After.ID == "" || i.ID < q.After.ID) && q.Only(i.Device) {
			all = append(all, i)
		}
	}
	return all[:min(q.Limit, len(all))], nil
}

// newestFirst are those that are open or closed, newest first.
func (k *kept) newestFirst() (all []people.Incident) {
	for _, i := range k.open {
		all = append(all, *i)
	}
	all = append(all, k.closed...)
	slices.SortFunc(all, func(a, b people.Incident) int { return cmp.Compare(b.ID, a.ID) })
	return all
}

func (k *kept) During(
	_ context.Context, _ andon.TenantID, span andon.Span, only func(andon.DeviceID) bool,
	do func([]people.Incident) error,
) ([]andon.Time, error) {
	return nil, do(slices.DeleteFunc(k.newestFirst(), func(i people.Incident) bool {
		return i.Since > span.To || i.Ended != 0 && i.Ended < span.From || !only(i.Device)
	}))
}

func (k *kept) OfDevice(
	_ context.Context, _ andon.TenantID, id andon.DeviceID, span andon.Span, limit int,
) (all []people.Incident, err error) {
	for _, i := range k.open {
		if i.Device == id && (span.To == 0 || i.Since <= span.To) {
			all = append(all, *i)
		}
	}
	for _, i := range k.closed {
		if i.Device == id && (span.To == 0 || i.Since <= span.To) {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b people.Incident) int {
		return cmp.Or(cmp.Compare(b.Since, a.Since), cmp.Compare(b.ID, a.ID))
	})
	return all[:min(limit, len(all))], nil
}

// Follow has the log hold three entries of each.
func (k *kept) Follow(_ context.Context, _ andon.TenantID, all []people.Incident) error {
	for i := range all {
		all[i].Count = 3
	}
	return nil
}

func (k *kept) Act(
	ctx context.Context, tenant andon.TenantID, id string, a people.Action,
) (people.Incident, error) {
	is, err := k.Get(ctx, tenant, id)
	if err == nil && a.Do == people.Take && is.TakenBy != "" && is.TakenBy != a.By {
		first := &people.FirstError{By: is.TakenBy, What: "has taken"}
		err = andon.Errorf(andon.Conflict, "%w", first)
	}
	if err == nil && a.Do == people.Acknowledge {
		is = *is.Clone()
		_, err = is.Act(&people.Setting{Known: &people.Known{}, Now: is.Opened}, &a)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked, k.changed = append(k.asked, a), append(k.changed, &is)
	return is, err
}

func at(text string) andon.Time {
	t, err := andon.ParseTime("2020-04-24T" + text + ":00Z")
	if err != nil {
		panic(err)
	}
	return t
}

// factory keeps four open incidents and two that are closed; their IDs are in the order in which
// they opened.
func factory() *kept {
	open := func(id, device string, severity uint8, since string) *people.Incident {
		return &people.Incident{
			ID: id, Device: andon.DeviceID(device), Kind: people.StateKind, State: "WARNING1",
			Severity: severity, Worst: severity, Since: at(since), Opened: at(since), Count: 1,
		}
	}
	k := &kept{open: []*people.Incident{
		open("c", "press-1", 32, "10:00"), open("e", "press-2", 48, "10:30"),
		open("d", "oven-1", 48, "10:20"), open("f", "oven-2", 32, "11:00"),
	}}
	k.open[0].Acknowledged = &people.Acknowledgement{By: "Liz", At: at("10:05")}
	k.open[0].Operator, k.open[0].TakenBy = "Liz", "Liz"
	k.open[2].Flapping = true
	for _, i := range []*people.Incident{
		open("b", "press-1", 48, "09:00"), open("a", "press-1", 32, "08:00"),
	} {
		i.Until, i.Ended = i.Since+1, i.Opened+2
		k.closed = append(k.closed, *i)
	}
	return k
}

func withIncidents(k httpapi.Incidents) func(*httpapi.Options) {
	return func(o *httpapi.Options) { o.Incidents = k }
}

func (a answer) incidents() (ids string) {
	a.t.Helper()
	var page struct{ Items []client.Incident }
	if err := json.Unmarshal([]byte(a.is(http.StatusOK).body), &page); err != nil {
		a.t.Fatal(err)
	}
	for _, i := range page.Items {
		ids += i.ID
	}
	return ids
}

// A device in maintenance says so where it is shown alone and in lists, and no other one does.
func TestDeviceInMaintenance(t *testing.T) {
	w := newWorld(t, func(o *httpapi.Options) {
		o.Maintenance = func(context.Context, andon.TenantID) ([]people.Window, error) {
			m := &people.Maintenance{Name: "oil", Group: "hall"}
			return []people.Window{{Maintenance: m, Ends: at("18:00")}}, nil
		}
	})
	w.post("/events", `[{"device":"press-1","state":"OK"},{"device":"press-2","state":"OK"},
		{"device":"press-3","state":"OK"}]`).is(http.StatusOK)
	w.put("/devices/press-2", `{"group":"hall","parent":"press-3"}`).is(http.StatusOK)
	w.put("/devices/press-4", `{"group":"hall","parent":"press-1"}`).is(http.StatusOK)
	w.put("/devices/press-5", `{"group":"yard","parent":"press-1"}`).is(http.StatusOK)
	const window = `"maintenance":{"name":"oil","until":"2020-04-24T18:00:00Z"}`
	for path, want := range map[string]int{
		"/devices": 2, "/devices/press-1": 0, "/devices/press-2": 1, "/devices?search=press-2": 1,
		"/devices/press-3": 1,
	} {
		if got := strings.Count(w.get(path).is(http.StatusOK).body, window); got != want {
			t.Errorf("%s has %d windows, want %d", path, got, want)
		}
	}
}

func TestIncidents(t *testing.T) {
	w := newWorld(t, withIncidents(factory()))
	w.put("/devices/press-2", `{"group":"hall","parent":"oven-2"}`).is(http.StatusOK)
	w.put("/devices/press-3", `{"group":"yard","parent":"oven-2"}`).is(http.StatusOK)
	for query, want := range map[string]string{
		"":                               "decf", // severest first, then longest
		"?sort=since":                    "cdef",
		"?sort=opened":                   "fedc",
		"?severity=40":                   "de",
		"?operator=Liz":                  "c",
		"?operator=none&sort=since":      "def",
		"?status=acknowledged":           "c",
		"?status=unacknowledged":         "def",
		"?status=closed":                 "",
		"?device=press*":                 "ec",
		"?device=oven-1":                 "d",
		"?kind=silent":                   "",
		"?kind=state":                    "decf",
		"?flapping=true":                 "d",
		"?age=1h35m":                     "dc",
		"?age=1h35m&from=2020-04-24":     "dc",
		"?flapping=false&sort=since":     "cef",
		"?flapping=true&from=2020-04-24": "d",
		"?group=hall":                    "ef", // oven-2 is in the groups of its devices
		"?group=hall&from=2020-04-24":    "fe",
		"?group=yard":                    "f",
		"?group=none":                    "dcf",
		"?state=ERROR":                   "",
		"?from=2020-04-24T08:30:00Z":     "fedcb",
		"?to=2020-04-24T10:10:00Z":       "cba",
		"?from=2020-04-24&severity=40":   "edb",
		"?from=2020-04-24&status=closed": "ba",
	} {
		if got := w.get("/incidents" + query).incidents(); got != want {
			t.Errorf("/incidents%s is %q, not %q", query, got, want)
		}
	}
	for _, query := range []string{"?sort=since&", "?sort=opened&", "?", "?from=2020-04-24&"} {
		want, got := w.get("/incidents"+query).incidents(), ""
		for cursor := ""; ; {
			a := w.get("/incidents" + query + "limit=1" + cursor)
			got += a.incidents()
			next := a.page().Next
			if next == "" {
				break
			}
			cursor = "&cursor=" + next
		}
		if got != want {
			t.Errorf("the pages of %s are %q, not %q", query, got, want)
		}
	}
	if got := w.get("/devices/press-1/incidents").incidents(); got != "cba" {
		t.Errorf("the incidents of press-1 are %q", got)
	}
	next := w.get("/devices/press-1/incidents?limit=1").page().Next
	if got := w.get("/devices/press-1/incidents?cursor=" + next).incidents(); got != "ba" {
		t.Errorf("the next incidents of press-1 are %q", got)
	}
	w.get("/incidents/counts?device=press*").equals(`{"total":2,
		"statuses":{"acknowledged":1,"unacknowledged":1},"severities":[
		{"severity":48,"count":1,"unacknowledged":1},
		{"severity":32,"count":1,"unacknowledged":0}]}`)
	w.get("/incidents/counts?group=yard").equals(`{"total":1,"statuses":{"unacknowledged":1},
		"severities":[{"severity":32,"count":1,"unacknowledged":1}]}`)
	w.get("/incidents?status=open").fails(400, "there is no status")
	w.get("/incidents?severity=300").fails(400, "severity is 0 to 255")
	w.get("/incidents?kind=noise").fails(400, "kind is state, silent, or absent:")
	w.get("/incidents?age=long").fails(400, "duration")
	w.get("/incidents?flapping=yes").fails(400, "flapping is true or false")
	w.get("/incidents?from=2020-04-24&sort=since").fails(400, "newest first")
	w.get("/incidents", "Andon-Tenant: none").fails(http.StatusNotFound)
	w.get("/incidents/none").fails(http.StatusNotFound, "there is no incident")
}

func TestIncidentActions(t *testing.T) {
	k := factory()
	w := newWorld(t, withIncidents(k))
	for _, one := range []struct {
		path, body string
		want       people.Action
	}{
		{"acknowledge", `{"by":"Liz","note":"n","expires_in":"30m"}`, people.Action{
			Do: "acknowledge", By: "Liz", Note: "n", ExpiresIn: 30 * 60 * 1e6,
		}},
		{"take", `{"by":"Liz"}`, people.Action{Do: "take", By: "Liz"}},
		{"comment", `{"by":"Liz","note":"n"}`, people.Action{Do: "comment", By: "Liz", Note: "n"}},
		{"escalate", `{"by":"Liz","to":"Sara"}`, people.Action{
			Do: "escalate", By: "Liz", To: "Sara",
		}},
		{"shelve", `{"by":"Liz","reason":"r","once":true}`, people.Action{
			Do: "shelve", By: "Liz", Reason: "r", Once: true,
		}},
		{"unshelve", `{"by":"Liz"}`, people.Action{Do: "unshelve", By: "Liz"}},
		{"out-of-service", `{"by":"Liz","reason":"r"}`, people.Action{
			Do: "out-of-service", By: "Liz", Reason: "r",
		}},
		{"in-service", `{"by":"Liz"}`, people.Action{Do: "in-service", By: "Liz"}},
		{"reset", `{"by":"Liz"}`, people.Action{Do: "reset", By: "Liz"}},
	} {
		w.post("/incidents/c/"+one.path, one.body).is(http.StatusOK)
		if got := k.asked[len(k.asked)-1]; got != one.want {
			t.Errorf("%s asks for %+v, not %+v", one.path, got, one.want)
		}
	}
	n := len(k.asked)
	for _, one := range [][3]string{
		{"take", `{}`, "by is missing"},
		{"take", `{"by":""}`, "by is missing"},
		{"take", `{"by":"Liz","to":"Bob"}`, "to"},
		{"comment", `{"by":"Liz","note":""}`, "note is empty"},
		{"escalate", `{"by":"Liz"}`, "to is missing"},
		{"shelve", `{"by":"Liz","once":true}`, "reason is missing"},
		{"shelve", `{"by":"Liz","reason":"r"}`, "one of until, for and once"},
		{"shelve", `{"by":"Liz","reason":"r","once":true,"for":"1h"}`, "one of until, for"},
	} {
		w.post("/incidents/c/"+one[0], one[1]).fails(http.StatusBadRequest, one[2])
	}
	if len(k.asked) != n {
		t.Error("what is wrong was done")
	}
	a := w.post("/incidents/c/take", `{"by":"Bob"}`)
	a.fails(http.StatusConflict, "Liz has taken")
	if !strings.Contains(a.body, `"by":"Liz"`) {
		t.Errorf("the problem does not name who was first: %s", a.body)
	}
	w.post("/incidents/none/take", `{"by":"Bob"}`).fails(http.StatusNotFound)
}

func TestIncidentStream(t *testing.T) {
	w := newWorld(t, withIncidents(factory()))
	w.put("/devices/press-9", `{"group":"hall","parent":"press-1"}`).is(http.StatusOK)
	others := w.stream("?incidents=true&device=none*").begun()
	all, hall := w.stream("?incidents=true").begun(), w.stream("?incidents=true&group=hall").begun()
	w.post("/incidents/c/comment", `{"by":"Liz","note":"n"}`).is(http.StatusOK)
	for _, s := range []*stream{all, hall} {
		e, ok := s.next()
		var is client.IncidentChanges
		err := json.Unmarshal([]byte(e.data), &is)
		if !ok || e.event != "incident" || err != nil || is.Changes != 1 ||
			len(is.Incidents) != 1 || is.Incidents[0].ID != "c" ||
			is.Incidents[0].Device != "press-1" {
			t.Errorf("the stream says %+v, %v", e, err)
		}
	}
	w.event("none-1", "2020-04-24T11:30:00Z", "WARNING1")
	if e, ok := others.next(); !ok || e.event != "state" {
		t.Errorf("a stream of other devices says %+v", e)
	}
}

func TestWithoutIncidents(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{
		"/incidents", "/incidents/x", "/incidents/counts", "/devices/a/incidents",
		"/reports/incidents",
	} {
		w.get(path).fails(http.StatusNotImplemented, "incidents are off", "setting incidents")
	}
	w.get("/devices/incidents/nothing").fails(http.StatusNotFound)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		w.do(method, "/acknowledge/x", "").fails(http.StatusNotImplemented, "incidents are off")
	}
	w.get("/events/stream?incidents=true").fails(400, "incidents are off")
}

func TestIncidentReport(t *testing.T) {
	w := newWorld(t, withIncidents(factory()))
	w.event("press-1", "2020-04-24T11:30:00Z", "WARNING1")
	w.event("press-2", "2020-04-24T11:30:00Z", "WARNING1")
	var r client.IncidentReport
	a := w.get("/reports/incidents?from=2020-04-24T08:30:00Z&per=device").is(http.StatusOK)
	if err := json.Unmarshal([]byte(a.body), &r); err != nil {
		t.Fatal(err)
	}
	if r.Incidents != 5 || r.Devices != 2 || len(r.Rows) != 4 || r.Rows[0].Name != "press-1" {
		t.Errorf("the report is %+v", r)
	}
	a = w.do(http.MethodGet, base+"/reports/incidents?from=2020-04-24T09:30:00Z&per=device", "",
		"Accept: text/csv").is(http.StatusOK)
	if want := "device,incidents,per_hour,seconds\npress-1,1,0.4,7200\noven-1,1,0.4,6000\n" +
		"press-2,1,0.4,5400\noven-2,1,0.4,3600\n"; a.body != want {
		t.Errorf("CSV is\n%s\nnot\n%s", a.body, want)
	}
	a = w.get("/reports/incidents?from=2020-04-24T08:30:00Z&operator=Liz").is(http.StatusOK)
	r = client.IncidentReport{}
	if err := json.Unmarshal([]byte(a.body), &r); err != nil || r.Incidents != 1 ||
		r.Availability != nil || len(r.Worst) != 1 || r.Worst[0].Name != "press-1" {
		t.Errorf("the report of Liz is %+v, %v", r, err)
	}
	for _, future := range []string{"from=2027-01-01", "from=2027-01-01&to=2027-01-02"} {
		w.get("/reports/incidents?"+future).fails(400, "from 2027-01-01T00:00:00Z is after")
	}
	w.get("/reports/incidents?per=year").fails(400, "per is operator, device or hour")
	a = w.do(http.MethodGet, base+"/reports/incidents?from=2020-04-24T08:30:00Z", "",
		"Accept: text/csv").is(http.StatusOK)
	for _, want := range []string{"figure,value\ndevices,2\nincidents,5\n", "\nmttr,"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("the figures as CSV have no %q:\n%s", want, a.body)
		}
	}
}
