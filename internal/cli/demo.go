package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/config"
)

// demo is what the flags of the command ask for.
type demo struct {
	*program
	seed    uint64
	devices int
	listen  string
	keep    string
	serve   bool
}

func (p *program) demoCommand() *cobra.Command {
	d := demo{program: p}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a small factory, from its log to its worst devices",
		Long: `Show a small factory: start the server on the embedded store in a temporary directory, make
up the log of its last day, import that over HTTP, and print what the server answers. On a terminal
the server goes on until Ctrl-C, so that you can look around; elsewhere the demo ends.

It needs nothing but this program, and leaves nothing behind unless --keep names a directory.`,
		Example: `  andon demo
  andon demo --seed 7 --devices 500 --keep ./factory`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.Uint64Var(&d.seed, "seed", 1, "another number makes up another day")
	flags.IntVar(&d.devices, "devices", 60, "how many devices the factory has")
	flags.StringVar(&d.listen, "listen", "", "address to listen on (default 127.0.0.1:8080, or "+
		"a free port when that is taken)")
	flags.StringVar(&d.keep, "keep", "", "keep log and store in this `directory`")
	flags.BoolVar(&d.serve, "serve", false, "go on serving although there is no terminal")
	cmd.RunE = p.does(func(ctx context.Context, _ []string) error { return d.run(ctx) })
	return cmd
}

func (d *demo) run(ctx context.Context) error {
	if d.devices < 1 || d.devices > 10_000 {
		return andon.Errorf(andon.Invalid, "--devices %d is not within 1 to 10,000", d.devices)
	}
	dir, remove, err := d.directory()
	if err != nil {
		return err
	}
	defer remove()
	a, err := d.start(ctx, filepath.Join(dir, "store"))
	if err != nil {
		return err
	}
	err = d.show(ctx, a, dir)
	return errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
}

// directory returns where the demo works, and what cleans up afterwards.
func (d *demo) directory() (dir string, remove func(), err error) {
	if d.keep != "" {
		return d.keep, func() {}, os.MkdirAll(d.keep, 0o750)
	}
	dir, err = os.MkdirTemp("", "andon-demo-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// start starts the server. Where no address is asked for and the usual one is taken, a free port
// does.
func (d *demo) start(ctx context.Context, dir string) (*app.App, error) {
	c := config.Default()
	c.Data, c.Log.Level = dir, "warn"
	if d.listen != "" {
		c.Listen = d.listen
	}
	a := d.newApp(c, newLog(d.stderr, c.Log))
	err := a.Start(ctx)
	if errors.Is(err, app.ErrPortTaken) && d.listen == "" {
		c.Listen = "127.0.0.1:0"
		a = d.newApp(c, newLog(d.stderr, c.Log))
		err = a.Start(ctx)
	}
	return a, err
}

// show makes up the log, imports it, prints what the server says, and waits where someone looks.
func (d *demo) show(ctx context.Context, a *app.App, dir string) error {
	page := d.newPage()
	page.line("Andon answers at %s", a.URL())
	log := filepath.Join(dir, "log.csv")
	if err := d.writeLog(log); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	if err := d.importLog(ctx, log, a.URL()); err != nil {
		return err
	}
	c, err := client.New(client.Options{URL: a.URL()})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := (&summary{page: page, client: c, now: d.now()}).print(ctx); err != nil {
		return err
	}
	addresses(page, a.URL())
	if !d.serve && !isTerminal(d.stdout) {
		return nil
	}
	page.line("\nCtrl-C ends it.")
	return a.Wait(ctx)
}

// addresses says where to look next.
func addresses(page page, url string) {
	page.heading("Look around")
	page.table([][]cell{
		texts(url+"/docs", "the API, to read and try"),
		texts(url+"/api/v1/devices?sort=severity", "all devices, the worst first"),
		texts(url+"/api/v1/states", "how many are in each state"),
		texts(url+"/metrics", "the server about itself"),
	})
}
