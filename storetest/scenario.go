package storetest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/ingest"
	"github.com/andonhq/andon/internal/intake"
	"github.com/andonhq/andon/internal/store/memstore"
)

// speech is a history in the language of storecheck's scenarios.
type speech struct {
	base    andon.Time
	lines   []string
	tenant  string
	spoken  map[andon.TenantID]bool
	now     andon.Time
	arrived andon.Time             // the latest time of an entry that came without
	deleted map[andon.TenantID]int // how often each tenant was
}

// scenario returns the history as a check of storecheck, with what the reference shows at its end.
// What the language can't say is a comment.
func (h history) scenario(ctx context.Context) string {
	w := &world{now: beginning()}
	reference := newSubject(memstore.New(), func() andon.Time { return w.now })
	w.store, w.want = reference, reference
	if err := w.makeTenants(ctx, h.tenants); err != nil {
		return "# " + err.Error()
	}
	s := &speech{base: w.now - andon.Time(hour), spoken: map[andon.TenantID]bool{},
		deleted: map[andon.TenantID]int{}}
	s.add("check 2.4 history of seed %d", h.seed)
	s.add("now %s", s.offset(w.now))
	for _, st := range h.steps {
		w.now = w.now.Add(st.wait)
		if st.wait > 0 {
			s.add("now %s", s.offset(w.now))
		}
		s.now = w.now
		s.step(ctx, &st, reference)
	}
	devices := slices.Compact(slices.Sorted(slices.Values(h.devices)))
	for _, tenant := range h.tenants {
		if s.spoken[tenant] {
			s.expect(ctx, tenant, devices, reference.store)
		}
	}
	return strings.Join(s.lines, "\n  ") + "\n"
}

// step says one step, and does it.
func (s *speech) step(ctx context.Context, st *step, on *subject) {
	comment := "# " + strings.Join(strings.Fields(st.text), " ")
	if st.looks > 0 || st.beside != nil || st.say == nil {
		s.add("%s", comment)
	}
	if st.do == nil {
		return
	}
	answer, err := st.do(ctx, on)
	s.say(st.say, comment, answer, err)
	if st.beside != nil {
		answer, err := st.beside(ctx, on)
		s.say(st.sayBeside, comment, answer, err)
	}
}

// say says a request, or leaves a comment in place of one that has no words.
func (s *speech) say(say saying, comment string, answer any, err error) {
	if say == nil {
		return
	}
	before := len(s.lines)
	say(s, answer, err)
	for i, line := range s.lines[before:] {
		if strings.Contains(line, unsayable) {
			s.lines[before+i] = comment
		}
	}
}

func (s *speech) add(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// in goes on in a tenant. One that was deleted and made again is another one.
func (s *speech) in(tenant andon.TenantID) {
	name := fmt.Sprint(short(tenant), s.deleted[tenant])
	if s.tenant != name {
		s.add("tenant %s", name)
	}
	s.tenant = name
	s.spoken[tenant] = true
}

// do says a statement, and that it fails where it does.
func (s *speech) do(err error, format string, args ...any) {
	if err != nil {
		format = "fails " + strings.ReplaceAll(andon.KindOf(err).String(), " ", "-") + ": " + format
	}
	s.add(format, args...)
}

// offset is a time as a scenario writes it.
func (s *speech) offset(t andon.Time) string {
	if t == 0 {
		return "-"
	}
	if t < s.base {
		return "-" + s.base.Sub(t).String()
	}
	return t.Sub(s.base).String()
}

func (s *speech) entry(t andon.Time, state andon.State) string {
	return word(state) + "@" + s.offset(t)
}

// unsayable stands for a word that the language can't say; no name has it.
const unsayable = "\x00"

// word is a name as one word of a scenario.
func word[T ~string](name T) string {
	switch text := string(name); {
	case strings.ContainsAny(text, "'\n@"):
		return unsayable
	case text == "", strings.ContainsAny(text, " \t#"):
		return "'" + text + "'"
	default:
		return text
	}
}

// fields are those of name=value that have a value.
func fields(pairs ...string) (text string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			text += " " + pairs[i] + "=" + word(pairs[i+1])
		}
	}
	return text
}

func eventFields(e andon.Event) string {
	return fields("op", string(e.Operator), "esc", string(e.EscalatedTo),
		"msg", e.Message, "attr", string(e.Attributes))
}

// orDash is word, or a dash where there is none.
func orDash[T ~string](name T) string {
	if name == "" {
		return "-"
	}
	return word(name)
}

// refusedBy returns the indexes of the entries that admission refused.
func refusedBy(answer any) map[int]bool {
	refused := map[int]bool{}
	for _, r := range answer.(intake.Result).Rejected {
		refused[r.Index] = true
	}
	return refused
}

