package provision

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/andonhq/andon"
	"github.com/andonhq/andon/internal/sleep"
	"github.com/andonhq/andon/internal/store/dynamostore/ddb"
)

// Setup creates tables, or what is missing of them.
type Setup struct {
	Setting
	sdk     *dynamodb.Client
	nowhere bool     // no service can be reached, so nothing exists
	idle    func()   // closes connections
	created []string // tables that did not exist
}

// Setting says how to create tables.
type Setting struct {
	Capacity Capacity
	DryRun   bool // report the calls, and do none that changes anything
	// Report is called with each call before it is done, as a command of the AWS CLI, and with
	// notes, which begin with #.
	Report func(statement string)
}

// Begin connects to the service. With DryRun it may be out of reach; then no table exists.
func Begin(ctx context.Context, access ddb.Access, set Setting) (*Setup, error) {
	to, err := ddb.Connect(ctx, access)
	s := &Setup{Setting: set, idle: func() { ddb.CloseIdle(to.HTTPClient) }}
	if err == nil {
		s.sdk = dynamodb.NewFromConfig(to)
		_, err = s.sdk.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)},
			func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
		err = ddb.Failure("ListTables", "of the account", err)
	}
	if s.DryRun && andon.KindOf(err) == andon.Unavailable {
		s.Note(err.Error())
		s.Note("So this is for tables that do not exist yet")
		s.nowhere, err = true, nil
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close closes the connections.
func (s *Setup) Close() { s.idle() }

// Note reports something that is no call.
func (s *Setup) Note(text string) { s.Report("# " + text) }

// Created reports whether Table created a table, or would have; any for "".
func (s *Setup) Created(table string) bool {
	return len(s.created) > 0 && (table == "" || slices.Contains(s.created, table))
}

// do reports a call of the SDK as a command of the AWS CLI, and does it. An operation that the
// engine does not know is Unsupported.
func do[In, Options, Out any](
	ctx context.Context, s *Setup, command, place string,
	call func(context.Context, *In, ...func(*Options)) (Out, error), in *In,
) error {
	if err := s.show(command, in); err != nil || s.DryRun {
		return err
	}
	_, err := call(ctx, in)
	return ddb.Failure(command, place, unknown(err))
}

func (s *Setup) show(command string, input any) error {
	text, err := inputText(input)
	if err == nil {
		s.Report("aws " + command + " --cli-input-json '" + text + "'")
	}
	return err
}

// inputText returns an input of the SDK as the CLI takes it: without what is absent.
func inputText(input any) (string, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return "", err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return "", err
	}
	text, err = json.Marshal(withoutNull(value))
	return string(text), err
}

func withoutNull(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			if field == nil || field == "" {
				delete(v, name)
			} else {
				v[name] = withoutNull(field)
			}
		}
	case []any:
		for i, element := range v {
			v[i] = withoutNull(element)
		}
	}
	return value
}

// Table creates one table, or what is missing of it, and waits until it can be used.
func (s *Setup) Table(ctx context.Context, t ddb.Table) error {
	name := t.Name
	is, err := s.describe(ctx, name)
	if err != nil {
		return err
	}
	if is == nil {
		s.created = append(s.created, name)
		err = do(ctx, s, "dynamodb create-table", name, s.sdk.CreateTable, s.create(t))
	} else if err = differs(t, is); err == nil {
		err = s.indexes(ctx, t, is)
	}
	if err == nil {
		err = s.wait(ctx, name)
	}
	if err == nil && t.TTL != "" {
		err = s.expiry(ctx, name, t.TTL, is != nil)
	}
	if err == nil && is == nil && s.Capacity.Recovery {
		err = s.recovery(ctx, name)
	}
	if err == nil && s.Capacity.Mode == Provisioned && is != nil && paidOnDemand(is) {
		s.Note(name + " is paid for on demand, and stays so; aws dynamodb update-table changes it")
	}
	return err
}

func paidOnDemand(is *types.TableDescription) bool {
	return is.BillingModeSummary != nil &&
		is.BillingModeSummary.BillingMode == types.BillingModePayPerRequest
}

// describe returns what a table is; nil where it does not exist.
func (s *Setup) describe(ctx context.Context, name string) (*types.TableDescription, error) {
	if s.nowhere {
		return nil, nil
	}
	return describe(ctx, s.sdk, name)
}

func describe(
	ctx context.Context, sdk *dynamodb.Client, name string,
) (*types.TableDescription, error) {
	out, err := sdk.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if errors.As(err, new(*types.ResourceNotFoundException)) {
		return nil, nil
	}
	if err != nil {
		return nil, ddb.Failure("DescribeTable", name, err)
	}
	return out.Table, nil
}

