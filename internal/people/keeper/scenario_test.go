package keeper_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/store/memstore"
)

// documents are those of the scenarios. A scenario begins five seconds into the year 2000. What is
// done about a device depends on the first letter of its name.
func documents(t *testing.T) *people.Known {
	t.Helper()
	const m = andon.Duration(60_000_000)
	line := &people.Schedule{Name: "line", Layers: []people.Layer{{
		People: []andon.PersonID{"Ann", "Bob"}, From: "1999-12-31", Turn: 60 * m, HandOver: "00:00",
	}}}
	roster, err := line.Roster()
	if err != nil {
		t.Fatal(err)
	}
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
	return &people.Known{
		Policies: []people.Policy{
			policy("d", "person Liz", "operator", "supervisor Sara"), severe, again, expiring,
			policy("m", "", "person Liz", "supervisor Sara"),
			policy("s", "schedule line", "operator", "schedule line"),
			policy("t", "", "turn line"), quiet,
		},
		Schedules: map[string]*people.Schedule{"line": line},
		Rosters:   map[string]*people.Roster{"line": roster},
		Maintenance: []people.Maintenance{
			{Name: "oil", Prefix: "m", Start: begin.Add(10 * m), Length: 30 * m},
		},
	}
}

// TestScenarios plays the scenarios of testdata in virtual time. A line says what happens: "at 5m
// d1 WARNING2", "at 9m acknowledge d1 by Liz", "at 20m shelve d1 by Liz for 10m", "at 1h restart";
// or who is told of what until then, and no more, "told 5m Liz d1, 15m Sara d1"; or what is in the
// log of the newest incident of a device: "log d1 opened, policy started"; or that it has none,
// "none d1"; or all that it has, newest first, each with its span, worst severity and entries:
// "history d1 3m-5m 48 2 late". An entry may come later than its time: "at 9m d1 WARNING1 from 3m";
// or be withdrawn, "at 9m withdraw d1 NORMAL from 3m". "silent after 10m" is a setting, and
// "behind g1 q1 q2" says which devices belong to a gateway.
func TestScenarios(t *testing.T) {
	text, err := os.ReadFile("testdata/scenarios")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range strings.Split(string(text), "\n\n") {
		name, lines, _ := strings.Cut(strings.TrimSpace(one), "\n")
		t.Run(strings.TrimPrefix(name, "# "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &house{T: t, store: memstore.New(), known: documents(t)}
				h.silentAfter("2400h")
				h.incidents = records.NewIncidents(h.store, clock)
				stop := h.keep("a")
				settle(5 * time.Second)
				h.start = time.Now()
				for line := range strings.Lines(lines) {
					if strings.HasSuffix(line, "restart\n") {
						h.until(strings.Fields(line)[1])
						stop()
						stop = h.keep("b")
						continue
					}
					h.play(strings.Fields(line))
				}
				stop()
			})
		})
	}
}

// until lets time pass until so long after the beginning.
func (h *house) until(after string) {
	h.Helper()
	d, err := time.ParseDuration(after)
	if err != nil {
		h.Fatal(err)
	}
	settle(time.Until(h.start.Add(d)))
}

