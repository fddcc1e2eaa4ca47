package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/store/adapter"
	"github.com/andonhq/andon/internal/store/wrap"
	"github.com/andonhq/andon/storecheck"
)

// examineStore checks the configured store and this machine. Where there is no store yet, it opens
// none: that would leave one at what may be a wrong path.
func (d *doctor) examineStore(ctx context.Context, c app.Config) error {
	d.report.Target = "the store " + c.Store + ", on this machine"
	isNew := false
	switch c.Place() {
	case adapter.Elsewhere:
		d.report.Target = "the store " + c.Store + ", and this machine"
	case adapter.Directory:
		d.report.Target = "the store in " + c.Data + ", on this machine"
		isNew = local.IsEmpty(c.Data)
	}
	if isNew {
		d.report.add(judge("store", "directory", "there is no store in "+c.Data+" yet",
			d.sourceOf("data"), problem{true, warning, "andon serve creates it. If you expected " +
				"one there, name its directory with --data, or the file of your configuration " +
				"with --config."}))
	} else if err := d.openAndCheck(ctx, c); err != nil {
		return err
	}
	d.examineMachine(c)
	return nil
}

// openAndCheck opens the store, runs the checks and closes it. That it can't be opened is a
// finding, unless the configuration is wrong.
func (d *doctor) openAndCheck(ctx context.Context, c app.Config) error {
	store, err := local.NewQuietApp(d.Program, c).OpenStore(ctx, "andon doctor")
	if err != nil && andon.KindOf(err) == andon.Invalid {
		return err
	}
	if err != nil {
		d.report.add(unopened(c, err))
		return nil
	}
	d.describe(ctx, store, c)
	d.runChecks(ctx, store, d.checksOf(c))
	if err := store.Close(); err != nil {
		advice := "What was acknowledged is kept. Check the disk."
		if andon.KindOf(err) == andon.Damaged {
			advice = "Restore the store from a backup, and check the disk."
		}
		d.report.fail("store", "closing", err.Error(), "", advice)
	}
	return nil
}

// serving matches the address of the server that has the directory open, in the error of the store.
var serving = regexp.MustCompile(`andon at (https?://[^\s,)]+)`)

func unopened(c app.Config, err error) finding {
	f := judge("store", "opening", err.Error(), "", problem{true, failed,
		"Without its store the server does not start either: fix that first."})
	switch andon.KindOf(err) {
	case andon.Damaged:
		f.Advice = "The server does not start either. docs/stores/" + c.Store + ".md says what " +
			"can be done about damage and what it costs; andon store repair looks at the logs."
	case andon.Conflict:
		url := "http://127.0.0.1:8080"
		if m := serving.FindStringSubmatch(err.Error()); m != nil {
			url = m[1]
		}
		f.Advice = "To check the server that has it open, while it runs: andon doctor --url " + url
	case andon.Full:
		f.Advice = "Make space on that disk, or lower " + c.Takes().Reserve.Key +
			" if it is small on purpose."
	}
	if errors.Is(err, fs.ErrPermission) {
		f.Advice = "Run this as the user that the server runs as: sudo -u andon andon doctor ..."
	}
	return f
}

func (d *doctor) describe(ctx context.Context, store andon.Store, c app.Config) {
	facts, err := wrap.Facts(ctx, store)
	for _, f := range facts {
		d.report.add(judge("store", f.Name, f.Value, f.Source,
			problem{f.Advice != "", warning, f.Advice}))
	}
	if err != nil {
		d.report.fail("store", "facts", err.Error(), "",
			"See docs/stores for what this store needs.")
	}
	if !store.Capabilities().Durable {
		d.report.add(judge("store", "durability", "everything is lost when the program ends",
			d.sourceOf("store"), problem{true, warning, "This store is for trials. --store " +
				c.Engines[0].Name() + " keeps what it acknowledges."}))
	}
	if takes := c.Takes(); takes.Cache.Key != "" {
		d.report.add(
			judge("store", "cache", draw.Bytes(uint64(takes.Cache.Bytes)),
				d.sourceOf(takes.Cache.Key)),
			judge("store", "memtable", draw.Bytes(uint64(takes.Newest.Bytes)),
				d.sourceOf(takes.Newest.Key)),
			judge("store", "reserve", draw.Bytes(uint64(takes.Reserve.Bytes)),
				d.sourceOf(takes.Reserve.Key)))
	}
}