func (s *Setup) create(t ddb.Table) *dynamodb.CreateTableInput {
	c := &s.Capacity
	in := &dynamodb.CreateTableInput{
		TableName: &t.Name, KeySchema: schema(t.Key), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: attributes(t), ProvisionedThroughput: c.provisioned(),
		OnDemandThroughput: c.Limits(), WarmThroughput: c.Warmed(),
	}
	for _, i := range t.Indexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(i.Name), KeySchema: schema(i.Key), Projection: projection(i),
			ProvisionedThroughput: c.provisioned(), OnDemandThroughput: c.Limits(),
			WarmThroughput: c.Warmed(),
		})
	}
	if c.Mode == Provisioned {
		in.BillingMode = types.BillingModeProvisioned
	}
	if view := c.View(); view != "" {
		in.StreamSpecification = &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewType(view),
		}
	}
	return in
}

// indexes creates the indexes that a table lacks. The service creates one at a time.
func (s *Setup) indexes(
	ctx context.Context, t ddb.Table, is *types.TableDescription,
) error {
	paid, most := s.Capacity.provisioned(), s.Capacity.Limits()
	if paidOnDemand(is) {
		paid = nil
	} else {
		most = nil
	}
	for _, i := range t.Indexes {
		if findIndex(is, i.Name) != nil {
			continue
		}
		if err := s.wait(ctx, t.Name); err != nil {
			return err
		}
		in := &dynamodb.UpdateTableInput{
			TableName: &t.Name, AttributeDefinitions: attributes(t),
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{
				Create: &types.CreateGlobalSecondaryIndexAction{
					IndexName: aws.String(i.Name), KeySchema: schema(i.Key),
					Projection: projection(i), ProvisionedThroughput: paid,
					OnDemandThroughput: most,
				},
			}},
		}
		err := do(ctx, s, "dynamodb update-table", t.Name, s.sdk.UpdateTable, in)
		if err != nil {
			return err
		}
	}
	return nil
}

// wait waits until a table and its indexes can be used. An index of a large table takes hours.
func (s *Setup) wait(ctx context.Context, name string) error {
	if s.DryRun {
		s.Report("aws dynamodb wait table-exists --table-name " + name)
		return nil
	}
	const longest = 5 * time.Second
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, longest) {
		is, err := s.describe(ctx, name)
		if err != nil {
			return err
		}
		if is != nil && unready(name, is) == nil {
			return nil
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}

func (s *Setup) expiry(ctx context.Context, name, attribute string, exists bool) error {
	if exists && !s.nowhere {
		on, err := expiryAttribute(ctx, s.sdk, name)
		if err != nil || on == attribute {
			return s.unlessUnknown(err, name+": this engine deletes nothing that has expired; "+
				"answers leave it out nevertheless")
		}
	}
	in := &dynamodb.UpdateTimeToLiveInput{TableName: &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: &attribute, Enabled: aws.Bool(true),
		}}
	err := do(ctx, s, "dynamodb update-time-to-live", name, s.sdk.UpdateTimeToLive, in)
	return s.unlessUnknown(err, name+": this engine has no UpdateTimeToLive, so it deletes "+
		"nothing that has expired; answers leave it out nevertheless")
}

// recovery has the service keep what is needed to recover a table to any second of 35 days.
func (s *Setup) recovery(ctx context.Context, name string) error {
	in := &dynamodb.UpdateContinuousBackupsInput{TableName: &name,
		PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: aws.Bool(true),
		}}
	err := do(ctx, s, "dynamodb update-continuous-backups", name, s.sdk.UpdateContinuousBackups, in)
	return s.unlessUnknown(err, name+": this engine has no point-in-time recovery")
}

// expiryAttribute returns the attribute by which items of a table expire; "" where they do not.
func expiryAttribute(ctx context.Context, sdk *dynamodb.Client, name string) (string, error) {
	out, err := sdk.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &name})
	if err != nil {
		return "", ddb.Failure("DescribeTimeToLive", name, unknown(err))
	}
	switch d := out.TimeToLiveDescription; d.TimeToLiveStatus {
	case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
		return aws.ToString(d.AttributeName), nil
	}
	return "", nil
}

// unknown returns Unsupported for an error that means that an engine does not know an operation, as
// imitations of the service lack some.
func unknown(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "UnknownOperationException" {
		return andon.Errorf(andon.Unsupported, "the engine does not know it: %w", err)
	}
	return err
}

// unlessUnknown reports a note where an engine does not know an operation.
func (s *Setup) unlessUnknown(err error, note string) error {
	if andon.KindOf(err) == andon.Unsupported {
		s.Note(note)
		return nil
	}
	return err
}
