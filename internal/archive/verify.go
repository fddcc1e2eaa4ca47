package archive

import (
	"context"
	"errors"
	"strings"

	"github.com/andonhq/andon"
)

// Contents is what was found in an archive.
type Contents struct {
	Days  int   `json:"days"`
	Files int   `json:"files"`
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
}

// Verify reads all files of the days that it selects, and reports what is not as the manifests say.
func (a *Archive) Verify(
	ctx context.Context, s Selection, report func(place, what string),
) (all Contents, err error) {
	days, names, err := a.days(ctx, s)
	for i, d := range days {
		a.Progress(i, len(days))
		f, err := a.look(ctx, d)
		if err != nil {
			report(f.name(manifestName), advised(err))
			continue
		}
		all.Days++
		for _, want := range f.is.Files {
			is, err := f.sum(ctx, want.Name)
			if err == nil && is != want {
				err = andon.Errorf(andon.Damaged,
					"it has %d rows in %d bytes with the sum %s, and the manifest "+
						"says %d rows in %d bytes with the sum %s",
					is.Rows, is.Bytes, is.SHA256, want.Rows, want.Bytes, want.SHA256)
			}
			if err != nil {
				report(f.name(want.Name), advised(err))
			}
			all.Files, all.Rows, all.Bytes = all.Files+1, all.Rows+is.Rows, all.Bytes+is.Bytes
		}
		for _, name := range names[d] {
			pending := f.is.Pending != nil && f.is.Pending.Name == name
			if strings.HasSuffix(name, ".parquet") && (pending || !f.names(name)) {
				report(f.name(name), "the manifest does not count it: run the archive again, "+
					"which ends what was interrupted, and remove any other file")
			}
		}
	}
	return all, errors.Join(err, ctx.Err())
}

// advised says what to do about a file that is damaged or missing.
func advised(err error) string {
	if k := andon.KindOf(err); k != andon.Damaged && k != andon.NotFound {
		return err.Error()
	}
	return err.Error() + ": get it from a copy of the archive"
}

// Read has take all that days have, as it can be imported again: an *andon.Event, or an
// *andon.Reading of each metric, which join again.
func (a *Archive) Read(ctx context.Context, s Selection, take func(any) error) error {
	days, _, err := a.days(ctx, s)
	for _, d := range days {
		switch {
		case err != nil:
		case d.kind == Events:
			err = readDay(ctx, a, events(), d, take)
		default:
			err = readDay(ctx, a, readings(), d, take)
		}
	}
	return err
}

func readDay[T any](
	ctx context.Context, a *Archive, t *table[T], d day, take func(any) error,
) error {
	f, err := a.look(ctx, d)
	if err != nil {
		return err
	}
	for row, err := range archived[T](ctx, f) {
		if err == nil {
			err = take(t.value(&row))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