func (h *house) play(words []string) {
	h.Helper()
	rest := func(from int) string { return strings.Join(words[from:], " ") }
	switch {
	case words[0] == "told":
		if got := strings.Join(h.told, ", "); got != rest(1) {
			h.Errorf("told: %s\nwant: %s", got, rest(1))
		}
	case words[0] == "log":
		var log []string
		for _, s := range h.newest(andon.DeviceID(words[1])).Steps {
			log = append(log, s.What)
		}
		if got := strings.Join(log, ", "); got != rest(2) {
			h.Errorf("log of %s: %s\nwant: %s", words[1], got, rest(2))
		}
	case words[0] == "operator":
		d, err := h.store.Device(h.Context(), "default", andon.DeviceID(words[1]))
		if err != nil || string(d.Operator) != words[2] {
			h.Errorf("%s is the operator of %s, %v; want %s", d.Operator, d.ID, err, words[2])
		}
	case words[0] == "at" && len(words) == 2:
		h.until(words[1])
	case words[0] == "none":
		all, err := h.incidents.OfDevice(h.Context(), "default", andon.DeviceID(words[1]),
			andon.Span{}, 1)
		if err != nil || len(all) != 0 {
			h.Errorf("%s has the incidents %v, %v", words[1], all, err)
		}
	case words[0] == "history":
		if got := h.history(andon.DeviceID(words[1])); got != rest(2) {
			h.Errorf("history of %s: %s\nwant: %s", words[1], got, rest(2))
		}
	case words[0] == "silent":
		h.silentAfter(words[2])
	case words[0] == "behind":
		h.parents = map[andon.DeviceID]andon.DeviceID{}
		for _, device := range words[2:] {
			h.parents[andon.DeviceID(device)] = andon.DeviceID(words[1])
		}
	case len(words) > 4 && words[len(words)-2] == "from":
		h.late(words)
	case len(words) == 4 && words[2] == "purge":
		h.until(words[1])
		if err := h.store.Purge(h.Context(), "default", andon.DeviceID(words[3])); err != nil {
			h.Error(err)
		}
	case len(words) == 4 && words[2] == "retire":
		h.until(words[1])
		if _, err := h.store.Retire(h.Context(), "default",
			andon.DeviceID(words[3]), clock()); err != nil {
			h.Error(err)
		}
	case len(words) == 4:
		h.until(words[1])
		e := andon.Event{
			Device: andon.DeviceID(words[2]), Time: clock(), State: andon.State(words[3]),
		}
		if err := h.store.Append(h.Context(), "default", clock(), []andon.Event{e}); err != nil {
			h.Error(err)
		}
	default:
		h.until(words[1])
		h.actOn(words)
	}
}

// actOn does "at 5m shelve d1 by Liz for 10m".
func (h *house) actOn(words []string) {
	h.Helper()
	a := people.Action{
		Do: people.ActionKind(words[2]), By: andon.PersonID(words[5]), Note: "a note",
		Reason: "why",
	}
	if len(words) > 7 {
		d, err := time.ParseDuration(words[7])
		if err != nil {
			h.Fatal(err)
		}
		if a.For = andon.DurationOf(d); a.Do == people.Acknowledge {
			a.For, a.ExpiresIn = 0, a.For
		}
	}
	a.Once = len(words) == 7
	if _, err := h.incidents.Act(h.Context(), "default",
		h.newest(andon.DeviceID(words[3])).ID, a); err != nil {
		h.Error(err)
	}
}

// newest returns the newest incident of a device.
func (h *house) newest(device andon.DeviceID) *people.Incident {
	h.Helper()
	all, err := h.incidents.OfDevice(h.Context(), "default", device, andon.Span{}, 1)
	if err != nil || len(all) == 0 {
		h.Fatal(fmt.Sprint("there is none of ", device), err)
	}
	return &all[0]
}

// silentAfter sets how long devices may send nothing.
func (h *house) silentAfter(text string) {
	h.Helper()
	after, err := time.ParseDuration(text)
	if err != nil {
		h.Fatal(err)
	}
	tenant, err := h.store.Tenant(h.Context(), "default")
	if err == nil {
		tenant.SilentAfter = andon.DurationOf(after)
		_, err = h.store.PutTenant(h.Context(), tenant)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// late does "at 9m d1 WARNING1 from 3m" or "at 9m withdraw d1 NORMAL from 3m".
func (h *house) late(words []string) {
	h.Helper()
	h.until(words[1])
	n := len(words)
	d, err := time.ParseDuration(words[n-1])
	device, state := andon.DeviceID(words[n-4]), andon.State(words[n-3])
	at := andon.TimeOf(h.start.Add(d))
	if words[2] == "withdraw" && err == nil {
		_, _, err = h.store.Withdraw(h.Context(), "default", andon.Withdrawal{
			Device: device, Time: at, State: state, At: clock(),
		})
	} else if err == nil {
		err = h.store.Append(h.Context(), "default", clock(),
			[]andon.Event{{Device: device, Time: at, State: state}})
	}
	if err != nil {
		h.Error(err)
	}
}

func (h *house) history(device andon.DeviceID) string {
	h.Helper()
	all, err := h.incidents.OfDevice(h.Context(), "default", device, andon.Span{}, 9)
	if err != nil {
		h.Error(err)
	}
	minutes := func(t andon.Time) string {
		if t == 0 {
			return ""
		}
		return cmp.Or(strings.TrimSuffix(t.Std().Sub(h.start).String(), "0s"), "0")
	}
	var texts []string
	for _, i := range all {
		text := fmt.Sprintf("%s-%s %d %d", minutes(i.Since), minutes(i.Until), i.Worst, i.Count)
		if i.Late {
			text += " late"
		}
		if i.Kind != people.StateKind {
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
