// Package runner evaluates rules on readings as they arrive, and has said what the rules say. It
// looks for metrics that are absent when that is due.
//
// How the rules of a device stand is a record, which is written when that changes and not with each
// reading. What is to be said is in it until it was said, so a process that is killed says it after
// its restart, or another one does. Of two processes that evaluate readings of one device, one
// writes the record, and the other one evaluates again by what it finds there.
package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/outage"
	"github.com/andonhq/andon/internal/parallel"
	"github.com/andonhq/andon/internal/people"
	"github.com/andonhq/andon/internal/people/records"
	"github.com/andonhq/andon/internal/rules"
)

// Runner evaluates the rules of all tenants. All methods may be called concurrently.
type Runner struct {
	Store     andon.Store
	Documents *records.Documents
	// Group returns what says which group a device of a tenant is in.
	Group func(
		context.Context, andon.TenantID,
	) (func(andon.DeviceID) andon.Group, error)
	// Append admits entries as those of devices are, and keeps them.
	Append func(context.Context, andon.TenantID, []andon.Event) ([]andon.Rejection, error)
	// Absent takes in whether a metric is absent; nil: nobody wants to know.
	Absent func(context.Context, andon.TenantID, Absence) error
	Now    func() andon.Time
	Log    *slog.Logger

	Entries  atomic.Int64 // said
	Errors   atomic.Int64 // of rules
	Disabled atomic.Int64 // rules
	Failures outage.Log   // of what is looked for when it is due

	sets sync.Map // *set by andon.TenantID
}

// New makes a Runner. Its exported fields are set before anything else.
func New(now func() andon.Time, log *slog.Logger) *Runner {
	return &Runner{Now: now, Log: log, Failures: outage.Log{
		Logger: log, Begins: "rules can't be looked after: it is tried again and again",
		Ends: "rules are looked after again",
	}}
}

// Absence is whether a metric of a device is absent, by a rule.
type Absence struct {
	Device  andon.DeviceID
	Rule    string
	Is      bool
	At      andon.Time // since when, or until when
	State   andon.State
	Message string
	Why     string // it ends, where no reading ends it
}

const (
	maxFailures = 10 // in a row, until a rule is disabled
	devices     = 64 // at once
)

// set is the rules of a tenant that are evaluated.
type set struct {
	tenant andon.TenantID
	known  *people.Known
	rules  []*rule
	group  func(andon.DeviceID) andon.Group
}

// rule is a rule with its failures in a row: evaluations that failed, entries that were refused.
type rule struct {
	*rules.Program
	begun              andon.Time // when it was made or switched on last
	failures, refusals atomic.Int64
}

// Measured evaluates readings of a tenant that were stored. An error says that some may not have
// been evaluated: storing them again has them evaluated again.
func (r *Runner) Measured(
	ctx context.Context, tenant andon.TenantID, sent []andon.Reading,
) error {
	s, err := r.set(ctx, tenant)
	if err != nil || s == nil || len(s.rules) == 0 {
		return err
	}
	by := map[andon.DeviceID][]andon.Reading{}
	for i := range sent {
		by[sent[i].Device] = append(by[sent[i].Device], sent[i])
	}
	var ids []andon.DeviceID
	for id := range by {
		if s.concerns(id) {
			ids = append(ids, id)
		}
	}
	return parallel.Do(ctx, len(ids), devices, func(ctx context.Context, i int) error {
		return r.work(s, ids[i]).measured(ctx, inOrder(by[ids[i]]))
	})
}

// inOrder returns readings by time. Those of one time are joined, as a store joins them.
func inOrder(all []andon.Reading) (ordered []andon.Reading) {
	slices.SortStableFunc(all, func(a, b andon.Reading) int { return int(a.Time - b.Time) })
	for _, one := range all {
		if n := len(ordered); n > 0 && ordered[n-1].Time == one.Time {
			ordered[n-1].Metrics = ordered[n-1].Metrics.Join(one.Metrics)
			continue
		}
		ordered = append(ordered, one)
	}
	return ordered
}

// set returns the rules of a tenant; nil where nothing is known of them.
func (r *Runner) set(ctx context.Context, tenant andon.TenantID) (*set, error) {
	if !r.Store.Capabilities().Whole {
		return nil, nil
	}
	known, err := r.Documents.Known(ctx, tenant)
	if err = andon.Ignore(err, andon.Damaged); known == nil { // readings are kept all the same
		return nil, err
	}
	if err != nil || len(known.Rules) == 0 {
		return &set{tenant: tenant}, err
	}
	is, _ := r.sets.Load(tenant)
	was, _ := is.(*set)
	if was == nil || was.known != known {
		was = r.compile(tenant, known, was)
		r.sets.Store(tenant, was)
	}
	s := *was
	s.group, err = r.Group(ctx, tenant)
	return &s, err
}

