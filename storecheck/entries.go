package storecheck

import (
	"context"
	"fmt"

	"github.com/andonhq/andon"
)

// identityChecks: an entry is (tenant, device, time, state).
func identityChecks() []Check {
	return []Check{
		inScenario("2.1", "sent twice is one entry", `
			at 5m d1 WARNING1 op=Liz msg=hot
			at 5m d1 WARNING1 op=Liz msg=hot
			expect log d1: WARNING1@5m
			expect operator-log Liz: d1/WARNING1@5m
			expect counts: WARNING1=1
			expect *: d1
		`),
		inScenario("2.1", "sent again later it is still one entry", `
			at 5m d1 WARNING1 op=Liz
			at 6m d1 NORMAL op=Liz
			at 5m d1 WARNING1 op=Liz
			expect log d1: NORMAL@6m WARNING1@5m
			expect operator-log Liz: d1/NORMAL@6m d1/WARNING1@5m
			expect state d1 NORMAL
		`),
		inScenario("2.1", "two states at one instant are two entries", `
			at 5m d1 WARNING1
			at 5m d1 NORMAL
			expect log d1: WARNING1@5m NORMAL@5m
			expect log d1 order=asc: NORMAL@5m WARNING1@5m
		`),
		inScenario("2.1", "one state at two microseconds is two entries", `
			at 5m d1 NORMAL
			and 5m1us d1 NORMAL
			expect log d1: NORMAL@5m1us NORMAL@5m
			expect since d1 5m
		`),
		{"of two deliveries that differ one stands, whole", "2.1", oneDeliveryStands},
		inScenario("2.1", "no index keeps the delivery that fell", `
			at 5m d1 WARNING1 op=Liz msg=one
			at 5m d1 WARNING1 op=Tom msg=two
			at 5m d1 WARNING1 op=Tom msg=two
			expect counts: WARNING1=1
			expect entry d1 WARNING1@5m op=Tom msg=two
			expect operator-log Liz:
			expect operator-log Tom: d1/WARNING1@5m
		`),
	}
}

// oneDeliveryStands: which one is the store's choice, but never parts of both, and the current state
// shows the same one as the log.
func oneDeliveryStands(ctx context.Context, e *Env) error {
	id, err := e.Here(ctx)
	if err != nil {
		return err
	}
	first := andon.Event{
		Device: "d1", Time: e.Base, State: "WARNING1", Operator: "Liz",
		Message: "one", Attributes: `{"n":1}`,
	}
	second := first
	second.Operator, second.Message, second.Attributes = "Tom", "", `{"n":2}`
	for _, event := range []andon.Event{first, second} {
		if err := e.append(ctx, id, event); err != nil {
			return err
		}
	}
	return e.Eventually(ctx, func() error {
		entry, err := e.Store.Entry(ctx, id, "d1", e.Base, "WARNING1")
		if err != nil {
			return err
		}
		if entry.Event != first && entry.Event != second {
			return fmt.Errorf("the entry is neither delivery: %+v", entry.Event)
		}
		d, err := e.Store.Device(ctx, id, "d1")
		if err != nil {
			return err
		}
		if d.Message != entry.Message || d.Attributes != entry.Attributes ||
			d.Operator != entry.Operator {
			return fmt.Errorf("the device shows %+v, its entry is %+v", d, entry.Event)
		}
		return nil
	})
}

