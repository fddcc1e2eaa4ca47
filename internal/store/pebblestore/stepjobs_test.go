package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/store/pebblestore/blocks"
)

// stepJobs are all jobs of a store.
func stepJobs() []job {
	return slices.Concat(backgroundJobs(), removingJobs(), sendingJobs(), peoplesJobs())
}

// backgroundJobs change no answer.
func backgroundJobs() []job {
	return []job{
		{name: "flush entries", do: func(_ context.Context, s *Store) error {
			return s.flushDue()
		}},
		{name: "flush entries through the log", table: blocks.DefaultTable,
			do: func(_ context.Context, s *Store) error { return s.flushDue() }},
		{name: "flush readings", do: func(_ context.Context, s *Store) error {
			return s.flushReadings()
		}},
		{name: "merge entries", do: func(_ context.Context, s *Store) error {
			return s.mergeAll()
		}},
		{name: "merge entries through the log", table: blocks.DefaultTable,
			do: func(_ context.Context, s *Store) error { return s.mergeAll() }},
		{name: "merge readings", do: func(_ context.Context, s *Store) error {
			return s.readings.MergeAll()
		}},
		{name: "checkpoint", do: func(ctx context.Context, s *Store) error {
			return s.flushNow(ctx)
		}},
		{name: "open", opens: true},
		{name: "stop", ends: true, do: func(ctx context.Context, s *Store) error {
			if err := s.Finish(ctx); err != nil {
				return err
			}
			return s.Close()
		}},
		{name: "back up", do: stepBackup},
	}
}

// removingJobs remove something.
func removingJobs() []job {
	const id = andon.DefaultTenant
	horizon := andon.DayStart(stepDay + 1)
	return []job{
		{name: "expire", from: horizon, changes: func(ctx context.Context, s andon.Store) error {
			record, err := s.Tenant(ctx, id)
			if err != nil {
				return err
			}
			record.Floor = andon.Horizon{Events: horizon, Readings: horizon}
			if _, err := s.PutTenant(ctx, record); err != nil {
				return err
			}
			return s.Expire(ctx, id, record.Floor)
		}},
		{name: "purge", changes: func(ctx context.Context, s andon.Store) error {
			return s.Purge(ctx, id, stepDevice(0))
		}},
		{name: "delete a tenant", changes: func(ctx context.Context, s andon.Store) error {
			return s.DeleteTenant(ctx, stepTenant)
		}},
		{name: "withdraw", changes: func(ctx context.Context, s andon.Store) error {
			_, _, err := s.Withdraw(ctx, id, andon.Withdrawal{
				Device: stepDevice(1), Time: stepAt(31), State: stepBatchState(3, 1),
				At: stepAt(99),
			})
			return err
		}},
	}
}

// sendingJobs write what devices send, and records.
func sendingJobs() []job {
	const id = andon.DefaultTenant
	events, readings := stepBatch(stepRounds + 1)
	events = append(events, andon.Event{
		Device: stepDevice(stepDevices), Time: stepAt(1), State: "ODD",
	})
	return []job{
		{name: "append", changes: func(ctx context.Context, s andon.Store) error {
			return s.Append(ctx, id, 1, andon.SortBatch(slices.Clone(events)))
		}},
		{name: "append readings", changes: func(ctx context.Context, s andon.Store) error {
			return s.AppendReadings(ctx, id, 1, readings)
		}},
		{name: "put a record", changes: func(ctx context.Context, s andon.Store) error {
			_, err := s.PutRecord(ctx, andon.Record{
				Tenant: id, Kind: "note", ID: "m", Data: `{"b":2}`, Due: stepAt(2),
			})
			return err
		}},
		{name: "delete a record", changes: func(ctx context.Context, s andon.Store) error {
			r, err := s.Record(ctx, id, "note", "n")
			if err != nil {
				return err
			}
			return s.DeleteRecord(ctx, r)
		}},
		{name: "make a tenant", changes: func(ctx context.Context, s andon.Store) error {
			_, err := s.PutTenant(ctx, andon.NewTenant("new"))
			return err
		}},
	}
}

// peoplesJobs write what people do.
func peoplesJobs() []job {
	const id = andon.DefaultTenant
	return []job{
		{name: "assign", changes: func(ctx context.Context, s andon.Store) error {
			_, err := s.Assign(ctx, id, stepAt(200), []andon.Assignment{
				{Device: stepDevice(2), Operator: "Tom"}, {Device: stepDevice(71), Operator: "Liz"},
			})
			return err
		}},
		{name: "escalate", changes: func(ctx context.Context, s andon.Store) error {
			_, _, err := s.Escalate(ctx, id, andon.Escalation{
				Device: stepDevice(3), Time: stepAt(30), State: stepBatchState(3, 3),
				At: stepAt(120), To: "Sara", Note: "help",
			})
			return err
		}},
		{name: "retire", changes: func(ctx context.Context, s andon.Store) error {
			_, err := s.Retire(ctx, id, stepDevice(7), stepAt(150))
			return err
		}},
		{name: "change severities", changes: func(ctx context.Context, s andon.Store) error {
			record, err := s.Tenant(ctx, id)
			if err != nil {
				return err
			}
			record.States, err = andon.NewStateSet(slices.Concat(record.States.Defs(),
				[]andon.StateDef{{Name: "ODD", Severity: 4}}))
			if err != nil {
				return err
			}
			if _, err = s.PutTenant(ctx, record); err != nil {
				return err
			}
			_, err = s.Reorder(ctx, id)
			return err
		}},
		{name: "restore what people did", changes: func(ctx context.Context, s andon.Store) error {
			return s.Restore(ctx, id, andon.History{
				Assignments: []andon.Assignment{{
					Device: stepDevice(69), Operator: "Liz", From: stepAt(2),
				}},
				Escalations: []andon.Escalation{{
					Device: stepDevice(69), Time: stepAt(30), State: stepBatchState(3, 69),
					At: stepAt(121), To: "Sara",
				}},
			})
		}},
	}
}

// stepBackup takes a backup, which must have the same answers.
func stepBackup(ctx context.Context, s *Store) error {
	to := vfs.NewMem()
	err := s.Snapshot(ctx, func(dir string, _ []string) error {
		_, err := vfs.Clone(s.options.FS, to, dir, "store")
		return err
	})
	if err != nil {
		return err
	}
	copied, err := Open("store", stepOptions(to))
	if err != nil {
		return fmt.Errorf("%w: the backup: %w", errUseless, err)
	}
	defer copied.Close()
	want := stepAnswers(context.Background(), s, 0)
	got := stepAnswers(context.Background(), copied, 0)
	if !slices.Equal(want, got) {
		return fmt.Errorf("%w: %s", errUseless, gocmp.Diff(want, got))
	}
	return nil
}

var errUseless = errors.New("the backup is no copy")
