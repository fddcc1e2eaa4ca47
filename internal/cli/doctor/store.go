package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
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

// examineStore looks at the configured store and at this machine.
func (d *doctor) examineStore(ctx context.Context, c app.Config) error {
	c.Log.Level = "error" // what the store has to say of its daily work is not asked for
	d.report.Target = "the store " + c.Store + ", on this machine"
	switch c.Place() {
	case adapter.Elsewhere:
		d.report.Target = "the store " + c.Store + ", and this machine"
	case adapter.Directory:
		d.report.Target = "the store in " + c.Data + ", on this machine"
		remove, err := d.standIn(&c)
		if err != nil {
			d.report.add(unopened(c, err))
			return nil
		}
		defer remove()
	}
	if err := d.openAndCheck(ctx, c); err != nil {
		return err
	}
	d.examineMachine(c)
	return nil
}

// standIn sees to it that looking makes no store where there was none: a wrong path would leave a
// directory behind that looks like one. The checks run in a directory beside it then.
func (d *doctor) standIn(c *app.Config) (remove func(), err error) {
	entries, err := os.ReadDir(c.Data)
	if err == nil && len(entries) > 0 {
		return func() {}, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	beside, err := os.MkdirTemp(existing(c.Data), ".andon-doctor-")
	if err != nil {
		return nil, err
	}
	d.report.warn("store", "directory",
		"there is no store in "+c.Data+" yet; the checks ran in a new one beside it",
		d.placeOf("data"), "andon serve makes it. If you expected one there, name its directory "+
			"with --data, or the file of your configuration with --config.")
	c.Data = filepath.Join(beside, "store")
	// Where it can't be removed, it is a small directory that says whose it is.
	return func() { _ = os.RemoveAll(beside) }, nil
}

// existing returns the nearest directory above path that is there.
func existing(path string) string {
	for {
		path = filepath.Dir(path)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		if path == filepath.Dir(path) {
			return path
		}
	}
}

// openAndCheck opens the store, runs all checks and closes it. That it can't be opened is a
// finding.
func (d *doctor) openAndCheck(ctx context.Context, c app.Config) error {
	a := local.NewApp(d.Program, c, local.NewLog(d.Stderr, c.Log))
	store, err := a.OpenStore(ctx, "andon doctor")
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
		d.report.fail("store", "closing", err.Error(), "", closingAdvice(err))
	}
	return nil
}

func closingAdvice(err error) string {
	if andon.KindOf(err) == andon.Damaged {
		return "Restore the store from a backup, and look at the disk."
	}
	return "What was acknowledged is kept. Look at the disk."
}

// serving finds the address of the server that has a directory open in what the store says of it.
var serving = regexp.MustCompile(`andon at (https?://[^\s,)]+)`)

func unopened(c app.Config, err error) finding {
	f := finding{
		Status: failed, Area: "store", What: "opening", Found: err.Error(),
		Advice: "Without its store the server does not start either: mend that first.",
	}
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
		f.Advice = "Make room on that disk, or lower " + c.Takes().Reserve.Key +
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
		found := finding{well, "store", f.Name, f.Value, f.Source, f.Advice}
		if f.Advice != "" {
			found.Status = warning
		}
		d.report.add(found)
	}
	if err != nil {
		d.report.fail("store", "what it says of itself", err.Error(), "",
			"See docs/stores for what this store needs.")
	}
	if !store.Capabilities().Durable {
		d.report.warn("store", "durability", "everything is lost when the program ends",
			d.placeOf("store"), "This store is for trying things out. --store "+
				c.Engines[0].Name()+" keeps what it acknowledges.")
	}
	if takes := c.Takes(); takes.Cache.Key != "" {
		d.report.add(
			finding{well, "store", "cache", draw.Bytes(uint64(takes.Cache.Bytes)),
				d.placeOf(takes.Cache.Key), ""},
			finding{well, "store", "head", draw.Bytes(uint64(takes.Newest.Bytes)),
				d.placeOf(takes.Newest.Key), ""},
			finding{well, "store", "reserve", draw.Bytes(uint64(takes.Reserve.Bytes)),
				d.placeOf(takes.Reserve.Key), ""})
	}
	d.findLeftovers(ctx, store)
}

// throwaway are the beginnings of the names of tenants that checks make.
var throwaway = regexp.MustCompile(`^andon-(check|doctor)-`)

// findLeftovers finds the tenants of checks that were killed before they could tidy up.
func (d *doctor) findLeftovers(ctx context.Context, store andon.Store) {
	tenants, err := store.Tenants(ctx)
	if err != nil {
		return // describe has said so
	}
	var left []string
	for _, t := range tenants {
		if throwaway.MatchString(string(t.ID)) {
			left = append(left, string(t.ID))
		}
	}
	d.report.leftovers(left)
}