// compile makes the rules of a tenant. Those that are as they were keep their failures.
func (r *Runner) compile(tenant andon.TenantID, known *people.Known, was *set) *set {
	s := &set{tenant: tenant, known: known}
	for _, doc := range known.Rules {
		if doc.Disabled != "" {
			continue
		}
		if was != nil {
			i := slices.IndexFunc(was.rules, func(is *rule) bool {
				return reflect.DeepEqual(is.Rule, doc) && is.begun == known.Begun[doc.Name]
			})
			if i >= 0 {
				s.rules = append(s.rules, was.rules[i])
				continue
			}
		}
		p, err := doc.Program()
		if err != nil { // an older version has admitted it
			r.Log.Error("a rule can't be evaluated", "tenant", tenant, "rule", doc.Name, "error",
				err)
			continue
		}
		s.rules = append(s.rules, &rule{Program: p, begun: known.Begun[doc.Name]})
	}
	return s
}

// fitting returns the rules that fit a device, by name.
func (s *set) fitting(device andon.DeviceID) (fit []*rule) {
	for _, one := range s.rules {
		if one.Match.Fits(device, s.group) {
			fit = append(fit, one)
		}
	}
	return fit
}

// concerns reports whether a rule fits a device, or would fit it in another group: it may have been
// there.
func (s *set) concerns(device andon.DeviceID) bool {
	return slices.ContainsFunc(s.rules, func(p *rule) bool {
		anywhere := p.Match
		anywhere.Group = ""
		return anywhere.Fits(device, s.group)
	})
}

// count takes note of how the evaluation of a rule went.
func (r *Runner) count(
	ctx context.Context, tenant andon.TenantID, of *rule, run *rules.Run,
) {
	n := int64(run.Failures)
	switch {
	case run.Worked && of.failures.Load() != n:
		of.failures.Store(n)
	case !run.Worked && n > 0:
		n = of.failures.Add(n)
	}
	if run.Failures > 0 {
		r.failed(ctx, tenant, of, n, run.Err)
	}
}

// failed takes note of a failure, and disables a rule after too many in a row.
func (r *Runner) failed(
	ctx context.Context, tenant andon.TenantID, of *rule, failures int64, why error,
) {
	if r.Errors.Add(1); failures < maxFailures {
		return
	}
	// Whoever sent the reading has not asked for it, and may leave.
	own, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.disable(own, tenant, of, why); err != nil {
		r.Log.Error("a rule can't be disabled", "tenant", tenant, "rule", of.Name, "error", err)
	}
}

// disable writes into the document of a rule why it is not evaluated any more.
func (r *Runner) disable(
	ctx context.Context, tenant andon.TenantID, of *rule, why error,
) error {
	d, err := r.Documents.Get(ctx, tenant, people.Rules, of.Name)
	var is rules.Rule
	if err == nil {
		err = json.Unmarshal([]byte(d.Data), &is)
	}
	if err != nil || d.Begun != of.begun || !reflect.DeepEqual(&is, of.Rule) { // changed since
		return andon.Ignore(err, andon.NotFound)
	}
	is.Disabled = fmt.Sprintf("by Andon at %s, after %d errors in a row, the last: %.500s",
		r.Now(), maxFailures, why)
	text, err := json.Marshal(is)
	if err != nil {
		return err
	}
	d.Data = andon.JSON(text)
	over := records.Versions{d.Version}
	if _, err = r.Documents.Put(ctx, tenant, people.Rules, d, over); err != nil {
		return andon.Ignore(err, andon.Conflict)
	}
	r.Disabled.Add(1)
	r.Log.Error("a rule is disabled", "tenant", tenant, "rule", of.Name, "why", is.Disabled)
	return nil
}

// Forget removes what is known of a device.
func (r *Runner) Forget(
	ctx context.Context, tenant andon.TenantID, device andon.DeviceID,
) error {
	if !r.Store.Capabilities().Whole {
		return nil
	}
	for {
		is, err := r.Store.Record(ctx, tenant, kind, string(device))
		if err == nil {
			err = r.Store.DeleteRecord(ctx, is)
		}
		if err = andon.Ignore(err, andon.NotFound); andon.KindOf(err) != andon.Conflict {
			return err
		}
	}
}

var errRefused = errors.New("the entry was refused")
