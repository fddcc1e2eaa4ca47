package live

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/simulate"
	"github.com/andonhq/andon/internal/sleep"
)

// demo is what the flags of the command ask for, and what a test puts in the place of waiting.
type demo struct {
	*command.Program
	seed    uint64
	devices int
	speed   float64
	listen  string
	keep    string
	length  time.Duration // 0: until it is ended
	pause   pause
	// terminal takes the terminal, if there is one.
	terminal func(end func()) *screen
	// hear listens to the server's stream. It is nil where the clock is a test's: news come by the
	// real one, and the table asks each time instead.
	hear func(context.Context, *client.Client) (*news, error)
	// beside takes the same messages as the server; nil but in tests.
	beside receiver

	screen atomic.Pointer[screen] // nil while there is none
	stderr *held                  // of the server's log, which must not be written over the table
}

// Demo is "andon demo".
func Demo(p *command.Program) *cobra.Command {
	d := &demo{Program: p, pause: sleep.For, hear: listen}
	d.terminal = func(end func()) *screen { return newScreen(p, end) }
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a living factory: a server, its devices and people, a live table",
		Long: `Show a living factory. It starts the server on the embedded store in a temporary
directory and sends it, over HTTP, what a simulated factory says: devices on eight lines that report
their state and readings, that go wrong together, flap, fall silent, and whose messages come late or
twice; operators who take devices over and escalate to supervisors.

The factory lives faster than the clock: with --speed 60 its devices report every 5 seconds and not
every 5 minutes, and its shifts last 8 minutes. First it sends its last hours at once, then it goes
on live. All times are those of the real clock.

It prints the address of the board, to be opened in a browser. On a terminal a live table then shows
the counts and the worst devices, from the stream that the board draws from; elsewhere it prints a
line every few seconds. Ctrl-C ends it. It needs nothing but this program, and leaves nothing
behind unless --keep names a directory.`,
		Example: `  andon demo
  andon demo --devices 2000 --speed 200 --seed 7
  andon demo --for 1m --keep ./factory && andon serve --data ./factory/store`,
	}
	flags := cmd.Flags()
	flags.IntVar(&d.devices, "devices", simulate.DefaultDevices,
		"`number` of devices that the factory has")
	flags.Float64Var(&d.speed, "speed", 60,
		"`number` of times that the factory lives as fast as the clock")
	flags.Uint64Var(&d.seed, "seed", 1, "another `number` makes another factory")
	flags.DurationVar(&d.length, "for", 0, "end after so long (default: at Ctrl-C)")
	flags.StringVar(&d.listen, "listen", "", "`address` to listen on (default 127.0.0.1:8080, or "+
		"a free port when that is taken)")
	flags.StringVar(&d.keep, "keep", "", "keep the store in this `directory`")
	cmd.RunE = p.Does(func(ctx context.Context, _ []string) error { return d.run(ctx) })
	return cmd
}

const (
	mostDevices           = 10_000
	leastSpeed, mostSpeed = 1, 1000
)

func (d *demo) check() error {
	if d.devices < 1 || d.devices > mostDevices {
		return andon.Errorf(andon.Invalid, "--devices %d is not within 1 to 10,000", d.devices)
	}
	if !(d.speed >= leastSpeed && d.speed <= mostSpeed) { // so NaN is refused, too
		return andon.Errorf(andon.Invalid, "--speed %g is not within 1 to 1000", d.speed)
	}
	if d.length < 0 {
		return andon.Errorf(andon.Invalid, "--for %s is negative", d.length)
	}
	return nil
}

func (d *demo) run(ctx context.Context) (err error) {
	if err := d.check(); err != nil {
		return err
	}
	dir, remove, err := local.WorkDirectory(d.keep, "andon-demo-")
	if err != nil {
		return err
	}
	defer remove()
	ctx, stop := command.UntilHangup(ctx)
	defer stop()
	d.stderr = &held{to: d.Program.Stderr}
	a, err := d.start(ctx, filepath.Join(dir, "store"))
	if err != nil {
		return err
	}
	sent, err := d.live(ctx, a)
	err = errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
	if err == nil {
		d.goodbye(sent)
	}
	return err
}

