package keeper_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/people"
)

// documents are those of the scenarios. A scenario begins five seconds into the year 2000, unless
// it says when. What is done about a device depends on the first letter of its name.
func documents(t *testing.T) *people.Known {
	t.Helper()
	const m = andon.Duration(60_000_000)
	begin := andon.TimeOf(time.Date(2000, 1, 1, 0, 0, 5, 0, time.UTC))
	policy := func(name string, assign people.Target, to ...people.Target) people.Policy {
		p := people.Policy{Name: name, Match: people.Match{Prefix: name}, Assign: assign}
		for i, one := range to {
			p.Steps = append(p.Steps, people.PolicyStep{After: andon.Duration(5+10*i) * m, To: one})
		}
		return p
	}
	severe := policy("severe", "", "person Max")
	severe.Match = people.Match{Prefix: "d", MinSeverity: 80}
	again := policy("r", "", "person Liz")
	again.Repeat, again.Every = 2, 20*m
	expiring := policy("e", "", "person Liz", "supervisor Sara")
	expiring.AckExpires = 30 * m
	quiet := policy("q", "", "person Liz")
	quiet.Match.Kind = people.SilentKind
	elsewhere := policy("o", "", "person Ann")
	elsewhere.Match.Kind = people.SilentKind
	ovens := people.Policy{
		Name:  "ovens",
		Match: people.Match{Kind: people.SilentKind, Group: "hall", MinSeverity: 16},
		Steps: []people.PolicyStep{{After: 45 * m, To: "person Liz"}},
	}
	known := &people.Known{
		Policies: []people.Policy{
			policy("d", "person Liz", "operator", "supervisor Sara"), severe, again, expiring,
			policy("m", "", "person Liz", "supervisor Sara"),
			policy("s", "schedule line", "operator", "schedule line"),
			policy("t", "", "turn line"), quiet, elsewhere, ovens,
			policy("b", "schedule berlin", "operator"),
			policy("n", "schedule night", "operator"),
			policy("w", "schedule weekend", "operator"),
			policy("y", "schedule solo", "operator", "schedule solo"),
		},
		Rosters: map[string]*people.Roster{},
		Maintenance: []people.Maintenance{
			{Name: "oil", Prefix: "m", Start: begin.Add(10 * m), Length: 30 * m},
			{Name: "bake", Group: "bay", Start: begin.Add(10 * m), Length: 30 * m},
		},
	}
	turns := func(name, zone, handOver string, turn andon.Duration) {
		s := &people.Schedule{Name: name, Zone: zone, Layers: []people.Layer{{
			People: []andon.PersonID{"Ann", "Bob"}, From: "1999-12-31", Turn: turn,
			HandOver: handOver,
		}}}
		switch name {
		case "solo": // for ever
			s.Layers[0].People = s.Layers[0].People[:1]
		case "weekend": // nobody at first
			s.Layers[0].Hours = []string{"sat 01:00-24:00"}
		}
		roster, err := s.Roster()
		if err != nil {
			t.Fatal(err)
		}
		known.Rosters[name] = roster
	}
	turns("line", "", "00:00", 60*m)
	turns("berlin", "Europe/Berlin", "06:00", 24*60*m)
	turns("night", "Europe/Berlin", "02:30", 24*60*m)
	turns("solo", "", "00:00", 60*m)
	turns("weekend", "", "00:00", 60*m)
	return known
}

// script is a scenario: what happens when, and what must be so then.
type script struct {
	name  string
	begin andon.Time
	lines []line
}

// line is a line of a scenario, so long after its beginning.
type line struct {
	after time.Duration
	words []string
}

func (l line) expects() bool {
	does := []string{"at", "silent", "behind", "group", "resets", "severity"}
	return !slices.Contains(does, l.words[0])
}

// waits reports whether the scenario is about what takes its time on some stores: silence, or
// states that get other severities.
func (s *script) waits() bool {
	return slices.ContainsFunc(s.lines, func(l line) bool {
		return l.words[0] == "silent" || l.words[0] == "severity"
	})
}

