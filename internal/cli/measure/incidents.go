package measure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/bench"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
)

// incidents is what the flags of "andon bench incidents" ask for.
type incidents struct {
	*command.Program
	dir     string
	options bench.Incidents
}

// incidentReport is what it prints.
type incidentReport struct {
	machine
	Figures []bench.Figure `json:"figures"`
}

func incidentsCommand(p *command.Program) *cobra.Command {
	b := &incidents{Program: p}
	cmd := &cobra.Command{
		Use:   "incidents",
		Short: "Measure what keeping incidents costs a server",
		Long: `Measure what keeping incidents costs a server. Servers of this program are started on
stores of their own, in the directory for temporary files, which TMPDIR names.

Timers: so many devices leave NORMAL, and people are to be told tomorrow. The server is ended by
kill -9, and started without incidents and with them. A start ends when the server answers.

Storm: a fleet reports as fast as the server takes it, in batches of 1,000 by 4 clients, and its
devices leave NORMAL one after the other; then once more, where a thousandth of them does. A server
that keeps incidents and one that does not take three turns. Of messages and counts the first turn
is not shown.`,
		Example: `  andon bench incidents
  andon bench incidents --timers 100000 --storm 0 --output json`,
	}
	flags, o := cmd.Flags(), &b.options
	flags.IntVar(&o.Timers, "timers", 1_000_000, "how `many` steps are pending; 0: none")
	flags.IntVar(&o.Storm, "storm", 100_000, "how `many` devices leave NORMAL; 0: none")
	flags.DurationVar(&o.Duration, "duration", 10*time.Second, "in which they leave NORMAL")
	flags.DurationVar(&o.Idle, "idle", 10*time.Second,
		"how long a server is watched that has nothing to do")
	form := command.ReportFlag(cmd)
	return p.Does(cmd, func(ctx context.Context, _ []string) error {
		return b.run(ctx, form.Value)
	})
}

func (b *incidents) run(ctx context.Context, form string) error {
	o := &b.options
	if o.Timers < 0 || o.Storm < 0 || o.Duration <= 0 || o.Idle <= 0 {
		return andon.Errorf(andon.Invalid, "--timers and --storm are 0 or more, --duration and "+
			"--idle are above 0")
	}
	ctx, stop := command.UntilHangup(ctx)
	defer stop()
	dir, remove, err := local.WorkDirectory("", "andon-bench-")
	if err != nil {
		return err
	}
	defer remove()
	b.dir, o.Now, o.Serve = dir, time.Now, b.serve
	o.Report = func(step string) { fmt.Fprintln(b.Stderr, step) }
	on := describe(b.Program, filepath.Dir(dir))
	figures, err := o.Measure(ctx)
	if ctx.Err() != nil {
		err = errors.New("interrupted: nothing is left")
	}
	if len(figures) == 0 {
		return err
	}
	return errors.Join(err, b.print(form, incidentReport{on, figures}))
}

func (b *incidents) print(form string, r incidentReport) error {
	if form == command.FormatJSON {
		return b.PrintJSON(r)
	}
	out := b.Printer()
	out.Line("%s", command.VersionLine(b.Version))
	out.Line("%s, %s, %s\n", draw.Count(r.Processors, "processor"), r.System, r.Directory)
	rows := [][]draw.Cell{draw.Texts("PART", "WHAT", "VALUE", "UNIT")}
	for _, f := range r.Figures {
		row := draw.Texts(f.Part, f.What, strconv.FormatFloat(f.Value, 'f', 3, 64), f.Unit)
		row[2].Right = true
		rows = append(rows, row)
	}
	out.Table(rows)
	return nil
}

// serve starts this program as a server.
func (b *incidents) serve(
	ctx context.Context, name string, keeps bool, to string,
) (s bench.Started, err error) {
	config, secret := filepath.Join(b.dir, name+".yaml"), filepath.Join(b.dir, "secret")
	on := map[bool]string{false: "off", true: "on"}[keeps]
	for path, text := range map[string]string{
		secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		config: fmt.Sprintf("listen: 127.0.0.1:0\ndata: %s\nlog.level: error\nlog.audit: off\n"+
			"incidents: %s\nnotify.channels:\n- {name: bench, kind: webhook, url: '%s', "+
			"secret_file: '%s'}\n", filepath.Join(b.dir, name), on, to, secret),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return s, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	cmd := exec.CommandContext(ctx, self, "serve", "--config", config)
	cmd.Stderr = b.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return s, err
	}
	s.Kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() } // that it was killed is no error
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, answers := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !answers {
		s.Kill()
		return s, andon.Errorf(andon.Unavailable, "the server does not answer: %q, %w", line, err)
	}
	s.URL = address
	return s, nil
}