// start starts the server. Where no address is asked for and the usual one is taken, a free port
// does.
func (d *demo) start(ctx context.Context, dir string) (*app.App, error) {
	c := app.DefaultConfig()
	c.Data, c.Log.Level, c.Log.Audit = dir, "warn", false // its people are made up
	if d.listen != "" {
		c.Listen = d.listen
	}
	a := d.newServer(c)
	err := a.Start(ctx)
	if errors.Is(err, app.ErrPortTaken) && d.listen == "" {
		c.Listen = "127.0.0.1:0"
		a = d.newServer(c)
		err = a.Start(ctx)
	}
	return a, err
}

// newServer makes a server that gives the terminal back before its disk's failure ends the process.
func (d *demo) newServer(c app.Config) *app.App {
	a := local.NewApp(d.Program, c, local.NewLog(d.stderr, c.Log))
	fatal := a.Fatal
	a.Fatal = func(err error) {
		if s := d.screen.Load(); s != nil {
			s.Close()
		}
		d.stderr.release()
		fatal(err)
	}
	return a
}

// live lets the factory live in front of the server until it is ended, and returns what was sent.
func (d *demo) live(ctx context.Context, a *app.App) (tally, error) {
	ctx, fail := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if err := a.Wait(ctx); err != nil {
			fail(err)
		}
	}()
	defer func() { fail(nil); <-watched }()
	c, err := client.New(client.Options{URL: a.URL()})
	if err != nil {
		return tally{}, err
	}
	defer c.Close()
	f := d.newFactory(c)
	if err = d.perform(ctx, f, c, a.URL()); ended(ctx, err) {
		err = nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause // the server ended by itself
	}
	return f.sent, err
}

// perform sends the past, then goes on live.
func (d *demo) perform(ctx context.Context, f *factory, c *client.Client, url string) error {
	begun := d.Now()
	out := d.Printer()
	out.Line("Andon answers at %s%s", url, d.evasion(url))
	out.Line("Open this address in a browser: it is the board.")
	out.Line("It is sent what %s devices of a factory said in its last %d hours "+
		"(%[2]d minutes here):", draw.Grouped(d.devices), pastHours(d.devices))
	if err := d.setUp(ctx, c, f.every); err != nil {
		return err
	}
	if err := f.catchUp(ctx, begun); err != nil {
		return err
	}
	out.Line("%s events and %s readings, in %.1fs",
		draw.Grouped(f.sent.events), draw.Grouped(f.sent.readings), d.Now().Sub(begun).Seconds())
	shown, end := context.WithCancel(ctx)
	defer end()
	s := d.newStage(c, url, end)
	defer s.close()
	if err := s.listen(shown); err != nil {
		return err
	}
	err := d.goOn(shown, f, s, begun)
	if shown.Err() != nil && ctx.Err() == nil { // a key ended it
		return nil
	}
	return err
}

// evasion says why the address is another than the usual one.
func (d *demo) evasion(url string) string {
	if usual := app.DefaultConfig().Listen; d.listen == "" && !strings.HasSuffix(url, usual) {
		return ", since another program listens on " + usual
	}
	return ""
}

// setUp lets the server call a device silent after three rounds in which it said nothing.
func (d *demo) setUp(ctx context.Context, c *client.Client, every andon.Duration) error {
	after := max(3*every, 1_000_000)
	_, err := c.PutTenant(ctx, andon.DefaultTenant, client.TenantChange{SilentAfter: &after})
	return err
}

// beat is how long the factory lives between two requests: short, so that the board moves all the
// time and not at every round.
const beat = 250 * time.Millisecond

func (d *demo) goOn(ctx context.Context, f *factory, s *stage, begun andon.Time) error {
	for {
		now := d.Now()
		if err := f.goOn(ctx, now); err != nil {
			return err
		}
		if err := s.show(ctx, now, f.sent); err != nil {
			return err
		}
		if d.length > 0 && now.Sub(begun).Std() >= d.length {
			return nil
		}
		if err := s.pause(ctx, beat); err != nil {
			return err
		}
	}
}

// goodbye says what was done.
func (d *demo) goodbye(sent tally) {
	out := d.Printer()
	out.Line("Andon has stopped. It was sent %s.", sent)
	if sent.refused > 0 {
		out.Line("It refused %s of that, the first because: %s",
			draw.Grouped(sent.refused), draw.Legible(sent.reason))
	}
	if d.keep != "" {
		out.Line("The store is kept. Serve it with: andon serve --data %s",
			command.ShellWord(filepath.Join(d.keep, "store")))
	} else {
		out.Line("Nothing is left behind. A server of your own: andon serve --data DIRECTORY")
	}
}
