package archive

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/andonhq/andon"
)

// Selection selects days.
type Selection struct {
	Tenant andon.TenantID // "": all
	Kind   Kind           // "": both
	Span   andon.Span     // days that have a part of it
}

func (s *Selection) includes(d day) bool {
	return (s.Tenant == "" || s.Tenant == d.tenant) && (s.Kind == "" || s.Kind == d.kind) &&
		(s.Span.To == 0 || d.start() <= s.Span.To) && d.end() > s.Span.From
}

// Result is what a run did.
type Result struct {
	Days     int   `json:"days"` // that were compared with the store
	Rows     int64 `json:"rows"` // that were added
	Failed   int   `json:"failed"`
	Expiring int   `json:"expiring"` // of those that failed: something expires soon
	// Next is how long after this run the next one should be.
	Next andon.Duration `json:"-"`
}

// Run archives the days that are due, or, with a span, all of that, due or not: those that expire
// first before the others. A day that fails does not keep others from being archived, unless what
// they need can't be reached; the error is that of the first one.
func (a *Archive) Run(ctx context.Context, s Selection) (done Result, failed error) {
	if d, is := a.place.(directory); is {
		d.clear()
	}
	due, next, err := a.due(ctx, &s)
	if done.Next = next; err != nil {
		return done, err
	}
	for i, d := range due {
		a.Progress(i, len(due))
		err := failed
		if andon.KindOf(failed) != andon.Unavailable {
			err = a.archive(ctx, d, &done.Rows)
			if a.deleted(ctx, d, err) {
				continue
			}
		}
		switch {
		case ctx.Err() != nil:
			return done, context.Cause(ctx)
		case err == nil:
			done.Days++
			continue
		case failed == nil:
			failed = andon.Errorf(andon.KindOf(err), "archive %s: %w", d.day, err)
		}
		done.Failed++
		if d.isLast {
			done.Expiring++
		}
	}
	a.Progress(len(due), len(due))
	return done, failed
}

// deleted reports whether a day can't be archived because its tenant was deleted meanwhile.
func (a *Archive) deleted(ctx context.Context, d dueDay, err error) bool {
	if err == nil || andon.KindOf(err) != andon.NotFound {
		return false
	}
	_, err = a.Store.Tenant(ctx, d.tenant)
	return err != nil && andon.KindOf(err) == andon.NotFound
}

// archive archives a day, and adds how many rows it has added once they are kept.
func (a *Archive) archive(ctx context.Context, d dueDay, rows *int64) error {
	added := int64(0)
	began := a.Now()
	f, err := a.look(ctx, d.day)
	if err == nil {
		err = f.settle(ctx)
	}
	switch {
	case err != nil:
	case d.kind == Events:
		err = add(ctx, a.Store, events(), f, &d.of, &added)
	default:
		err = add(ctx, a.Store, readings(), f, &d.of, &added)
	}
	if err != nil {
		return err
	}
	f.is.Checked = began
	if err = f.save(ctx); err == nil {
		*rows += added
	}
	return err
}

// add adds what the store has of a day and the archive has not, as far as the store can be read.
func add[T any](
	ctx context.Context, s andon.Store, t *table[T], f *folder, of *andon.Tenant, added *int64,
) error {
	w := &adder[T]{folder: f}
	defer w.close()
	for row, err := range missing(ctx, s, t, f, of) {
		if err != nil {
			return errors.Join(err, w.end(ctx))
		}
		if err := w.add(ctx, &row); err != nil {
			return err
		}
		*added++
	}
	return w.end(ctx)
}

// missing returns what the store has of a day and the archive has not, each once. What both have is
// not compared: what was archived first stays.
func missing[T any](
	ctx context.Context, s andon.Store, t *table[T], f *folder, of *andon.Tenant,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		next, stop := iter.Pull2(archived[T](ctx, f))
		defer stop()
		is, wrong, more := next()
		var now moment
		known := map[string]bool{} // of now: in the archive, or yielded
		for row, err := range t.read(ctx, s, of, f.span()) {
			at, name := t.key(&row)
			if err == nil && at != now {
				clear(known)
				for now = at; more && wrong == nil; is, wrong, more = next() {
					was, name := t.key(&is)
					order := compareMoments(was, now)
					if order > 0 {
						break
					}
					known[name] = order == 0
				}
			}
			if err = errors.Join(err, wrong); err == nil && known[name] {
				continue
			}
			if known[name] = true; !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func compareMoments(a, b moment) int {
	return cmp.Or(strings.Compare(a.Device, b.Device), cmp.Compare(a.Time, b.Time))
}
