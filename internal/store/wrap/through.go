package wrap

import (
	"context"
	"iter"

	"github.com/andonhq/andon"
)

// unexpiring is what passes through retention as it is: what is written, and what answers nothing
// that expires. Its methods are written out here, and whole contracts where no answer expires: so a
// query that is added to one of the others does not compile until it is decided whether its
// answers expire.
type unexpiring interface {
	andon.Assignments
	andon.Tenants
	andon.Records
	andon.Maintenance

	unexpiringWrites
	unexpiringAnswers
	Close() error
}

type unexpiringWrites interface {
	Append(
		ctx context.Context, tenant andon.TenantID, received andon.Time, events []andon.Event,
	) error
	AppendReadings(
		ctx context.Context, tenant andon.TenantID, received andon.Time, readings []andon.Reading,
	) error
	Retire(
		ctx context.Context, tenant andon.TenantID, device andon.DeviceID, at andon.Time,
	) (andon.Time, error)
	Purge(ctx context.Context, tenant andon.TenantID, device andon.DeviceID) error
}

type unexpiringAnswers interface {
	Capabilities() andon.Capabilities
	Ready(ctx context.Context) error
	Counts(
		ctx context.Context, tenant andon.TenantID, silentBefore andon.Time,
	) ([]andon.StateCount, error)
	Names(
		ctx context.Context, tenant andon.TenantID, q andon.NameQuery,
	) iter.Seq2[andon.NameCount, error]
	Retirements(
		ctx context.Context, tenant andon.TenantID, device andon.DeviceID,
	) ([]andon.Time, error)
	AwaitChange(ctx context.Context, tenant andon.TenantID, after andon.Position) error
	ChangesKept(
		ctx context.Context, tenant andon.TenantID,
	) (oldest, newest andon.Position, err error)
}
