// Command bench measures the server of this repository next to other programs that do a part of its
// work, on the same machine and in the same run. README.md says what it measures.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/andonhq/andon/internal/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) == 2 && args[0] == "peer" { // a process of program.start
		return servePeer(ctx, args[1])
	}
	o := bench.Options{Now: time.Now, Seed: 1, Escalate: true}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	andon := flags.String("andon", "", "the `program` to measure; by default it is built")
	former := flags.String("former", "", "measure next to this `program`, another version of it, "+
		"in place of the peers")
	kinds := flags.String("loads", "", "only these `loads` after the filling: "+
		"query,states,single,batch,changes,readings,soak")
	soak := flags.Int("soak", 0, "how `many` events the soak brings; 0: there is none")
	flags.IntVar(&o.Devices, "devices", 100_000, "devices of the fleet")
	flags.IntVar(&o.Events, "events", 2_000_000, "events before anything is measured")
	flags.BoolVar(&o.Mixed, "mixed", false,
		"a fleet with busy devices, and late and repeated events")
	flags.IntVar(&o.Writers, "writers", 64, "clients that send single events")
	flags.IntVar(&o.Batch, "batch", 1000, "events of a batch")
	flags.DurationVar(&o.Duration, "duration", 2*time.Second, "how long each load is measured")
	flags.DurationVar(&o.Pause, "pause", 2*time.Second, "pause before each load")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *kinds != "" {
		o.Kinds = strings.Split(*kinds, ",")
	}
	number := 0
	o.Report = func(s bench.Step) {
		if s.Number > number {
			fmt.Fprintf(os.Stderr, "%d of %d: %s\n", s.Number, s.Loads, s.Load)
		}
		number = s.Number
	}
	dir, err := os.MkdirTemp("", "andon-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	targets, end, err := start(ctx, *andon, *former, dir)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return err
	}
	b, err := bench.New(o, targets...)
	if err != nil {
		return err
	}
	rows, err := b.Measure(ctx, loads(b, *soak))
	return errors.Join(err, show(rows, dir))
}

// start starts all programs. end stops those that were started.
func start(
	ctx context.Context, andon, former, dir string,
) (targets []bench.Target, end func() error, err error) {
	var ends []func() error
	end = func() (err error) {
		for _, stop := range ends {
			err = errors.Join(err, stop())
		}
		return err
	}
	if andon == "" {
		andon = filepath.Join(dir, "program")
		build := exec.CommandContext(ctx, "go", "build", "-o", andon, "./cmd/andon")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, end, fmt.Errorf("build the program: %w\n%s", err, out)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, end, err
	}
	const serve = "serve --listen 127.0.0.1:0 --log-level error --data"
	programs := []program{
		{subject, andon, serve}, {"key", self, "peer"}, {"keys", self, "peer"},
	}
	if former != "" {
		programs = []program{{subject, andon, serve}, {"former", former, serve}}
	}
	for _, p := range programs {
		t, stop, err := p.start(ctx, dir)
		if err != nil {
			return nil, end, fmt.Errorf("start %s: %w", p.name, err)
		}
		targets, ends = append(targets, t), append(ends, stop)
	}
	if former != "" {
		return targets, end, nil
	}
	db, err := openPebble(filepath.Join(dir, "raw"))
	if err != nil {
		return nil, end, err
	}
	ends = append(ends, db.Close)
	return append(targets, rawTarget(db)), end, nil
}

// program is a server that is measured.
type program struct{ name, path, args string }

// start starts it, with its data in a directory. It prints its address once it answers, and is
// stopped by SIGTERM.
func (p *program) start(
	ctx context.Context, dir string,
) (t bench.Target, stop func() error, err error) {
	cmd := exec.CommandContext(ctx, p.path,
		append(strings.Fields(p.args), filepath.Join(dir, p.name))...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return t, nil, err
	}
	stop = func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()                          // that it was stopped is no error
		return nil
	}
	line, err := bufio.NewReader(out).ReadString('\n') // once it answers
	if err != nil {
		return t, nil, errors.Join(errors.New("it does not answer"), stop())
	}
	_, address, _ := strings.Cut(strings.TrimSpace(line), "listening on ")
	t = bench.Server(p.name, address, "", "")
	t.Queries = p.name != "key"
	return t, stop, nil
}

// subject is the name of what is compared with the others.
const subject = "andon"

// show prints the rows. Those of the others say what Andon reached of them.
func show(rows []bench.Row, dir string) error {
	fmt.Printf("%d processors, %s/%s, %s, in %s\n\n", runtime.GOMAXPROCS(0), runtime.GOOS,
		runtime.GOARCH, runtime.Version(), filepath.Dir(dir))
	var first *bench.Row
	for i := range rows {
		if r := &rows[i]; r.Subject == subject {
			first = r
		} else if !r.Open {
			r.OfCeiling = new(first.Reached(r))
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range bench.Table(rows, "ANDON IS") {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}
