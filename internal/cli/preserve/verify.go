package preserve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/cli/command"
	"github.com/andonhq/andon/internal/cli/draw"
)

// Verify is "andon verify".
func Verify(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [BACKUP]",
		Short: "Read all of a store, or of a backup, and name what is damaged",
		Long: `Read all of the embedded store in a directory that no server uses: the write-ahead
logs, the sums of all tables, each row, and whether they agree: what leads to entries with the
entries, what each device shows with its history. What is damaged is named, with its file or key and
what that means, and then the exit code is 1. Nothing is changed but the
files andon.lock and andon.owner, which keep other processes out, so the user needs to be allowed to
write to the directory.

Of a BACKUP each file is checked against its sum; andon restore then checks the store that is in it
as well. Of a running server take a backup.`,
		Example: `  andon verify --data /var/lib/andon
  andon verify /backup/andon-2026-11-22.tar.zst`,
	}
	data := cmd.Flags().String("data", "", "`directory` of the store")
	return p.Does(cmd, func(ctx context.Context, args []string) error {
		is, err := os.Stat(*data)
		switch {
		case (*data == "") == (len(args) == 0):
			return andon.Errorf(andon.Invalid, "name the directory of a store, --data DIR, or a "+
				"backup: one of them")
		case len(args) > 0:
			return command.UnlessInterrupted(ctx, verifyBackup(ctx, p, args[0]))
		case err == nil && !is.IsDir(): // what else could be meant
			return command.UnlessInterrupted(ctx, verifyBackup(ctx, p, *data))
		}
		return command.UnlessInterrupted(ctx, verifyAndTell(ctx, p, *data))
	})
}

func verifyBackup(ctx context.Context, p *command.Program, path string) error {
	kept, err := readBackup(ctx, p, "verify", path, discard)
	if err != nil {
		return err
	}
	fmt.Fprintf(p, "The backup %s is whole: %s, %s, as of %s.\n"+
		"andon restore also checks the store that is in it.\n", path,
		draw.Count(kept.Files, "file"), draw.Bytes(uint64(kept.Bytes)), kept.Taken)
	return nil
}

func verifyAndTell(ctx context.Context, p *command.Program, dir string) error {
	if err := checkData(dir); err != nil {
		return err
	}
	rows, err := verifyStore(ctx, p, dir)
	for _, what := range slices.Sorted(maps.Keys(rows)) {
		if rows[what] > 0 {
			fmt.Fprintf(p, "%14s  %s\n", draw.Grouped(int(rows[what])), what)
		}
	}
	if err == nil {
		fmt.Fprintf(p, "The store in %s is whole.\n", dir)
	}
	return err
}

// verifyStore reports what is damaged in a store on standard error, and returns that as an error.
func verifyStore(
	ctx context.Context, p *command.Program, dir string,
) (rows map[string]int64, err error) {
	const most = 100 // that are reported
	bar := draw.NewBar(p.Stderr, "verify", 1, func(done, total int64) string {
		return fmt.Sprintf(" %d %%", 100*done/max(total, 1))
	})
	damages := 0
	report := func(place, what string) {
		if damages++; damages <= most {
			fmt.Fprintf(bar, "%s: %s\n", draw.Legible(place), draw.Legible(what))
		}
	}
	e, env, err := appOf(p, dir).Closed("andon verify")
	if err == nil {
		rows, err = e.Verify(ctx, env, report, bar.Show)
	}
	bar.End()
	if damages > most {
		fmt.Fprintf(p.Stderr, "and %s more\n", draw.Count(damages-most, "place"))
	}
	if err == nil && damages > 0 {
		err = errors.New("the store is damaged in " + draw.Count(damages, "place") +
			": restore it from a backup")
	}
	return rows, err
}