func (e *examination) leftovers(tenants []string) {
	if len(tenants) == 0 {
		return
	}
	e.warn("store", "throwaway tenants", fmt.Sprintf("%s of checks that were broken off: %s",
		draw.Count(len(tenants), "tenant"), strings.Join(tenants[:min(len(tenants), 5)], ", ")),
		"the records of the tenants",
		"If no other check is running now, delete each: andon tenant delete "+tenants[0])
}

// checksOf returns the checks to run: a few on a store that others may use at the same time, unless
// all are asked for.
func (d *doctor) checksOf(c app.Config) []storecheck.Check {
	if c.Place() == adapter.Elsewhere && !d.full {
		return storecheck.Few()
	}
	return storecheck.Checks()
}

// runChecks runs checks of storecheck. Those that fail have a finding each.
func (d *doctor) runChecks(ctx context.Context, store andon.Store, checks []storecheck.Check) {
	c := checking{
		doctor: d, source: "storecheck, in throwaway tenants", all: len(checks),
		every: len(storecheck.Checks()),
		advice: "This store does not do what Andon relies on; docs/semantics.md says what that " +
			"is.\nIf its engine is set up as docs/stores has it, please report it with this line.",
	}
	c.run(ctx, func(report func(storecheck.Result)) error {
		return storecheck.Run(ctx, store, checks, report)
	})
}

type checking struct {
	*doctor
	source, advice string
	all            int // how many are run
	every          int // of how many; 0: of all that there are

	passed, failed int
	notAsked       map[string][]string                // why, and the checks
	refused        map[andon.Kind][]storecheck.Result // why they could not be made
}

func (c *checking) run(ctx context.Context, run func(report func(storecheck.Result)) error) {
	c.notAsked, c.refused = map[string][]string{}, map[andon.Kind][]storecheck.Result{}
	bar := draw.NewBar(c.Stderr, "checks", int64(c.all), func(done, total int64) string {
		return fmt.Sprintf(" %d of %d", done, total)
	})
	err := run(func(r storecheck.Result) {
		bar.Add(1)
		if ctx.Err() == nil {
			c.add(r)
		}
	})
	bar.End()
	c.tellRefused()
	if err == nil && ctx.Err() == nil { // else it was interrupted; doctor.run says so
		c.summary()
	}
}

func (c *checking) add(r storecheck.Result) {
	kind := andon.KindOf(r.Err)
	switch {
	case r.Err != nil && (kind == andon.Full || kind == andon.Unavailable):
		c.failed++
		c.refused[kind] = append(c.refused[kind], r)
	case r.Err != nil:
		c.failed++
		c.report.fail("checks", r.Check.String(), r.Err.Error(), c.source, c.advice)
	case r.NotAsked != "":
		c.notAsked[r.NotAsked] = append(c.notAsked[r.NotAsked], r.Check.String())
	default:
		c.passed++
	}
}

// tellRefused says once why checks could not be made: a store that is full or out of reach refuses
// all of them, and that says nothing of each.
func (c *checking) tellRefused() {
	for _, kind := range slices.Sorted(maps.Keys(c.refused)) {
		all := c.refused[kind]
		what, found := all[0].Check.String(), all[0].Err.Error()
		if refusal, ok := errors.AsType[*andon.Error](all[0].Err); ok && len(all) > 1 {
			what = "semantics"
			found = fmt.Sprintf("%d checks could not be made: %s", len(all), refusal)
		}
		advice := "See that the store can be reached, and check again."
		if kind == andon.Full {
			advice = "Make room for it, and check again."
		}
		c.report.fail("checks", what, found, c.source, advice)
	}
}

func (c *checking) summary() {
	found := fmt.Sprintf("all %d checks passed", c.passed)
	if c.failed > 0 || len(c.notAsked) > 0 {
		found = fmt.Sprintf("%d checks passed", c.passed)
	}
	if c.all < c.every {
		found = fmt.Sprintf("%d checks passed; --full runs all %d, which takes minutes and writes "+
			"as much", c.passed, c.every)
	}
	c.report.add(finding{well, "checks", "semantics", found, c.source, ""})
	for _, why := range slices.Sorted(maps.Keys(c.notAsked)) {
		checks := c.notAsked[why]
		found := fmt.Sprintf("%s, because %s: %s",
			draw.Count(len(checks), "check"), why, strings.Join(checks, "; "))
		c.report.add(finding{well, "checks", "not asked", found, c.source, ""})
	}
}