// orderChecks: (time, severity, name of state) is the order of a log, and newest first is by time
// across all states.
func orderChecks() []Check {
	return []Check{
		inScenario("2.2", "at one instant the severer state is newer, whichever comes first", `
			in any order
				at 5m d1 WARNING2
				at 5m d1 WARNING1
				at 5m d1 NORMAL
			end
			expect state d1 WARNING2
			expect log d1: WARNING2@5m WARNING1@5m NORMAL@5m
			expect log d1 order=asc: NORMAL@5m WARNING1@5m WARNING2@5m
			expect WARNING2: d1
			expect WARNING1:
			expect counts: WARNING2=1
			expect since d1 5m
			expect incident d1 5m
		`),
		inScenario("2.2", "a state outside the set stands between normal and warning", `
			in any order
				at 5m d1 ODD
				at 5m d1 NORMAL
				at 5m d1 WARNING1
			end
			expect log d1: WARNING1@5m ODD@5m NORMAL@5m
			expect severity d1 32
		`),
		inScenario("2.2", "states outside the set are ordered by name", `
			in any order
				at 5m d1 alpha
				at 5m d1 beta
				at 5m d1 Zeta
			end
			expect state d1 beta
			expect severity d1 16
			expect log d1: beta@5m alpha@5m Zeta@5m
		`),
		inScenario("2.2", "the tenant's own set gives the order", `
			states FINE=0 BAD=200 LIMP=100
			in any order
				at 5m d1 BAD
				at 5m d1 LIMP
				at 5m d1 FINE
				at 5m d1 WARNING4
			end
			expect log d1: BAD@5m LIMP@5m WARNING4@5m FINE@5m
			expect severity d1 200
		`),
		inScenario("2.2", "a set may grow, and states with entries keep their severity", `
			at 5m d1 WARNING1
			and 5m d1 ODD
			fails conflict: states NORMAL=0 WARNING1=64
			fails conflict: states NORMAL=0 ODD=20 WARNING1=32
			states NORMAL=0 ODD=16 WARNING1=32 NEW=90
			at 5m d1 NEW
			expect log d1: NEW@5m WARNING1@5m ODD@5m
			expect severity d1 90
		`),
		inScenario("2.5", "newest first is by time across all states", `
			at 1m d1 WARNING4
			and 2m d1 NORMAL
			and 3m d1 WARNING1
			and 4m d1 NORMAL
			and 5m d1 WARNING4
			expect log d1: WARNING4@5m NORMAL@4m WARNING1@3m NORMAL@2m WARNING4@1m
			expect log d1 state=WARNING*: WARNING4@5m WARNING1@3m WARNING4@1m
			expect log d1 state=NORMAL,WARNING1: NORMAL@4m WARNING1@3m NORMAL@2m
		`),
		inScenario("2.5", "also for operators and supervisors, across devices", `
			at 1m d2 WARNING2 op=Liz esc=Sara
			at 3m d1 NORMAL op=Liz esc=Sara
			at 2m d3 WARNING1 op=Liz esc=Sara
			at 2m d1 WARNING1 op=Liz esc=Sara
			expect operator-log Liz: d1/NORMAL@3m d3/WARNING1@2m d1/WARNING1@2m d2/WARNING2@1m
			expect operator-log Liz order=asc: d2/WARNING2@1m d1/WARNING1@2m d3/WARNING1@2m d1/NORMAL@3m
			expect supervisor-log Sara: d1/NORMAL@3m d3/WARNING1@2m d1/WARNING1@2m d2/WARNING2@1m
			expect supervisor-log Sara order=asc state=WARNING1: d1/WARNING1@2m d3/WARNING1@2m
		`),
		inScenario("2.5", "also across midnight, hours and a gap of weeks", `
			at 1h59m59s999ms999us d1 NORMAL op=Liz
			at 2h d1 WARNING1 op=Liz
			at -20d d1 WARNING2 op=Liz
			at 26h d1 NORMAL op=Liz
			at -1us d1 WARNING1 op=Liz
			expect log d1: NORMAL@1d2h WARNING1@2h NORMAL@1h59m59s999ms999us WARNING1@-1us WARNING2@-20d
			expect log d1 from=2h: NORMAL@1d2h WARNING1@2h
			expect log d1 to=2h order=asc: WARNING2@-20d WARNING1@-1us NORMAL@1h59m59s999ms999us WARNING1@2h
			expect operator-log Liz to=1h: d1/WARNING1@-1us d1/WARNING2@-20d
		`),
	}
}