// scripts reads the scenarios. A line says what happens: "at 5m d1 WARNING2", "at 9m d1 NORMAL from
// 3m" (it is late), "at 5m d1..d40 WARNING2" (forty of them), "at 9m withdraw d1 NORMAL from 3m",
// "at 9m acknowledge d1 by Liz", "at 2m shelve d1 by Liz for 10m", "at 3m take d1 by Bob refused",
// "at 4m escalation d1 withdrawn", "at 1h restart", "at 1h purge d1", "at 4m assign d1 to Bob", or
// to nobody; documents are changed as house.document has it. "silent after 10m" is a
// setting, and "behind g1 q1 q2" says which devices belong to a gateway, "group hall q1 q2" which
// are in a group, "resets for WARNING4" which state asks for a reset, "severity 0 WARNING1" which
// alone have another severity then.
//
// Or it says what must be so by then: who was told of what, and no more, "told 5m Liz d1, 15m Sara
// d1"; how often, "told 40 times"; what is in the log of the newest incident of a device, "log d1
// opened, policy started"; its status, "status d1 closed"; how many it has, "incidents d1 2"; who
// is its operator, "operator d1 Liz"; which are flapping, "flapping d1"; all that it has, newest
// first, each with its span, worst severity and entries: "history d1 3m-5m 48 2 late"; the severity
// of the newest, "shows d1 80".
func scripts(t *testing.T) (all []script) {
	t.Helper()
	text, err := os.ReadFile("testdata/scenarios")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		s := script{begin: andon.TimeOf(time.Date(2000, 1, 1, 0, 0, 5, 0, time.UTC))}
		last := time.Duration(0)
		for text := range strings.Lines(one) {
			words := strings.Fields(text)
			switch words[0] {
			case "#":
				s.name = strings.Join(words[1:], " ")
				continue
			case "begin":
				s.begin, err = andon.ParseTime(words[1])
			case "at":
				last, err = time.ParseDuration(words[1])
			}
			if err != nil {
				t.Fatalf("%s: %s: %v", s.name, text, err)
			}
			if words[0] != "begin" && len(words) > 2 || words[0] == "told" ||
				words[0] == "flapping" || words[0] == "history" {
				s.lines = append(s.lines, line{last, words})
			}
		}
		all = append(all, s)
	}
	if len(all) < 50 {
		t.Errorf("there are only %d scenarios", len(all))
	}
	return all
}

// play does what a line says, or checks it.
func (h *house) play(l line) {
	h.Helper()
	words := l.words
	rest := func(from int) string { return strings.Join(words[from:], " ") }
	want := func(got, want string) {
		h.Helper()
		if got != want {
			h.Errorf("%s after %s: it is\n%s\nwant\n%s", rest(0), l.after, got, want)
		}
	}
	switch words[0] {
	case "told":
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(words) == 3 && words[2] == "times" {
			want(fmt.Sprint(len(h.told)), words[1])
			return
		}
		want(strings.Join(h.told, ", "), rest(1))
	case "log":
		var log []string
		for _, s := range h.newest(words[1]).Steps {
			log = append(log, s.What)
		}
		want(strings.Join(log, ", "), rest(2))
	case "status":
		want(h.newest(words[1]).Status, words[2])
	case "incidents":
		want(fmt.Sprint(len(h.incidentsOf(words[1], 100))), words[2])
	case "history":
		want(h.history(words[1]), rest(2))
		h.agree(words[1])
	case "silent":
		h.change(client.TenantChange{SilentAfter: new(parsed(h.T, words[2]))})
	case "resets", "severity":
		set := andon.DefaultStates().Defs()
		for i := range set {
			switch is := slices.Contains(words[2:], string(set[i].Name)); {
			case words[0] == "resets":
				set[i].Reset = is
			case is:
				_, _ = fmt.Sscan(words[1], &set[i].Severity)
			}
		}
		h.change(client.TenantChange{States: set})
	case "shows":
		want(fmt.Sprint(h.incidentsOf(words[1], 1)[0].Severity), words[2])
	case "behind":
		is := andon.Profile{Parent: andon.DeviceID(words[1])}
		h.say(words[2:], is, andon.ProfileAll&^andon.ProfileGroup)
	case "group":
		h.say(words[2:], andon.Profile{Group: andon.Group(words[1])}, andon.ProfileGroup)
	case "flapping":
		q, names := client.IncidentQuery{Flapping: new(true)}, []string{"flapping"}
		for i, err := range h.at.Incidents(h.Context(), q) {
			if err != nil {
				h.Fatal(err)
			}
			names = append(names, string(i.Device))
		}
		want(strings.Join(names, " "), rest(0))
	case "operator":
		d, err := h.at.Device(h.Context(), andon.DeviceID(words[1]))
		if err != nil {
			h.Error(err)
		}
		want(string(d.Operator), words[2])
	case "at":
		h.happen(words[2:])
	default:
		h.Fatalf("what is %q?", rest(0))
	}
}

