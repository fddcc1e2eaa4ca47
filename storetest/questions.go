package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/seq"
	"github.com/andonhq/andon/storecheck"
)

type question struct {
	text string
	ask  func(context.Context, *subject) (any, error)
}

type asker struct {
	*rand.Rand
	tenant andon.TenantID
	on     *storecheck.Env // whose clock and times the questions go by
	all    []question
}

// questions returns all that can be asked of what a history may have left, in each tenant.
func questions(h history, on *storecheck.Env, r *rand.Rand) []question {
	var all []question
	for _, tenant := range h.tenants {
		a := &asker{Rand: r, tenant: tenant, on: on}
		a.tenantQuestions()
		a.deviceLists()
		a.nameLists()
		a.groupQuestions()
		for _, d := range h.devices {
			a.deviceQuestions(d)
		}
		for _, p := range people {
			a.entries("operator-log", string(p))
			a.entries("supervisor-log", string(p))
		}
		a.entries("events")
		a.list(slices.Concat([]string{"sent"}, a.span())...)
		a.list(slices.Concat([]string{"measured"}, a.span())...)
		for _, e := range h.entries[tenant] {
			a.entryQuestion(e)
		}
		a.readingQuestions(h.devices)
		a.recordQuestions(recordKind(h.seed))
		all = append(all, a.all...)
	}
	return all
}

func (a *asker) add(text string, ask func(context.Context, *subject) (any, error)) {
	a.all = append(a.all, question{short(a.tenant) + " " + text, ask})
}

// list asks for a list as a scenario names it, in pages of a few.
func (a *asker) list(words ...string) {
	limit := 1 + a.IntN(6)
	a.add(fmt.Sprintf("%q in pages of %d", words, limit),
		func(ctx context.Context, s *subject) (any, error) {
			return s.env.Ask(ctx, a.tenant, limit, words...)
		})
}

func (a *asker) tenantQuestions() {
	a.add("record", func(ctx context.Context, s *subject) (any, error) {
		t, err := s.store.Tenant(ctx, a.tenant)
		t.Version = 0 // only equality means something
		return t, err
	})
	a.add("is listed", func(ctx context.Context, s *subject) (any, error) {
		all, err := s.store.Tenants(ctx)
		byID := func(x, y andon.Tenant) int { return cmp.Compare(x.ID, y.ID) }
		here := func(t andon.Tenant) bool { return t.ID == a.tenant }
		return slices.IsSortedFunc(all, byID) && slices.ContainsFunc(all, here), err
	})
	silent := a.on.Now() - andon.Time(a.IntN(30))*andon.Time(minute)
	a.add(fmt.Sprintf("counts, silent before %s", silent), func(
		ctx context.Context, s *subject,
	) (any, error) {
		counts, err := s.store.Counts(ctx, a.tenant, silent)
		counts = andon.ByState(counts) // the numbers of groups are each process's own
		byState := func(x, y andon.StateCount) int { return cmp.Compare(x.State, y.State) }
		slices.SortFunc(counts, byState)
		return counts, err
	})
}

var filters = []string{
	"*", "NORMAL", "WARNING*", "WARNING1", "WARNING1*", "NORMAL,ODD", "NONE", "C*",
}

func pickFrom[T any](r *rand.Rand, items []T) T { return items[r.IntN(len(items))] }

func (a *asker) any(option string, values ...string) string {
	return option + "=" + pickFrom(a.Rand, values)
}

// deviceLists asks for the devices in every order, whole, and for some parts of them; for those
// that show nothing, and for those without an operator.
func (a *asker) deviceLists() {
	somebody := []string{"", "", ""}
	for _, p := range people {
		somebody = append(somebody, string(p))
	}
	for _, sort := range []string{"sort=", "sort=since", "sort=severity"} {
		a.list("*", sort)
		for range 3 {
			a.list(pickFrom(a.Rand, filters), sort,
				a.any("prefix", "", "", "d", "d#", "🏭", "x"),
				a.any("operator", somebody...), a.any("escalated", somebody...),
				a.any("silent", "", "", "true", "false"))
		}
	}
	for _, kind := range []string{"retired", "measuring", "assigned"} {
		a.list(kind)
		a.list(kind, a.any("prefix", "d", "d#", "🏭", "x"))
	}
	a.list(pickFrom(a.Rand, filters), "operator=-")
}

