package preserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/app"
	"github.com/andonhq/andon/internal/archive"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
	"github.com/andonhq/andon/internal/cli/local"
	"github.com/andonhq/andon/internal/config"
	"github.com/andonhq/andon/internal/store/adapter"
)

type archives struct {
	*command.Program
	name   string
	tenant string
	archive.Selection
}

// Archive is "andon archive".
func Archive(p *command.Program) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "archive",
		Short: "Keep events and readings as Parquet, and read them back",
		Long: `Keep the events and readings of each day as Parquet files, in a directory or on S3,
before they expire. The setting archive says where (docs/archive.md). andon serve does so by itself;
these commands do it now, check what is there, print statements for Athena and DuckDB, and read it
back.`,
		Example: `  andon archive run --config andon.yaml
  andon archive verify --config andon.yaml
  andon archive ddl duckdb --config andon.yaml | duckdb
  andon archive read --config andon.yaml --from 2025-12-01 --to 2025-12-31 | andon import -`,
	}, archiveRun(p), archiveVerify(p), archiveDDL(p), archiveRead(p))
}

func (a *archives) runs(
	p *command.Program, cmd *cobra.Command,
	work func(ctx context.Context, c app.Config, of archive.Config) error,
) *cobra.Command {
	a.Program = p
	from := config.Sources{Env: p.Environ}
	cmd.Flags().StringVar(&from.File, "config", "",
		"YAML `file` with the settings of the server (or ANDON_CONFIG)")
	cmd.Flags().StringVar(&a.name, "name", "", "`name` of the archive, where several are set up")
	return p.Does(cmd, func(ctx context.Context, _ []string) error {
		c, _, err := app.LoadConfig(from)
		if err != nil {
			return local.WrongConfig(err)
		}
		if a.Span.To != 0 && a.Span.To < a.Span.From {
			return andon.Errorf(andon.Invalid, "--to is before --from")
		}
		a.Tenant = andon.TenantID(a.tenant)
		of, err := a.find(c.Archives)
		if err == nil {
			err = work(ctx, c, of)
		}
		return command.UnlessInterrupted(ctx, err)
	})
}

// selectionFlags adds --tenant, "" for all, and --from and --to.
func (a *archives) selectionFlags(cmd *cobra.Command, p *command.Program, tenant string) {
	cmd.Flags().StringVar(&a.tenant, "tenant", tenant, "only this `tenant`; empty: all")
	p.SpanFlags(cmd, &a.Span.From, &a.Span.To)
}

// find returns the archive that --name names, or the only one.
func (a *archives) find(all []archive.Config) (archive.Config, error) {
	var names []string
	for _, c := range all {
		if c.Name == a.name || a.name == "" && len(all) == 1 {
			return c, nil
		}
		names = append(names, c.Name)
	}
	if len(all) == 0 {
		return archive.Config{}, andon.Errorf(andon.Invalid, "no archive is set up: name a file "+
			"with the setting archive by --config (docs/archive.md)")
	}
	return archive.Config{}, andon.Errorf(andon.Invalid, "name one of the archives: --name %s",
		strings.Join(names, ", "))
}

// bar shows how many of the days are done.
func (a *archives) bar(name string) *draw.Bar {
	return draw.NewBar(a.Stderr, name, 1, func(done, total int64) string {
		return fmt.Sprintf(" %d of %s", done, draw.Count(int(total), "day"))
	})
}

func progress(bar *draw.Bar) func(done, total int) {
	return func(done, total int) { bar.Show(int64(done), int64(total)) }
}

func archiveRun(p *command.Program) *cobra.Command {
	a := &archives{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Archive what ended and is not archived yet, now",
		Long: `Archive the days that ended and are not archived yet, and compare those again that
are due. With --from and --to all days of a span, today too, are compared with the archive, and what
came late is added. Run again after an interruption: each entry is in the archive once.

A running server has the embedded store to itself, and archives by itself. On Cassandra and DynamoDB
this may run next to servers.`,
		Example: `  andon archive run --config andon.yaml
  andon archive run --config andon.yaml --tenant metro --from 2025-12-01 --to 2025-12-31`,
	}
	a.selectionFlags(cmd, p, "")
	form := command.SentenceFlag(cmd, command.FormatText)
	return a.runs(p, cmd, func(ctx context.Context, c app.Config, of archive.Config) error {
		of.After = 0
		bar := a.bar("archive")
		defer bar.End()
		if c.Place() == adapter.Directory { // it must not be created
			if err := checkData(c.Data); err != nil {
				return err
			}
		}
		done, err := local.NewQuietApp(p, c).Archive(ctx, of, a.Selection, progress(bar))
		bar.End()
		if err != nil && done.Failed > 0 {
			err = fmt.Errorf("%s could not be archived, %d were; the first: %w",
				draw.Count(done.Failed, "day"), done.Days, err)
		}
		if err != nil {
			return err
		}
		return p.Report(form, done, "Archived in %s: %s added, %s compared.", of.To,
			draw.Count(int(done.Rows), "row"), draw.Count(done.Days, "day"))
	})
}

