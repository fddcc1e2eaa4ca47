package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/client"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/sleep"
)

// watch is what the flags of the command ask for, and what a test puts in the place of waiting.
type watch struct {
	*command.Program
	command.Target
	selected client.DeviceQuery
	every    time.Duration
	length   time.Duration // 0: until it is ended
	pause    pause
}

// Watch is "andon watch".
func Watch(p *command.Program) *cobra.Command {
	w := &watch{Program: p, Target: p.NewTarget(), pause: sleep.For}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Follow a fleet on the terminal",
		Long: "Follow the fleet of a running server: " +
			`how many devices are in each state, and the worst
of them, or those that the flags select. On a terminal the table is drawn in place: the arrows,
PgUp and PgDn scroll, / filters by name, state, person or message, q ends it. Elsewhere a line is
printed for each device that changes its state, its operator or to whom it is escalated, that falls
silent or is heard again.

It follows the stream of the server, as the board does: each change is seen at once, and none is
missed, also across a restart of the server. Silence is looked for every ten seconds. Where the
store of the server has no stream, the server is asked every two seconds (--every), and what changes
twice in between is seen once. When the server does not answer it goes on asking, and says since
when what is shown is old.`,
		Example: `  andon watch
  andon watch --url https://andon:8443 --token-file token --tenant metro --state 'WARNING*'
  andon watch --operator Liz --for 8h >> shift.log`,
	}
	w.flags(cmd)
	cmd.RunE = p.Does(func(ctx context.Context, _ []string) error { return w.run(ctx) })
	return cmd
}

func (w *watch) flags(cmd *cobra.Command) {
	flags, q := cmd.Flags(), &w.selected
	w.Flags(cmd)
	flags.StringVar(&q.State, "state", "", command.StateHelp)
	command.DeviceFlags(cmd, q)
	flags.DurationVar(&w.every, "every", 2*time.Second, "how often to draw the table, "+
		"and to ask a server that has no stream")
	flags.DurationVar(&w.length, "for", 0, "end after so long (default: at Ctrl-C)")
}

const shortestWatch = 100 * time.Millisecond

func (w *watch) check() error {
	if w.every < shortestWatch {
		return andon.Errorf(andon.Invalid, "--every %s is shorter than %s", w.every, shortestWatch)
	}
	if w.length < 0 {
		return andon.Errorf(andon.Invalid, "--for %s is negative", w.length)
	}
	return nil
}

// view shows a fleet again and again.
type view interface {
	// show asks the server and shows what it says now.
	show(ctx context.Context, now andon.Time) error
	// stale says why the server gave no answer.
	stale(now andon.Time, reason error) error
	// pause waits until it is time to ask again.
	pause(ctx context.Context, d time.Duration) error
	// end gives the terminal back and returns what was seen, in words.
	end() string
}

func (w *watch) run(ctx context.Context) error {
	if err := w.check(); err != nil {
		return err
	}
	ctx, stop := command.UntilHangup(ctx)
	defer stop()
	w.Attempts = 1 // asking again is what it does anyway
	return w.Ask(ctx, func(c *client.Client) error {
		begun := w.Now()
		if _, _, err := c.States(ctx); err != nil { // before the terminal is taken
			return unlessEnded(ctx, err)
		}
		ctx, end := context.WithCancel(ctx)
		defer end()
		n, err := w.listen(ctx, c)
		if err != nil {
			return unlessEnded(ctx, err)
		}
		if n != nil {
			defer n.stop()
		}
		v := w.newView(c, n, end)
		defer v.end() // whatever happens
		err = w.follow(ctx, v, begun)
		seen := v.end()
		if err = unlessEnded(ctx, err); err == nil {
			w.Printer().Line("Watched for %s%s.", draw.Age(w.Now().Sub(begun)), seen)
		}
		return err
	})
}

func unlessEnded(ctx context.Context, err error) error {
	if ended(ctx, err) {
		return nil
	}
	return err
}

// listen listens to the server, unless what is selected comes with the clock, which is not told.
func (w *watch) listen(ctx context.Context, c *client.Client) (*news, error) {
	if w.selected.Silent != nil {
		return nil, nil
	}
	return listen(ctx, c)
}

func (w *watch) newView(c *client.Client, n *news, end func()) view {
	if s := newScreen(w.Program, end); s != nil {
		return &tableView{
			watch: w, client: c, screen: s,
			board: board{title: "Andon at " + w.what(), none: w.none(), news: n},
		}
	}
	return &lineView{watch: w, client: c, news: n}
}

// what names what is watched.
func (w *watch) what() string {
	text := w.URL
	if w.Tenant != string(andon.DefaultTenant) {
		text += ", tenant " + draw.Legible(w.Tenant)
	}
	for _, part := range []struct{ name, value string }{
		{"state", w.selected.State}, {"operator", string(w.selected.Operator)},
		{"escalated to", string(w.selected.EscalatedTo)}, {"device", w.selected.Device},
	} {
		if part.value != "" {
			text += ", " + part.name + " " + draw.Legible(part.value)
		}
	}
	return text
}

// selects reports whether the flags select devices: then those that are normal are of interest,
// too.
func (w *watch) selects() bool { return w.selected != client.DeviceQuery{} }

func (w *watch) none() string {
	if w.selects() {
		return "There is no such device."
	}
	return "All devices are normal."
}

// follow shows a view until it is ended.
func (w *watch) follow(ctx context.Context, v view, begun andon.Time) error {
	for {
		now := w.Now()
		err := v.show(ctx, now)
		if err != nil && passes(ctx, err) {
			err = v.stale(now, err)
		}
		if err != nil {
			return err
		}
		if w.length > 0 && now.Sub(begun).Std() >= w.length {
			return nil
		}
		if err := v.pause(ctx, w.nextPause(now, begun)); err != nil {
			return err
		}
	}
}

// nextPause ends when it is time to ask again, or to end.
func (w *watch) nextPause(now, begun andon.Time) time.Duration {
	if w.length == 0 {
		return w.every
	}
	return min(w.every, w.length-now.Sub(begun).Std())
}

// passes reports whether an error can pass by itself: the server does not answer, or can't serve
// now. What it calls wrong stays wrong.
func passes(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, errUnread) {
		return false
	}
	e, answered := errors.AsType[*client.Error](err)
	return !answered || e.Status >= 500 || e.Status == http.StatusTooManyRequests ||
		e.Status == http.StatusRequestTimeout
}

// tableView is the live table.
type tableView struct {
	*watch
	client *client.Client
	screen *screen
	board  board
}

func (v *tableView) show(ctx context.Context, now andon.Time) error {
	b := &v.board
	if b.due(now) {
		if err := b.look(ctx, v.client, v.selected, v.screen.rows(), v.selects()); err != nil {
			return err
		}
		b.looked, b.trouble = now, ""
	}
	b.now, b.asked = now, now
	how := "live"
	if b.news == nil {
		how = fmt.Sprintf("asked every %s", v.every)
	}
	b.notes = []string{fmt.Sprintf("%s, %s.", draw.GroupedCount(b.total, "device"), how)}
	return v.screen.draw(b)
}

func (v *tableView) stale(now andon.Time, reason error) error {
	v.board.asked = now
	v.board.trouble = firstLine(reason)
	return v.screen.draw(&v.board)
}

func (v *tableView) pause(ctx context.Context, d time.Duration) error {
	return v.screen.pause(ctx, d, &v.board, v.watch.pause)
}

func (v *tableView) end() string {
	v.screen.Close()
	return ""
}