// nameLists asks for the names that have a device now, and for those that are missing: a person who
// has an entry or a device is listed. Others may be.
func (a *asker) nameLists() {
	for kind, what := range []string{"operators", "supervisors", "metrics"} {
		size := 1 + a.IntN(5)
		list := func(ctx context.Context, s *subject) ([]andon.NameCount, error) {
			q := andon.NameQuery{Of: andon.NameKind(kind), Limit: size}
			return seq.Collect(s.whole().Names(ctx, a.tenant, q))
		}
		a.add(fmt.Sprintf("%s in pages of %d", what, size),
			func(ctx context.Context, s *subject) (any, error) {
				if !s.store.Capabilities().CountNames {
					return nil, storecheck.NotAsked{Why: "it does not count them"}
				}
				all, err := list(ctx, s)
				none := func(n andon.NameCount) bool { return n.Devices == 0 }
				return slices.DeleteFunc(all, none), err
			})
		a.add(what+" that are missing", func(ctx context.Context, s *subject) (any, error) {
			all, err := list(ctx, s)
			if err != nil || andon.NameKind(kind) == andon.MetricNames {
				return nil, err
			}
			return a.missing(ctx, s, andon.NameKind(kind), all)
		})
	}
}

// missing returns the people who have an entry and are not listed.
func (a *asker) missing(
	ctx context.Context, s *subject, kind andon.NameKind, listed []andon.NameCount,
) (missing []andon.PersonID, err error) {
	read := s.store.OperatorEvents
	if kind == andon.SupervisorNames {
		read = s.store.SupervisorEvents
	}
	for _, p := range people {
		same := func(n andon.NameCount) bool { return n.Name == string(p) }
		for _, err := range read(ctx, a.tenant, p, andon.EventQuery{Limit: 1}) {
			if err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(listed, same) {
				missing = append(missing, p)
			}
		}
	}
	return missing, nil
}

// span draws a range around the last days, or none.
func (a *asker) span() []string {
	bound := func(option string) string {
		if a.IntN(2) == 0 {
			return option + "="
		}
		hours := andon.Time(a.IntN(1 + a.IntN(5*24)))
		return option + "=" + a.on.OffsetOf(a.on.Now()-hours*andon.Time(hour))
	}
	return []string{bound("from"), bound("to")}
}

// part draws which part of a list is asked for, and in which order.
func (a *asker) part() []string {
	return append(a.span(), a.any("state", filters...), a.any("order", "asc", "desc"))
}

// entries asks for a list of entries, whole and in part.
func (a *asker) entries(list ...string) {
	a.list(list...)
	a.list(slices.Concat(list, []string{"order=asc"})...)
	a.list(slices.Concat(list, a.part())...)
}

func (a *asker) deviceQuestions(d andon.DeviceID) {
	a.add(fmt.Sprintf("device %q", d), func(ctx context.Context, s *subject) (any, error) {
		return s.store.Device(ctx, a.tenant, d)
	})
	a.add(fmt.Sprintf("retirements of %q", d), func(ctx context.Context, s *subject) (any, error) {
		return s.store.Retirements(ctx, a.tenant, d)
	})
	a.entries("log", string(d))
	a.entries("escalated", string(d))
	a.list("assignments", string(d), a.any("order", "asc", "desc"))
	a.list(slices.Concat([]string{"intervals", string(d)}, a.part())...)
	a.list(slices.Concat([]string{"readings", string(d)}, a.span(), []string{
		a.any("order", "asc", "desc"), a.any("metrics", "", "a", "b,b#", "none"),
	})...)
}

func (a *asker) entryQuestion(e andon.Event) {
	text := fmt.Sprintf("entry %q %s %s", e.Device, e.Time, e.State)
	a.add(text, func(ctx context.Context, s *subject) (any, error) {
		return s.store.Entry(ctx, a.tenant, e.Device, e.Time, e.State)
	})
}

func (a *asker) readingQuestions(devices []andon.DeviceID) {
	latest := []string{"latest"}
	for _, d := range devices {
		latest = append(latest, string(d))
	}
	a.list(append(latest, a.span()[0])...)
	a.list(append([]string{"metric", "b"}, a.span()...)...)
}