func archiveVerify(p *command.Program) *cobra.Command {
	a := &archives{}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read all files of an archive, and name what is wrong",
		Long: `Read all files of an archive and compare them with its manifests: whether each is
there, with the sum, the rows and the bytes that it had, and whether there are others. What is wrong
is named, and then the exit code is 1. Nothing is changed, and the store is not looked at: andon
archive run --from --to compares days with the store, and adds what they miss.`,
		Example: `  andon archive verify --config andon.yaml
  andon archive verify --config andon.yaml --tenant metro --from 2025-12-01`,
	}
	a.selectionFlags(cmd, p, "")
	form := command.SentenceFlag(cmd, command.FormatText)
	return a.runs(p, cmd, func(ctx context.Context, _ app.Config, of archive.Config) error {
		bar := a.bar("verify")
		defer bar.End()
		from, err := archive.Open(ctx, archive.Archive{Config: of, Progress: progress(bar)})
		if err != nil {
			return err
		}
		wrong := 0
		is, err := from.Verify(ctx, a.Selection, func(place, what string) {
			wrong++
			fmt.Fprintf(bar, "%s: %s\n", draw.Legible(place), draw.Legible(what))
		})
		bar.End()
		switch {
		case err != nil:
			return err
		case wrong > 0:
			return errors.New("the archive is wrong in " + draw.Count(wrong, "place"))
		}
		return a.Report(form, is, "The archive in %s is right: %s, %s, %s, %s.", of.To,
			draw.Count(is.Days, "day"), draw.Count(is.Files, "file"),
			draw.Count(int(is.Rows), "row"), draw.Bytes(uint64(is.Bytes)))
	})
}

func archiveDDL(p *command.Program) *cobra.Command {
	a := &archives{}
	cmd := &cobra.Command{
		Use:   "ddl ENGINE",
		Short: "Print the statements that make tables of an archive",
		Long: `Print the statements that make the tables andon_events and andon_readings of an
archive. ENGINE is athena (with partition projection, so that new days are found by themselves) or
duckdb.`,
		Example: `  andon archive ddl duckdb --config andon.yaml | duckdb plant.db
  andon archive ddl athena --config andon.yaml`,
		ValidArgs: archive.Dialects,
	}
	return a.runs(p, cmd, func(_ context.Context, _ app.Config, of archive.Config) error {
		engine := cmd.Flags().Arg(0)
		switch {
		case !slices.Contains(archive.Dialects, engine):
			return andon.Errorf(andon.Invalid, "ENGINE is one of %s, not %s",
				strings.Join(archive.Dialects, ", "), command.Quoted(engine))
		case engine == "athena" && !strings.HasPrefix(of.To, "s3://"):
			return andon.Errorf(andon.Invalid, "Athena reads from S3 only, and %s is in %s",
				of.Name, of.To)
		}
		return of.DDL(p.Stdout, engine)
	})
}

func archiveRead(p *command.Program) *cobra.Command {
	a := &archives{}
	var kind *command.Choice
	cmd := &cobra.Command{
		Use:   "read",
		Short: "Print what an archive has, so that it can be imported again",
		Long: `Print the events or the readings of whole days of an archive as NDJSON, as andon
export does, so that andon import takes them. What has expired by the retention of the tenant is
rejected there: import it into another tenant or server.`,
		Example: `  andon archive read --config andon.yaml --from 2025-12-01 > events.ndjson
  andon archive read --config andon.yaml --kind readings --tenant metro > metro.ndjson
  andon import metro.ndjson --tenant metro --metrics 'metrics.*' --metadata 'metadata.*'`,
	}
	// The lines do not say whose they are.
	a.selectionFlags(cmd, p, string(andon.DefaultTenant))
	kind = command.ChoiceFlag(cmd, "kind", archive.Kinds[0], "what to print", archive.Kinds...)
	return a.runs(p, cmd, func(ctx context.Context, _ app.Config, of archive.Config) error {
		from, err := archive.Open(ctx, archive.Archive{Config: of})
		if err != nil {
			return err
		}
		a.Kind = archive.Kind(kind.Value)
		lines := json.NewEncoder(p.Stdout)
		lines.SetEscapeHTML(false)
		err = from.Read(ctx, a.Selection, lines.Encode)
		if errors.Is(err, syscall.EPIPE) { // the reader has seen enough
			return nil
		}
		return err
	})
}