// say changes what is said of devices.
func (h *house) say(devices []string, is andon.Profile, fields andon.ProfileFields) {
	h.Helper()
	var all []andon.ProfileChange
	for _, device := range devices {
		all = append(all, andon.ProfileChange{Fields: fields, DeviceProfile: andon.DeviceProfile{
			Device: andon.DeviceID(device), Profile: is,
		}})
	}
	if _, err := h.at.PutProfiles(h.Context(), all); err != nil {
		h.Error(err)
	}
}

func (h *house) change(c client.TenantChange) {
	h.Helper()
	if _, err := h.at.PutTenant(h.Context(), h.tenant, c); err != nil {
		h.Error(err)
	}
}

// happen does "d1 WARNING2", "purge d1", "shelve d1 by Liz for 10m".
func (h *house) happen(words []string) {
	h.Helper()
	var err error
	switch first := words[0]; {
	case first == "restart":
		h.restart()
	case first == "purge":
		err = h.at.Purge(h.Context(), andon.DeviceID(words[1]))
	case first == "withdraw":
		_, err = h.at.Withdraw(h.Context(), andon.DeviceID(words[1]),
			h.start.Add(parsed(h.T, words[4])), andon.State(words[2]), client.Withdrawal{})
	case first == "escalation": // of a device, is withdrawn
		e := andon.Escalation{Device: andon.DeviceID(words[1])}
		_, _, err = h.at.Escalate(h.Context(), e)
	case first == "retire":
		_, err = h.at.Retire(h.Context(), andon.DeviceID(words[1]))
	case first == "assign":
		to := andon.PersonID(words[3])
		if to == "nobody" {
			to = ""
		}
		_, err = h.at.Assign(h.Context(), andon.DeviceID(words[1]), to)
	case first == "policy", first == "schedule":
		h.document(words)
	case len(words) > 3 && words[2] == "by":
		err = h.actOn(words)
		if words[len(words)-1] == "refused" {
			var e *client.Error
			if errors.As(err, &e) && e.Status == http.StatusConflict {
				return
			}
			err = fmt.Errorf("it is not refused: %w", err)
		}
	default:
		e := andon.Event{State: andon.State(words[1]), Time: h.now()}
		if len(words) > 3 { // from
			e.Time = h.start.Add(parsed(h.T, words[3]))
		}
		var events []andon.Event
		for _, e.Device = range devices(h.T, words[0]) {
			events = append(events, e)
		}
		_, err = h.at.AppendEvents(h.Context(), events)
	}
	if err != nil {
		h.Errorf("%v: %v", words, err)
	}
}

// document does "policy s deleted", "policy s for x", which has another prefix, "schedule line with
// Bob", who is on call for ever, and "schedule line override Bob", from now on for a year.
func (h *house) document(words []string) {
	h.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	known, name := *h.known, words[1]
	known.Policies = slices.Clone(known.Policies)
	known.Rosters = maps.Clone(known.Rosters)
	h.known = &known
	of := func(p people.Policy) bool { return p.Name == name }
	switch at := slices.IndexFunc(known.Policies, of); words[2] {
	case "deleted":
		known.Policies = slices.Delete(known.Policies, at, at+1)
		return
	case "for":
		known.Policies[at].Match.Prefix = words[3]
		return
	}
	s := *known.Rosters[name].Schedule
	if who := andon.PersonID(words[3]); words[2] == "with" {
		s.Layers = slices.Clone(s.Layers)
		s.Layers[0].People = []andon.PersonID{who}
	} else {
		s.Overrides = []people.Override{
			{Person: who, From: h.now(), To: h.now().Add(parsed(h.T, "8760h"))},
		}
	}
	roster, err := s.Roster()
	if err != nil {
		h.Fatal(err)
	}
	known.Rosters[name] = roster
}

// devices are those of "d1", or of "d1..d40".
func devices(t *testing.T, text string) (all []andon.DeviceID) {
	t.Helper()
	first, last, several := strings.Cut(text, "..")
	if !several {
		return []andon.DeviceID{andon.DeviceID(text)}
	}
	var from, to int
	if _, err := fmt.Sscanf(first[1:]+" "+last[1:], "%d %d", &from, &to); err != nil {
		t.Fatal(err)
	}
	for ; from <= to; from++ {
		all = append(all, andon.DeviceID(fmt.Sprint(first[:1], from)))
	}
	return all
}

func parsed(t *testing.T, text string) andon.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return andon.DurationOf(d)
}

