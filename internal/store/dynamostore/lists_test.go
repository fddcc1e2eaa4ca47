package dynamostore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/andonhq/andon"
)

// lists is a store whose indexes lag, and what is done to it at random.
type lists struct {
	*testing.T
	*rand.Rand
	s *Store
	m *mirror
	n int // of messages
	// now is the minute of the newest entry: most entries are new, and some are sent again.
	now int
}

// TestSerialRandomLists: an entry that a list finds is shown as it is stored, however far the
// indexes lag. Once they have followed, the lists have all that the logs have.
func TestSerialRandomLists(t *testing.T) {
	for _, shards := range []string{"1", "2"} {
		t.Run(shards, func(t *testing.T) {
			m, o := lagging(t, func(o *Options) { o.Shards = shards })
			seed := rand.Uint64()
			l := &lists{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), s: open(t, o), m: m}
			for step := range 150 {
				l.change()
				caught := l.IntN(5) == 0
				if caught {
					if err := m.catchUp(); err != nil {
						t.Fatal(err)
					}
				}
				if step%2 == 0 || caught {
					l.check(caught)
				}
				if t.Failed() {
					t.Fatalf("seed %d, step %d", seed, step)
				}
			}
		})
	}
}

func (l *lists) person() andon.PersonID { return andon.PersonID(fmt.Sprint("p", l.IntN(3))) }

// entry returns the entry of a minute.
func (l *lists) entry(at int) (andon.DeviceID, andon.EntryRef) {
	return andon.DeviceID(fmt.Sprint("d", at/2%2)), andon.EntryRef{
		Time: minute(at), State: []andon.State{"NORMAL", "WARNING1"}[at%2],
	}
}

// change does something, which may find nothing.
func (l *lists) change() {
	ctx, id, what, at := l.Context(), andon.DefaultTenant, l.IntN(16), max(l.now-l.IntN(4), 0)
	if what > 10 {
		l.now++
		at = l.now
	}
	device, ref := l.entry(at)
	var err error
	switch l.n++; what {
	case 0:
		if l.IntN(3) == 0 {
			err = l.s.Purge(ctx, id, device)
		}
	case 1:
		_, _, err = l.s.Withdraw(ctx, id, andon.Withdrawal{
			Device: device, Time: ref.Time, State: ref.State, At: minute(200),
		})
	case 2, 3, 4, 5, 6, 7:
		to := []andon.PersonID{"", l.person(), l.person()}[l.IntN(3)]
		_, _, err = l.s.Escalate(ctx, id, andon.Escalation{
			Device: device, Time: ref.Time, State: ref.State, At: minute(200 + l.n), To: to,
		})
	case 8:
		_, err = l.s.Assign(ctx, id, minute(l.now), []andon.Assignment{
			{Device: device, Operator: l.person()},
		})
	default:
		e := andon.Event{Device: device, Time: ref.Time, State: ref.State,
			Message: fmt.Sprint("m", l.n)}
		if l.IntN(3) > 0 {
			e.Operator = l.person()
		}
		if l.IntN(6) == 0 {
			e.EscalatedTo = l.person()
		}
		err = l.s.Append(ctx, id, realClock(), []andon.Event{e})
	}
	if err != nil && andon.KindOf(err) != andon.NotFound {
		l.Error(err)
	}
}

// check holds the lists of people against the logs of devices.
func (l *lists) check(all bool) {
	ctx, id, q := l.Context(), andon.DefaultTenant, andon.EventQuery{Limit: 1000}
	theirs := map[string][]andon.Event{}
	for n := range 2 {
		device := andon.DeviceID(fmt.Sprint("d", n))
		for _, e := range listOf(l.T, l.s.DeviceEvents(ctx, id, device, q)) {
			by, to := "by "+string(e.Operator), "to "+string(e.EscalatedTo)
			theirs[by], theirs[to] = append(theirs[by], e), append(theirs[to], e)
		}
	}
	for n := range 3 {
		person := andon.PersonID(fmt.Sprint("p", n))
		for list, got := range map[string][]andon.Event{
			"by " + string(person): listOf(l.T, l.s.OperatorEvents(ctx, id, person, q)),
			"to " + string(person): listOf(l.T, l.s.SupervisorEvents(ctx, id, person, q)),
		} {
			want := theirs[list]
			if !all { // what is new may be missing
				want = slices.DeleteFunc(slices.Clone(want), func(e andon.Event) bool {
					return !slices.Contains(got, e)
				})
			}
			inOrder := func(a, b andon.Event) bool {
				return a.Key(andon.DefaultStates()).Compare(b.Key(andon.DefaultStates())) < 0
			}
			sorted := cmpopts.SortSlices(inOrder)
			if diff := cmp.Diff(want, got, sorted, cmpopts.EquateEmpty()); diff != "" {
				l.Errorf("%s (-want +got):\n%s", list, diff)
			}
		}
	}
}
