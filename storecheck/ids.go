package storecheck

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/andonhq/andon"
)

// idChecks: every identifier that is allowed is kept as it is.
func idChecks() []Check {
	return []Check{
		check("limits", "identifiers of every form are kept apart", strangeIDs).ofServers(),
	}
}

// StrangeIDs are identifiers that a store's keys may trip over: separators of key formats, prefixes
// of each other, the longest, bytes that sort high, and what a path or a pattern would be read as.
func StrangeIDs() []string {
	return []string{
		"a", "a!", "a#b", "a/b", "a b", "ab", "a\u00a0", "A",
		"#", "##", "/", "//", "%", "%2F", "%00", " ", "  ", "-", "_", "~", "\\", "\"", "'", "`",
		"...", "*", "?", "[a]", "{}", "$", "@", ":", ";", ",", "|", "=", "0", "-1", "null",
		"shard#00", "d#shard01", "é", "e\u0301", "ÿ", "߿", "\u0fff", "\ue000", "\uffff",
		"\U0010ffff",
		"🏭", "🏭🔧", "日本", "\u200b", "\u202e", "ß", "SS", "İ",
		strings.Repeat("x", andon.MaxIDBytes), strings.Repeat("x", andon.MaxIDBytes-1),
		strings.Repeat("x", andon.MaxIDBytes-1) + "y", strings.Repeat("🏭", andon.MaxIDBytes/4),
	}
}

// strangeIDs uses each as device, person and metric at once, so that one that is mangled or mixed
// up with another is seen in every table.
func strangeIDs(ctx context.Context, e *Env, id andon.TenantID) error {
	ids := StrangeIDs()
	slices.Sort(ids)
	for i, text := range ids {
		if err := e.appendStrange(ctx, id, i, text); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	if err := e.wantList(ctx, id, devicesIn(andon.StateFilter{}, options{}), ids); err != nil {
		return err
	}
	for i, text := range ids {
		err := e.Eventually(ctx, func() error { return e.checkStrange(ctx, id, i, text) })
		if err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	return e.checkPrefixes(ctx, id, ids)
}

// appendStrange appends an entry and a reading that no other identifier has.
func (e *Env) appendStrange(ctx context.Context, id andon.TenantID, i int, text string) error {
	at := e.Base + andon.Time(i)
	err := e.append(ctx, id, andon.Event{
		Device: andon.DeviceID(text), Time: at, State: strangeState(text),
		Operator: andon.PersonID(text), EscalatedTo: andon.PersonID(text), Message: text,
	})
	if err != nil {
		return err
	}
	return e.System.AppendReadings(ctx, id, at, []andon.Reading{{
		Device: andon.DeviceID(text), Time: at, Metrics: strangeMetric(i, text),
	}})
}

// strangeState is a state made of an identifier that may be longer than a state or hold
// what a state can't.
func strangeState(text string) andon.State {
	if s := andon.State(text); s.Validate() == nil {
		return s
	}
	return "STRANGE"
}

// checkStrange looks at what has that identifier in every table.
func (e *Env) checkStrange(ctx context.Context, id andon.TenantID, i int, text string) error {
	at, state := e.Base+andon.Time(i), strangeState(text)
	d, err := e.System.Device(ctx, id, andon.DeviceID(text))
	if err != nil {
		return err
	}
	if d.ID != andon.DeviceID(text) || d.State != state || d.Message != text {
		return fmt.Errorf("the device is %+v", d)
	}
	if _, err := e.System.Entry(ctx, id, d.ID, at, state); err != nil {
		return err
	}
	entry := e.entryText(andon.Event{Time: at, State: state})
	reading := e.readingText(andon.Reading{Time: at, Metrics: strangeMetric(i, text)})
	for what, of := range map[string]struct {
		list lister
		want string
	}{
		"log":            {logOf(text, options{}), entry},
		"operator log":   {operatorLog(text, options{}), text + "/" + entry},
		"supervisor log": {supervisorLog(text, options{}), text + "/" + entry},
		"newest reading": {latestOf([]andon.DeviceID{d.ID}, 0), text + "/" + reading},
	} {
		turn := e.turn(ctx, id)
		turn.whole = what == "supervisor log" // its cursor is that of the operator log
		got, err := of.list(turn)
		if err != nil || !slices.Equal(got, []string{of.want}) {
			return fmt.Errorf("the %s is %s, %w", what, show(got), err)
		}
	}
	return nil
}

func strangeMetric(i int, text string) andon.Metrics {
	return andon.Metrics{{Name: andon.MetricName(text), Value: float64(i)}}
}

// checkPrefixes lists what begins with each. That of one alone has no second page, and in the list
// of all of them each was the end of one.
func (e *Env) checkPrefixes(ctx context.Context, id andon.TenantID, ids []string) error {
	for _, prefix := range ids {
		want := slices.DeleteFunc(slices.Clone(ids), func(text string) bool {
			return !strings.HasPrefix(text, prefix)
		})
		all := devicesIn(andon.StateFilter{}, options{prefix: prefix})
		list := func(t turn) ([]string, error) {
			t.whole = len(want) == 1
			return all(t)
		}
		if err := e.wantList(ctx, id, list, want); err != nil {
			return fmt.Errorf("prefix %q: %w", prefix, err)
		}
	}
	return nil
}