// actOn does "shelve d1 by Liz for 10m".
func (h *house) actOn(words []string) error {
	h.Helper()
	a := client.IncidentAction{Do: words[0], By: andon.PersonID(words[3]), Note: "a note"}
	switch people.ActionKind(a.Do) {
	case people.ShelveIt:
		a.Reason, a.Note = "why", ""
	case people.Remove:
		a.Note = ""
	}
	for i := 4; i+1 < len(words); i += 2 {
		switch words[i] {
		case "for":
			a.For = parsed(h.T, words[i+1])
		case "to":
			a.To = andon.PersonID(words[i+1])
		}
	}
	if a.Do == string(people.Acknowledge) {
		a.For, a.ExpiresIn = 0, a.For
	}
	a.Once = words[len(words)-1] == "once"
	is, err := h.at.Act(h.Context(), h.newest(words[1]).ID, a)
	if now := h.newest(words[1]); err == nil && (is.Worst != now.Worst || is.Count != now.Count) {
		h.Errorf("%v: the answer is %+v, want %+v", words, is, now)
	}
	return err
}

// incidentsOf returns incidents of a device, newest first.
func (h *house) incidentsOf(device string, limit int) (all []client.Incident) {
	h.Helper()
	q := client.Query{Page: limit}
	for in, err := range h.at.DeviceIncidents(h.Context(), andon.DeviceID(device), q) {
		if err != nil {
			h.Fatal(err)
		}
		if all = append(all, in); len(all) == limit {
			break
		}
	}
	return all
}

// agree checks that the list of a device, those of the tenant, and the answers about single
// incidents say the same.
func (h *house) agree(device string) {
	h.Helper()
	var want []client.Incident
	for _, i := range h.incidentsOf(device, 1000) {
		i.Count = 0 // in lists at most 1,000
		want = append(want, i)
	}
	all := func(span client.Query) (all []client.Incident) {
		q := client.IncidentQuery{Query: span, Device: device}
		for i, err := range h.at.Incidents(h.Context(), q) {
			if err != nil {
				h.Fatal(err)
			}
			i.Count = 0
			all = append(all, i)
		}
		slices.SortStableFunc(all, func(a, b client.Incident) int {
			return cmp.Or(cmp.Compare(b.Since, a.Since), cmp.Compare(b.ID, a.ID))
		})
		return all
	}
	long := client.Query{From: h.start.Add(-parsed(h.T, "2400h")), Page: 2}
	if diff := gocmp.Diff(want, all(long)); diff != "" {
		h.Errorf("%s: the list of all differs: %s", device, diff)
	}
	open := slices.DeleteFunc(slices.Clone(want), func(i client.Incident) bool {
		return i.Ended != 0
	})
	if diff := gocmp.Diff(open, all(client.Query{}), cmpopts.EquateEmpty()); diff != "" {
		h.Errorf("%s: the list of those that are open differs: %s", device, diff)
	}
	for _, i := range want {
		for _, id := range append(i.Joined, i.ID) {
			is, err := h.at.Incident(h.Context(), id)
			if is.Steps, is.Count = nil, 0; err != nil || !gocmp.Equal(i, is) {
				h.Errorf("%s: %s is different: %s %v", device, id, gocmp.Diff(i, is), err)
			}
		}
	}
}

// newest returns the newest incident of a device.
func (h *house) newest(device string) client.Incident {
	h.Helper()
	all := h.incidentsOf(device, 1)
	if len(all) == 0 {
		h.Fatal("there is none of ", device)
	}
	in, err := h.at.Incident(h.Context(), all[0].ID)
	if err != nil {
		h.Fatal(err)
	}
	return in
}

// history is "3m-5m 48 2 late, 0-2m 32 1".
func (h *house) history(device string) string {
	h.Helper()
	minutes := func(t andon.Time) string {
		if t == 0 {
			return ""
		}
		text := t.Sub(h.start).Std().String()
		if whole, is := strings.CutSuffix(text, "m0s"); is {
			return whole + "m"
		}
		if text == "0s" {
			return "0"
		}
		return text
	}
	var texts []string
	for _, i := range h.incidentsOf(device, 9) {
		text := fmt.Sprintf("%s-%s %d %d", minutes(i.Since), minutes(i.Until), i.Worst, i.Count)
		if i.Late {
			text += " late"
		}
		if i.Kind != string(people.StateKind) {
			text = fmt.Sprint(i.Kind, " ", minutes(i.Since), "-", minutes(i.Until))
		}
		if i.Covers > 0 {
			text += fmt.Sprint(" covers ", i.Covers)
		}
		if len(i.Joined) > 0 {
			text += fmt.Sprint(" joined ", len(i.Joined))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
