package transfer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/seq"
)

// An archive is what the devices of a tenant have, as NDJSON: each line is an entry. Their order is
// that in which they must be taken back: the retirements before the entries that they may be in the
// middle of, the escalations after their entries.

const (
	archiveName    = "export"
	archiveVersion = 1
	archiveBegins  = `{"andon":"export"`
)

// archiveKinds are the kinds of entries that devices have, in their order.
var archiveKinds = []string{
	kindAssignments, kindRetired, kindEvents, kindEscalations, kindReadings,
}

func (r *exportRun) archive(ctx context.Context, w io.Writer) error {
	settings, err := r.Tenant(ctx, andon.TenantID(r.Target.Tenant))
	if err != nil {
		return err
	}
	r.lines = json.NewEncoder(w)
	r.lines.SetEscapeHTML(false)
	first := entry{Andon: archiveName, Version: archiveVersion, Tenant: settings.Tenant}
	r.counts[kindRules], r.counts[kindProfiles] = 0, 0 // the last line has all kinds
	err = errors.Join(r.lines.Encode(first), r.lines.Encode(entry{Settings: &settings}),
		r.profiles(ctx))
	for _, kind := range archiveKinds {
		r.counts[kind] += 0
		if err == nil {
			err = r.copyKind(ctx, kind, w)
		}
	}
	if err != nil {
		return err
	}
	return r.lines.Encode(entry{End: r.counts})
}

// profiles exports what people say of devices, and the rules of groups. Not every store has any.
func (r *exportRun) profiles(ctx context.Context) error {
	rules, err := r.GroupRules(ctx)
	if command.IsUnsupported(err) {
		return nil
	}
	if err == nil && len(rules) > 0 {
		r.counts[kindRules]++
		err = r.lines.Encode(entry{Rules: rules})
	}
	if err != nil {
		return err
	}
	for p, err := range r.Profiles(ctx) {
		if err == nil {
			all := andon.ProfileChange{DeviceProfile: p, Fields: andon.ProfileAll}
			err = r.lines.Encode(entry{Profile: &all})
		}
		if err != nil {
			return err
		}
		r.counts[kindProfiles]++
	}
	return nil
}

// leftOut is an error where devices show something of which no entry is kept any more.
func (r *exportRun) leftOut() error {
	if len(r.expired) == 0 {
		return nil
	}
	return fmt.Errorf("left out: what %s shows, because all entries have expired: %s\n"+
		"All else of tenant %s is in the export",
		draw.Count(len(r.expired), "device"), command.Few(r.expired, 10), r.Target.Tenant)
}

// retirements returns when a device was retired, oldest first.
func (r *exportRun) retirements(
	ctx context.Context, id andon.DeviceID, _ client.Query,
) iter.Seq2[andon.Retirement, error] {
	all := seq.List(func() ([]andon.Time, error) { return r.Retirements(ctx, id) })
	return seq.Map(all, func(at andon.Time) andon.Retirement {
		return andon.Retirement{Device: id, At: at}
	})
}

// archiveEntries reads the lines of an archive. A line that is not an entry ends the import: the
// lines after it may depend on it.
func archiveEntries(in *bufio.Reader) placedEntries {
	return func(yield func(placed, error) bool) {
		had := counts{}
		for n := 1; ; n++ {
			text, err := in.ReadBytes('\n')
			e := placed{Index: n - 1, Line: n}
			switch isBlank := len(bytes.TrimSpace(text)) == 0; {
			case !isBlank:
				if e.Value, err = archiveEntry(text); err != nil {
					err = andon.Errorf(andon.KindOf(err), "line %d: %w", n, err)
				}
			case errors.Is(err, io.EOF):
				err = errors.New("the export is cut off: its last line is missing, so it is not " +
					"all of what there was")
			}
			kind, _, _ := e.Value.about()
			had[kind]++
			for kind, want := range e.Value.End {
				if had[kind] != want {
					err = fmt.Errorf("the export is damaged: it has %d of the %d lines of %s",
						had[kind], want, kind)
					break
				}
			}
			if (kind != "" || err != nil) && !yield(e, err) || err != nil || e.Value.End != nil {
				return
			}
		}
	}
}

func archiveEntry(text []byte) (e entry, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return e, andon.Errorf(andon.Invalid, "it is not a line of an export: %w", err)
	}
	isFirst := e.Andon == archiveName && e.Version == archiveVersion
	if e.Profile != nil {
		e.Profile.Fields = andon.ProfileAll
	}
	if kind, _, _ := e.about(); kind == "" && !isFirst {
		return e, andon.Errorf(andon.Invalid,
			"it is not a line of an export of version %d, which this program knows", archiveVersion)
	}
	return e, nil
}