// checksOf returns the checks to run: a few on a store that others may use at the same time, unless
// the user asked for all.
func (d *doctor) checksOf(c app.Config) []storecheck.Check {
	if c.Place() == adapter.Elsewhere && !d.full {
		return storecheck.Few()
	}
	return storecheck.Checks()
}

// runChecks runs checks of storecheck. Those that fail have a finding each.
func (d *doctor) runChecks(ctx context.Context, store andon.Store, checks []storecheck.Check) {
	if !store.Capabilities().Whole {
		d.report.add(judge("checks", "not asked", "all checks: "+oneTenant, checkSource))
		return
	}
	c := checking{
		doctor: d, skipped: map[string][]string{}, refused: map[andon.Kind][]storecheck.Result{},
	}
	bar := draw.NewBar(d.Stderr, "checks", int64(len(checks)), func(done, total int64) string {
		return fmt.Sprintf(" %d of %d", done, total)
	})
	err := storecheck.Run(ctx, store, checks, func(r storecheck.Result) {
		bar.Add(1)
		if ctx.Err() == nil {
			c.add(r)
		}
	})
	bar.End()
	c.reportRefused()
	if err == nil && ctx.Err() == nil { // else doctor.run says that it was interrupted
		c.reportPassed(len(checks))
	}
}

const (
	checkSource = "storecheck, in temporary tenants"
	oneTenant   = "this store has only the tenant default, so none can be made to try it in"
	checkAdvice = "This store does not do what Andon relies on; docs/semantics.md says what that " +
		"is.\nIf its engine is set up as docs/stores has it, please report it with this line."
)

type checking struct {
	*doctor
	passed, failed int
	skipped        map[string][]string                // checks, by the reason
	refused        map[andon.Kind][]storecheck.Result // by the kind of the error
}

func (c *checking) add(r storecheck.Result) {
	kind := andon.KindOf(r.Err)
	switch {
	case r.Err != nil && (kind == andon.Full || kind == andon.Unavailable):
		c.failed++
		c.refused[kind] = append(c.refused[kind], r)
	case r.Err != nil:
		c.failed++
		c.report.fail("checks", r.Check.String(), r.Err.Error(), checkSource, checkAdvice)
	case r.NotAsked != "":
		c.skipped[r.NotAsked] = append(c.skipped[r.NotAsked], r.Check.String())
	default:
		c.passed++
	}
}

// reportRefused reports once why checks could not be made: a store that is full or can't be reached
// refuses all of them.
func (c *checking) reportRefused() {
	for _, kind := range slices.Sorted(maps.Keys(c.refused)) {
		all := c.refused[kind]
		what, found := all[0].Check.String(), all[0].Err.Error()
		if refusal, ok := errors.AsType[*andon.Error](all[0].Err); ok && len(all) > 1 {
			what = "semantics"
			found = fmt.Sprintf("%d checks could not be made: %s", len(all), refusal)
		}
		advice := "See that the store can be reached, and check again."
		if kind == andon.Full {
			advice = "Make space for it, and check again."
		}
		c.report.fail("checks", what, found, checkSource, advice)
	}
}

// reportPassed says how many of the checks that were run passed.
func (c *checking) reportPassed(run int) {
	found := fmt.Sprintf("all %d checks passed", c.passed)
	if c.failed > 0 || len(c.skipped) > 0 {
		found = fmt.Sprintf("%d checks passed", c.passed)
	}
	if all := len(storecheck.Checks()); run < all {
		found = fmt.Sprintf("%d checks passed; --full runs all %d, which takes minutes and writes "+
			"as much", c.passed, all)
	}
	c.report.add(judge("checks", "semantics", found, checkSource))
	for _, why := range slices.Sorted(maps.Keys(c.skipped)) {
		checks := c.skipped[why]
		found := fmt.Sprintf("%s, because %s: %s",
			draw.Count(len(checks), "check"), why, strings.Join(checks, "; "))
		c.report.add(judge("checks", "not asked", found, checkSource))
	}
}
