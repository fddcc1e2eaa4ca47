package live

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
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

type demo struct {
	*command.Program
	seed      uint64
	devices   int
	speed     float64
	listen    string
	keep      string
	length    time.Duration // 0: until the user ends it
	noBrowser bool

	sleep func(ctx context.Context, d time.Duration) error
	// to returns what is sent the messages. Tests also send them to another store.
	to func(*client.Client) receiver
}

// Demo is "andon demo".
func Demo(p *command.Program) *cobra.Command {
	d := &demo{Program: p, sleep: sleep.For, to: func(c *client.Client) receiver { return c }}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Start a server with a simulated factory, and open its board",
		Long: `Start a server with a simulated factory, and open its board in the browser.

The server has an embedded store in a temporary directory. Over HTTP it is sent what the factory
reports: devices on eight lines with their states and readings. They fail together, flap and fall
silent; messages come late or twice; operators take devices over and escalate to supervisors.

The factory is faster than the clock: with --speed 60 its devices report every 5 seconds instead of
every 5 minutes, and its shifts last 8 minutes. Its last hours are sent at once at the start. All
times are those of the real clock.

It needs nothing but this program, and leaves no files unless --keep names a directory. Without
a terminal or a display, over SSH, or with --no-browser it only prints the address of the board;
andon watch prints what changes. Ctrl-C ends it.`,
		Example: `  andon demo
  andon demo --devices 2000 --speed 200 --seed 7
  andon demo --for 1m --keep ./factory && andon serve --data ./factory/store`,
	}
	flags := cmd.Flags()
	flags.IntVar(&d.devices, "devices", simulate.DefaultDevices,
		"`number` of devices of the factory")
	flags.Float64Var(&d.speed, "speed", 60,
		"`number` of times that the factory is faster than the clock")
	flags.Uint64Var(&d.seed, "seed", 1, "another `number` makes another factory")
	flags.DurationVar(&d.length, "for", 0, "end after this time (default: at Ctrl-C)")
	flags.StringVar(&d.listen, "listen", "", "`address` to listen on (default 127.0.0.1:8080, or "+
		"a free port if that is taken)")
	flags.StringVar(&d.keep, "keep", "", "keep the store in this `directory`")
	flags.BoolVar(&d.noBrowser, "no-browser", false, "do not open the board in the browser")
	return p.Does(cmd, func(ctx context.Context, _ []string) error { return d.run(ctx) })
}

const (
	mostDevices           = 10_000
	leastSpeed, mostSpeed = 1, 1000
)

func (d *demo) check() error {
	if d.devices < 1 || d.devices > mostDevices {
		return andon.Errorf(andon.Invalid, "--devices %d is not within 1 to 10,000", d.devices)
	}
	if !(d.speed >= leastSpeed && d.speed <= mostSpeed) { // also refuses NaN
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
	a, err := d.start(ctx, filepath.Join(dir, "store"))
	if err != nil {
		return err
	}
	sent, err := d.serve(ctx, a)
	err = errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
	if err == nil {
		d.printEnd(sent)
	}
	return err
}

// start starts the server. It takes a free port if the default one is taken and the user asked for
// none.
func (d *demo) start(ctx context.Context, dir string) (*app.App, error) {
	c := app.DefaultConfig()
	c.Data, c.Log.Level, c.Log.Audit = dir, "warn", false // its people are made up
	if d.listen != "" {
		c.Listen = d.listen
	}
	a := local.NewApp(d.Program, c)
	err := a.Start(ctx)
	if errors.Is(err, app.ErrPortTaken) && d.listen == "" {
		c.Listen = "127.0.0.1:0"
		a = local.NewApp(d.Program, c)
		err = a.Start(ctx)
	}
	return a, err
}

// serve runs the factory until the user or the server ends it, and returns what was sent.
func (d *demo) serve(ctx context.Context, a *app.App) (tally, error) {
	ctx, fail := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := a.Wait(ctx); err != nil {
			fail(err)
		}
	}()
	defer func() { fail(nil); <-ended }()
	c, err := client.New(client.Options{URL: a.URL()})
	if err != nil {
		return tally{}, err
	}
	defer c.Close()
	f := d.newFactory(d.to(c))
	err = unlessEnded(ctx, d.play(ctx, f, c, a.URL()))
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause // the server ended by itself
	}
	return f.sent, err
}

// play sends the past of the factory, opens the board, and goes on live.
func (d *demo) play(ctx context.Context, f *factory, c *client.Client, url string) error {
	begun := d.Now()
	out := d.Printer()
	out.Line("Andon answers at %s%s", url, d.whyThisPort(url))
	out.Line("It is sent what %s devices of a factory reported in its last %d hours "+
		"(%[2]d minutes here):", draw.Grouped(d.devices), pastHours(d.devices))
	silentAfter := max(3*f.every, 1_000_000) // when three reports did not come
	_, err := c.PutTenant(ctx, andon.DefaultTenant, client.TenantChange{SilentAfter: &silentAfter})
	if err == nil {
		err = c.PutGroupRules(ctx, simulate.GroupRules())
	}
	if err == nil {
		err = f.sendPast(ctx, begun)
	}
	if err != nil {
		return err
	}
	out.Line("%s events and %s readings, in %.1fs",
		draw.Grouped(f.sent.events), draw.Grouped(f.sent.readings), d.Now().Sub(begun).Seconds())
	d.openBoard(out, url)
	return d.goOn(ctx, f, begun)
}

// whyThisPort explains why the address is not the default one.
func (d *demo) whyThisPort(url string) string {
	if usual := app.DefaultConfig().Listen; d.listen == "" && !strings.HasSuffix(url, usual) {
		return ", since another program listens on " + usual
	}
	return ""
}

// openBoard opens the board in the browser of a user at a terminal, and prints the addresses.
func (d *demo) openBoard(out draw.Printer, url string) {
	opened := !d.noBrowser && draw.IsTerminal(d.Stdout) && hasDisplay(d.Program) &&
		openBrowser(url) == nil
	if opened {
		out.Heading("The board opens in the browser: %s", url)
	} else {
		out.Heading("Open the board in a browser: %s", url)
	}
	out.Table([][]draw.Cell{
		draw.Texts(url+"/docs", "the API, to read and try"),
		draw.Texts(url+"/api/v1/devices?sort=severity", "devices, the worst first"),
		draw.Texts(url+"/api/v1/states", "the number of devices in each state"),
		draw.Texts(url+"/metrics", "metrics of the server"),
		draw.Texts("andon watch --url "+url, "the changes, in another terminal"),
	})
	out.Line("")
}

// tick is the time between two requests: short, so that the board changes all the time.
const tick = 250 * time.Millisecond

func (d *demo) goOn(ctx context.Context, f *factory, begun andon.Time) error {
	for {
		now := d.Now()
		if err := f.sendUntil(ctx, now); err != nil {
			return err
		}
		if d.length > 0 && now.Sub(begun).Std() >= d.length {
			return nil
		}
		if err := d.sleep(ctx, tick); err != nil {
			return err
		}
	}
}

func (d *demo) printEnd(sent tally) {
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
		out.Line("No files are left. A server of your own: andon serve --data DIRECTORY")
	}
}