// events says an append, without what admission refused.
func (s *speech) events(tenant andon.TenantID, events []andon.Event, answer any, err error) {
	if err != nil {
		s.add(unsayable)
		return
	}
	s.in(tenant)
	refused := refusedBy(answer)
	verb := "at"
	for i, e := range events {
		if e.Time == 0 { // as admission gives it one
			e.Time = max(s.now, s.arrived+1)
			s.arrived = e.Time
		}
		if refused[i] {
			continue
		}
		s.add("%s %s %s %s%s", verb, s.offset(e.Time), word(e.Device), word(e.State), eventFields(e))
		if !strings.Contains(s.lines[len(s.lines)-1], unsayable) {
			verb = "and"
		}
	}
}

// history says what people did elsewhere.
func (s *speech) history(h andon.History) {
	for _, a := range h.Assignments {
		s.add("restore assign %s %s@%s", word(a.Device), orDash(a.Operator), s.offset(a.From))
	}
	for _, e := range h.Escalations {
		s.add("restore escalate %s %s %s@%s%s", word(e.Device), s.entry(e.Time, e.State),
			orDash(e.To), s.offset(e.At), fields("by", string(e.By)))
	}
	for _, r := range h.Retirements {
		s.add("restore retire %s@%s", word(r.Device), s.offset(r.At))
	}
}

// expect says what devices and people have.
func (s *speech) expect(
	ctx context.Context, tenant andon.TenantID, devices []andon.DeviceID, store andon.Store,
) {
	s.in(tenant)
	all := andon.EventQuery{Limit: 1000}
	log := func(what, who string, list iter.Seq2[andon.Event, error]) {
		var entries string
		for e, err := range list {
			if err != nil {
				return
			}
			device := ""
			if what != "log" {
				device = word(e.Device) + "/"
			}
			entries += " " + device + s.entry(e.Time, e.State)
		}
		if what == "log" || entries != "" {
			s.shows("expect %s:%s", strings.TrimSpace(what+" "+who), entries)
		}
	}
	for _, d := range devices {
		if strings.ContainsAny(string(d), ":=") {
			continue // it would be taken for an option, or an end
		}
		s.device(ctx, tenant, d, store)
		log("log", word(d), store.DeviceEvents(ctx, tenant, d, all))
	}
	log("events", "", store.TenantEvents(ctx, tenant, all))
	for _, p := range people {
		log("operator-log", word(p), store.OperatorEvents(ctx, tenant, p, all))
		log("supervisor-log", word(p), store.SupervisorEvents(ctx, tenant, p, all))
	}
}

// shows adds what is expected, unless it can't be said.
func (s *speech) shows(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); !strings.Contains(line, unsayable) {
		s.lines = append(s.lines, line)
	}
}

// device says what one device shows, and who was assigned to it.
func (s *speech) device(
	ctx context.Context, tenant andon.TenantID, id andon.DeviceID, store andon.Store,
) {
	name := word(id)
	if d, err := store.Device(ctx, tenant, id); err != nil {
		s.shows("expect gone %s", name)
	} else {
		s.shows("expect state %s %s", name, orDash(d.State))
		s.shows("expect since %s %s", name, s.offset(d.Since))
		s.shows("expect operator %s %s", name, orDash(d.Operator))
		s.shows("expect escalated %s %s", name, orDash(d.EscalatedTo))
	}
	var list string
	newest := andon.PageQuery{Order: andon.Desc, Limit: 1000}
	for a, err := range store.Assignments(ctx, tenant, id, newest) {
		if err != nil {
			return
		}
		list += " " + orDash(a.Operator) + "@" + s.offset(a.From) + ".."
		if a.To != 0 {
			list += s.offset(a.To)
		}
	}
	s.shows("expect assignments %s:%s", name, list)
}

// saySetting says a statement that is the same whatever the answer is.
func saySetting(tenant andon.TenantID, statement string) saying {
	return func(s *speech, _ any, err error) {
		s.in(tenant)
		s.do(err, "%s", statement)
	}
}

func stateWords(defs []andon.StateDef) (text string) {
	for _, d := range defs {
		text += fmt.Sprintf(" %s=%d", word(d.Name), d.Severity)
	}
	return text
}

// readings says messages with readings, without what admission refused.
func (s *speech) readings(
	tenant andon.TenantID, items []ingest.Item[andon.Reading], answer any, err error,
) {
	if err != nil {
		s.add(unsayable)
		return
	}
	s.in(tenant)
	refused := refusedBy(answer)
	for _, item := range items {
		r := item.Value
		if refused[item.Index] {
			continue
		}
		var metrics string
		for _, m := range r.Metrics {
			metrics += fmt.Sprintf(" %s=%g", word(m.Name), m.Value)
		}
		s.add("measure %s %s%s%s", s.offset(r.Time), word(r.Device), metrics,
			fields("meta", string(r.Metadata)))
	}
}
